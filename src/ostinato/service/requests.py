"""Bodies read strictly: JSON only, every key once, every number a finite one."""

import json
from functools import cache
from typing import Any, NoReturn

import msgspec
from litestar import Request
from litestar.datastructures import State

from ostinato.errors import OstinatoError
from ostinato.service.errors import Refused
from ostinato.service.gate import identity_in
from ostinato.service.service import Service
from ostinato.service.tokens import Identity


class StrictRequest(Request[Identity, Any, State]):
    """A request whose body becomes what its handler takes as `data`, or is refused with the reason."""

    async def json(self) -> Any:
        check_json(self.headers.get("content-type", "").encode("latin-1"))
        kind = self.route_handler.parsed_fn_signature.parameters["data"].annotation
        return decoded(await self.body(), kind)


def service_of(request: Request[Any, Any, Any]) -> Service:
    """The server's studies."""
    return request.app.state["service"]


async def still_sees(request: Request[Any, Any, Any], study: str) -> bool:
    """Whether the token or the cookie of a request is still valid, and for this study: for answers that take long."""
    try:
        found = await identity_in(service_of(request), dict(request.scope["headers"]))
    except OstinatoError:
        return False  # whoever watches comes back when the storage answers
    return found is not None and found.sees(study)


def check_json(content_type: bytes) -> None:
    """Refuse a body that does not say that it is JSON."""
    if content_type.partition(b";")[0].strip().lower() != b"application/json":
        raise Refused(415, "not-json", "Send the body as JSON, with the header Content-Type: application/json.")


def empty_body() -> Refused:
    """What is said of a request without a body where one is needed."""
    return Refused(422, "invalid-body", "The body is empty: send JSON, as the description of this route says.")


def decoded(body: bytes, kind: Any) -> Any:
    """What a body says, as a type."""
    try:
        _STRICT.decode(body.decode())
        return _decoder(kind).decode(body)
    except Refused:
        raise
    except msgspec.ValidationError as error:
        raise Refused(422, "invalid-body", f"The body is not what is wanted here: {error}.") from None
    except (ValueError, RecursionError) as error:  # msgspec's DecodeError, json's, and text that is not UTF-8
        raise Refused(400, "not-json", f"The body cannot be read as JSON: {error}.") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set[str]()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise Refused(400, "duplicate-key", f"The key {twice[:100]!r} comes twice in one object: give it once.")
    return found


def _refuse_constant(word: str) -> NoReturn:
    raise Refused(400, "not-a-number", f"{word} is not JSON: write null for a measurement that failed.")


_STRICT = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_refuse_constant)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Making one takes longer than reading a short body."""
    return msgspec.json.Decoder(kind)
