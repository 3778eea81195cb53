"""HTTP/1.1 for one connection: uvicorn's, with a limit on how long the headers of a request take, and on their size.

uvicorn limits neither, so that anybody who can connect could hold connections for ever by sending a byte now and then.
"""

import asyncio
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostinato.service.configuration import Limits
from ostinato.service.errors import PROBLEM, Refused


class TimedProtocol(HttpToolsProtocol):
    """A connection. limits: of the server that it belongs to."""

    def __init__(self, limits: Limits, **own: Any) -> None:
        super().__init__(**own)
        self._limits = limits
        self._deadline: asyncio.TimerHandle | None = None  # while headers are waited for
        self._waited = 0  # bytes that came meanwhile

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._wait_for_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is not None:
            self._waited += len(data)
            if self._waited > self._limits.headers:
                words = f"The headers are larger than {self._limits.headers:,} bytes: send fewer, or shorter ones."
                self._refuse(Refused(431, "large-headers", words))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        self._waited = 0
        self._deadline = self.loop.call_later(self._limits.header_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        words = f"The headers did not arrive within {self._limits.header_seconds:g} s: send them at once."
        self._refuse(Refused(408, "slow-headers", words))

    def _refuse(self, refused: Refused) -> None:
        """Answer by ourselves, since there is no request yet that an application could answer."""
        self._stop_waiting()
        if self.transport.is_closing():
            return
        body, problem = msgspec.json.encode(refused.problem), refused.problem
        head = (
            f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: {PROBLEM}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
