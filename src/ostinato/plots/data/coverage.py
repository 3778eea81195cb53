"""Calibration: how batches came out, against what was said of them before.

At up to 40 batches, evenly spread over the study, a fresh optimiser is told the batches before it and says what it
expects of the average of its n values: a mean, and a variance, that of its answer (widened as the intervals of `best`
are) with what noise and set-up add. A residual is how far off the average was, in standard deviations of that. Nothing
that came later has any part in it.
"""

from collections.abc import Iterator, Sequence
from math import erf, isfinite, sqrt

import msgspec
import numpy as np
from scipy.special import betaincinv

from ostinato.checks import counted
from ostinato.errors import NothingMeasured
from ostinato.measurements.tally import Statistics
from ostinato.optimizer import Optimizer
from ostinato.optimizer.facts import Fact, Recalled, Told
from ostinato.optimizer.past_answers import answers_after, without_choosing
from ostinato.plots.data.common import Series, basics, lacking
from ostinato.plots.source import Drawable, Source

LEVELS = (*(round(0.05 * i, 2) for i in range(1, 20)), 0.99)
MOST = 40  # batches
KNOWN = 5  # different candidates measured before the first of them, where there are so many: as for a diagnosis
MIN_BATCHES = 5  # batches below which nothing is said
SAME = 1e-15  # of the values: differences that are rounding
NOTE = (
    "Each batch was predicted from the batches before it alone, with the standard deviations that the intervals of "
    "answers rest on."
)


class Residual(msgspec.Struct, frozen=True, kw_only=True):
    """A batch: what was predicted of its average (mean ± std), the average, and how far off it was in such stds."""

    batch: int
    index: int
    measurements: int  # told up to the end of it
    predicted: float
    std: float
    average: float
    z: float


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How often intervals of a level held, and between what that lies by chance alone (95%) where all is well."""

    level: float
    held: float
    low: float
    high: float


class Calibration(Series, frozen=True, kw_only=True):
    """Residuals in the order told, and the shares of predictive intervals that held."""

    residuals: tuple[Residual, ...] = ()
    shares: tuple[Share, ...] = ()


def calibration(what: Drawable) -> Calibration:
    """How well batches were predicted."""
    source = Source.of(what)
    return source.looked(lambda optimizer: _calibration(source.name, optimizer))


class _PredictedBatch(msgspec.Struct, frozen=True):
    """A batch in the order told: how many facts came before it, and what it gave."""

    before: int
    batch: int
    number: int
    measurements: int
    statistics: Statistics


def _calibration(name: str, optimizer: Optimizer) -> Calibration:
    common, given = basics(name, optimizer), list(_given(optimizer.core.state.facts))
    needed = min(KNOWN, len(optimizer.core.problem.table))
    later = _later(given, needed)
    missing = lacking(optimizer) or _too_little(given, later, needed)
    if missing:
        return Calibration(**common, missing=missing)
    places: list[int] = np.linspace(0, len(later) - 1, min(MOST, len(later))).astype(int).tolist()
    residuals = tuple(_residuals(optimizer, [later[place] for place in places]))
    if len(residuals) < MIN_BATCHES:
        return Calibration(**common, missing="What was told so far gives no predictions to compare with.")
    shares = tuple(_share(level, [abs(each.z) for each in residuals]) for level in LEVELS)
    some = f" {len(residuals):,} of {len(later):,} batches are shown." if len(later) > MOST else ""
    return Calibration(**common, note=NOTE + some, residuals=residuals, shares=shares)


def _given(facts: Sequence[Fact]) -> Iterator[_PredictedBatch]:
    """Batches with values, each as it was told of."""
    measurements = 0
    for before, fact in enumerate(facts):
        if isinstance(fact, Recalled):
            measurements += fact.facts.answered
            if fact.facts.statistics.n:
                yield _PredictedBatch(before, fact.facts.id, fact.candidate, measurements, fact.facts.statistics)
        elif isinstance(fact, Told):
            for number, feedback in fact.feedback.items():
                measurements += feedback.answered
                if feedback.statistics.n:
                    yield _PredictedBatch(before, fact.batch, number, measurements, feedback.statistics)


def _later(given: Sequence[_PredictedBatch], needed: int) -> list[_PredictedBatch]:
    """Those before which enough different candidates were measured."""
    seen, found = dict[int, int](), list[_PredictedBatch]()
    for each in given:
        if sum(first < each.before for first in seen.values()) >= needed:
            found.append(each)
        seen.setdefault(each.number, each.before)
    return found


def _too_little(given: Sequence[_PredictedBatch], later: Sequence[_PredictedBatch], needed: int) -> str:
    """Why batches cannot be compared with predictions; empty where they can."""
    averages = [each.statistics.mean for each in given]
    scatter = sum(each.statistics.squares for each in given) ** 0.5
    if len(given) > 1 and max(np.ptp(averages), scatter) <= SAME * max(map(abs, averages)):
        return "All values so far are the same: there is nothing to predict."
    if len(later) < MIN_BATCHES:
        first = counted(needed, "different candidate")
        return f"Calibration needs {MIN_BATCHES} batches after the first {first}: there are {len(later)} so far."
    return ""


def _residuals(optimizer: Optimizer, chosen: Sequence[_PredictedBatch]) -> Iterator[Residual]:
    core, table = optimizer.core, optimizer.core.problem.table
    problem = without_choosing(core.problem)
    for each in chosen:
        answers = answers_after(problem, core.state, core.state.facts[: each.before])
        try:
            mean, std = answers.expected(each.number, each.statistics)
        except NothingMeasured:
            continue
        if isfinite(mean) and isfinite(std) and std > 0:
            yield Residual(
                batch=each.batch,
                index=table.index_of(each.number),
                measurements=each.measurements,
                predicted=mean,
                std=std,
                average=each.statistics.mean,
                z=(each.statistics.mean - mean) / std,
            )


def _share(level: float, off: list[float]) -> Share:
    """Of a level p: |z| below its quantile; the band is that of Beta(np + 1/2, n(1 − p) + 1/2), Jeffreys' interval."""
    n = len(off)
    held = sum(_probability(each) <= level for each in off) / n
    low, high = (float(np.asarray(betaincinv(n * level + 0.5, n * (1 - level) + 0.5, p))) for p in (0.025, 0.975))
    return Share(level=level, held=held, low=low, high=high)


def _probability(z: float) -> float:
    """Of a normal variable to lie within ± z."""
    return erf(z / sqrt(2))
