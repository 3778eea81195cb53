"""A worker that asks and tells, and writes down what was acknowledged: python -m benchmarks.reliability.worker …"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from ostinato import MiniUCB
from ostinato.kernels import RBF
from ostinato.storage import sqlite
from ostinato.study import Study, Task

ENOUGH = "enough"  # a file of this name beside what was acknowledged ends all workers
SIDE = 12
X = np.stack(np.meshgrid(np.linspace(0, 1, SIDE), np.linspace(0, 1, SIDE)), axis=-1).reshape(-1, 2)
TRUTH = np.sin(4 * X[:, 0]) + X[:, 1]
SETTINGS = {"kernel": RBF(0.4), "noise_std": 0.5, "policy": MiniUCB(C=1.5)}


def measured(task: Task) -> list[float]:
    """The same values for the same repeats, whoever measures them."""
    repeats = range(task.start, task.start + task.repeats)
    noise = [np.random.default_rng((task.batch, repeat)).standard_normal() for repeat in repeats]
    return [float(TRUTH[task.index] + 0.5 * each) for each in noise]


def work(address: str, name: str, acknowledged: Path, seconds: float, most: int) -> None:
    """Ask and tell, until it is enough; a line for every task whose tell has returned."""
    if "CLOCK" in os.environ:
        sqlite.time = lambda: time.time() + float(Path(os.environ["CLOCK"]).read_text())  # type: ignore[assignment]
    study = Study(name, address, lease=20.0, patience=float(os.environ.get("PATIENCE", "120")))
    end, done, enough = time.monotonic() + seconds, 0, acknowledged.with_name(ENOUGH)
    with acknowledged.open("a") as file:
        while time.monotonic() < end and done < most and not enough.exists():
            task = study.ask(limit=3)
            if task is None:
                time.sleep(0.01)
                if study.finished:
                    return
                continue
            values = measured(task)
            study.tell(task, values)
            file.write("".join(f"{task.batch} {task.start + i} {v.hex()}\n" for i, v in enumerate(values)))
            file.flush()
            done += 1


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
