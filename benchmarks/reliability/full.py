"""A disk that is full, and runs that are told to stop then: how long they take to end, and whether anything is lost.

The disk is filled by a limit on the size of the study's file (RLIMIT_FSIZE), once some measurements were made. Every
measurement writes its own value into a file when it is finished. Afterwards the limit is gone, the study runs again,
and every finished value must be there, once.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

import msgspec

from benchmarks.reliability.torture import ROOT
from ostinato.study import Study, verify

ENOUGH = 25  # measurements until the disk is full
FUNCTION = """
import os, resource, threading, time

lock, made, finished = threading.Lock(), 0, open("finished", "a")


def measure(candidate):
    global made
    time.sleep(0.05)
    with lock:
        made += 1
        value = made + candidate["x"] / 100
        if made == int(os.environ["ENOUGH"]):
            resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize("lab.db") // 2, resource.RLIM_INFINITY))
            print("full", flush=True)
        finished.write(f"{value!r}\\n")
        finished.flush()
    return value
"""


class Ended(msgspec.Struct, frozen=True):
    """How a run ended: seconds from the full disk, or from the signal, to the end; values finished, lost, doubled."""

    seconds: float
    finished: int
    lost: int
    doubled: int
    problems: list[str]
    code: int


def run(
    folder: Path, workers: int, patience: float, signals: tuple[int, ...] = (), *, background: bool = False
) -> Ended:
    """A run on a disk that becomes full; with signals, a moment after that.

    background: as a shell starts it with &, so that Ctrl-C is ignored.
    """
    path = folder / "lab.db"
    (folder / "measuring.py").write_text(FUNCTION)
    (folder / "lab.csv").write_text("x\n" + "\n".join(map(str, range(20))) + "\n")
    ours = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
    environment = os.environ | ours | {"ENOUGH": str(ENOUGH)}
    options = ["--budget", "100000", "--workers", str(workers), "--patience", str(patience), "--seed", "0"]
    command = [sys.executable, "-m", "ostinato", "optimize", "lab.csv", "--function", "measuring:measure", *options]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    ctrl_c = signal.SIG_IGN if background else signal.SIG_DFL
    prepared = partial(signal.signal, signal.SIGINT, ctrl_c)
    with subprocess.Popen(command, env=environment, cwd=folder, preexec_fn=prepared, **quiet) as process:  # type: ignore[call-overload]
        assert process.stdout is not None
        process.stdout.readline()
        start = monotonic()
        for number in signals:
            sleep(1.0)
            start = monotonic()
            process.send_signal(number)
        code = process.wait()
        seconds = monotonic() - start
    finished = [float(line) for line in (folder / "finished").read_text().splitlines()]
    study = Study("lab", path)
    study.run(lambda x: 0.0, study.numbered + 1, progress=False)  # takes in what was put aside
    stored = [each.value for each in study.measurements() if each.value != 0.0]
    lost, doubled = len(set(finished) - set(stored)), len(stored) - len(set(stored))
    return Ended(seconds, len(finished), lost, doubled, verify(study.storage, "lab"), code)


def rows(patience: float = 20.0) -> Iterator[tuple[str, str, bool]]:
    """What was done, what was found, and whether that is well."""
    for workers in (1, 4, 16):
        with TemporaryDirectory() as folder:
            found = run(Path(folder), workers, patience)
        fine = found.lost == found.doubled == 0 and not found.problems
        yield (
            f"a full disk, {workers} workers, patience {patience:g} s",
            f"ended after {found.seconds:.1f} s; {found.finished} values finished, {found.lost} lost",
            fine and found.seconds <= 1.2 * patience,
        )
    for name, signals in (("Ctrl-C twice", (signal.SIGINT, signal.SIGINT)), ("SIGTERM", (signal.SIGTERM,))):
        with TemporaryDirectory() as folder:
            found = run(Path(folder), 16, 600.0, signals)
        yield (
            f"the same with 16 workers and {name}",
            f"ended {found.seconds:.1f} s later; {found.finished} values finished, {found.lost} lost",
            found.lost == found.doubled == 0 and not found.problems and found.seconds <= 5.0,
        )


if __name__ == "__main__":
    for row in rows():
        print(json.dumps(row))
