"""Learns what the user did not say: kernel, noise, prior mean and set-up error, from the tally alone.

Refits come on a growing schedule, when candidates or measurements have grown by a factor. In between the prior is
fixed, and the posterior goes on incrementally.
"""

from copy import copy
from dataclasses import dataclass, replace
from math import exp, inf, isnan, log, sqrt

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector, constant, times
from ostinato.candidates import Candidates
from ostinato.kernels import Kernel
from ostinato.learning.fit import NO_SETUP, Priors, fit, free
from ostinato.learning.fit_state import FitState
from ostinato.learning.likelihood import GivenKernel, Point
from ostinato.learning.mean_dependent_noise import MeanDependentNoise
from ostinato.learning.noise import STRETCHES, relative_noise
from ostinato.learning.prior import Prior
from ostinato.learning.sample import Sample
from ostinato.learning.scales import Scales, is_large_grid
from ostinato.measurements.outcomes import REAL, Outcome
from ostinato.measurements.tally import Tally

GROWTH = 1.3  # of unique candidates, from one fit to the next
REPEATED = 2.0  # growth of measurements, where they repeat the same candidates: these teach less about the kernel
CONSTANT = 1.0  # standard deviation of the unknown mean, in units of the outcomes' spread
DISPERSION = 0.5  # standard deviation of log φ, where counts may scatter more than Poisson's law says
REPEATS = 20  # within set-ups, until which every set-up is used twice where their error is learned
EXTRA_START_UP_TO = 10  # unique candidates up to which a fit also starts from the priors
BAD = 2.0  # times the way from the median to the 90th percentile, below which outcomes are hopeless, for choosing
NO_FLOOR = inf  # the same, for answering: no outcome is hopeless
MIN_GAIN = 0.1  # gain in log-likelihood from which new hyper-parameters are worth a new model
SMALL = -9.0  # log τ² of a start at which set-ups hardly differ, in units of the spread
NEARLY = 0.1  # of the spread: a floor that moves by less stays where it is
FLOOR_FROM = 5  # unique candidates from which that can be told


@dataclass(frozen=True)
class LearningSettings:
    """What the user gave, and what is to be learned: whatever is None here, and set-ups or differing noise on request.

    outcome: what kind of number a measurement is; its noise then follows the mean. sign: −1 where values are turned.
    """

    kernel: Kernel | None = None
    noise: Vector | None = None
    mean: float | None = None
    setup: float | None = 0.0
    varying: bool = False
    outcome: Outcome = REAL
    sign: int = 1

    @property
    def learned(self) -> tuple[str, ...]:
        """The names of what is to be learned."""
        parts = (("kernel", self.kernel), ("mean", self.mean), ("noise_std", self.noise), ("setup_std", self.setup))
        return tuple(name for name, given in parts if given is None)


class Learner:
    """The hyper-parameters so far, and when they are due again."""

    def __init__(self, table: Candidates, settings: LearningSettings, half_life: int | None = None) -> None:
        self._features, self._settings, columns = table.features, settings, table.columns
        self._lasting = half_life or inf  # measurements after which a fit is due in any case
        self._scales = Scales(table.span, columns, product=is_large_grid(table))
        self._priors = Priors.of(len(columns))
        self._last: _Fitted | None = None
        self._at = (0, 0.0)
        self.evaluations = 0
        self.fits = 0

    def due(self, tally: Tally) -> bool:
        unique, told = self._at
        return len(tally) > 0 and (
            len(tally) >= GROWTH * unique or tally.told >= min(REPEATED * told, told + self._lasting)
        )

    def wants_repeats(self, tally: Tally) -> bool:
        """Whether set-ups are to be learned, and repeats within them are still few."""
        if self._settings.setup is not None:
            return False
        within = sum(group.freedom for candidate, _ in tally for group in tally.groups(candidate) if not group.known)
        return within < REPEATS

    def first(self) -> Prior:
        """Before anything is measured: a kernel of the middle of the priors, so that first candidates spread out."""
        return self._prior(self._priors.start, 0.0, 1.0, constant(1.0, len(self._features)), -inf)

    def with_candidates(self, features: Matrix, settings: LearningSettings) -> "Learner":
        """The same, for more candidates after those that there were."""
        other = copy(self)
        other._features, other._settings = features, settings
        if self._last is not None:
            other._last = replace(self._last, prior=other._extended(self._last))
        return other

    @property
    def prior(self) -> Prior:
        """That of the last fit, or of none."""
        return self.first() if self._last is None else self._last.prior

    def _extended(self, fitted: "_Fitted") -> Prior:
        """Noise for candidates that were not there, as usual."""
        if self._settings.noise is not None:
            return replace(fitted.prior, noise=self._settings.noise)
        noise, old = fitted.prior.noise, len(fitted.prior.noise)
        more = np.full(len(self._features) - old, exp(fitted.point.noise) * fitted.spread**2)
        return replace(fitted.prior, noise=np.append(noise, more))

    def learn(self, tally: Tally) -> Prior:
        """Fit to everything measured so far, for choosing what to measure next. The last prior, if it still does."""
        self._last = self._fitted(tally, self._last, BAD)
        self._at = (len(tally), tally.told)
        self.fits += 1
        return self._last.prior

    @property
    def fit_state(self) -> FitState | None:
        """The last fit as a fact."""
        if self._last is None:
            return None
        prior, point, spread = self._last.prior, self._last.point, self._last.spread
        floor = None if prior.floor == -inf else prior.floor
        varying, by_outcome = None, dict[int, float]()
        if self._settings.varying or not self._settings.outcome.real:  # else noise is the same for all
            usual = exp(point.noise) * spread**2
            relative: Vector = times(1 / usual, prior.noise)
            varying = relative.tobytes() if self._settings.varying else None
            if not self._settings.outcome.real:  # 1 / usual · usual may be off from 1
                by_outcome = {int(i): float(relative[i]) for i in np.flatnonzero(prior.noise != usual)}
        return FitState(
            self._at, self.fits, _finite(point.vector()), prior.mean, spread, floor, varying, by_outcome
        )  # fmt: skip

    def recall(self, fit_state: FitState) -> Prior:
        """The prior of a fit that was made before."""
        point = Point.of(np.array([NO_SETUP if each is None else each for each in fit_state.point], dtype=np.float64))
        size = len(self._features)
        relative = constant(1.0, size) if fit_state.relative is None else np.frombuffer(fit_state.relative)
        if fit_state.noises:
            relative = relative.copy()
            relative[list(fit_state.noises)] = list(fit_state.noises.values())
        floor = -inf if fit_state.floor is None else fit_state.floor
        prior = self._prior(point, fit_state.mean, fit_state.spread, relative, floor)
        self._last, self._at, self.fits = _Fitted(prior, point, fit_state.spread), fit_state.at, fit_state.fits
        return prior

    def peek(self, tally: Tally) -> Prior:
        """What `learn` would say now; nothing is kept."""
        return self._fitted(tally, self._last, BAD).prior

    def for_answers(self, tally: Tally) -> Prior:
        """Fit to everything measured so far, the bad outcomes included: what choosing may ignore, answers may not."""
        prior = self._fitted(tally, self._last, NO_FLOOR).prior
        return self._unsure(prior, tally)

    def for_judging(self, tally: Tally) -> Prior:
        """The same in one fit from where the last one ended: whether a value fits, where these are all others."""
        return self._unsure(self._fitted(tally, self._last, BAD).prior, tally)

    def _unsure(self, prior: Prior, tally: Tally) -> Prior:
        """With the mean of the noise in place of its most plausible value."""
        uncertain = self._settings.noise is None and not self._settings.outcome.whole
        return replace(prior, noise=times(self._noise_uncertainty(tally), prior.noise)) if uncertain else prior

    def _noise_uncertainty(self, tally: Tally) -> float:
        """The mean of λ over its most plausible value: log λ has a variance of 1/(1/1.5² + ν/2), with ν repeats."""
        groups = (group for candidate, _ in tally for group in tally.groups(candidate))
        freedom = sum(group.freedom for group in groups if not group.known)
        return exp(0.5 / (1 / self._priors.width[-2] ** 2 + freedom / 2))

    def _fitted(self, tally: Tally, last: "_Fitted | None", bad: float) -> "_Fitted":
        settings, candidates = self._settings, [candidate for candidate, _ in tally]
        dependent = None if settings.outcome.real else MeanDependentNoise(settings.outcome, settings.sign, tally)
        relative = self._relative(tally, last, dependent)
        noise = self._noise(relative, last)
        means = np.array([_average(tally, candidate, noise) for candidate in candidates])
        floor = self._floor(means, bad)
        sample = _sample(
            tally, candidates, relative if settings.noise is None else settings.noise, means < floor, floor
        )
        centre, spread = self._units(np.maximum(means, floor), sample, candidates, dependent)
        priors = self._priors if dependent is None else self._mean_dependent_priors(dependent, spread)
        X = self._features[candidates]
        kernel = (
            self._scales.to_learn(X, 0.0 if settings.mean is not None else CONSTANT**2)
            if settings.kernel is None
            else GivenKernel(settings.kernel(X, X) / spread**2, len(self._scales.columns))
        )
        learns = free(
            len(self._scales.columns),
            kernel=settings.kernel is None,
            noise=settings.noise is None and settings.outcome.dispersed,
            setup=settings.setup is None,
        )
        scaled = sample.standardised(centre, spread)
        starts = self._starts(priors, spread, last, tally, bad)
        fits = [fit(kernel, scaled, priors, start, learns) for start in starts]
        best = max(fits, key=lambda each: each.value)
        self.evaluations += sum(each.evaluations for each in fits)
        changing = settings.varying or dependent is not None
        if last is not None and best.value < fits[0].first + MIN_GAIN and last.still(floor, spread) and not changing:
            return last
        prior = self._prior(best.point, centre, spread, relative, floor)
        if dependent is not None:
            relative = self._relative(tally, _Fitted(prior, best.point, spread), dependent)
            prior = self._prior(best.point, centre, spread, relative, floor)
        return _Fitted(prior, best.point, spread)

    def _mean_dependent_priors(self, dependent: MeanDependentNoise, spread: float) -> Priors:
        """Where noise follows the mean, the law says how loud it is; counts may scatter more than it says."""
        if not self._settings.outcome.whole:
            return self._priors
        level = log(dependent.noise / spread**2)
        return self._priors.with_noise(level, DISPERSION, level if self._settings.outcome.dispersed else None)

    def _starts(self, priors: Priors, spread: float, last: "_Fitted | None", tally: Tally, bad: float) -> list[Point]:
        """The last fit first; others where it may mislead: after few candidates, and where other outcomes count."""
        starts = [self._start(priors, spread, last)] if last is not None else []
        if last is None or len(tally) <= EXTRA_START_UP_TO or bad == NO_FLOOR:
            starts.append(self._start(priors, spread, None))
        if bad == NO_FLOOR and self._settings.setup is None:
            starts += [replace(start, setup=SMALL) for start in starts]
        return starts

    def _start(self, priors: Priors, spread: float, last: "_Fitted | None") -> Point:
        """The last fit or the priors' middle, in units of the spread, with what was given in its place."""
        vector = priors.start.vector() if last is None else last.point.vector()
        if last is not None:
            vector[-3:] += log(last.spread / spread) * np.array([1.0, 2.0, 2.0])
        setup = self._settings.setup
        if self._settings.noise is not None:
            vector[-2] = -2 * log(spread)
        elif not self._settings.outcome.dispersed:
            vector[-2] = priors.middle[-2]
        if setup is not None:
            vector[-1] = log(setup / spread**2) if setup > 0 else NO_SETUP
        return Point.of(vector)

    def _floor(self, means: Vector, bad: float) -> float:
        """Below it outcomes are hopeless; only where the kernel is learned, which they would otherwise rule."""
        if self._settings.kernel is not None or len(means) < FLOOR_FROM:
            return -inf
        middle, high = np.quantile(means, [0.5, 0.9])
        return float(middle - bad * (high - middle)) if high > middle else -inf

    def _noise(self, relative: Vector, last: "_Fitted | None") -> Vector | None:
        """λ of every candidate, as far as it is known before a fit."""
        if self._settings.noise is not None or last is None:
            return self._settings.noise
        return times(exp(last.point.noise) * last.spread**2, relative)

    def _units(
        self, means: Vector, sample: Sample, candidates: list[int], dependent: MeanDependentNoise | None
    ) -> tuple[float, float]:
        """Where outcomes lie, and how far they spread; where they do not, how far the noise does."""
        centre = float(np.mean(means)) if self._settings.mean is None else self._settings.mean
        if dependent is not None and self._settings.outcome.whole:
            return centre, dependent.spread
        spread = float(np.std(means))
        given = self._settings.noise
        noise = sample.pooled if given is None else float(np.median(given[candidates]))
        if spread == 0 if isnan(noise) else spread < 1e-6 * sqrt(noise):
            spread = 0.0 if isnan(noise) else sqrt(noise)
        return centre, spread or abs(centre) or 1.0

    def _relative(self, tally: Tally, last: "_Fitted | None", dependent: MeanDependentNoise | None) -> Vector:
        """λ(x)/λ at all candidates."""
        relative = constant(1.0, len(self._features))
        if dependent is not None:
            relative = relative.copy()
            first = last is None
            means, stds = (
                (dependent.initial_means(), np.zeros(len(tally)))
                if first
                else _smoothed(self._features, last.prior, tally)
            )
            relative[dependent.numbers] = dependent.relative(means, stds)
            return relative
        if not self._settings.varying:
            return relative
        scales = np.exp((self._last.point if self._last else self._priors.start).lengthscales)
        kernels = [self._scales.kernel(stretch * scales, 1.0, 0.0) for stretch in STRETCHES]
        return relative_noise(kernels, tally, self._features)

    def _prior(self, point: Point, centre: float, spread: float, relative: Vector, floor: float) -> Prior:
        """Back to the user's units."""
        settings = self._settings
        kernel = settings.kernel or self._scales.kernel(
            np.exp(point.lengthscales), exp(point.std) * spread, 0.0 if settings.mean is not None else CONSTANT * spread
        )
        noise = settings.noise if settings.noise is not None else times(exp(point.noise) * spread**2, relative)
        setup = settings.setup if settings.setup is not None else exp(point.setup) * spread**2
        return Prior(kernel, noise, centre, setup, floor)


@dataclass(frozen=True)
class _Fitted:
    """A prior, and the point that made it, in units of the spread."""

    prior: Prior
    point: Point
    spread: float

    def still(self, floor: float, spread: float) -> bool:
        """Whether a new floor is about the same as this one's."""
        old = self.prior.floor
        return old == floor or abs(old - floor) < NEARLY * spread


def _finite(vector: Vector) -> list[float | None]:
    """What JSON can hold: no set-ups at all are None."""
    return [float(each) if np.isfinite(each) else None for each in vector]


def _smoothed(features: Matrix, prior: Prior, tally: Tally) -> tuple[Vector, Vector]:
    """Mean and standard deviation of the candidates that were measured, in a model with this prior."""
    X, evidence = features[tally.numbers], prior.evidence(tally)
    n = np.array([statistics.n for _, statistics in evidence], dtype=np.float64)
    m = np.array([statistics.mean for _, statistics in evidence], dtype=np.float64) - prior.mean
    own: Vector = prior.noise[tally.numbers] / n
    K: Matrix = prior.kernel(X, X)
    M = np.linalg.inv(K + np.diag(own))
    return prior.mean + m - own * (M @ m), np.sqrt(np.maximum(own * (1 - own * np.diagonal(M)), 0.0))


def _average(tally: Tally, candidate: int, noise: Vector | None) -> float:
    """A candidate's mean, its groups weighted by their precision where some came with standard errors."""
    groups = tally.groups(candidate)
    if noise is None or not any(group.known for group in groups):
        return tally[candidate].mean
    weights = [1 / (group.known or float(noise[candidate]) / group.n) for group in groups]
    return float(np.average([group.mean for group in groups], weights=weights))


def _sample(tally: Tally, candidates: list[int], relative: Vector, hopeless: NDArray[np.bool_], floor: float) -> Sample:
    """The groups of all candidates. Of those below the floor, only that they are: neither how far nor their scatter."""
    rows: list[tuple[float, ...]] = []
    for slot, candidate in enumerate(candidates):
        r = float(relative[candidate])
        for g in tally.groups(candidate):
            if hopeless[slot]:
                rows.append((slot, 1, floor, 0, 0.0 if g.known else r / g.n, g.known))
            else:
                rows.append((slot, g.n, g.mean, g.squares, 0.0 if g.known else r, g.known))
    slot, n, mean, squares, r, known = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    return Sample(slot.astype(np.int64), n, mean, squares, r, known)
