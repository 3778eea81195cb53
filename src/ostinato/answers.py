"""Answers to what users ask of the model: predictions, draws, the best candidates and how sure that is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from ostinato.arrays import Matrix, Vector, to_numpy
from ostinato.candidates import Candidates
from ostinato.checks import fraction, positive, whole
from ostinato.diagnose import Diagnosis, diagnosis
from ostinato.errors import InvalidSetting
from ostinato.knowledge import Knowledge
from ostinato.posterior import Posterior
from ostinato.posterior.chance import chances_of_being_best
from ostinato.posterior.draws import square_root
from ostinato.records import Best, Learned, Prediction

JOINT = 5_000  # points whose covariance matrix is made
WIDEST = 1.0  # of a variance, by which learning widens it at most
WARY = 1.4  # times shorter length-scales, under which a claim about all candidates must hold too where they are learned
HIGH = 0.975  # the quantile at which Student's t is compared with the normal law
DRAWS = 4_096  # of the joint posterior, for simultaneous intervals


class Answers:
    """Questions about what is known. They draw from randomness of their own, so that asking does not disturb a run."""

    def __init__(
        self,
        table: Candidates,
        sign: int,
        knowledge: Knowledge,
        priority: NDArray[np.int64],
        rng: np.random.Generator,
        learned: tuple[str, ...],
    ) -> None:
        self._table, self._sign, self._known, self._priority, self._rng = table, sign, knowledge, priority, rng
        self._learned = learned
        self._chances: dict[tuple[float, int, float], float] = {}

    def predict(self, points: Any = None) -> Prediction:
        if points is None:
            mean, variance = self._known.posterior.over_candidates()
            std = self._wider(variance, self._table.features) * np.sqrt(variance)
            return Prediction(self._sign * mean[self._table.numbers], std[self._table.numbers])
        features = self._table.encode(points)
        mean, variance = self._known.posterior.predict(features)
        return Prediction(self._sign * mean, self._wider(variance, features) * np.sqrt(variance))

    def covariance(self, points: Any = None) -> Matrix:
        return self._covariance(self._few(points))

    def _covariance(self, features: Matrix) -> Matrix:
        covariance = self._known.posterior.covariance(features)
        wider = self._wider(np.diagonal(covariance), features)
        return wider[:, None] * covariance * wider

    def _wider(self, variance: Vector, features: Matrix) -> Vector:
        """By how much standard deviations are widened because what was learned is uncertain too; 1 where nothing was.

        Scales are known from t measurements only, as in Student's t. With p hyper-parameters learned from q candidates
        variances grow by about p/q where a candidate is unknown, and not where it was measured often: in between by the
        share of the prior's standard deviation that is left. Without this, 90% intervals cover 84% of functions drawn
        from the model (`python -m benchmarks learning`), and far less after the first few measurements.
        """
        if not self._learned or not len(self._known.tally):
            return np.ones(len(variance))
        p = len(self._learned) + (len(self._table.columns) if "kernel" in self._learned else 0)
        q, t = len(self._known.tally), max(int(self._known.tally.steps) - 1, 1)
        left = np.sqrt(np.clip(variance / self._known.posterior.kernel.diag(features), 0.0, 1.0))
        return np.sqrt(1 + min(WIDEST, p / q) * left) * float(stdtrit(t, HIGH) / ndtri(HIGH))

    def sample(self, size: int = 1, points: Any = None) -> Matrix:
        whole("size", size)
        if points is None and len(self._table) > JOINT:
            draws = [np.concatenate([to_numpy(b) for b in self._known.draw(self._rng)]) for _ in range(size)]
            mean, variance = self._known.posterior.over_candidates()
            wider = self._wider(variance, self._table.features)
            return self._sign * (mean + wider * (np.stack(draws) - mean))[:, self._table.numbers]
        features = self._few(points)
        mean, _ = self._known.posterior.predict(features)
        root = square_root(self._covariance(features))
        return self._sign * (mean + self._rng.standard_normal((size, len(features))) @ root.T)

    def leader(self) -> tuple[int, float, float]:
        number, mean, std = self._leader()
        return self._table.index_of(number), self._sign * mean, std

    def _leader(self) -> tuple[int, float, float]:
        number, mean, std = self._known.leader(self._priority)
        return number, mean, float(self._wider(np.array([std**2]), self._table.features[[number]])[0]) * std

    def best(self, level: float = 0.95) -> Best:
        number, mean, std = self._leader()
        half = float(ndtri(0.5 + fraction("level", level) / 2)) * std
        return self._standing(number, mean, std, half, level, self._chance(number, 0.0))

    def top(self, k: int = 5, level: float = 0.95) -> list[Best]:
        whole("k", k)
        fraction("level", level)
        numbers, means, variances = self._known.ranked(self._priority)
        means, variances = means[:k], variances[:k]
        leading = [int(number) for number in numbers[:k]]
        features = self._table.features[leading]
        stds = self._wider(variances, features) * np.sqrt(variances)
        width = _simultaneous(self._covariance(features), level, self._quietly())
        chances = self._chances_of(leading, 0.0)
        rows = zip(leading, means.tolist(), stds.tolist(), chances, strict=True)
        return [self._standing(number, mean, std, width * std, level, chance) for number, mean, std, chance in rows]

    def chance_within(self, gap: float) -> float:
        number, _, _ = self._known.leader(self._priority)
        return self._chance(number, positive("gap", gap))

    def learned(self) -> Learned:
        return self._known.learned.told(self._table.columns, self._sign, self._learned, self._fits)

    @property
    def _fits(self) -> int:
        return getattr(self._known.learner, "fits", 0)

    def diagnose(self) -> Diagnosis:
        self._known.check_measured()
        known = self._known
        learned = known.answering.told(self._table.columns, self._sign, self._learned, self._fits)
        return diagnosis(
            known.posterior, known.tally, known.answering.setup, known.returns, self._table.indices, learned
        )

    def _standing(self, number: int, mean: float, std: float, half: float, level: float, chance: float) -> Best:
        index = self._table.index_of(number)
        return Best(
            index=index,
            candidate=self._table[index],
            mean=self._sign * mean,
            std=std,
            interval=(self._sign * mean - half, self._sign * mean + half),
            level=level,
            n=int(self._known.tally[number].n),
            chance=chance,
        )

    def _chance(self, number: int, within: float) -> float:
        """Computed once for what is known now."""
        key = (self._known.tally.steps, number, within)
        if key not in self._chances:
            self._chances = {key: self._chances_of([number], within)[0]}
        return self._chances[key]

    def _chances_of(self, numbers: list[int], within: float) -> list[float]:
        """They speak of candidates that were never measured: a learned kernel is also tried with shorter scales."""
        views = [self._known.posterior] + ([self._known.rougher(WARY)] if "kernel" in self._learned else [])
        return np.min([self._chances_in(posterior, numbers, within) for posterior in views], axis=0).tolist()

    def _chances_in(self, posterior: Posterior, numbers: list[int], within: float) -> list[float]:
        _, variance = posterior.over_candidates()
        wider = self._wider(variance, self._table.features)
        return chances_of_being_best(posterior, numbers, self._quietly(), within, wider)

    def _quietly(self) -> np.random.Generator:
        """Randomness that is the same whenever the same is known."""
        return np.random.default_rng((int(self._priority[0]), int(self._known.tally.steps)))

    def _few(self, points: Any) -> Matrix:
        features = self._table.features[self._table.numbers] if points is None else self._table.encode(points)
        if len(features) > JOINT:
            raise InvalidSetting(
                f"{len(features):,} points are too many for a joint covariance, above {JOINT:,}: give fewer points."
            )
        return features


def _simultaneous(covariance: Matrix, level: float, rng: np.random.Generator) -> float:
    """How many standard deviations make intervals that all hold at once with probability `level`."""
    std = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    draws = rng.standard_normal((DRAWS, len(std))) @ square_root(covariance).T / std
    return max(float(np.quantile(np.max(np.abs(draws), axis=1), level)), float(ndtri(0.5 + level / 2)))
