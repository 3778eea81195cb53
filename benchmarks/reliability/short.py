"""Short measurements, and a run that is killed: python -m benchmarks.reliability.short address executor file.

Each measurement takes 80 ms and writes down when it was over; what was over and is not stored was lost.
"""

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.reliability.worker import SETTINGS, X
from ostinato.study import Study

ROOT = Path(__file__).parents[2]
WORKERS, SECONDS = 4, 0.08
BUDGET = 10**6


class Losses(msgspec.Struct, frozen=True):
    """Of a run that was killed so many times."""

    kills: int
    finished: int  # measurements that were over before a kill
    lost: int  # and not stored
    most: int  # in one kill


def measured(file: str, candidate: Any) -> float:
    time.sleep(SECONDS)
    value = float(np.sin(4 * candidate[0]) + candidate[1] + 0.5 * np.random.default_rng().standard_normal())
    with Path(file).open("a") as lines:
        lines.write(f"{time.time()} {value.hex()}\n")
    return value


def run(address: str, executor: str, file: str) -> None:
    Study("short", address).run(partial(measured, file), BUDGET, executor=executor, workers=WORKERS, progress=False)


def killed(address: str, folder: Path, executor: str, kills: int) -> Losses:
    """A run that is killed (kill -9) one to three seconds after its first measurement, and started again."""
    Study("short", address, X, seed=0, **SETTINGS)
    rng, finished, lost, most = random.Random(0), 0, 0, 0
    for count in range(kills):
        file = folder / f"measured{count}"
        moment = _killed_once(address, executor, file, rng.uniform(1.0, 3.0))
        before = {value for at, value in _lines(file) if at < moment}
        stored = {float(each.value).hex() for each in Study("short", address).measurements()}
        gone = len(before - stored)
        finished, lost, most = finished + len(before), lost + gone, max(most, gone)
    return Losses(kills, finished, lost, most)


def _killed_once(address: str, executor: str, file: Path, after: float) -> float:
    """Returns when it was killed."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.reliability.short", address, executor, str(file)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    while not _lines(file):
        time.sleep(0.01)
    time.sleep(after)
    moment = time.time()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return moment


def _lines(file: Path) -> list[tuple[float, str]]:
    text = file.read_text() if file.exists() else ""
    return [(float(at), value) for at, value in (line.split() for line in text.split("\n")[:-1])]


if __name__ == "__main__":
    run(*sys.argv[1:4])
