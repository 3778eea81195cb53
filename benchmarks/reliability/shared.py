"""Several runs of one study, on an instrument that they share: an outage of which each run sees a failure or two.

What a single run sees would be too few failures to know. Beside it, failures that are no outage: a flaky program, and
candidates that truly fail. Where a failure of an outage counts all the same, `story` says what every run knew.
"""

import logging
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.reliability import warm
from benchmarks.reliability.outage import NOISE, TRUTH, X
from ostinato.errors import Failed, Paused
from ostinato.study import Measurement, Study

RUNS, BUDGET, BEFORE = 4, 160, 80  # runs of a study, measurements, and how many of them come before an outage
FAILURES = 8  # of an outage, in all runs together; then it is over
SECONDS = 0.02  # that a measurement takes
AROUND = 1.0  # seconds before the first failure and after the last one, that a story tells
FAILED = "failed"
OFF = "off"  # a file: nothing can be measured while it is there
KINDS = {"an outage": (0.0, 0.0, True), "30% fail at random": (0.3, 0.0, False), "a quarter fails": (0.0, 0.25, False)}


class Found(msgspec.Struct, frozen=True):
    """What became of a study: failures that there were, those that still count, and how often a run paused.

    story: what was told and said around those that count, where that is an outage.
    """

    failed: int
    counting: int
    pauses: int
    story: list[str] = []


def measured(address: str, folder: Path, number: int, flaky: float, failing: float) -> None:
    """One run, in a process of its own; it writes down how often it paused, and what it thought of failures."""
    logger, thoughts = logging.getLogger("ostinato"), logging.FileHandler(folder / f"thoughts{number}")
    thoughts.setFormatter(logging.Formatter("%(created).3f run of process %(process)d: %(message)s"))
    thoughts.addFilter(lambda record: record.levelno == logging.DEBUG)
    logger.addHandler(thoughts)
    logger.setLevel(logging.DEBUG)
    chance = np.random.default_rng([number, 1])
    possible = X[:, 0] <= np.quantile(X[:, 0], 1 - failing)

    def measure(candidate: Any) -> float:
        time.sleep(SECONDS)
        index = int(np.argmin(((X - candidate) ** 2).sum(axis=1)))
        if (folder / OFF).exists() or chance.random() < flaky or not possible[index]:
            raise Failed("no value")
        return float(TRUTH[index] + NOISE * chance.standard_normal())

    with warnings.catch_warnings(record=True) as said, redirect_stderr(StringIO()):
        warnings.simplefilter("always")
        Study("shared", address, patience=600.0).run(measure, workers=1, retry_every=0.05, progress=False)
    pauses = sum(issubclass(each.category, Paused) for each in said)
    (folder / f"pauses{number}").write_text(str(pauses))


def together(address: str, folder: Path, kind: str, seed: int) -> Found:
    """All runs of a study, from beginning to end."""
    flaky, failing, outage = KINDS[kind]
    study = Study("shared", address, X, seed=seed, budget=BUDGET, patience=600.0)
    runs = [warm.start(measured, address, folder, RUNS * seed + each, flaky, failing) for each in range(RUNS)]
    if outage:
        _wait_for(lambda: study.numbered >= BEFORE)
        (folder / OFF).touch()
        _wait_for(lambda: _failed(study) >= FAILURES)
        (folder / OFF).unlink()
    for run in runs:
        run.join()
        assert run.exitcode == 0, f"a run ended with {run.exitcode}"
    pauses = sum(int(file.read_text()) for file in folder.glob("pauses*"))
    counting = study.status().failures
    return Found(_failed(study), counting, pauses, story(study, folder) if outage and counting else [])


def story(study: Study, folder: Path) -> list[str]:
    """What was told from the first failure to the last one, and what the runs thought of it, in the order of time."""
    told = [(each.at, _line(each)) for each in study.measurements(everything=True)]
    failed = [at for at, line in told if FAILED in line]
    thoughts = [line for file in folder.glob("thoughts*") for line in file.read_text().splitlines()]
    lines = [*told, *((float(line.split()[0]), line) for line in thoughts)]
    return [line for at, line in sorted(lines) if min(failed) - AROUND <= at <= max(failed) + AROUND]


def _line(each: Measurement) -> str:
    what = each.told if each.revisions else each.value
    became = FAILED if what is None or what != what else "value"
    why = each.revisions[-1].why if each.revisions else "COUNTS" if became == FAILED else ""
    where = f"batch {each.batch}, repeat {each.repeat}, candidate {each.index}"
    return f"{each.at:.3f} {each.worker} told {where}, begun {each.began:.3f}: {became} {why}".rstrip()


def _failed(study: Study) -> int:
    """Failures that were told; in these studies nothing else is taken back."""
    with study.storage.read("shared") as reader:
        return reader.record.failed + reader.record.withdrawn


def _wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.05)
