"""The first view of a large study in the dashboard, and what a dashboard costs that is only open.

A study of 100,000 candidates and 1,000,000 measurements, served by `ostinato serve` in a process of its own. The first
view is the page with the recommended candidate; figures come after it. "Cold" is a server that was just started, "warm"
one that was asked before; "after a tell" one whose study has changed since. Studies keep their last answer, so that
a server that was just started shows it; the first row is a study that never gave one. Processor time of the server,
which is what a person waits on a machine that does nothing else; in brackets by the clock.
"""

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import httpx
import numpy as np
from rich.console import Console

from benchmarks.problem import Row
from ostinato import Study
from ostinato.errors import OstinatoWarning

ROWS, UNIQUE, REPEATS = 100_000, 500, 2_000
COLD, WARM, IDLE = 5.0, 1.0, 0.01
WATCHED = 20.0  # seconds
STUDY = "/studies/large"
TICK = os.sysconf("SC_CLK_TCK")


def run(console: Console) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "large.db"
        study = make(file)
        with served(file) as (pid, client):
            yield row("first view, cold, before anything was ever answered", spent(pid, lambda: view(client)), None)
        with served(file) as (pid, client):
            yield from measured(pid, client, study)
    console.print(f"{ROWS:,} candidates, {UNIQUE * REPEATS:,} measurements of {UNIQUE:,} of them", highlight=False)


@contextmanager
def served(file: Path) -> Iterator[tuple[int, httpx.Client]]:
    """A server of its own process, and a client that is signed in."""
    command = [sys.executable, "-m", "ostinato", "serve", str(file), "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        link = server.stdout.readline().strip()
        with httpx.Client(base_url=link.split("/login")[0], timeout=600, follow_redirects=True) as client:
            client.get(link).raise_for_status()
            yield server.pid, client
    finally:
        server.terminate()
        server.wait(60)


def view(client: httpx.Client) -> None:
    """The page, and the answer on it."""
    for part in ("", "/parts/answer"):
        client.get(STUDY + part).raise_for_status()


def make(file: Path) -> Study:
    """Values of few candidates, many times each."""
    warnings.simplefilter("ignore", OstinatoWarning)
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (ROWS, 4))
    study = Study("large", file, points, seed=0)
    for row in rng.choice(ROWS, UNIQUE, replace=False).tolist():
        study.observe(row, -float(np.sum(points[row] ** 2)) + rng.normal(0, 0.3, REPEATS))
    return study


def measured(pid: int, client: httpx.Client, study: Study) -> Iterator[Row]:
    yield row("first view, cold", spent(pid, lambda: view(client)), COLD)
    yield row("first view, warm", min(spent(pid, lambda: view(client)) for _ in range(5)), WARM)
    with client.stream("GET", f"{STUDY}/events"):
        sleep(5)
        before = processor(pid)
        sleep(WATCHED)
        share = (processor(pid) - before) / WATCHED
    yield Row("an open dashboard in which nothing happens", f"{share:.2%} of a core", f"< {IDLE:.0%}", share < IDLE)
    for part in ("/log", "/parts/candidates", "/parts/candidates?sort=high", "/parts/candidates?after=50000"):
        yield row(f"{part}, first time", spent(pid, lambda part=part: client.get(STUDY + part)), None)
    study.observe(7, [0.1])
    yield row("first view after a tell", spent(pid, lambda: view(client)), None)


def spent(pid: int, action: Callable[[], object]) -> tuple[float, float]:
    """Processor time of the server, and seconds by the clock."""
    before, start = processor(pid), perf_counter()
    action()
    return processor(pid) - before, perf_counter() - start


def processor(pid: int) -> float:
    """Seconds of processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def row(what: str, taken: tuple[float, float], wanted: float | None) -> Row:
    own, clock = taken
    words = "" if wanted is None else f"≤ {wanted:g} s"
    return Row(what, f"{own:.2f} s ({clock:.2f} s)", words, None if wanted is None else own <= wanted)
