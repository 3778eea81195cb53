"""A server on an address: what it takes to be reached from elsewhere, the link that is printed, and a clean end."""

import ipaddress
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import time
from types import FrameType
from typing import Any

import msgspec
import uvicorn

from ostinato.errors import InvalidSetting
from ostinato.service.app import Application, create_app
from ostinato.service.configuration import LOOPBACK, Config, Limits
from ostinato.service.protocol import TimedProtocol
from ostinato.service.tokens import is_valid
from ostinato.storage import Storage

GRACE = 10  # seconds for which requests under way are waited for at the end
AGAIN = 2  # seconds for the rest, and for all of it once the end was asked for twice
IDLE = 75  # seconds after which a connection that nothing is sent on is closed


class Place(msgspec.Struct, frozen=True):
    """Where a server listens, and how it is reached. names: by which it may be called besides those of loopback."""

    host: str = "127.0.0.1"
    port: int = 8000
    certfile: str | None = None
    keyfile: str | None = None
    behind_proxy: bool = False
    names: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def tls(self) -> bool:
        return self.certfile is not None

    @property
    def config(self) -> Config:
        """Who may call it by what name; cookies are for TLS alone where that is what it is reached by."""
        own = () if self.host in ("0.0.0.0", "::") else (self.host.lower(),)
        names = tuple(name.lower() for name in self.names)
        return Config(tuple(dict.fromkeys((*LOOPBACK, *own, *names))), self.tls or self.behind_proxy, Limits())

    def link(self, port: int, path: str) -> str:
        """An address for a person on this machine, or where the server is known by a name, for anybody."""
        scheme = "https" if self.tls or (self.behind_proxy and self.names) else "http"
        if self.names:
            return f"{scheme}://{self.names[0]}{'' if self.behind_proxy else f':{port}'}{path}"
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{path}"


def check_place(place: Place, storage: Storage) -> None:
    """Refuse what would let others listen in, or in."""
    if (place.certfile is None) != (place.keyfile is None):
        raise InvalidSetting("A certificate and its key belong together: give both --certfile and --keyfile.")
    if place.local or place.behind_proxy:
        return
    if not place.tls:
        raise InvalidSetting(
            f"host={place.host} can be reached from other machines, and without TLS anybody between could read tokens: "
            "give --certfile and --keyfile, or --behind-proxy where a proxy encrypts; or leave --host out."
        )
    now = time()
    if not any(is_valid(token, now) for token in storage.patiently(storage.tokens)):
        raise InvalidSetting(
            f"host={place.host} can be reached from other machines, and no token is there to reach it with: make one "
            "with `ostinato token create`, or leave --host out."
        )


def serve(storage: Storage, place: Place, say: Callable[[str, str], object], *, browser: bool = True) -> None:
    """Serve until Ctrl-C. say: called with the link and with the address when it listens."""
    check_place(place, storage)
    application = create_app(storage, place.config)
    listening = _listening(place)
    port = listening.getsockname()[1]
    with listening:
        server = Server(application, place)
        server.when_started = lambda: _announce(application, place, port, say, browser=browser)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
        if not server.started:
            raise InvalidSetting("The server could not be started: its log above says why.")


class Server(uvicorn.Server):
    """uvicorn, which says when it listens, and ends streams before it waits for them."""

    when_started: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, application: Application, place: Place) -> None:
        self._application = application
        settings: dict[str, Any] = {"ssl_certfile": place.certfile, "ssl_keyfile": place.keyfile}
        settings["http"] = partial(TimedProtocol, application.service.config.limits)
        super().__init__(
            uvicorn.Config(
                application,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=place.behind_proxy,
                ws="none",
                timeout_keep_alive=IDLE,
                timeout_graceful_shutdown=GRACE,
                **settings,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            threading.Thread(target=self.when_started, daemon=True).start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End soon, whatever is being worked out: at once where this is asked for again. What was told is stored."""
        end = threading.Timer(AGAIN if self.should_exit else GRACE + AGAIN, os._exit, (128 + sig,))
        end.daemon = True
        end.start()
        self._application.service.events.close()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._application.service.events.close()
        await super().shutdown(sockets)


def _listening(place: Place) -> socket.socket:
    """A socket at the address, or an error that says what is wrong with it."""
    kind = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listening = socket.socket(kind, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((place.host, place.port))
    except OSError as error:
        listening.close()
        raise InvalidSetting(
            f"Nothing can listen at {place.host}, port {place.port} ({error.strerror}): give another --port, or 0 for "
            "any that is free."
        ) from None
    return listening


def _announce(
    application: Application, place: Place, port: int, say: Callable[[str, str], object], *, browser: bool
) -> None:
    """Say where it is, and open the browser where there is one: each with a code of its own, which works once."""
    codes = application.service.authentication
    say(place.link(port, f"/login?code={codes.new_code()}"), place.link(port, ""))
    if browser and has_display():
        webbrowser.open(place.link(port, f"/login?code={codes.new_code()}"))


def has_display() -> bool:
    """Whether a browser could be shown."""
    if sys.platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


__all__ = ["Place", "Server", "check_place", "has_display", "serve"]
