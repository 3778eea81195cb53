"""Who may call a route: every route names a role, and one that names none is closed to everybody."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from ostinato.service.errors import Refused
from ostinato.service.gate import IDENTITY, unauthorised
from ostinato.service.service import unknown
from ostinato.service.tokens import Identity, Role

ROLE = "role"  # of a route, in its `opt`; PUBLIC for those that need no token
PUBLIC = "public"
READ_NAME = "read_name"  # in `opt` of routes that write studies in another way in their paths: from that to the name


async def check_role(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Refuse whoever has not the role that a route needs, or may not see the study that it is about."""
    role = handler.opt.get(ROLE)
    if role != PUBLIC:
        part = connection.path_params.get("study")
        check_access(connection.scope, role, None if part is None else _name(handler, part))


def check_access(scope: Mapping[str, Any], role: str | None, study: str | None) -> None:
    """The same by the role and the study. scope: of the request, where the gate left whose it is."""
    identity: Identity | None = scope.get(IDENTITY)
    if identity is None:
        raise unauthorised()
    if role is None or not identity.role.includes(Role(role)):
        needed = f"a token of the role {role}" if role else "what no token has"
        raise Refused(403, "forbidden", f"That takes {needed}, and yours has the role {identity.role}.")
    if study is not None and not identity.sees(study):
        raise unknown(study)


def check_worker(identity: Identity, worker: str | None) -> str | None:
    """The worker that a request names, where its token may ask and tell for it."""
    if worker is not None and not identity.may_name(worker):
        raise Refused(
            403,
            "forbidden",
            f"worker={worker!r}, and this token asks and tells as {identity.name!r} alone: leave the worker out, or "
            "use a token of the role gateway.",
        )
    return worker


def check_owner(identity: Identity, tokens: Iterable[str]) -> None:
    """Refuse whoever may not change what was asked for, or told, with some tokens."""
    if not all(map(identity.owns, tokens)):
        raise Refused(403, "forbidden", "Others asked for that or told it: it takes their token, or the role admin.")


def _name(handler: BaseRouteHandler, part: str) -> str:
    """The study that a part of the path stands for."""
    read: Callable[[str], str] | None = handler.opt.get(READ_NAME)
    return part if read is None else read(part)
