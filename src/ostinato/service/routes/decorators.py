"""How routes are made: each names its role, and is described with its errors and examples."""

from collections.abc import Callable
from typing import Any

import litestar
from litestar.handlers import HTTPRouteHandler

from ostinato.service.fast_routes import SHORT, FastRoute
from ostinato.service.guards import PUBLIC, ROLE
from ostinato.service.tokens import Role

API = "/api/v1"
Decorated = Callable[[Callable[..., Any]], HTTPRouteHandler]


def get(path: str, role: Role | str, **more: Any) -> Decorated:
    return litestar.get(path, opt={ROLE: role}, **more)


def post(path: str, role: Role | str, status: int = 200, short: FastRoute | None = None, **more: Any) -> Decorated:
    """short: what the route does, for requests that take the short way (`fast_routes.py`)."""
    return litestar.post(path, opt={ROLE: role, SHORT: short}, status_code=status, **more)


def delete(path: str, role: Role | str, **more: Any) -> Decorated:
    return litestar.delete(path, opt={ROLE: role}, **more)


def put(path: str, role: Role | str, **more: Any) -> Decorated:
    return litestar.put(path, opt={ROLE: role}, **more)


__all__ = ["API", "PUBLIC", "delete", "get", "post", "put"]
