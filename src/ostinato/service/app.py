"""The application: routes behind the gate."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import numpy as np
from litestar import Litestar, Request, Response
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.types import ControllerRouterHandler

from ostinato.errors import OstinatoError
from ostinato.service import dashboard
from ostinato.service.configuration import Config
from ostinato.service.dashboard.drawings import close_drawings
from ostinato.service.dashboard.pages import refused_page, wants_page
from ostinato.service.errors import PROBLEM, Problem, Refused, refusal_of
from ostinato.service.fast_routes import FastRoutes
from ostinato.service.gate import Gate
from ostinato.service.guards import check_role
from ostinato.service.openapi import description
from ostinato.service.requests import StrictRequest, empty_body
from ostinato.service.routes import ROUTES
from ostinato.service.routes.decorators import API
from ostinato.service.service import Service
from ostinato.storage import Storage

REMEDIES = {  # for whoever asks the API, and for people
    True: f"{API}/openapi.json lists what there is.",
    False: "check it for a typing mistake, or go on from the list of studies.",
}


def create_app(storage: Storage, config: Config | None = None) -> "Application":
    """The service of a storage, as an ASGI application: the API and the dashboard."""
    return Application(Service(storage, config), [*ROUTES, *dashboard.ROUTES])


class Application(Gate):
    """What a server runs. `service` is what it holds, `litestar` the routes."""

    def __init__(self, service: Service, routes: Sequence[ControllerRouterHandler]) -> None:
        self.service = service
        self.litestar = Litestar(
            routes,
            request_class=StrictRequest,
            guards=[check_role],
            exception_handlers={
                OstinatoError: _refuse,
                Refused: _refuse,
                HTTPException: _refuse_http,
                500: _refuse,
            },
            type_encoders={np.ndarray: lambda array: array.tolist(), np.generic: lambda number: number.item()},
            request_max_body_size=None,  # the gate sees to it
            openapi_config=None,  # `openapi.py` describes the routes, and a route of its own serves that
            logging_config=None,
            state=State({"service": service, "description": description(ROUTES)}),
            lifespan=[_lifespan],
        )
        super().__init__(FastRoutes(self.litestar, service, ROUTES), service)
        self.litestar.state["failures"] = self.failures


@asynccontextmanager
async def _lifespan(app: Litestar) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        close_drawings(app.state)
        app.state["service"].close()


def answer(problem: Problem, headers: dict[str, str] | None = None) -> Response[Problem]:
    """A problem as an answer."""
    return Response(problem, status_code=problem.status, media_type=PROBLEM, headers=headers or {})


def _refuse(_: Any, error: Exception) -> Response[Problem]:
    refused = refusal_of(error)
    return answer(refused.problem, refused.headers)


def _refuse_http(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """What routing and the parameters of an address are refused for; shown to a person as a page."""
    listed = _listed(error.extra)
    if any(each.get("key") == "data" for each in listed):  # what is in a body is checked elsewhere: there is none
        return answer(empty_body().problem)
    details = [f"{each.get('key', '')}: {each.get('message', '')}" for each in listed]
    status = 422 if details else error.status_code
    if status == 404:
        words = f"Nothing is at this address: {REMEDIES[request.url.path.startswith(API)]}"
    else:
        words = "; ".join(details) or error.detail
    kind = {404: "not-found", 405: "method-not-allowed"}.get(status, "invalid-request")
    problem = Refused(status, kind, words).problem
    if wants_page(request):
        return refused_page(problem)
    return answer(problem, dict(error.headers or {}))


def _listed(extra: Any) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", extra) if isinstance(extra, list) else []


__all__ = ["Application", "answer", "create_app"]
