"""The posterior of some of the candidates, on a worker: the same as that of all, as far as it goes.

What was measured elsewhere counts here too: its candidates are visitors, with numbers after all that are here. A model
follows from the facts that come with every question, and is kept for the next one, which brings a few more.
"""

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ostinato.arrays import Matrix, Namespace, Vector, to_numpy
from ostinato.candidates.columns import Logs
from ostinato.candidates.shard import Shard
from ostinato.candidates.sharded import scaled
from ostinato.kernels import Kernel
from ostinato.measurements.tally import Statistics, Tally
from ostinato.posterior.blocks import BLOCK_SIZE, prior_variance_of
from ostinato.posterior.cache import Indices
from ostinato.posterior.device import Device, check_there
from ostinato.posterior.exact import Posterior
from ostinato.posterior.grid import Grid
from ostinato.posterior.mean_range import highest_mean, range_of_means
from ostinato.posterior.screening import Screening

FORESEEN = ("foresight", "before", "after")  # what is kept of what is in flight, until more is measured
MAX_MODEL_UPDATES = 16  # candidates of which more was measured, up to which a model is updated and not made anew


class Settings(NamedTuple):
    """What a model is besides what was measured. extent: of all candidates; logs: columns on a logarithmic scale."""

    kernel: Kernel
    mean: float
    kappa2: float
    extent: tuple[Vector, Vector]
    logs: Sequence[Logs | None]
    device: Device | None


class Facts(NamedTuple):
    """A model: its settings as bytes, and of each measured candidate its number, features, n/λ and average."""

    settings: bytes
    numbers: Indices
    X: Matrix
    w: Vector
    m: Vector


class FeaturesWithVisitors:
    """The features of a shard's candidates, and of measured candidates from other shards (visitors)."""

    ndim = 2

    def __init__(self, own: Matrix) -> None:
        self._own, self._visitors = own, list[Vector]()
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._own)

    @property
    def shape(self) -> tuple[int, int]:
        return cast("tuple[int, int]", self._own.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Matrix:
        return np.asarray(self._own, dtype=dtype)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            return self._own[which]
        places = np.asarray(which)
        if not places.size or int(places.max()) < len(self._own):
            return self._own[places.astype(np.int64)]
        rows: list[Vector] = [
            self._own[p] if p < len(self._own) else self._visitors[p - len(self._own)] for p in places.tolist()
        ]
        return np.array(rows)

    def place_of(self, number: int, start: int, row: Vector) -> int:
        """Where a candidate is: here, or among visitors from now on."""
        if start <= number < start + len(self._own):
            return number - start
        if number not in self._places:
            self._places[number] = len(self._own) + len(self._visitors)
            self._visitors.append(row)
        return self._places[number]


class UnitNoise:
    """A noise of 1 for every candidate: weights are in units of each candidate's own."""

    def __getitem__(self, candidate: int) -> float:
        return 1.0


class WorkerPosterior(Posterior):
    """The posterior of a shard's candidates, after all that was measured anywhere."""

    def __init__(self, features: FeaturesWithVisitors, settings: Settings) -> None:
        self._settings = settings
        if settings.device is not None:
            check_there(settings.device)
        super().__init__(
            cast("Any", features),
            settings.kernel,
            cast("Any", UnitNoise()),
            mean=settings.mean,
            block_size=BLOCK_SIZE,
            device=settings.device,
        )

    def _find_grid(self) -> Grid | None:
        return None  # visitors need not lie on it

    def _largest_variance(self, xp: Namespace) -> float:
        return self._settings.kappa2

    def _new_screening(self) -> Screening:
        return Screening(extent=self._settings.extent, device=self.device)

    def prior_variance(self, candidate: int) -> float:
        return float(self.kernel.diag(self.features[[candidate]])[0])

    def columns(self, candidates: Indices) -> Matrix:
        if not self.blocks_outdated and (candidates >= len(self.features)).any():
            return to_numpy(self.kernel(self._X, self.features[candidates]))
        return super().columns(candidates)

    def at_each(self, candidates: Indices) -> tuple[Vector, Vector]:
        away = (candidates >= len(self.features)).any()
        return self._afresh_at.at(candidates) if away else super().at_each(candidates)

    def drop_double_precision(self) -> None:
        """Forget what has the size of the candidates in double precision, where single precision will do again."""
        if self.screened and not self.blocks_outdated:
            self.drop_blocks()
            self._screening, self._foreseen = self._new_screening(), {}


class CachedModel(NamedTuple):
    """The last model of a shard, kept for the next question, and the facts that it knows."""

    model: WorkerPosterior
    features: FeaturesWithVisitors
    facts: Facts

    def more(self, facts: Facts) -> list[tuple[int, float, float]] | None:
        """What was measured since, as places in the facts, n/λ and averages; None where it is better made anew."""
        known, now = self.facts, facts.numbers
        if facts.settings != known.settings or len(now) < len(known.numbers):
            return None
        if not np.array_equal(now[: len(known.numbers)], known.numbers):
            return None
        more, w = list[tuple[int, float, float]](), np.zeros(len(now))
        w[: len(known.w)] = known.w
        m = np.zeros(len(now))
        m[: len(known.m)] = known.m
        for place in np.flatnonzero((facts.w != w) | (facts.m != m)).tolist():
            new = float(facts.w[place] - w[place])
            if not new > 0:
                return None
            more.append((place, new, float(facts.w[place] * facts.m[place] - w[place] * m[place]) / new))
        return more if len(more) <= MAX_MODEL_UPDATES else None


def model_of(shard: Shard, facts: Facts) -> tuple[WorkerPosterior, FeaturesWithVisitors]:
    """The model of a shard that knows these facts; whatever stops it half-way, it is made anew the next time."""
    held: CachedModel | None = shard.held.pop("model", None)
    more = None if held is None else held.more(facts)
    if held is None or more is None:
        model, features = _made(shard, facts, held)
    else:
        model, features = held.model, held.features
        for place, w, m in more:
            where = features.place_of(int(facts.numbers[place]), shard.start, facts.X[place])
            model.condition(where, w, m + model.prior_mean)
    if held is None or more != []:
        for name in FORESEEN:
            shard.held.pop(name, None)
    shard.held["model"] = CachedModel(model, features, facts)
    return model, features


def _made(shard: Shard, facts: Facts, held: CachedModel | None) -> tuple[WorkerPosterior, FeaturesWithVisitors]:
    settings: Settings = pickle.loads(facts.settings)
    features = FeaturesWithVisitors(_scaled(shard, settings.logs))
    model = WorkerPosterior(features, settings)
    if held is not None:
        model.reuse_memory_of(held.model)
    measured = zip(facts.numbers.tolist(), facts.X, facts.w.tolist(), facts.m.tolist(), strict=True)
    tally = Tally()
    for number, row, w, m in measured:
        if w > 0:
            tally.add(features.place_of(number, shard.start, row), Statistics(w, m + settings.mean))
    if len(tally):
        model.rebuild(tally)
    return model, features


def _scaled(shard: Shard, logs: Sequence[Logs | None]) -> Matrix:
    """The features as the model sees them."""
    if not any(logs):
        return shard.features
    if shard.held.get("logs") != tuple(logs):
        shard.held["logs"], shard.held["scaled"] = tuple(logs), scaled(shard.features, logs)
    return shard.held["scaled"]


def largest_variance(shard: Shard, asked: tuple[Kernel, Sequence[Logs | None]]) -> float:
    """κ² of a shard's candidates."""
    kernel, logs = asked
    return prior_variance_of(kernel, _scaled(shard, logs), np)


def means_range(shard: Shard, facts: Facts) -> tuple[float, float]:
    """The lowest mean, as it is in single precision where there are many, and the highest."""
    model, _ = model_of(shard, facts)
    screen = model.screen
    if screen is None:
        return model.means.span
    return range_of_means(model, screen)


def highest_mean_but(shard: Shard, asked: tuple[Facts, Indices]) -> float:
    """The highest mean of all candidates but some, which are numbers of the whole table in increasing order."""
    facts, out = asked
    model, _ = model_of(shard, facts)
    here = out[(out >= shard.start) & (out < shard.start + len(shard))] - shard.start
    screen = model.screen
    return model.means.without(here.tolist()).highest if screen is None else highest_mean(model, screen, here)


def most_hopeful(shard: Shard, asked: tuple[Facts, float, int, float]) -> tuple[Indices, Vector]:
    """The candidates of the highest mean + slope · standard deviation, and how high; a sketch will do."""
    facts, slope, count, error = asked
    model, _ = model_of(shard, facts)
    sketch, kappa = model.rough_screen, float(np.sqrt(model.kappa2))
    if sketch is not None and max(sketch.mean_error, sketch.variance_error) <= error:
        here = np.sort(sketch.highest_reach(slope, count))
        mean, variance = sketch.most(here)
        return here + shard.start, model.prior_mean + kappa * (mean + slope * np.sqrt(variance))
    means, variances = model.means.flat(), model.variances.flat()
    reach = means + slope * np.sqrt(variances)
    here = np.argpartition(-reach, count)[:count] if count < len(reach) else np.arange(len(reach))
    return here + shard.start, reach[here]
