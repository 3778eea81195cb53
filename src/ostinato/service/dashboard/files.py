"""Files that pages load, shipped with the package: htmx, one style sheet, one script. Nothing comes from elsewhere."""

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from litestar import Request, Response
from litestar.params import FromPath

from ostinato.service.errors import Refused
from ostinato.service.routes.decorators import get
from ostinato.service.tokens import Role

KINDS = {
    "htmx.min.js": "text/javascript; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "dashboard.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
CACHED = {"cache-control": "private, max-age=31536000, immutable"}  # an address has its content's digest


@cache
def content(name: str) -> bytes:
    """A file of the package."""
    return (files("ostinato.service.dashboard") / "assets" / name).read_bytes()


@cache
def asset(name: str) -> str:
    """The address of a file; it changes with its content."""
    return f"/assets/{sha256(content(name)).hexdigest()[:12]}/{name}"


@get("/assets/{digest:str}/{name:str}", Role.READ, include_in_schema=False)
async def assets(request: Request[Any, Any, Any], digest: FromPath[str], name: FromPath[str]) -> Response[bytes]:
    """One of the files above, and no other."""
    if name not in KINDS:
        raise Refused(404, "not-found", "There is no such file.")
    return Response(content(name), media_type=KINDS[name], headers=CACHED)


ROUTES = [assets]
