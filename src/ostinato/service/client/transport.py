"""Requests over the standard library's HTTP: one connection a thread, and tries again where nothing was heard.

Everything that is sent can be sent again: tells count once, and asks and observations carry a key. So a try that failed
half-way, an answer that was lost and a server that is started again are all met by trying again.
"""

import http.client
import logging
import random
import socket
import ssl
import threading
import weakref
from time import monotonic, sleep
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from ostinato.errors import Denied, InvalidSetting, OstinatoError, Unavailable
from ostinato.service.errors import Problem, error_of

T = TypeVar("T")
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0  # seconds between two tries
PATIENCE = 60.0  # seconds for which a server that does not answer is tried again
log = logging.getLogger("ostinato.client")
AGAIN = (408, 429, 502, 503, 504)  # answers after which it is tried again


class Transport:
    """Sends requests to one server. patience: seconds for which it is tried again. timeout: of one try.

    Without patience= a server that was never reached and refuses the connection is not waited for: the address is
    wrong, or it was not started.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, patience: float | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidSetting(f"url={url!r} is not the address of a server: give http://127.0.0.1:8000.")
        token = token.strip()  # as from a file, with the end of its line
        if not token.isascii() or not token.isprintable() or " " in token:
            raise InvalidSetting("token= is not a token (it is not shown here): give what `ostinato token` printed.")
        self._parts, self._token, self._timeout = parts, token, timeout
        self._patience = PATIENCE if patience is None else patience
        self._reached = patience is not None  # or told to wait for it
        self._local = threading.local()
        self._connections: set[http.client.HTTPConnection] = set()  # of all threads
        self._finalizer = weakref.finalize(self, _close_all, self._connections)

    def send(self, method: str, path: str, kind: type[T], body: Any = None, **query: Any) -> T:
        """A request, and its answer as a type; errors are those that a study raises."""
        said = {name: value for name, value in query.items() if value is not None}
        target = f"/api/v1{path}" + (f"?{urlencode(said, doseq=True)}" if said else "")
        data = None if body is None else msgspec.json.encode(body)
        status, answer = self._patiently(method, target, data)
        if status >= 400:
            raise _error(status, answer)
        return msgspec.json.decode(answer or b"null", type=kind)

    def close(self) -> None:
        """Close all connections; the next request opens one again."""
        _close_all(self._connections)
        self._local = threading.local()

    def _patiently(self, method: str, target: str, data: bytes | None) -> tuple[int, bytes]:
        end, wait, silent = monotonic() + self._patience, FIRST_WAIT, True
        while True:
            try:
                status, answer, after = self._once(method, target, data)
                self._reached = True
                if status not in AGAIN or monotonic() + wait > end:
                    return status, answer
                wait = max(wait, after)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if not self._reached and isinstance(error, (ConnectionRefusedError, socket.gaierror)):
                    raise Unavailable(
                        f"No server is at {self._parts.netloc} ({error}): check the address, and that `ostinato serve` "
                        "is running; or give Client(…, patience=60) to wait for it.",
                        passing=True,
                    ) from None
                if silent and self._patience:
                    silent = False
                    log.warning("%s does not answer (%s): trying for %g s", self._parts.netloc, error, self._patience)
                if monotonic() + wait > end:
                    raise Unavailable(
                        f"{self._parts.netloc} does not answer ({error}): what was not acknowledged can be sent again.",
                        passing=True,
                    ) from None
            sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2 * wait, LONGEST_WAIT)

    def _once(self, method: str, target: str, data: bytes | None) -> tuple[int, bytes, float]:
        connection = self._connection()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        connection.request(method, target, data, headers | ({"Content-Type": "application/json"} if data else {}))
        response = connection.getresponse()
        after = response.getheader("Retry-After", "0")
        return response.status, response.read(), float(after) if after.isdigit() else 0.0

    def _connection(self) -> http.client.HTTPConnection:
        """This thread's own, kept open."""
        found = self._local.__dict__.get("connection")
        if found is None:
            host, port = self._parts.hostname or "", self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                found = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
            else:
                found = http.client.HTTPConnection(host, port, timeout=self._timeout)
            self._local.connection = found
            self._connections.add(found)
        return found

    def _drop(self) -> None:
        """Give up this thread's connection."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            self._connections.discard(connection)
            connection.close()


def _close_all(connections: set[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def path_of(study: str) -> str:
    """Of a study, whatever its name."""
    return f"/studies/{quote(study, safe='')}"


def _error(status: int, answer: bytes) -> OstinatoError:
    try:
        problem = msgspec.json.decode(answer, type=Problem)
    except msgspec.DecodeError:
        return Unavailable(f"The server answered {status}: {answer[:200].decode(errors='replace')}")
    if status in (401, 403):
        return Denied(problem.detail)
    return error_of(problem) or InvalidSetting(problem.detail)
