"""The problems: a development set by which defaults are chosen, and a report set, named before any of it was run.

Each set has three families. *Tables*: trainings of networks with their stored repeats (HPOBench, NAS-Bench-201,
HPOlib), and laboratory data (olympus) with Gaussian noise. *Smooth*: functions with a few broad hills, on scattered
points and on grids. *Rough*: functions with many local optima, plains, steps, needles and walls. Noise is in units of
the truth's standard deviation over the candidates: tiny (0.01 to 0.02), moderate (0.1 to 0.5), loud (1 and 2).

Large tables are thinned to `ROWS` random rows, grids of the report's Optuna samplers included, so that every optimiser
sees the same candidates and one run takes seconds.
"""

from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from zlib import crc32

import numpy as np

from benchmarks.outofthebox import functions as f
from benchmarks.outofthebox.functions import Function
from ostinato.arrays import Matrix
from ostinato.candidates import Candidates, read_candidates
from ostinato.errors import MissingSetting
from ostinato.problems import Gaussian, Problem, load
from ostinato.problems.base import standardised
from ostinato.problems.noise import Stored

ROWS = 5_000


def scattered(function: Function, columns: int, noise: float) -> Callable[[str], Problem]:
    """A function on random points of the unit cube."""

    def make(name: str) -> Problem:
        X = np.random.default_rng(crc32(name.encode())).random((ROWS, columns))
        return Problem(name, X, standardised(function(X)), Gaussian(noise))

    return make


def gridded(function: Function, columns: int, side: int, noise: float) -> Callable[[str], Problem]:
    """A function on a grid over the unit cube."""

    def make(name: str) -> Problem:
        axes = np.meshgrid(*[np.linspace(0, 1, side)] * columns, indexing="ij")
        X = np.stack(axes, axis=-1).reshape(-1, columns)
        return Problem(name, X, standardised(function(X)), Gaussian(noise))

    return make


def trainings(source: str) -> Callable[[str], Problem]:
    """Some rows of a table of trainings; a measurement draws one of the stored ones."""

    def make(name: str) -> Problem:
        whole = load(source)
        rows = np.sort(np.random.default_rng(crc32(name.encode())).choice(whole.size, ROWS, replace=False))
        table = read_candidates(whole.candidates)
        noise = Stored.standardised(whole.noise.rewards[rows])  # type: ignore[attr-defined]
        return Problem(name, _frame(table, rows), noise.means, noise)

    return make


def laboratory(dataset: str, noise: float, *, loss: bool = False) -> Callable[[str], Problem]:
    """Measurements of a real laboratory; those of equal settings are averaged."""

    def make(name: str) -> Problem:
        data = np.loadtxt(_olympus(dataset), delimiter=",")
        X, place = np.unique(data[:, :-1], axis=0, return_inverse=True)
        value = np.bincount(place.ravel(), weights=data[:, -1]) / np.bincount(place.ravel())
        return Problem(name, X, standardised(-value if loss else value), Gaussian(noise))

    return make


def _frame(table: Candidates, rows: Matrix) -> object:
    import polars

    columns: dict[str, list[object]] = {str(column.name): [] for column in table.columns}
    for row in rows:
        for name, value in table[int(row)].items():
            columns[name].append(value)
    return polars.DataFrame(columns)


def _olympus(dataset: str) -> str:
    try:
        found = [each for each in files("olymp") or [] if each.match(f"*/dataset_{dataset}/data.csv")]
    except PackageNotFoundError:
        found = []
    if not found:
        raise MissingSetting("Laboratory tables need the package olymp: pip install --no-deps olymp==0.0.1b0")
    return str(found[0].locate())


Makers = dict[str, dict[str, Callable[[str], Problem]]]

DEVELOPMENT: Makers = {
    "tables": {
        "car": trainings("hpobench-car"),
        "credit": trainings("hpobench-credit-g"),
        "segment": trainings("hpobench-segment"),
        "cifar100": trainings("nas201-cifar100"),
        "protein": trainings("hpolib-protein-structure"),
        "suzuki": laboratory("suzuki", 0.3),
        "pce10": laboratory("photo_pce10", 1.0, loss=True),
    },
    "smooth": {
        "branin": scattered(f.branin, 2, 0.3),
        "branin-grid-loud": gridded(f.branin, 2, 50, 1.0),
        "two-peaks": scattered(f.two_peaks, 2, 0.5),
        "hartmann3": scattered(f.hartmann3, 3, 0.3),
        "hartmann6": scattered(f.hartmann6, 6, 0.3),
        "hartmann6-loud": scattered(f.hartmann6, 6, 1.0),
        "levy4": scattered(f.levy, 4, 0.1),
        "rosenbrock4-grid": gridded(f.rosenbrock, 4, 8, 0.5),
        "styblinski5-tiny": scattered(f.styblinski, 5, 0.01),
        "cosines8-loud": scattered(f.cosines, 8, 1.0),
        "sparse20": scattered(f.sparse, 20, 0.5),
    },
    "rough": {
        "ackley4": scattered(f.ackley, 4, 0.3),
        "michalewicz3": scattered(f.michalewicz, 3, 0.5),
        "rastrigin4-grid": gridded(f.rastrigin, 4, 8, 0.3),
        "schaffer-tiny": scattered(f.schaffer, 2, 0.02),
        "easom": scattered(f.easom, 2, 0.3),
        "stairs5": scattered(f.stairs, 5, 0.5),
        "shekel4-loud": scattered(f.shekel, 4, 1.0),
        "cliffs4": scattered(f.cliffs, 4, 0.2),
    },
}
REPORT: Makers = {
    "tables": {
        "vehicle": trainings("hpobench-vehicle"),
        "kc1": trainings("hpobench-kc1"),
        "cifar10": trainings("nas201-cifar10"),
        "naval": trainings("hpolib-naval-propulsion"),
        "hplc": laboratory("hplc", 0.5),
        "fullerenes": laboratory("fullerenes", 0.3),
    },
    "smooth": {
        "camel": scattered(f.camel, 2, 0.5),
        "goldstein-loud": scattered(f.goldstein, 2, 1.0),
        "hartmann4": scattered(f.hartmann4, 4, 0.3),
        "dixon-price5-tiny": scattered(f.dixon_price, 5, 0.02),
        "friedman10-loud": scattered(f.friedman, 10, 1.0),
        "hidden-camel20": scattered(f.hidden_camel, 20, 0.2),
    },
    "rough": {
        "eggholder": scattered(f.eggholder, 2, 0.3),
        "drop-wave": scattered(f.drop_wave, 2, 0.3),
        "holder-grid-tiny": gridded(f.holder, 2, 60, 0.02),
        "griewank6": scattered(f.griewank, 6, 0.5),
        "ackley10-loud": scattered(f.ackley, 10, 1.0),
        "plains3": scattered(f.plains, 3, 0.3),
    },
}
FAMILY = {name: family for makers in (DEVELOPMENT, REPORT) for family, own in makers.items() for name in own}
SETS = {"development": DEVELOPMENT, "report": REPORT}
MAKERS = {name: make for makers in (DEVELOPMENT, REPORT) for own in makers.values() for name, make in own.items()}


def names(makers: Makers) -> list[str]:
    return [name for own in makers.values() for name in own]


@cache
def problem(name: str) -> Problem:
    return MAKERS[name](name)


def unit_cube(table: Candidates) -> Matrix:
    """Numbers scaled to [0, 1], categories one-hot: what users of other libraries would make by hand."""
    parts: list[Matrix] = []
    for column, values in zip(table.columns, table.features.T, strict=True):
        if column.kind == "category":
            parts.append((values[:, None] == np.unique(values)).astype(float))
        else:
            parts.append(((values - values.min()) / (np.ptp(values) or 1.0))[:, None])
    return np.concatenate(parts, axis=1)
