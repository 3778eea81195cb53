"""A day in the life of a study, on a scaled clock: outages, kills, restarts, retractions, corrections, new candidates.

Four runs on two machines share a study on PostgreSQL. Everything that the day holds (how long a measurement takes, when
outages begin and end, pauses between tries, when something is killed or changed) is planned in simulated seconds, and
happens that much faster. What the library itself takes is not scaled: deciding, storing, and leases of some seconds.
"""

import itertools
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.reliability import warm
from ostinato import Optimizer
from ostinato.errors import Failed, InvalidSetting
from ostinato.study import Measurement, Study, verify
from ostinato.study import workers as processes

DAY, HOUR, MINUTE = 86_400.0, 3_600.0, 60.0
LONG, SHORT = 900.0, 90.0  # seconds that a day takes
MACHINES, RUNS, WORKERS = 2, 2, 2  # runs of a machine, and measurements side by side in each
MEASUREMENT = 4 * MINUTE
LEASE = 3.0  # seconds, of the wall clock
X = np.stack(np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 8)), axis=-1).reshape(-1, 2)
NOISE = 0.3
OFF = "off"  # a file: nothing can be measured while it is there
HAPPENED = "happened"  # a file: what was done, and when


class Day(msgspec.Struct, frozen=True):
    """How often things happen in a day, and for how many seconds it lasts."""

    seconds: float = LONG
    outages: int = 8
    kills: int = 40
    crashes: int = 4  # of a machine: all its runs are killed
    restarts: int = 4  # of the server
    revisions: int = 24  # half of them retractions, half of them corrections
    additions: int = 12  # of candidates

    @property
    def scale(self) -> float:
        """Simulated seconds in one of the wall clock."""
        return DAY / self.seconds


SHORT_DAY = Day(SHORT, outages=3, kills=8, crashes=1, restarts=1, revisions=8, additions=4)


class Soaked(msgspec.Struct, frozen=True):
    """What became of a day."""

    done: dict[str, int]
    stored: int  # measurements that count
    failures: list[str]  # of outages, that count all the same: moment, worker, batch and repeat
    lost: list[str]  # values that were acknowledged, and are not there: with batch, repeat and moment
    doubled: int
    damage: list[str]
    paused: int  # runs that are still noted as paused
    apart: float  # how far the means of all candidates are from those of an optimiser that was told what counts
    same_best: bool


# A run, in a process of its own


def run(address: str, folder: Path, machine: str, number: int, scale: float) -> None:
    """Measure until the budget is spent; every value that is stored is written down then."""
    _be_on(machine)
    os.chdir(folder)
    rng = np.random.default_rng([number, os.getpid()])
    file = (folder / f"acknowledged{number}-{os.getpid()}").open("a")

    def measure(candidate: Any) -> float:
        end = time.monotonic() + MEASUREMENT / scale
        while time.monotonic() < end and not (folder / OFF).exists():
            time.sleep(min(0.05, MEASUREMENT / scale))
        if (folder / OFF).exists():
            raise Failed("the pump is off")
        return float(truth(candidate) + NOISE * rng.standard_normal())

    def note(task: Any, values: list[float]) -> None:
        told = [(task.start + place, value.hex()) for place, value in enumerate(values) if value == value]
        file.write("".join(f"{value} {task.batch} {repeat} {time.time():.3f}\n" for repeat, value in told))
        file.flush()

    pauses = {"retry_every": 2 * MINUTE / scale, "give_up_after": inf}
    study = Study("soak", address, patience=120.0)
    study.run(measure, workers=WORKERS, lease=LEASE, progress=False, on_tell=note, **pauses)


def truth(candidate: Any) -> Any:
    return -((candidate[0] - 0.3) ** 2) - (candidate[1] - 0.6) ** 2


def _be_on(machine: str) -> None:
    """A process of another machine: it has another name, and neither sees the other's processes."""
    socket.gethostname = lambda: machine  # type: ignore[assignment]
    seen = processes._here
    processes._here = lambda: [machine, *(f"{each}-{machine}" for each in seen()[1:])]  # type: ignore[assignment]


# The day


class Soak:
    """The runs, and what happens to them."""

    def __init__(self, server: Any, folder: Path, day: Day, seed: int = 0) -> None:
        self._server, self._folder, self._day, self._rng = server, folder, day, random.Random(seed)
        self._address, self._done = server.database(), Counter[str]()
        self._study = Study("soak", self._address, X, seed=0, budget=10**6, patience=120.0)
        self._new = itertools.count(1)
        self._runs: list[ForkServerProcess] = []

    def live(self, report: Callable[[float], object] = float) -> Soaked:
        """From beginning to end. report: called with the share of the day that is over."""
        start, plan = time.monotonic(), sorted(self._plan(), key=lambda each: each[0])
        self._runs = [self._begun(place) for place in range(MACHINES * RUNS)]
        for at, happens, *what in plan:
            self._wait_until(start, at / self._day.scale, report)
            happens(*what)
        self._end()
        return self._found()

    def _plan(self) -> Iterator[tuple[Any, ...]]:
        """What happens when, in simulated seconds."""
        day, rng = self._day, self._rng
        moments = sorted(rng.uniform(HOUR, DAY - 3 * HOUR) for _ in range(day.outages))
        for begin, following in zip(moments, [*moments[1:], DAY - HOUR], strict=True):
            yield begin, self._switch, True
            yield min(begin + rng.uniform(10 * MINUTE, 90 * MINUTE), following - MINUTE), self._switch, False
        for kind, times in (
            (self._kill, day.kills), (self._crash, day.crashes), (self._restart, day.restarts),
            (self._revise, day.revisions), (self._add, day.additions),
        ):  # fmt: skip
            for _ in range(times):
                yield rng.uniform(HOUR / 2, DAY - HOUR), kind
        yield DAY, lambda: None

    def _wait_until(self, start: float, seconds: float, report: Callable[[float], object]) -> None:
        """Until so many seconds after a moment. Runs that have ended by themselves are an error."""
        while (passed := time.monotonic() - start) < seconds:
            report(passed / self._day.seconds)
            time.sleep(min(0.2, seconds - passed))
            assert all(each.is_alive() for each in self._runs), "a run has ended by itself"

    def _begun(self, place: int) -> ForkServerProcess:
        machine = f"machine-{place // RUNS + 1}"
        return warm.start(run, self._address, self._folder, machine, place, self._day.scale)

    def _switch(self, off: bool) -> None:
        off_file = self._folder / OFF
        off_file.touch() if off else off_file.unlink(missing_ok=True)
        self._done["outages"] += off
        self._note("an outage begins" if off else "an outage ends")

    def _kill(self, place: int | None = None) -> None:
        """A run is killed, and started again."""
        place = self._rng.randrange(len(self._runs)) if place is None else place
        self._note(f"run {self._runs[place].pid} is killed")
        self._runs[place].kill()
        self._runs[place].join()
        self._runs[place] = self._begun(place)
        self._done["kills"] += 1

    def _note(self, what: str) -> None:
        """For whoever has to find out why something was lost."""
        with (self._folder / HAPPENED).open("a") as file:
            file.write(f"{time.time():.3f} {what}\n")

    def _crash(self) -> None:
        machine = self._rng.randrange(MACHINES)
        for place in range(machine * RUNS, (machine + 1) * RUNS):
            self._kill(place)
        self._done["crashes"] += 1

    def _restart(self) -> None:
        self._server.stop("immediate")
        self._server.start()
        self._done["restarts"] += 1

    def _revise(self) -> None:
        """Take one of the last measurements back, or correct it."""
        recent = _counting(self._study)
        if not recent:
            return
        number = self._rng.choice(recent)
        if self._done["retractions"] <= self._done["corrections"]:
            self._done["retractions"] += self._study.retract(number=number, why="soak")
        else:
            self._study.correct(number=number, new=self._rng.uniform(-1.0, 0.0), why="soak")
            self._done["corrections"] += 1

    def _add(self) -> None:
        rows = [[self._rng.random(), self._rng.random()] for _ in range(self._rng.randint(1, 3))]
        self._done["candidates added"] += len(self._study.add(rows))

    def _end(self) -> None:
        """The budget is what was measured, so that every run ends by itself, and stores what it has."""
        more = 2 * len(self._runs)
        while True:
            with suppress(InvalidSetting):  # more was told in between
                self._study.allow(self._study.numbered + more)
                break
            more *= 2
        for each in self._runs:
            each.join(600)
            assert each.exitcode == 0, f"a run ended with {each.exitcode}"

    # What was found

    def _found(self) -> Soaked:
        study = Study("soak", self._address)
        study.retract(number=_counting(study)[-1])  # so that no fit from before is in the way
        everything = [each.told if each.revisions else each.value for each in study.measurements(everything=True)]
        told = Counter(float(value).hex() for value in everything if value is not None and value == value)
        lines = [line for file in self._folder.glob("acknowledged*") for line in file.read_text().splitlines()]
        status, fresh = study.status(), from_scratch(study)
        means = [each.predict().mean for each in (study.optimizer, fresh)]
        return Soaked(
            done=dict(self._done),
            stored=status.measurements,
            failures=[_line(each) for each in study.measurements() if each.value is None or each.value != each.value],
            lost=[line for line in lines if line.split()[0] not in told],
            doubled=sum(count - 1 for count in told.values()),
            damage=verify(study.storage, "soak"),
            paused=len(status.paused),
            apart=float(np.abs(np.subtract(*means)).max()),
            same_best=study.best().index == fresh.best().index,
        )


def _line(each: Measurement) -> str:
    return f"{each.at:.3f} {each.worker} {each.batch} {each.repeat}"


def from_scratch(study: Study) -> Optimizer:
    """A new optimiser that is told what counts in the end, and nothing else."""
    table = study.optimizer.core.problem.table
    fresh = Optimizer(np.array([table[row] for row in range(len(table))]), seed=0)
    values: dict[int, list[float | None]] = {}
    for each in study.measurements():
        values.setdefault(each.index, []).append(each.value)
    for index, measured in values.items():
        fresh.observe(index, measured)
    return fresh


def _counting(study: Study) -> list[int]:
    """The numbers of the last measurements that gave a value and count."""
    recent = study.last_measurements(20)
    return [each.number for each in recent if each.value is not None and each.value == each.value]
