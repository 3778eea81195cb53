"""Upper confidence bounds over very many candidates: those that cannot have the highest bound wait.

Whole runs with a given kernel, against the same runs with all candidates brought up to date for every choice: each in a
process of its own, on one thread, in processor time of `ask` and `tell`. Choices are compared batch by batch.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.problem import Row
from benchmarks.release import ROOT

SCRIPT = Path(__file__).with_name("lazy_run.py")
# kernel, length-scale, candidates, columns, β, unique candidates, noise; times faster that is wanted
RUNS = (
    ("RBF", 0.15, 1_000_000, 3, 4.0, 320, 1.0, 2.0),
    ("Matern52", 0.25, 1_000_000, 3, 3.0, 350, 1.0, 2.0),
    ("RBF", 0.15, 300_000, 3, 4.0, 320, 1.0, 1 / 1.05),
    ("RBF", 0.3, 500_000, 5, 3.0, 150, 1.0, 1 / 1.05),
    ("Matern52", 0.5, 1_000_000, 6, 3.0, 100, 1.0, 1 / 1.05),
    ("Matern52", 0.1, 1_000_000, 3, 2.0, 300, 0.1, 1 / 1.05),  # much is unknown, and repeats are few
)


def run(console: Console) -> Iterator[Row]:
    for kernel, lengthscale, size, columns, beta, unique, noise, wanted in RUNS:
        settings = kernel, lengthscale, size, columns, beta, unique, noise
        with console.status(f"{kernel}, {size:,} × {columns} …"):
            lazy, plain = _measured("lazy", *settings), _measured("plain", *settings)
        what = (
            f"{kernel}({lengthscale:g}), {size:,} × {columns}, {lazy['unique']} different candidates, noise {noise:g}"
        )
        seconds = f"{lazy['cpu']:.1f} s, plain {plain['cpu']:.1f} s"
        console.print(f"{what}: {seconds}; lazy in {lazy['lazy']} of {lazy['epochs']} epochs", highlight=False)
        same, times = lazy["chosen"] == plain["chosen"], plain["cpu"] / lazy["cpu"]
        choices = "the same choices" if same else "other choices"
        yield Row(what, f"{times:.2f} × faster, {choices}", f"≥ {wanted:.2g} ×, the same", same and times >= wanted)


def _measured(*settings: Any) -> dict[str, Any]:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(SCRIPT), *map(str, settings)]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout)
