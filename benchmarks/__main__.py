"""Run the benchmarks and print what they found."""

import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from platform import platform, python_version

from rich.console import Console
from rich.table import Table

from benchmarks import explain
from ostinato.errors import MissingSetting

VERDICTS = {True: "[green]ok", False: "[red]missed", None: ""}
BENCHMARKS = (
    "peers",
    "floor",
    "growth",
    "memory",
    "baselines",
    "learning",
    "workers",
    "chances",
    "peaks",
    "clicks",
    "drift",
    "mistakes",
    "release",
    "forms",
    "certified",
    "size",
    "lazy",
    "walks",
    "commands",
    "dashboard",
)
BY_THEMSELVES = (  # python -m benchmarks.NAME: with settings of their own, hours of runs, or other machines
    "continuous",
    "curves",
    "draws",
    "gpu",
    "gpu_own",
    "gpu_shards",
    "half_life",
    "integrations",
    "outofthebox",
    "refits",
    "reliability",
    "robust",
    "service",
    "shards",
)


def main(names: list[str]) -> int:
    console = Console(width=118)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        if unknown[0] in BY_THEMSELVES:
            console.print(f"{unknown[0]} runs by itself: python -m benchmarks.{unknown[0]} (--help says with what).")
        else:
            console.print(f"Unknown benchmark {unknown[0]!r}: the benchmarks are {', '.join(BENCHMARKS)}.")
        return 2
    console.print(
        f"One thread. {platform()}, Python {python_version()}, "
        f"{', '.join(f'{name} {_version(name)}' for name in ('NumPy', 'SciPy', 'scikit-learn'))}",
        highlight=False,
    )
    wanted, missed, left_out = 0, 0, list[str]()
    for name in names or BENCHMARKS:
        try:
            module = import_module(f"benchmarks.{name}")
        except ModuleNotFoundError as lacking:
            left_out.append(name)
            console.print(f"[yellow]Not run:[/] {name} needs {lacking.name}: make test installs it.")
            continue
        console.rule(f"[bold]{name}")
        console.print((module.__doc__ or "").strip(), highlight=False)
        table = Table("what", "measured", "wanted", "")
        try:
            for row in module.run(console):
                wanted += row.ok is not None
                missed += row.ok is False
                table.add_row(row.what, row.measured, row.wanted, VERDICTS[row.ok])
        except MissingSetting as lacking:  # data or a library that not everybody has
            left_out.append(name)
            console.print(f"[yellow]Not run:[/] {lacking}")
        console.print(table)
    if left_out:
        console.print(f"Not run to their end: {', '.join(left_out)}.")
    if missed:
        console.print(f"{missed} of {wanted} targets were missed.")
    elif wanted:
        console.print("All targets were reached.")
    return 1 if missed else 0


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


if __name__ == "__main__":
    by_themselves = ", ".join(f"python -m benchmarks.{name}" for name in BY_THEMSELVES)
    explain(f"{__doc__}\n\nWith settings of their own: {by_themselves}.", ", ".join(BENCHMARKS))
    sys.exit(main(sys.argv[1:]))
