"""The service under load, from a second process: single tells, batch tells, and asks that go on meanwhile.

    python -m benchmarks.service --tells 20000 --requests 60

A real server (`ostinato serve` on SQLite, in a process of its own) is told single values by 256 connections that each
wait for their acknowledgement, then batches of answers; meanwhile another connection asks all the time, and a third one
fetches what an open page of the dashboard does. What was acknowledged is compared with what is stored in the end. Rates
are by wall clock, and beside them stands the processor time that the server took for each tell, and how many processes
were running: on a busy machine that is the figure to go by.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ostinato.service.tokens import Role, create_token
from ostinato.storage import open_storage
from ostinato.study import Study, verify

CONNECTIONS = 256
PARTS = ("counters", "answer", "warnings", "figures/progress")  # that an open page fetches when a study has changed
SERVE = [sys.executable, "-c", "from ostinato.cli import main; main()", "serve"]


class Connection(asyncio.Protocol):
    """One connection over which requests go one after the other."""

    def __init__(self) -> None:
        self.transport: Any = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if len(body) >= length and self._answer is not None:
            answer, self._answer, self._buffer = self._answer, None, b""
            if not answer.done():
                answer.set_result((int(head[9:12]), body[:length]))

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server has gone"))

    async def post(self, head: bytes, body: bytes) -> tuple[int, bytes]:
        """Send a request, and wait for its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(head % len(body) + body)
        return await self._answer


class Server:
    """A server in a process of its own."""

    def __init__(self, storage: Path) -> None:
        self.storage = storage
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        call = [*SERVE, str(storage), "--port", "0", "--no-browser"]
        self.process = subprocess.Popen(
            call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        link = self.process.stdout.readline()
        assert link.startswith("http://"), "the server did not start"
        self.port = int(link.split(":")[2].partition("/")[0])

    def processor_time(self) -> float:
        """Seconds, of all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)

    def heads(self, token: str, study: str) -> "Heads":
        return Heads(self.port, token, study)


class Heads:
    """The beginnings of requests, made once."""

    def __init__(self, port: int, token: str, study: str) -> None:
        self._port, self._token, self._study = port, token, study

    def __call__(self, verb: str) -> bytes:
        return self._head(f"POST /api/v1/studies/{self._study}/{verb}")

    def part(self, name: str) -> bytes:
        """Of a request for a part of the study's page."""
        return self._head(f"GET /studies/{self._study}/parts/{name}")

    def _head(self, what: str) -> bytes:
        return (
            f"{what} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Authorization: Bearer {self._token}\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        ).encode()


@contextmanager
def laboratory() -> Iterator[tuple[Path, str]]:
    """A storage with an empty study, and a token for it."""
    with tempfile.TemporaryDirectory(prefix="ostinato-") as folder:
        path = Path(folder) / "lab.db"
        from ostinato.kernels import Matern52
        from ostinato.policies import MiniUCB

        X = np.random.default_rng(0).random((2_000, 2))
        settings: dict[str, Any] = {"kernel": Matern52(0.3, 1.0), "noise_std": 30.0, "policy": MiniUCB(C=1.2, beta=2)}
        Study("load", path, X, seed=0, **settings)
        token, _ = create_token(open_storage(path), "load", Role.GATEWAY, (), time.time(), None)
        yield path, token


async def places(connection: Connection, heads: Heads, wanted: int, worker: str) -> list[tuple[int, int]]:
    """So many repeats to tell, asked for from the server for one worker: batch and number of each."""
    found = list[tuple[int, int]]()
    while len(found) < wanted:
        body = json.dumps({"limit": wanted - len(found), "lease": 3600, "worker": worker}).encode()
        status, answer = await connection.post(heads("ask"), body)
        assert status == 200, answer
        for task in json.loads(answer)["tasks"]:
            found += [(task["batch"], task["start"] + i) for i in range(task["repeats"])]
    return found


class Load:
    """Clients of a server."""

    def __init__(self, server: Server, token: str, study: str = "load") -> None:
        self.server, self.heads = server, server.heads(token, study)
        self.acknowledged: list[tuple[int, int]] = []
        self.latencies: list[float] = []
        self.asks: list[float] = []
        self.parts: list[float] = []
        self.stopped = False

    async def connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, "127.0.0.1", self.server.port))[1]

    async def todo(self, count: int, clients: int) -> list[list[tuple[int, int]]]:
        """What each of some clients is to tell, assigned to it."""
        connection = await self.connect()
        each = [await places(connection, self.heads, count // clients, f"robot-{i}") for i in range(clients)]
        connection.transport.close()
        return each

    async def single(self, todo: list[tuple[int, int]]) -> None:
        """One client: tells one value at a time, and waits until it is stored."""
        connection, head = await self.connect(), self.heads("tell")
        for batch, repeat in todo:
            if self.stopped:
                break
            body = b'{"batch":%d,"start":%d,"values":[%d.5]}' % (batch, repeat, repeat % 100)
            start = time.perf_counter()
            status, answer = await connection.post(head, body)
            assert status == 200, answer
            self.latencies.append(time.perf_counter() - start)
            self.acknowledged.append((batch, repeat))
        connection.transport.close()

    async def batches(self, todo: Iterator[list[tuple[int, int, int]]]) -> None:
        """One client: tells many answers at a time."""
        connection, head = await self.connect(), self.heads("tell-all")
        for part in todo:
            answers = [{"batch": b, "start": s, "values": [i % 100 + 0.5 for i in range(n)]} for b, s, n in part]
            body, start = json.dumps({"answers": answers}).encode(), time.perf_counter()
            status, answer = await connection.post(head, body)
            assert status == 200, answer
            self.latencies.append(time.perf_counter() - start)
            self.acknowledged += [(b, s + i) for b, s, n in part for i in range(n)]
        connection.transport.close()

    async def asking(self) -> None:
        """One client that asks all the time, and hands back what it gets."""
        connection = await self.connect()
        while not self.stopped:
            start = time.perf_counter()
            status, answer = await connection.post(self.heads("ask"), b'{"worker":"asker","lease":60}')
            assert status == 200, answer
            self.asks.append(time.perf_counter() - start)
            await connection.post(self.heads("release"), b'{"worker":"asker"}')
            await asyncio.sleep(0.2)
        connection.transport.close()

    async def looking(self) -> None:
        """A page of the dashboard that stays open: its parts are fetched once a second, as the study changes."""
        connection = await self.connect()
        while not self.stopped:
            for name in PARTS:
                start = time.perf_counter()
                status, answer = await connection.post(self.heads.part(name), b"")
                assert status == 200, answer
                self.parts.append(time.perf_counter() - start)
            await asyncio.sleep(1.0)
        connection.transport.close()

    @asynccontextmanager
    async def others(self) -> AsyncIterator[None]:
        """Somebody asks, and somebody looks, meanwhile."""
        tasks = [asyncio.create_task(self.asking()), asyncio.create_task(self.looking())]
        yield
        self.stopped = True
        await asyncio.gather(*tasks)

    def meanwhile(self) -> str:
        return (
            f"{len(self.asks)} asks meanwhile (median {quantile(self.asks, 0.5):.2f} s), {len(self.parts)} parts of a "
            f"page (median {quantile(self.parts, 0.5):.2f} s); load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        )


def quantile(values: list[float], q: float) -> float:
    return float(np.quantile(values, q)) if values else float("nan")


async def measure_single(server: Server, token: str, count: int) -> str:
    """Single tells of many connections, while others ask."""
    load = Load(server, token)
    todo = await load.todo(count, CONNECTIONS)
    async with load.others():
        before, start = server.processor_time(), time.perf_counter()
        await asyncio.gather(*map(load.single, todo))
        count, wall, used = len(load.acknowledged), time.perf_counter() - start, server.processor_time() - before
    return (
        f"single tells  {count / wall:8,.0f} /s over {CONNECTIONS} connections ({wall:.1f} s), p50 "
        f"{1e3 * quantile(load.latencies, 0.5):.0f} ms, p99 {1e3 * quantile(load.latencies, 0.99):.0f} ms; server "
        f"{1e6 * used / count:.0f} µs of processor a tell ({count / used:,.0f} a second of processor time); "
        f"{load.meanwhile()}"
    )


async def measure_batches(server: Server, token: str, requests: int) -> str:
    """Batch tells of four connections, while others ask: answers of up to 100 values, 10,000 values a request."""
    load = Load(server, token)
    (listed,) = await load.todo(requests * 10_000, 1)
    runs = list(_runs(listed))
    parts = iter([runs[i : i + 100] for i in range(0, len(runs), 100)])
    async with load.others():
        before, start = server.processor_time(), time.perf_counter()
        await asyncio.gather(*(load.batches(parts) for _ in range(4)))
        wall, used, count = time.perf_counter() - start, server.processor_time() - before, len(load.acknowledged)
    return (
        f"batch tells   {count / wall:8,.0f} feedbacks/s over 4 connections ({wall:.1f} s), p50 "
        f"{1e3 * quantile(load.latencies, 0.5):.0f} ms, p99 {1e3 * quantile(load.latencies, 0.99):.0f} ms "
        f"a request of {count / max(1, len(load.latencies)):,.0f}; "
        f"server {1e6 * used / count:.1f} µs of processor a feedback ({count / used:,.0f} a second of processor time); "
        f"{load.meanwhile()}"
    )


def _runs(listed: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Repeats that follow each other, up to 100 at a time: batch, first, how many."""
    first, count = listed[0], 0
    for batch, repeat in listed:
        if batch == first[0] and repeat == first[1] + count and count < 100:
            count += 1
        else:
            yield (*first, count)
            first, count = (batch, repeat), 1
    yield (*first, count)


async def _killed(server: Server, token: str, count: int, after: float, clients: int) -> Load:
    load = Load(server, token)
    todo = await load.todo(count, clients)

    async def client(own: list[tuple[int, int]]) -> None:
        with suppress(ConnectionError):
            await load.single(own)

    tasks = [asyncio.create_task(client(own)) for own in todo]
    while len(load.acknowledged) < count * after:
        await asyncio.sleep(0.01)
    server.process.kill()
    await asyncio.gather(*tasks)
    server.process.communicate()
    return load


def kill_under_load(count: int = 4_000, after: float = 0.5, clients: int = CONNECTIONS) -> str:
    """kill -9 of the server while connections tell: everything that was acknowledged is stored, and sound."""
    with laboratory() as (path, token):
        load = asyncio.run(_killed(Server(path), token, count, after, clients))
        study = Study("load", path)
        stored = {(each.batch, each.repeat): each.value for each in study.measurements()}
        lost = [place for place in load.acknowledged if stored.get(place) != place[1] % 100 + 0.5]
        problems = verify(study.storage, "load")
    assert not lost, f"{len(lost)} acknowledged values are lost: {lost[:5]}"
    assert not problems, problems
    told, kept = len(load.acknowledged), len(stored)
    return f"kill -9       {told:,} acknowledged, {kept:,} stored, none lost, verify finds nothing"


def run(tells: int = 20_000, requests: int = 60) -> None:
    """All of it, on a server each."""
    for measure, count in ((measure_single, tells), (measure_batches, requests)):
        with laboratory() as (path, token):
            server = Server(path)
            try:
                print(asyncio.run(measure(server, token, count)), flush=True)
            finally:
                server.stop()
            problems = verify(open_storage(path), "load")
            assert not problems, problems
    print(kill_under_load(), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tells", type=int, default=20_000)
    parser.add_argument("--requests", type=int, default=60)
    given = parser.parse_args()
    run(given.tells, given.requests)
