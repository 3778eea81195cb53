"""Fast routes: requests that come thousands of times a second go from the gate to the study, without Litestar.

A route that is made with `short=` is found here before Litestar looks for it. Access, body, errors and what it does are
the same functions, called in the same order; Litestar describes it, and answers what is written in another way (a path
that ends in a slash).
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from ostinato.service.errors import refusal_of
from ostinato.service.gate import IDENTITY, Application, Receive, Scope, Send, send_answer, send_problem
from ostinato.service.guards import ROLE, check_access
from ostinato.service.headers import PRIVATE, raw, raw_headers
from ostinato.service.protocol import WHOLE, head_of
from ostinato.service.requests import check_json, decoded, empty_body
from ostinato.service.service import Service
from ostinato.service.tokens import Identity

SHORT = "short"  # of a route, in its `opt`
METHOD = "POST"
JSON = b"application/json"


class FastRoute(msgspec.Struct, frozen=True):
    """A route without Litestar: the type of its body, and what it does: action(service, identity, study, body)."""

    body: type
    action: Callable[[Service, Identity, str, Any], Awaitable[msgspec.Struct]]


class FastRoutes:
    """An ASGI application that answers fast routes itself, and passes all other requests on."""

    def __init__(self, app: Application, service: Service, routes: Iterable[HTTPRouteHandler]) -> None:
        self._app, self._service = app, service
        marked = [each for each in routes if each.opt.get(SHORT) is not None]
        headers = raw_headers(secure=service.config.secure)
        self._head = head_of([(b"content-type", JSON), *headers, raw(PRIVATE)])
        self._routes = {_parts(path): each for each in marked for path in each.paths}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._found(scope) if scope["type"] == "http" and scope["method"] == METHOD else None
        if found is None:
            await self._app(scope, receive, send)
            return
        study, route = found
        try:
            body = await self._answer(scope, receive, study, route)
        except Exception as error:
            refused = refusal_of(error)
            await send_problem(send, refused.problem, refused.headers)
            return
        if body is not None:
            whole = scope.get("extensions", {}).get(WHOLE)
            if whole is None or not whole(self._head, body):
                await send_answer(send, 200, JSON, body)

    def _found(self, scope: Scope) -> tuple[str, HTTPRouteHandler] | None:
        """The study that a path names, and the route."""
        before, _, rest = scope["path"].partition("/studies/")
        study, _, verb = rest.partition("/")
        route = self._routes.get((before, verb)) if study else None
        return None if route is None else (study, route)

    async def _answer(self, scope: Scope, receive: Receive, study: str, route: HTTPRouteHandler) -> bytes | None:
        """What is answered; None where whoever asked has gone."""
        short: FastRoute = route.opt[SHORT]
        check_access(scope, route.opt.get(ROLE), study)
        body = await _body(receive)
        if body is None:
            return None
        if not body:
            raise empty_body()
        check_json(next((value for name, value in scope["headers"] if name == b"content-type"), b""))
        action = short.action(self._service, scope[IDENTITY], study, decoded(body, short.body))
        return msgspec.json.encode(await action)


async def _body(receive: Receive) -> bytes | None:
    """All of a request's body; None where whoever sends it has gone."""
    parts = list[bytes]()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _parts(path: str) -> tuple[str, str]:
    """What stands before and after the study in a route's path."""
    before, _, rest = path.partition("/studies/")
    return before, rest.partition("/")[2]
