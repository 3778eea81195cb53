"""The gate that every request passes before anything else sees it: host, origin, size, identity, rate.

It wraps the whole application, so that a route that is added later cannot be reached around it.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from math import ceil
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import msgspec

from ostinato.errors import OstinatoError
from ostinato.service.auth import COOKIE
from ostinato.service.errors import PROBLEM, TYPE, Problem, Refused, refusal_of
from ostinato.service.headers import PRIVATE, raw, raw_headers
from ostinato.service.limits import Rate
from ostinato.service.service import Service
from ostinato.service.sign_in import STYLE
from ostinato.service.tokens import Identity

Scope: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[MutableMapping[str, Any]]]"
Send: TypeAlias = "Callable[[MutableMapping[str, Any]], Awaitable[None]]"
Application: TypeAlias = "Callable[[Any, Any, Any], Awaitable[None]]"

IDENTITY = "user"  # where the identity is in the scope; `request.user` in routes
PUBLIC = ("/health", "/login", "/session")  # the last two are where a code or a token is exchanged for a cookie
SAFE = ("GET", "HEAD", "OPTIONS")
SIGN_IN = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Ostinato: sign in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>STYLE</style></head>
<body><main><h1>Sign in</h1><!-- what went wrong -->
<p>Open the link that <code>ostinato serve</code> printed, or paste a token of <code>ostinato token create</code>.</p>
<p>You are signed out after seven days, and when the server is started again.</p>
<form method="post" action="/session"><p><label>Token <input type="password" name="token" required
autocomplete="current-password"></label> <button>Sign in</button></p></form></main></body></html>
""".replace(b"STYLE", STYLE)


class Gate:
    """An ASGI application around another."""

    def __init__(self, app: Application, service: Service) -> None:
        self._app, self._service, self._limits = app, service, service.config.limits
        self._hosts = frozenset(service.config.hosts)
        self._headers = raw_headers(secure=service.config.secure)
        self._private = raw(PRIVATE)
        self._rate = Rate(self._limits.rate, self._limits.burst)
        self.failures = Rate(self._limits.failures / 60, self._limits.failures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, self._with_headers(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            self._check(scope, headers)
            if scope["path"] not in PUBLIC:
                scope[IDENTITY] = await self._identity(scope, headers)
            body = Body(receive, self._limits.body)
            body.check_announced(headers)
        except (Refused, OstinatoError) as error:
            refused = refusal_of(error)
            await send_problem(send, refused.problem, refused.headers, html=self._wants_page(scope, headers, refused))
            return
        await self._app(scope, body, send)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Whether it was sent to this server, and by a page of this server if by one."""
        host = headers.get(b"host", b"").decode("latin-1")
        if name_of_host(host) not in self._hosts:
            raise Refused(
                400, "unknown-host", f"{host[:100]!r} is not a name of this server: start it with --host-name."
            )
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in SAFE and not self._is_own(origin.decode("latin-1"), host):
            raise Refused(403, "foreign-origin", "Pages of other sites may not change anything here.")

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether an origin is this server, by the name that it was called."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        schemes = ("https",) if self._service.config.secure else ("http", "https")
        return parts.netloc.lower() == host.lower() and parts.scheme in schemes

    async def _identity(self, scope: Scope, headers: dict[bytes, bytes]) -> Identity:
        """Who it is, by the token or by the cookie."""
        found = await identity_in(self._service, headers)
        if found is None:
            tried = b"authorization" in headers or COOKIE.encode() in headers.get(b"cookie", b"")
            if tried and self.failures.wait(address_of(scope)):
                raise too_often(60.0)
            raise unauthorised()
        if b"authorization" not in headers and scope["method"] not in SAFE and b"origin" not in headers:
            raise Refused(403, "foreign-origin", "A change that is made with a cookie needs an Origin header.")
        if wait := self._rate.wait(found.id):
            raise too_often(wait)
        return found

    def _wants_page(self, scope: Scope, headers: dict[bytes, bytes], refused: Refused) -> bool:
        """Whether a person should be shown where to sign in."""
        return (
            refused.problem.status == 401 and scope["method"] == "GET" and b"text/html" in headers.get(b"accept", b"")
        )

    def _with_headers(self, send: Send) -> Send:
        own, private = self._headers, self._private

        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
                cached = any(name == b"cache-control" for name, _ in given)
                message["headers"] = [*given, *own] if cached else [*given, *own, private]
            await send(message)

        return sent


class Body:
    """A request's body, as it comes, up to a size. How long it takes is the connection's matter (`protocol.py`)."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most, self._size = receive, most, 0

    def check_announced(self, headers: dict[bytes, bytes]) -> None:
        """A body that says that it is too large is not read at all."""
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._most:
            raise self._too_large()

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self._most:
            raise self._too_large()
        return message

    def _too_large(self) -> Refused:
        most = f"{self._most:,} bytes"
        return Refused(413, "too-large", f"The body is larger than {most}: send it in parts.", {"connection": "close"})


def name_of_host(host: str) -> str:
    """Without its port: localhost:8000, 127.0.0.1, [::1]:8000."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower().rstrip(".")


def address_of(scope: Mapping[str, Any]) -> str:
    """Where a request comes from."""
    client = scope.get("client")
    return client[0] if client else ""


def cookie_in(headers: dict[bytes, bytes]) -> str:
    """What the browser's cookie says; nothing where there is none."""
    for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


async def identity_in(service: Service, headers: dict[bytes, bytes]) -> Identity | None:
    """Whose token it is that a request was sent with, or whose cookie; None where it is not, or no longer, valid."""
    if b"authorization" in headers:
        scheme, _, token = headers[b"authorization"].decode("latin-1").partition(" ")
        return await service.authentication.of_token(token.strip()) if scheme.lower() == "bearer" else None
    cookie = cookie_in(headers)
    return await service.authentication.of_cookie(cookie) if cookie else None


def unauthorised() -> Refused:
    words = "Send a token: `Authorization: Bearer ost_…`. `ostinato token create` makes one."
    return Refused(401, "unauthorised", words, {"www-authenticate": "Bearer"})


def too_often(wait: float) -> Refused:
    words = f"Too many requests: wait {ceil(wait)} s, and send fewer, or several answers in one."
    return Refused(429, "too-often", words, {"retry-after": str(max(1, ceil(wait)))})


async def send_problem(send: Send, problem: Problem, headers: dict[str, str], *, html: bool = False) -> None:
    """A problem as an answer; for a person who is not known, a page to sign in."""
    body, kind = (SIGN_IN, b"text/html; charset=utf-8") if html else (msgspec.json.encode(problem), PROBLEM.encode())
    more = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send_answer(send, problem.status, kind, body, more)


async def send_answer(
    send: Send, status: int, kind: bytes, body: bytes, more: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """A whole answer, of a content type."""
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


__all__ = ["IDENTITY", "SIGN_IN", "TYPE", "Gate", "address_of", "cookie_in", "identity_in", "too_often", "unauthorised"]
