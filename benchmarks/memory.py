"""Ten million measurements on the grid: the memory they take above the imports', which depends on q and |A| only.
Each run is a process of its own, and reports its peak; without using the grid's structure, and using it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from benchmarks.problem import Problem, Row, epochs_of


def run(console: Console) -> Iterator[Row]:
    for steps, kind in ((10**5, "scattered"), (10**7, "scattered"), (10**7, "grid")):
        with console.status(f"{steps:,} measurements …"):
            command = [sys.executable, "-m", "benchmarks.memory", str(steps), kind]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        console.print(
            f"{steps:,} measurements, {kind}: {found['seconds']:.1f} s of the algorithm, {found['epochs']:,} epochs, "
            f"{found['q']:,} different candidates",
            highlight=False,
        )
        what = f"peak memory, {steps:,} measurements, {kind}"
        yield Row(what, f"{found['megabytes']:.0f} MB", "< 300 MB", found["megabytes"] < 300)


def peak() -> float:
    """This process's largest resident memory so far, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(steps: int, kind: str) -> dict[str, float]:
    before = peak()
    problem = Problem()
    opt = problem.optimizer(as_grid=kind == "grid")
    seconds = sum(seconds for _, seconds in epochs_of(problem, opt, steps))
    return {"megabytes": peak() - before, "seconds": seconds, "epochs": opt.epochs, "q": opt.unique}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2])))
