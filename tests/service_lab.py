"""A laboratory behind the service, in this process."""

import asyncio
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import httpx

from ostinato.candidates.files import read_csv_text
from ostinato.service.app import create_app
from ostinato.service.serving import Place, Server
from ostinato.service.tokens import Role, create_token, free_name
from ostinato.storage import open_storage
from ostinato.study import Study
from terminal import PATIENCE, start, wait_until

ROWS = [{"temp": temp, "solvent": solvent} for temp in (40, 50, 60) for solvent in ("water", "ethanol")]
CSV = "temp,solvent\n" + "".join(f"{row['temp']},{row['solvent']}\n" for row in ROWS)


class Lab:
    """A storage with a study, an application that serves it, and tokens by role."""

    def __init__(self, path, config=None):
        self.path = path
        self.study = Study("reaction", path, read_csv_text(CSV), budget=60, seed=0)
        self.storage = open_storage(path)
        self.tokens = {role: self.token(role) for role in Role}
        self.app = create_app(self.storage, config)

    def token(self, role, studies=(), expires=None):
        name = free_name(self.storage, Role(role), time.time())
        return create_token(self.storage, name, Role(role), studies, time.time(), expires)[0]

    def client(self, role=None, token=None, **headers):
        """An HTTP client of this process; with a token where one is wanted."""
        token = self.tokens[Role(role)] if role else token
        own = {"authorization": f"Bearer {token}"} if token else {}
        transport = httpx.ASGITransport(self.app)
        return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=own | headers)

    def request(self, method, path, role="admin", token=None, headers=None, **more):
        """One request, and its answer."""

        async def send():
            async with self.client(None if token else role, token) as client:
                return await client.request(method, path, headers=headers, **more)

        return asyncio.run(send())

    def post(self, verb, body, **more):
        return self.request("POST", f"/api/v1/studies/reaction/{verb}", json=body, **more)

    def get(self, what="", **more):
        return self.request("GET", f"/api/v1/studies/reaction{what and '/'}{what}", **more)


@contextmanager
def listening_at(app):
    """The application on a port of this machine, in a thread; gives the port."""
    server = Server(app, Place(port=0))
    server.config.port = 0
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


class Serving:
    """`ostinato serve`, in a process of its own."""

    def __init__(self, where, *options, port=0, program=(), **more):
        """program: what runs in place of our own."""
        call = (*program, "serve", where, "--port", port, "--no-browser", *options)
        self.process = start(*call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.link = self.process.stdout.readline().strip()
        assert self.link, self.process.communicate()[1]
        self.url = self.link.partition("/login")[0]
        self.port = urlsplit(self.url).port

    def end(self, number=signal.SIGINT):
        """Stop it, Ctrl-C or harder; returns what it said on stderr."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=PATIENCE)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)


class Deaf:
    """A proxy that passes requests on, and loses the first answers: the server has acted, and nobody hears of it."""

    def __init__(self, port, losses):
        self._port, self.losses = port, losses
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self._port)) as server:
            threading.Thread(target=_copied, args=(client, server), daemon=True).start()
            while answer := server.recv(65_536):
                if self.losses:
                    self.losses -= 1
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(answer)

    def close(self):
        self._listening.close()


def _copied(source, target):
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)


__all__ = ["CSV", "ROWS", "Deaf", "Lab", "Serving", "listening_at", "wait_until"]
