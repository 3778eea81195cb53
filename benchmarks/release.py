"""Processor seconds of deciding (`ask` and `tell`), against the first release on the same problems.

The first release (0.1.0, commit aa133f1) is taken from this repository's history and run in a process of its own, in
turns with the present code. Where the history is not there (a copy without .git), nothing is compared.
"""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.problem import Row

ROOT = Path(__file__).parent.parent
FIRST = "aa133f1"  # the first release
STEPS, SEEDS, WANTED = 300, 3, 2.0
SCRIPT = """
import json, sys
from time import process_time
import numpy as np
from ostinato import Optimizer

data = np.load(sys.argv[1])
X, truth, noise = data["X"], data["truth"], float(data["noise"])
goal, steps, seed = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
first = Optimizer(X[:50], goal=goal, budget=12, seed=seed)
while first.steps < 12:  # what is imported when it is first needed counts for neither
    batch = first.ask(limit=12 - first.steps)
    first.tell(batch, truth[batch.index] + noise * np.arange(batch.repeats))
opt, rng, seconds = Optimizer(X, goal=goal, budget=steps, seed=seed), np.random.default_rng(seed), 0.0
while opt.steps < steps:
    start = process_time()
    batch = opt.ask(limit=steps - opt.steps)
    seconds += process_time() - start
    values = truth[batch.index] + noise * rng.standard_normal(batch.repeats)
    start = process_time()
    opt.tell(batch, values)
    seconds += process_time() - start
print(json.dumps(seconds))
"""


def run(console: Console) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        old = release(Path(folder), FIRST)
        if old is None:
            yield Row("the first release", "not in this copy's history", "", None)
            return
        for goal in ("find", "earn"):
            ratios = []
            for size in track((2, 4, 6), goal, console=console, transient=True):
                pairs = [
                    [_seconds(path, Path(folder), goal, size, seed) for path in (ROOT / "src", old)]
                    for seed in range(SEEDS)
                ]
                ours, theirs = np.sum(pairs, axis=0)
                ratios.append(ours / theirs)
                yield Row(
                    f"{goal}: 5,000 candidates in {size} columns, {STEPS} measurements",
                    f"{ratios[-1]:.2f} × the first release's seconds",
                    f"≤ {WANTED:g}",
                    bool(ratios[-1] <= WANTED),
                )


def release(folder: Path, commit: str) -> Path | None:
    """The source of an earlier state, from this repository's history; None where that is not there."""
    done = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        return None
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder / commit, filter="data")
    return folder / commit / "src"


def _seconds(source: Path, folder: Path, goal: str, columns: int, seed: int) -> float:
    rng = np.random.default_rng(columns)
    X = rng.random((5_000, columns))
    truth = sum(
        rng.random() * np.exp(-np.sum((X - rng.random(columns)) ** 2, axis=1) / (0.1 * columns)) for _ in range(4)
    )
    np.savez(folder / "data.npz", X=X, truth=truth, noise=0.3 * np.std(truth))
    environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, str(folder / "data.npz"), goal, str(STEPS), str(seed)]
    return float(
        json.loads(subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout)
    )
