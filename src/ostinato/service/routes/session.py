"""Health, and how browsers become known: a code or a token is exchanged for a cookie."""

from html import escape
from typing import Any, cast
from urllib.parse import parse_qs

import msgspec
from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.params import FromQuery
from litestar.response import Redirect

from ostinato import __version__
from ostinato.service.auth import COOKIE, SESSION
from ostinato.service.errors import Refused
from ostinato.service.gate import SIGN_IN, address_of, cookie_in, too_often, unauthorised
from ostinato.service.requests import decoded, service_of
from ostinato.service.routes.decorators import API, PUBLIC, get, post
from ostinato.service.tokens import Identity, Role

HOME = "/"
WRONG = "That token is unknown, or it has expired: paste another, or make one with `ostinato token create`."
USED = (
    "This link was used already, or is older than an hour: each signs one browser in, once. Paste a token, or start "
    "`ostinato serve` again for a new link."
)
SHORT = 4_096  # bytes of a body that signs in


class Health(msgspec.Struct, frozen=True):
    """That the server is there."""

    status: str
    version: str


class SignIn(msgspec.Struct, forbid_unknown_fields=True):
    """A token, to be exchanged for a cookie."""

    token: str


@get("/health", PUBLIC, tags=["server"], operation_id="health")
async def health() -> Health:
    """Whether the server is there. Needs no token, and says nothing of studies."""
    return Health("ok", __version__)


@get("/login", PUBLIC, include_in_schema=False)
async def login(request: Request[Any, Any, Any], code: FromQuery[str] = "") -> Response[Any]:
    """Exchange a one-time code for a cookie, and go on without it. A browser that is known already just goes on."""
    authentication = service_of(request).authentication
    found = authentication.of_code(code)
    if found is None and await authentication.of_cookie(cookie_in(dict(request.scope["headers"]))) is not None:
        return Redirect(HOME, status_code=303)
    return _exchanged(request, found, USED)


@post("/session", PUBLIC, include_in_schema=False)
async def sign_in(request: Request[Any, Any, Any]) -> Response[Any]:
    """Exchange a token for a cookie: as JSON, or as the form of the page to sign in sends it."""
    body = await request.body()
    if len(body) > SHORT:
        raise Refused(413, "too-large", "A token is shorter than that.")
    if request.content_type[0] == "application/json":
        token = decoded(body, SignIn).token
    else:
        token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
    return _exchanged(request, await service_of(request).authentication.of_token(token.strip()), WRONG)


def _exchanged(request: Request[Any, Any, Any], identity: Identity | None, wrong: str) -> Response[Any]:
    """A cookie; for a person who is not known, the page to sign in, which says what was wrong."""
    try:
        return _signed_in(request, identity)
    except Refused as refused:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        words = wrong if refused.problem.status == 401 else refused.problem.detail
        page = SIGN_IN.replace(b"<!-- what went wrong -->", f'<p role="alert">{escape(words)}</p>'.encode())
        return Response(page, status_code=refused.problem.status, media_type="text/html", headers=refused.headers)


@post("/sign-out", "read", include_in_schema=False)
async def sign_out(request: Request[Any, Any, Any]) -> Response[None]:
    """Forget the browser."""
    service_of(request).authentication.end_session(cookie_in(dict(request.scope["headers"])))
    return Redirect(HOME, status_code=303)


def _signed_in(request: Request[Any, Any, Any], identity: Identity | None) -> Response[None]:
    service = service_of(request)
    if identity is None:
        foreign = request.headers.get("sec-fetch-site") == "cross-site"  # a page elsewhere cannot use up the tries
        if not foreign and request.app.state["failures"].wait(address_of(cast("dict[str, Any]", request.scope))):
            raise too_often(60.0)
        raise unauthorised()
    cookie = Cookie(
        key=COOKIE,
        value=service.authentication.begin_session(identity),
        max_age=int(SESSION),
        path="/",
        secure=service.config.secure,
        httponly=True,
        samesite="strict",
    )
    return Redirect(HOME, status_code=303, cookies=[cookie])


class Me(msgspec.Struct, frozen=True):
    """Whose token it is."""

    name: str
    role: str
    studies: list[str]


@get(f"{API}/me", Role.READ, tags=["server"], operation_id="whoAmI")
async def who_am_i(request: Request[Any, Any, Any]) -> Me:
    """The name, the role and the studies of the token; no studies means all of them."""
    return Me(request.user.name, request.user.role, list(request.user.studies))


@get(f"{API}/openapi.json", Role.READ, tags=["server"], operation_id="describe")
async def describe(request: Request[Any, Any, Any]) -> dict[str, Any]:
    """This description of the API."""
    return request.app.state["description"]


ROUTES = [who_am_i, describe, health, login, sign_in, sign_out]
