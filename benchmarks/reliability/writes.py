"""Every write of a short session fails in turn: strace's fault injection, one run for each write.

The session opens a study, asks and tells, in a fork of a warm process, to which strace is attached. In
one half of the runs one write, or one synchronisation, fails with EIO, and works when it is tried again. In the other
half the disk is full (ENOSPC) from that write on, until the session gives up; then it is run again with the disk empty.
"""

import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.reliability import warm
from benchmarks.reliability.torture import acknowledged_in, doubled_in, stored_in
from benchmarks.reliability.worker import SETTINGS, X, measured
from ostinato.errors import Unavailable
from ostinato.study import Study, verify

CALLS = ("pwrite64", "fdatasync")  # SQLite's; those of the file of acknowledged values are others
ONCE, FOR_GOOD = "EIO", "ENOSPC"  # a fault that passes, and one that stays
PATIENCE = {ONCE: 60.0, FOR_GOOD: 0.2}  # seconds for which a session tries again
TASKS = 1


class Failing(msgspec.Struct, frozen=True):
    """What a fault at every write came to."""

    runs: int
    failed: int  # calls that were made to fail
    acknowledged: int
    lost: int
    doubled: int
    damage: list[str]


def session(address: str, file: Path, patience: float, tasks: int, gate: Any) -> None:
    """Ask and tell; a line for every value whose tell has returned. It begins when the gate opens."""
    gate.recv()
    with suppress(Unavailable):
        study = Study("torture", address, patience=patience)
        with file.open("a") as lines:
            for _ in range(tasks):
                task = study.ask(limit=3)
                assert task is not None
                values = measured(task)
                study.tell(task, values)
                lines.write("".join(f"{task.batch} {task.start + i} {v.hex()}\n" for i, v in enumerate(values)))
                lines.flush()


def every_write(
    folder: Path, tasks: int = TASKS, step: int = 1, report: Callable[[int, int], object] = lambda *_: None
) -> Failing:
    """step: not every write, but every so many-th. report: called with the runs that are done, and how many there are.

    The study has a history, so that no write is the first of its kind.
    """
    first = folder / "first.db"
    study = Study("torture", first, X, seed=0, **SETTINGS)
    for _ in range(5):
        task = study.ask(limit=3)
        assert task is not None
        study.tell(task, measured(task))
    counts = {call: _run(folder, first, tasks, call, None).count(f"{call}(") for call in CALLS}
    plan = [(call, at, error) for call in CALLS for at in range(1, counts[call] + 1, step) for error in PATIENCE]
    found = []
    for done, (call, at, error) in enumerate(plan, 1):
        found.append(_failed_at(folder, first, tasks, (call, at, error)))
        report(done, len(plan))
    failed, acknowledged, lost, doubled = (sum(each[place] for each in found) for place in range(4))
    return Failing(len(plan), failed, acknowledged, lost, doubled, [words for each in found for words in each[4]])


def _failed_at(
    folder: Path, first: Path, tasks: int, fault: tuple[str, int, str]
) -> tuple[int, int, int, int, list[str]]:
    """Calls that failed, values acknowledged, lost and doubled, and damage, of one run."""
    call, at, error = fault
    when = f"{at}+" if error == FOR_GOOD else str(at)
    trace = _run(folder, first, tasks, call, (f"{call}:error={error}:when={when}", PATIENCE[error]))
    address, file = f"sqlite:///{folder}/lab.db", folder / "acknowledged"
    if error == FOR_GOOD:
        _begun(address, file, PATIENCE[ONCE], 1)()
    study = Study("torture", address)
    told, there = acknowledged_in([file]), stored_in(study)
    lost = sum(there.get(key) != value for key, value in told.items())
    return trace.count("(INJECTED)"), len(told), lost, doubled_in(study), verify(study.storage, "torture")


def _run(folder: Path, first: Path, tasks: int, call: str, fault: tuple[str, float] | None) -> str:
    """One session on a copy of the study; returns what strace saw."""
    for name in ("lab.db", "lab.db-journal", "acknowledged", "trace"):
        (folder / name).unlink(missing_ok=True)
    shutil.copy(first, folder / "lab.db")
    inject, patience = ((), 60.0) if fault is None else (("-e", f"inject={fault[0]}"), fault[1])
    trace = folder / "trace"
    options = ("-f", "-q", "-o", str(trace), "-e", f"trace={call}", *inject)
    _begun(f"sqlite:///{folder}/lab.db", folder / "acknowledged", patience, tasks)(options)
    return trace.read_text(errors="replace")


def _begun(address: str, file: Path, patience: float, tasks: int) -> Callable[..., None]:
    """A session that waits; what is returned attaches strace to it, lets it go, and waits for its end."""
    ours, gate = get_context("forkserver").Pipe()
    worker = warm.start(session, address, file, patience, tasks, gate)

    def go(options: tuple[str, ...] = ()) -> None:
        tracer = subprocess.Popen(["strace", *options, "-p", str(worker.pid)]) if options else None
        while tracer is not None and _tracer_of(worker.pid) == 0:
            assert tracer.poll() is None, "strace cannot be attached"
            time.sleep(0.002)
        ours.send(None)
        worker.join()
        assert worker.exitcode == 0, f"the session ended with {worker.exitcode}"
        if tracer is not None:
            tracer.wait()

    return go


def _tracer_of(process: int | None) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("TracerPid:")[2].split()[0])
