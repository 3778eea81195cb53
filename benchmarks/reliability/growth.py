"""How long tell, ask, open and best take as a study grows: with its log, and with its candidates.

Times are of the wall clock, the disk included; those of the processor are beside them, since a busy disk is no growth.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ostinato import MiniUCB
from ostinato.kernels import RBF
from ostinato.storage import LogRow, Writer
from ostinato.storage.values import told_values
from ostinato.study import Study, log

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
CANDIDATES = (1_000, 10_000, 100_000, 1_000_000)
ROWS, AT_ONCE, TIMES, ASKS, FEW_ASKS = 200, 100_000, 21, 60, 30
X = np.random.default_rng(0).random((ROWS, 3))
GIVEN = {"kernel": RBF(0.3), "noise_std": 0.5, "policy": MiniUCB(C=1.5), "seed": 0}


class Took(msgspec.Struct, frozen=True):
    """Seconds: of the wall clock, and of the processor."""

    wall: float
    processor: float


class AtLength(msgspec.Struct, frozen=True):
    """A study of so many single values: how long each took."""

    values: int
    tell: Took
    ask: Took
    observe: Took
    opened: Took
    best: Took
    megabytes: float


class AtSize(msgspec.Struct, frozen=True):
    """A study of so many candidates: asks after the first, without a fit and with one; tells; and opening it again."""

    candidates: int
    first: Took
    ask: Took
    fitted: Took
    tell: Took
    opened: Took
    best: Took
    unique: int


def at_length(values: int, *, one_batch: bool, address: str | None = None) -> AtLength:
    """Single values, each told by itself: all of one batch that was asked for, or observed of many candidates."""
    folder = Path(tempfile.mkdtemp(prefix="ostinato-growth-"))
    where = address or f"sqlite:///{folder}/lab.db"
    study = Study("growth", where, X, **GIVEN)
    if one_batch:
        _one_batch(study, values)
    else:
        _observed(study, values)
    rng = np.random.default_rng(1)
    opened, (again, took) = list[Took](), _timed(lambda: Study("growth", where))
    opened.append(took)
    _, best = _timed(lambda: again.best())
    asks, tells, observed = list[Took](), list[Took](), list[Took]()
    for _ in range(TIMES):
        task, took = _timed(lambda: again.ask(limit=1))
        asks.append(took)
        tells.append(_timed(lambda task=task: again.tell(task, rng.standard_normal(1)))[1])
        observed.append(_timed(lambda: again.observe(int(rng.integers(ROWS)), rng.standard_normal(1)))[1])
    size = sum(file.stat().st_size for file in folder.iterdir()) / 2**20
    return AtLength(values, _median(tells), _median(asks), _median(observed), opened[0], best, size)


def _observed(study: Study, values: int) -> None:
    rng = np.random.default_rng(0)
    for start in range(0, values, AT_ONCE):
        count = min(AT_ONCE, values - start)
        rows = zip(rng.integers(0, ROWS, count).tolist(), rng.standard_normal(count).tolist(), strict=True)
        study.observe_all([(row, {"value": value}) for row, value in rows])


def _one_batch(study: Study, values: int) -> None:
    """As if so many tells had been made, one by one; in one write, since a million commits take hours."""
    study.ask(limit=1)

    def write(writer: Writer) -> None:
        batch = writer.batch(0)
        assert batch is not None
        asked = replace(batch.facts.batch, repeats=values + TIMES)
        batch = replace(batch, leased=values, facts=replace(batch.facts, batch=asked))
        for lease in writer.leases(0):
            writer.release(lease)
        told = [told_values(each) for each in np.random.default_rng(0).standard_normal((values, 1))]
        entries = writer.append_all([LogRow(0, place, each) for place, each in enumerate(told)])
        for place, entry in enumerate(entries):
            batch = log.joined(batch, entry.told.feedback(), place, entry.number)
        writer.change_batch(batch)
        writer.change(replace(writer.record, answered=values))

    study._stored.write(write)


def at_size(candidates: int) -> AtSize:
    """Six columns, everything learned."""
    rng = np.random.default_rng(0)
    table = rng.random((candidates, 6))
    path = Path(tempfile.mkdtemp(prefix="ostinato-growth-")) / "lab.db"
    study = Study("growth", path, table, budget=400, seed=0)
    plain, fitted, tells = list[Took](), list[Took](), list[Took]()
    for _ in range(ASKS if candidates < CANDIDATES[-1] else FEW_ASKS):
        replica = study._stored.replica
        before = None if replica is None else replica.optimizer.core.known.prior
        task, took = _timed(lambda: study.ask())
        if task is None:
            break
        after = study._stored.replica
        same = after is not None and after.optimizer.core.known.prior is before
        (plain if same or not plain else fitted).append(took)
        row = table[task.index]
        values = np.sin(5 * row[0]) + row[1] * row[2] + 0.1 * rng.standard_normal(task.repeats)
        tells.append(_timed(lambda task=task, values=values: study.tell(task, values))[1])
    again, opened = _timed(lambda: Study("growth", path))
    _, best = _timed(lambda: again.best())
    asks = (plain[0], _median(plain[1:]), _median(fitted), _median(tells))
    return AtSize(candidates, *asks, opened, best, study.optimizer.unique)


def _timed(action: Callable[[], Any]) -> tuple[Any, Took]:
    wall, processor = perf_counter(), process_time()
    answer = action()
    return answer, Took(perf_counter() - wall, process_time() - processor)


def _median(took: list[Took]) -> Took:
    return Took(*(float(np.median([getattr(each, name) for each in took])) for name in ("wall", "processor")))


BY_LENGTH = {"tell": "tell", "ask": "ask", "opened": "open", "best": "first best"}
BY_SIZE = {"tell": "tell", "ask": "ask", "fitted": "ask that fits anew", "opened": "open", "best": "first best"}


def figure(curves: dict[str, str], along: Sequence[int], measured: Sequence[Any], what: str, file: Path) -> None:
    """Curves of some calls, as docs/performance.md shows them: names of fields, and what they are called."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": "ostinato", "font.size": 9}):
        picture, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
        for name, words in curves.items():
            axes.plot(along, [1e3 * getattr(each, name).processor for each in measured], "o-", label=words)
        axes.set(xscale="log", yscale="log", xlabel=what, ylabel="milliseconds of the processor")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        picture.savefig(file, metadata={"Date": None})
        plt.close(picture)
