"""Comparisons: the paper's experiments, and those of your own, by the same protocol.

compare({"mine": MyPolicy(), "mini": MiniUCB(C=1.1)}, ["rosenbrock", my_problem], seeds=10, horizon=1000)
reproduce("synthetic")
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from shlex import join
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ostinato.errors import InvalidSetting
from ostinato.experiments import report
from ostinato.experiments.algorithms import ALGORITHMS, LENGTHSCALE, Algorithm, find
from ostinato.experiments.captions import FIGURES
from ostinato.experiments.files import COLUMNS, MISSING, last_rows
from ostinato.experiments.jobs import span
from ostinato.experiments.machine import facts
from ostinato.experiments.protocol import Protocol, quick, with_uniform
from ostinato.experiments.records import Run
from ostinato.experiments.summary import UNIFORM, remarks
from ostinato.optimizer.frame import installed
from ostinato.policies import Policy
from ostinato.problems import Problem, groups, load
from ostinato.running.tables import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ostinato.optimizer.frame import Library

SEEDS, HORIZON = 40, 5000
CHOOSING, LONGEST = 5, 500  # settings are chosen at a fifth of the horizon, and at most so far


@dataclass(frozen=True)
class Comparison:
    """The finished runs, and the report written about them."""

    runs: list[Run]
    page: Path

    def plot(self, name: str = "regret") -> "Figure":
        """A matplotlib figure of all runs: "regret", "unique", "rounds" or "seconds"."""
        if name not in FIGURES:
            raise InvalidSetting(f"{name!r} is not a figure: give one of {', '.join(FIGURES)}.")
        return FIGURES[name][0](self.runs)

    def to_frame(self, library: "Library | None" = None) -> Any:
        """The end of every fresh run as a data frame, with the columns of `runs.csv`; NaN where there is no number.

        library: "pandas", "polars" or "pyarrow"; by default the first that is installed.
        """
        import narwhals.stable.v2 as nw  # data frames take a while to import

        rows = last_rows(self.runs)
        columns = {
            name: [nan if row[name] == "" and name in MISSING else row[name] for row in rows] for name in COLUMNS
        }
        return nw.from_dict(columns, backend=installed(library)).to_native()


@dataclass(frozen=True)
class Fixed:
    """A policy whose settings are no longer open."""

    policy: Policy

    def __call__(self, **settings: float) -> Policy:
        return self.policy


def compare(
    policies: Mapping[str, Policy] | Sequence[str | Algorithm],
    problems: Sequence[str | Problem],
    *,
    seeds: int = 10,
    horizon: int = 1000,
    lengthscale: float | None = None,
    choose: bool = False,
    against: str | None = None,
    folder: str | Path = "results/compare",
    workers: int | None = None,
    console: Console | None = None,
) -> Comparison:
    """Run policies on problems with the same seeds, and write tables, figures and a report into `folder`.

    policies: your own by name, as {"mine": MyPolicy()}, or names of known algorithms such as "BBKB", or `Algorithm`s.
    problems: names (`ostinato problems` lists them) or `Problem`s of your own.
    seeds, horizon: how many runs of each, and how many measurements a run. workers: runs at a time; all cores.
    lengthscale: of the kernel, where it is not chosen; by default the middle one of each problem's.
    choose: whether settings are chosen first, on seeds of their own.
    against: which of them the table of ratios compares the others with; by default BBKB where it runs, else the first.
    folder: called again with the same folder, finished runs are not made again, unless problem or policy have changed.
    """
    whole = (replace(each, shorter=1.0) for each in _algorithms(policies, lengthscale))
    algorithms = with_uniform(list(whole))
    protocol = Protocol(_problems(problems), algorithms, seeds, horizon, _short(horizon) if choose else None)
    if against is not None and against not in (names := [each.name for each in algorithms]):
        raise InvalidSetting(f"against={against!r} does not run here: give one of {', '.join(names)}.")
    return _run(protocol, Path(folder), "A comparison", console, workers, against)


def reproduce(
    group: str,
    *,
    seeds: int = SEEDS,
    horizon: int = HORIZON,
    fast: bool = False,
    only: Sequence[str] = (),
    algorithms: Sequence[str] = (),
    folder: str | Path | None = None,
    workers: int | None = None,
    console: Console | None = None,
    **options: Any,
) -> Comparison:
    """The paper's protocol on a group of problems: "synthetic", "nas201", "hpolib", "hpobench", "nas101" or "coco".

    fast: in two minutes, on few settings and seeds. only: some problems of the group, algorithms: some algorithms.
    options: given to each problem, such as path= for nas101.
    """
    problems = [load(name, **options) for name in _members(group, only)]
    chosen = with_uniform([find(name) for name in algorithms] or list(ALGORITHMS.values()))
    full = Protocol(problems, chosen, seeds, horizon, _short(horizon))
    protocol = quick(problems, chosen) if fast else full
    title = f"The paper's protocol on {group}{', quick' if fast else ''}"
    default = Path("results") / (f"{group}-quick" if fast else group)
    return _run(protocol, Path(folder or default), title, console, workers)


def _short(horizon: int) -> int:
    """The horizon of the runs that settings are chosen on."""
    return max(1, min(horizon // CHOOSING, LONGEST))


def _members(group: str, only: Sequence[str]) -> list[str]:
    if group not in groups():
        raise InvalidSetting(f"There is no group of problems {group!r}: give one of {', '.join(groups())}.")
    members = groups()[group]
    for name in only:
        if name not in members:
            raise InvalidSetting(f"There is no problem {name!r} in {group}: give some of {', '.join(members)}.")
    return list(only) or members


def _run(
    protocol: Protocol,
    folder: Path,
    title: str,
    console: Console | None,
    workers: int | None,
    against: str | None = None,
) -> Comparison:
    console = console or Console()
    start = perf_counter()
    runs = protocol.run(folder, console, workers)
    about = [
        *facts(),
        ("Command", join([Path(sys.argv[0]).name, *sys.argv[1:]])),
        ("Runs", f"{len(runs):,}; processor time of their algorithms: {span(sum(run.seconds[-1] for run in runs))}"),
        ("This call", span(perf_counter() - start)),
    ]
    notes = [*protocol.notes(), *remarks(runs)]
    page = report.write(runs, folder, title=title, facts=about, notes=notes, against=against)
    for table in report.text_tables(runs, against):
        show(console, table)
    console.print("± and (from–to): 95% intervals over seeds.\n", highlight=False)
    for name, value in about:
        console.print(f"{name:10} {value}", highlight=False, markup=False, soft_wrap=True)
    for note in notes:
        console.print(f"· {note}", highlight=False, markup=False)
    console.print(f"\nReport, figures and tables: {page}", highlight=False, markup=False, soft_wrap=True)
    return Comparison(runs, page)


def _algorithms(
    policies: Mapping[str, Policy] | Sequence[str | Algorithm], lengthscale: float | None
) -> list[Algorithm]:
    if isinstance(policies, Mapping):
        if UNIFORM in policies:
            raise InvalidSetting(
                "A policy is named 'uniform', the name of what others are measured against: rename it."
            )
        found = [Algorithm(name, Fixed(policy)) for name, policy in policies.items()]
    else:
        found = [_algorithm(each) for each in ([policies] if isinstance(policies, str) else policies)]
    if lengthscale is None:
        return found
    return [_with_lengthscale(algorithm, lengthscale) for algorithm in found]


def _algorithm(given: Any) -> Algorithm:
    if isinstance(given, str):
        return find(given)
    if not isinstance(given, Algorithm):
        raise InvalidSetting(f"{given!r} has no name to stand in the tables: give policies as {{'a name': policy}}.")
    return given


def _problems(given: Any) -> list[Problem]:
    several: list[Any] = [given] if isinstance(given, (str, Problem)) else list(given)
    return [load(each) if isinstance(each, str) else each for each in several]


def _with_lengthscale(algorithm: Algorithm, lengthscale: float) -> Algorithm:
    return replace(algorithm, grid={**algorithm.grid, LENGTHSCALE: (lengthscale,)}) if algorithm.modelled else algorithm
