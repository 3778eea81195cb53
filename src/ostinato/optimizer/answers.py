"""Answers to what users ask of the model: predictions, draws, the best candidates and how sure that is."""

from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import Any

import msgspec
import numpy as np
from scipy.special import ndtri

from ostinato.arrays import Matrix, Vector
from ostinato.checks import fraction, positive, whole
from ostinato.errors import InvalidSetting
from ostinato.learning import Learner, Prior
from ostinato.measurements.batches import number_at
from ostinato.measurements.outcomes import Outcome
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.calibration import Calibration, calibration
from ostinato.optimizer.certificate import uncovered
from ostinato.optimizer.diagnosis import Diagnosis, diagnosis, never_differ
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.outliers import Misfit
from ostinato.optimizer.problem import Problem
from ostinato.posterior.chance import Contenders, ShortfallDraws, draw_shortfalls
from ostinato.posterior.draws import square_root
from ostinato.records import Best, Estimate, Learned, Outlier, Prediction

JOINT = 5_000  # points whose covariance matrix is made
RARE = 1e-3  # a share of draws that tells nothing from none
PRECISION = 1e-3  # of a gap
LIKELY = 0.9  # the probability with which a candidate is said to be within so much of the best
GAPS = 60  # at which the leader's law is computed
DRAWS = 4_096  # of the joint posterior, for simultaneous intervals


class Answers:
    """Questions about what is known now. Asking changes nothing."""

    def __init__(self, problem: Problem, known: Knowledge) -> None:
        self._problem, self._known = problem, known
        self._table, self._sign, self._priority = problem.table, problem.sign, problem.priority
        self._learned, self._outcome = problem.learned, problem.outcome
        self._short: dict[tuple[int, ...], ShortfallDraws] = {}

    def predict(self, points: Any = None) -> Prediction:
        if points is None:
            mean, _ = self._known.posterior.over_candidates()
            return self._predicted(mean[self._table.numbers], self._stds()[self._table.numbers])
        features = self._table.points(points)
        mean, variance = self._known.posterior.predict(features)
        return self._predicted(mean, self._trust.at(features) * np.sqrt(variance))

    def _predicted(self, mean: Vector, std: Vector) -> Prediction:
        """In the user's sign, within the bounds of the outcome."""
        signed = self._sign * mean
        return Prediction(*self._outcome.inside(signed, std), partial(_interval, self._outcome, signed, std))

    def covariance(self, points: Any = None) -> Matrix:
        return self._covariance(self._few(points))

    def _covariance(self, features: Matrix) -> Matrix:
        wider = self._trust.at(features)
        return wider[:, None] * self._known.posterior.covariance(features) * wider

    # The same at rows of features, in the user's sign, before the bounds of the outcome cut it off

    def belief(self, features: Matrix) -> tuple[Vector, Vector]:
        """Mean and variance at each."""
        mean, variance = self._known.posterior.predict(features)
        return self._sign * mean, self.widening(features) ** 2 * variance

    def joint(self, features: Matrix) -> tuple[Vector, Matrix]:
        """Means and covariance matrix."""
        mean, _ = self._known.posterior.predict(features)
        return self._sign * mean, self._covariance(features)

    def widening(self, features: Matrix) -> Vector:
        """By how much the model's standard deviations are widened, since it may be too sure."""
        return self._trust.at(features)

    @cached_property
    def _trust(self) -> Calibration:
        """How far standard deviations can be trusted."""
        return calibration(self._known.posterior, steps=self._known.told.steps, learned=self._learned)

    def _stds(self) -> Vector:
        """The standard deviation at every candidate."""
        _, variance = self._known.posterior.over_candidates()
        return self._trust.over_candidates(len(variance)) * np.sqrt(variance)

    def sample(self, size: int, points: Any, rng: np.random.Generator) -> Matrix:
        whole("size", size)
        if points is None and len(self._table) > JOINT:
            draws = [self._known.draw(rng).flat() for _ in range(size)]
            mean, _ = self._known.posterior.over_candidates()
            wider = self._trust.over_candidates(len(mean))
            return self._clipped((mean + wider * (np.stack(draws) - mean))[:, self._table.numbers])
        features = self._few(points)
        mean, _ = self._known.posterior.predict(features)
        root = square_root(self._covariance(features))
        return self._clipped(mean + rng.standard_normal((size, len(features))) @ root.T)

    def _clipped(self, draws: Matrix) -> Matrix:
        return np.clip(self._sign * draws, self._outcome.low, self._outcome.high)

    def leader(self) -> tuple[int, float, float]:
        number, mean, std = self._leader()
        inside = self._outcome.inside(np.array([self._sign * mean]), np.array([std]))
        return self._table.index_of(number), float(inside[0][0]), float(inside[1][0])

    def _leader(self) -> tuple[int, float, float]:
        number, mean, std = self._known.leader(self._priority)
        return number, mean, float(self._trust.of(np.array([number]))[0]) * std

    def best(self, level: float = 0.95) -> Best:
        number, mean, std = self._leader()
        width = two_sided(fraction("level", level))
        return self._standing(number, mean, std, width, level, self._rivalry([number], [std])[0])

    def estimate(self, level: float = 0.95) -> Estimate:
        """What `best` says of the recommended candidate's own value, without comparing it with all others."""
        number, mean, std = self._leader()
        return self._estimate(number, mean, std, two_sided(fraction("level", level)))

    def expected(self, number: int, measured: Statistics) -> tuple[float, float]:
        """What the average of some more measurements of a candidate is expected to be, and its standard deviation."""
        self._known.check_measured()
        mean, variance = self._known.posterior.answer_at(np.array([number]))
        wide, prior = float(self._trust.of(np.array([number]))[0]), self._known.answering
        noise = float(prior.noise[number]) / prior.worth(number, measured)
        return self._sign * float(mean[0]), float(np.sqrt(wide**2 * variance[0] + noise))

    def top(self, k: int = 5, level: float = 0.95) -> list[Best]:
        whole("k", k)
        fraction("level", level)
        numbers, means, variances = self._known.ranked(self._priority)
        means, variances = means[:k], variances[:k]
        leading = [int(number) for number in numbers[:k]]
        features = self._table.features[leading]
        stds = self._trust.at(features) * np.sqrt(variances)
        width = _simultaneous(self._covariance(features), level, self._quietly())
        rivalry = self._rivalry(leading, stds.tolist())
        rows = zip(leading, means.tolist(), stds.tolist(), rivalry, strict=True)
        return [self._standing(number, mean, std, width, level, each) for number, mean, std, each in rows]

    def chance_within(self, gap: float) -> float:
        number, _, std = self._leader()
        drawn = float(self._shortfalls([number]).chances(positive("gap", gap))[0])
        return self._trust.chance(drawn, gap, std)

    def learned(self) -> Learned:
        return self._told(self._known.learned)

    def _told(self, prior: Prior) -> Learned:
        told = prior.told(self._table.columns, self._sign, self._learned, self._fits)
        return msgspec.structs.replace(told, uncovered="" if self._learned else uncovered(self._known))

    @property
    def _fits(self) -> int:
        return self._known.learner.fits if isinstance(self._known.learner, Learner) else 0

    def outliers(self) -> list[Outlier]:
        """Furthest off first."""
        found = [self.outlier(each) for each in self._known.outliers]
        return sorted(
            found, key=lambda each: -abs(each.value - sum(each.expected) / 2) / (each.expected[1] - each.expected[0])
        )

    def outlier(self, found: Misfit) -> Outlier:
        """In the user's sign and rows."""
        index, value = self._table.index_of(found.value.candidate), found.value
        low, high = sorted((self._sign * found.low, self._sign * found.high))
        number = number_at(value.number, self._known.state.gaps)
        return Outlier(number, value.batch, index, self._table[index], self._sign * value.y, (low, high))

    def diagnose(self) -> Diagnosis:
        self._known.check_measured()
        known = self._known
        return diagnosis(known, self._told(known.answering), tuple(self.outliers()), self._trust.unknown)

    @property
    def repeats_never_differ(self) -> bool:
        return never_differ(self._known)

    def _standing(
        self, number: int, mean: float, std: float, width: float, level: float, rivalry: tuple[float, float]
    ) -> Best:
        outcome, found = self._outcome, self._estimate(number, mean, std, width)
        room = outcome.high - found.mean if self._sign > 0 else found.mean - outcome.low
        return Best(
            index=found.index,
            candidate=self._table[found.index],
            mean=found.mean,
            std=found.std,
            interval=found.interval,
            level=level,
            n=found.n,
            chance=rivalry[0],
            within=min(rivalry[1], room),
            quantity=self._problem.quantity,
        )

    def _estimate(self, number: int, mean: float, std: float, width: float) -> Estimate:
        """In the user's sign, within the bounds of the outcome; the interval without the luck of being chosen."""
        believed = np.array([self._sign * mean]), np.array([std])
        inside = self._outcome.inside(*believed)
        shift, wider = self._trust.interval(number, self._stretch(float(inside[0][0])))
        middle = believed[0] + self._sign * (shift - self._luck(number) * wider * std)
        low, high = self._outcome.interval(middle, wider * believed[1], width)
        low, high = np.minimum(low, inside[0]), np.maximum(high, inside[0])  # with the mean that is shown
        return Estimate(
            index=self._table.index_of(number),
            mean=float(inside[0][0]),
            std=float(inside[1][0]),
            interval=(float(low[0]), float(high[0])),
            n=self._known.state.history.counts[number],
        )

    def _stretch(self, rate: float) -> float:
        """How much more values differ where rates are this high than at the prior mean, by their logits."""
        usual = self._sign * self._known.answering.mean
        if not self._outcome.binary or not 0 < usual < 1:
            return 1.0
        return max(1.0, self._outcome.scale(rate) / self._outcome.scale(usual))

    def _rivalry(self, numbers: list[int], stds: list[float]) -> list[tuple[float, float]]:
        """The chance of being the best, and the gap within which each of some candidates lies with probability LIKELY.

        The chances of all but the first follow from its own, in the proportion that the draws say.
        """
        short, trust = self._shortfalls(numbers), self._trust
        drawn: list[float] = short.chances().tolist()
        first = trust.chance(drawn[0], 0.0, stds[0])
        others = [first * (each + RARE) / (drawn[0] + RARE) for each in drawn[1:]]
        scale = min(1.0, (1 - first) / sum(others)) if sum(others) > 0 else 1.0  # together they are at most certain
        chances = [first, *(scale * each for each in others)]
        return [(chance, self._within(short, place, stds)) for place, chance in enumerate(chances)]

    def _within(self, short: ShortfallDraws, place: int, stds: list[float]) -> float:
        """The smallest gap that a candidate is within with probability LIKELY."""
        chance = self._chance_of_others(short, place, stds[0]) if place and self._trust.corrects else None

        def likely(gap: float) -> bool:
            if chance is not None:
                return chance(gap) >= LIKELY
            return self._trust.chance(float(short.chances(gap)[place]), gap, stds[place]) >= LIKELY

        low, high = 0.0, max(short.largest, stds[place], np.finfo(np.float64).tiny)
        while not likely(high):
            low, high = high, 2 * high
            if not high < np.inf:
                return np.inf
        if likely(low):
            return low
        while high - low > PRECISION * high:
            middle = (low + high) / 2
            low, high = (low, middle) if likely(middle) else (middle, high)
        return high

    def _chance_of_others(self, short: ShortfallDraws, place: int, std: float) -> Callable[[float], float]:
        """The chance that a candidate other than the leader is within a gap of the best.

        It falls short of the best by what the leader does, whose law was found on the development set, and by what lies
        between the two, which is drawn.
        """
        behind: Vector = short.everyone[:, place] - short.everyone[:, 0]
        gaps = np.concatenate([[0.0], np.geomspace(std / 100, 8 * max(short.largest, std), GAPS)])
        law = np.array([self._trust.chance(float(short.chances(gap)[0]), float(gap), std) for gap in gaps])

        def chance(gap: float) -> float:
            left = gap - behind
            return float(np.mean(np.where(left < 0, 0.0, np.interp(left, gaps, law))))

        return chance

    def _luck(self, number: int) -> float:
        """The standard deviations by which the recommended candidate was lucky to be chosen; none for any other."""
        if not self._trust.learned or number != self._known.leader(self._priority)[0]:
            return 0.0
        rivals, apart = Contenders.only(self._trust.measured), self._known.state.retired - {number}
        drawn = self._drawn([number], rivals, apart)
        return self._trust.luck(float(drawn.chances()[0]))

    def _shortfalls(self, numbers: list[int]) -> ShortfallDraws:
        """How far some candidates fall short of the best that can be measured; computed once."""
        if tuple(numbers) not in self._short:
            state = self._known.state
            failed = [candidate for candidate in state.failures if not state.history.counts[candidate]]
            apart = [*failed, *(state.retired - set(numbers))]
            self._short = {tuple(numbers): self._drawn(numbers, self._contenders, apart)}
        return self._short[tuple(numbers)]

    def _drawn(self, numbers: list[int], contenders: Contenders, apart: Collection[int]) -> ShortfallDraws:
        known, rng = self._known, self._quietly()
        return draw_shortfalls(known.posterior, numbers, rng, contenders, self._trust.for_chances, apart)

    @cached_property
    def _contenders(self) -> Contenders:
        """Among which the best is looked for."""
        return Contenders.of(self._known.overview, self._trust.measured)

    def _quietly(self) -> np.random.Generator:
        """Randomness that is the same whenever the same is known."""
        return np.random.default_rng((int(self._priority[0]), self._known.state.history.steps))

    def _few(self, points: Any) -> Matrix:
        features = self._table.features[self._table.numbers] if points is None else self._table.points(points)
        if len(features) > JOINT:
            raise InvalidSetting(
                f"{len(features):,} points are too many for a joint covariance, above {JOINT:,}: give fewer points."
            )
        return features


def _interval(outcome: Outcome, mean: Vector, std: Vector, level: float) -> tuple[Vector, Vector]:
    return outcome.interval(mean, std, two_sided(fraction("level", level)))


def two_sided(level: float) -> float:
    """How many standard deviations either side hold a normal variable with this probability."""
    return float(ndtri(0.5 + level / 2))


def _simultaneous(covariance: Matrix, level: float, rng: np.random.Generator) -> float:
    """How many standard deviations make intervals that all hold at once with probability `level`."""
    if len(covariance) == 1:
        return two_sided(level)
    std = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    draws = rng.standard_normal((DRAWS, len(std))) @ square_root(covariance).T / std
    return max(float(np.quantile(np.max(np.abs(draws), axis=1), level)), two_sided(level))
