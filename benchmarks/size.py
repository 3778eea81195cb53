"""What large candidate sets cost, in ratios to the first release, to the state before spaces, and to the bare product.

Every figure is a process of its own on one thread; times are processor times, so that other programs on the machine
count for little. The problem: scattered candidates in six columns, a rugged function with little noise, so that most
measurements are of another candidate, and everything is learned.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.problem import Row
from benchmarks.release import FIRST, ROOT, release

BEFORE = "b5d4c0b"  # the state before continuous parameters and spaces
MILLION = 1_000_000
SCRIPT = Path(__file__).with_name("size_run.py")


def run(console: Console) -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        old = {commit: release(Path(folder), commit) for commit in (FIRST, BEFORE)}
        if None in old.values():
            yield Row("the first release", "not in this copy's history", "", None)
            return
        yield from _learned(console, old)
        yield from _answers(console)
        yield from _plans_and_draws(console, old)
        yield from _limits(console)


def _learned(console: Console, old: dict[str, Any]) -> Iterator[Row]:
    """Whole learned runs: against earlier states, what rebuilding takes of them, and epochs against the product."""
    for size in (10_000, 100_000, MILLION):
        with console.status(f"a learned run, {size:,} candidates …"):
            ours = measured("learned", size, 300)
            before = measured("learned", size, 300, source=old[BEFORE])
        _say(console, f"{size:,} candidates, ours", ours)
        _say(console, f"{size:,} candidates, before spaces", before)
        wanted = 0.25 if size == MILLION else None
        yield _ratio(f"300 measurements of {size:,} × 6, against {BEFORE}", ours["cpu"] / before["cpu"], wanted)
        if size == MILLION:
            yield _ratio("their peak memory, GB", ours["peak"], 2.0, unit="GB")
        yield _ratio(f"rebuilding after fits, of that run ({size:,})", ours["rebuilding"] / ours["cpu"], 0.15, unit="")
    for size in (100_000, MILLION):
        with console.status(f"epochs, {size:,} candidates …"):
            found = measured("epochs", size, 300)
        _say(console, f"{size:,} candidates, epochs", found)
        yield _ratio(f"an epoch of expected improvement, over the product ({size:,})", found["epoch"], 1.15)
    with console.status("a space of a million points …"):
        found = measured("space", MILLION, 300)
    _say(console, "a space of 1,000,000 points", found)
    yield _ratio("an epoch on it, everything learned, over one with RBF given", found["ratio"], 1.5)
    yield _ratio("its peak memory, GB", found["peak"], 0.4, unit="GB")


def _answers(console: Console) -> Iterator[Row]:
    with console.status("answers …"):
        found, few = measured("answers", MILLION, 100), measured("answers", 20_000, 100)
    for name in ("line", "best", "top"):
        yield _ratio(f"{name} after an ask, {MILLION:,} candidates", found[name], 0.3, unit="s")
    yield _ratio(f"the line at {MILLION:,} candidates, over that at 20,000", found["line"] / few["line"], 2.0)


def _plans_and_draws(console: Console, old: dict[str, Any]) -> Iterator[Row]:
    with console.status("plans and draws …"):
        ours, first = (measured("slots", 100_000, 60, source=source) for source in (None, old[FIRST]))
        drawn, bounds = (measured(name, 100_000, 40) for name in ("MiniTS", "MiniUCB"))
    _say(console, "ask(slots=96), ours", ours)
    _say(console, "ask(slots=96), the first release", first)
    times = first["cpu"] / ours["cpu"]
    yield Row("ask(slots=96) of 100,000, against the first release", f"{times:.1f} × faster", "≥ 15 ×", times >= 15)
    yield _ratio("an epoch of MiniTS over one of MiniUCB, 100,000", drawn["cpu"] / bounds["cpu"], 10.0)


def _limits(console: Console) -> Iterator[Row]:
    with console.status("ten million candidates …"):
        found = measured("learned", 10 * MILLION, 60)
    _say(console, "10,000,000 candidates", found)
    yield _ratio("peak memory, 60 measurements of 10,000,000 × 6", found["peak"], 8.0, unit="GB")
    with console.status("an address space of 16 GB …"):
        found = measured("address", 3 * MILLION, 20)
    _say(console, "3,000,000 candidates in an address space of 16 GB", found)
    yield Row("3,000,000 × 6 in an address space of 16 GB", "runs", "runs", ok=True)


def measured(what: str, size: int, steps: int, *, source: Path | None = None, columns: int = 6) -> dict[str, float]:
    """What a process of its own found out, on one thread."""
    path = f"{source or ROOT / 'src'}"
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling modules again and again would count as computing
    command = [sys.executable, "-W", "ignore", str(SCRIPT), what, str(size), str(steps), str(columns)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def _say(console: Console, name: str, found: dict[str, float]) -> None:
    console.print(f"{name}: {', '.join(f'{key} {value:.3g}' for key, value in found.items())}", highlight=False)


def _ratio(what: str, value: float, wanted: float | None, unit: str = "×") -> Row:
    if wanted is None:
        return Row(what, f"{value:.2f} {unit}", "", None)
    return Row(what, f"{value:.2f} {unit}".strip(), f"≤ {wanted:g} {unit}".strip(), value <= wanted)
