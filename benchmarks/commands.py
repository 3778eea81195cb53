"""What commands take of a study of a million candidates: to make it, and to show what it last answered.

Processor time, which is what a person waits on a machine that does nothing else; in brackets by the clock. Of several
tries the least counts. The last rows are what Python takes, and the libraries that these commands cannot do without.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np
import polars as pl
from rich.console import Console

from benchmarks.problem import Row
from benchmarks.release import ROOT

ROWS, COLUMNS, BUDGET = 1_000_000, 6, 40
TRIES = 9
ALONE = """
import typer, numpy, msgspec, sqlalchemy.dialects.sqlite, rich.console
app = typer.Typer()
@app.command()
def best(where: str): pass
app(["large.db"])
"""  # a command that does nothing


class Seconds(NamedTuple):
    processor: float
    clock: float


def run(console: Console) -> Iterator[Row]:
    with TemporaryDirectory() as place, console.status(f"commands, {ROWS:,} candidates …"):
        folder = Path(place)
        rng = np.random.default_rng(0)
        table = pl.DataFrame({f"x{column}": rng.random(ROWS) for column in range(COLUMNS)})
        table.write_parquet(folder / "large.parquet")
        _ostinato(folder, "create", "first.db", "large.parquet")  # which compiles what is not compiled yet
        made = _ostinato(folder, "create", "large.db", "large.parquet", "--budget", str(BUDGET))
        size = (folder / "large.db").stat().st_size / (folder / "large.parquet").stat().st_size
        _ostinato(folder, "optimize", "large.parquet", "--command", "echo {x0}")
        yield _row(f"`ostinato create`, {ROWS:,} × {COLUMNS}", made, 3.0)
        yield Row("its file, over the Parquet", f"{size:.2f} ×", "≤ 1.2 ×", size <= 1.2)
        for name in ("status", "best"):
            least = min(_ostinato(folder, name, "large.db") for _ in range(TRIES))
            yield _row(f"`ostinato {name}`, its answer stored", least, 0.5)
        yield _row("`ostinato --help`", min(_ostinato(folder, "--help") for _ in range(TRIES)), None)
        for what, code in {"Typer, NumPy, msgspec, SQLAlchemy, rich alone": ALONE, "Python alone": "pass"}.items():
            yield _row(what, min(_seconds(folder, "-c", code) for _ in range(TRIES)), None)


def _ostinato(folder: Path, *arguments: str) -> Seconds:
    return _seconds(folder, "-m", "ostinato", *arguments)


def _seconds(folder: Path, *arguments: str) -> Seconds:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as where a package is installed
    before, start = getrusage(RUSAGE_CHILDREN), perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, check=True)
    clock, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    return Seconds(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock)


def _row(what: str, seconds: Seconds, wanted: float | None) -> Row:
    measured = f"{seconds.processor:.2f} s ({seconds.clock:.2f})"
    if wanted is None:
        return Row(what, measured, "", None)
    return Row(what, measured, f"≤ {wanted:g} s", seconds.processor <= wanted)
