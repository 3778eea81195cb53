"""HTTP/1.1 for one connection: uvicorn's, with limits on how long a request takes to arrive, and on its headers' size.

uvicorn limits neither, so that anybody who can connect could hold connections for ever by sending a byte now and then.
Most requests arrive whole, in one piece, and take no timer at all. An answer of the short way is written in one piece.
"""

import asyncio
from collections.abc import Iterable
from enum import Enum
from functools import partial
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ostinato.service.configuration import Limits
from ostinato.service.errors import PROBLEM, Refused

WHOLE = "ostinato.whole"  # among the extensions in a request's scope: writes a whole answer, by `send_whole`


class RequestPart(Enum):
    """What of a request is waited for."""

    HEADERS = "headers"
    BODY = "body"


class TimedProtocol(HttpToolsProtocol):
    """A connection. limits: of the server that it belongs to."""

    def __init__(self, limits: Limits, **own: Any) -> None:
        super().__init__(**own)
        self._limits = limits
        self._awaited: RequestPart | None = RequestPart.HEADERS  # of the request that is arriving
        self._timed: RequestPart | None = None  # what the deadline is for
        self._deadline: asyncio.TimerHandle | None = None
        self._waited = 0  # bytes of headers that came meanwhile

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._awaited = RequestPart.HEADERS

    def on_headers_complete(self) -> None:
        self._awaited = RequestPart.BODY
        super().on_headers_complete()
        self.scope["extensions"] = {WHOLE: partial(send_whole, self.cycle)}  # type: ignore[typeddict-item]

    def on_message_complete(self) -> None:
        self._awaited = None
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._awaited is not self._timed:
            self._watch()
        if self._awaited is RequestPart.HEADERS:
            self._waited += len(data)
            if self._waited > self._limits.headers:
                words = f"The headers are larger than {self._limits.headers:,} bytes: send fewer, or shorter ones."
                self._refuse(Refused(431, "large-headers", words))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """From now on, time what is awaited."""
        self._stop_watching()
        self._timed, self._waited = self._awaited, 0
        if self._awaited is not None:
            self._deadline = self.loop.call_later(self._seconds, self._too_slow)

    def _stop_watching(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    @property
    def _seconds(self) -> float:
        return self._limits.body_seconds if self._awaited is RequestPart.BODY else self._limits.header_seconds

    def _too_slow(self) -> None:
        if self.flow.read_paused:  # it is the server that does not read on
            self._watch()
            return
        what = "body" if self._awaited is RequestPart.BODY else "headers"
        words = f"The {what} did not arrive within {self._seconds:g} s: send all at once."
        self._refuse(Refused(408, f"slow-{what}", words))

    def _refuse(self, refused: Refused) -> None:
        """Answer by ourselves, unless an application has, and close the connection."""
        self._stop_watching()
        if self.transport.is_closing():
            return
        answered = self._awaited is RequestPart.BODY and self.cycle.response_started
        if not answered:
            body, problem = msgspec.json.encode(refused.problem), refused.problem
            head = (
                f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: {PROBLEM}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()


def head_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Lines of headers, for `send_whole`."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def send_whole(cycle: RequestResponseCycle, head: bytes, body: bytes) -> bool:
    """Answer a request with 200, in one piece: head, from `head_of`, and body.

    False where that is not simply possible (the client reads slowly, has gone, or wants the connection closed): nothing
    was sent then.
    """
    if cycle.flow.write_paused or cycle.disconnected or cycle.response_started or not cycle.keep_alive:
        return False
    own = head_of(cycle.default_headers)
    cycle.transport.write(b"HTTP/1.1 200 OK\r\n%b%bcontent-length: %d\r\n\r\n%b" % (own, head, len(body), body))
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    cycle.on_response()
    return True
