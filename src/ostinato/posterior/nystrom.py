"""The Nyström posterior of BKB and BBKB: exact where the inducing candidates are, uncertain where they are not.

Before each round the inducing set is drawn anew: every past step s enters with probability min(1, q̄ σ̃²(x_s)/λ),
with the variances of the round before. The n steps at one candidate are n chances, so it is in with probability
1 − (1 − p)ⁿ; and means and variances of all candidates are then computed afresh (`sketch.py`).

A careful baseline: repeats are merged as in the exact posterior, k(X, A) is computed once for each unique candidate and
kept, and a round costs one triangular product of m²|A| flops, beside work of the size m³.
"""

from collections.abc import Collection
from copy import copy
from math import sqrt
from typing import cast

import numpy as np

from ostinato.arrays import Array, Matrix, Namespace, Vector, from_numpy, grown, namespace_of, to_numpy
from ostinato.kernels import Kernel
from ostinato.measurements.tally import Statistics, Tally
from ostinato.posterior.blocks import Block, BlockedVector, Blocks
from ostinato.posterior.cache import CachedRows, Indices
from ostinato.posterior.device import Device
from ostinato.posterior.model import Drawn
from ostinato.posterior.pending import Ghost
from ostinato.posterior.sketch import Sketch, sketch

SWEEP = 512  # candidates at a time, so that k(S, x) and G k(S, x) stay in the processor's cache


class Nystrom:
    """What is believed of f at every candidate, as some of the measured candidates see it."""

    device: Device | None = None  # computed on the processor, wherever candidates are
    heaviest = jitter = 0.0  # the approximation ends long before float64 does

    def __init__(
        self,
        features: Matrix,
        kernel: Kernel,
        noise: Vector,
        *,
        mean: float = 0.0,
        xp: Namespace = np,
        block_size: int | None = None,
        memory: int | None = None,
        oversampling: float = 5.0,
    ) -> None:
        self.features, self.kernel, self.noise, self.prior_mean = features, kernel, noise, mean
        self.block_size, self.memory, self.oversampling = block_size, memory, oversampling
        self.blocks = Blocks.of(xp, kernel, features, mean, block_size, memory=memory)
        self.kappa2 = self.blocks.prior_variances.highest
        self._tally = Tally()
        self._slots: dict[int, int] = {}
        self._K = xp.zeros((16, 16), dtype=xp.float64)
        self._drawn_at: float | None = 0  # how many measurements there were when the inducing set was drawn
        self.inducing: Indices = np.zeros(0, dtype=np.int64)
        self.sketch: Sketch | None = None

    @property
    def xp(self) -> Namespace:
        return namespace_of(self._K)

    @property
    def log_det(self) -> float:
        return 0.0 if self.sketch is None else self.sketch.log_det

    @property
    def means(self) -> BlockedVector:
        return self.blocks.means

    @property
    def variances(self) -> BlockedVector:
        return self.blocks.variances

    def at_each(self, candidates: Indices) -> tuple[Vector, Vector]:
        """Mean and variance of f at some candidates."""
        return self.means.at(candidates), self.variances.at(candidates)

    # Taking in

    def condition(self, candidate: int, n: float, value: float) -> None:
        """Take in n measurements with mean `value`; they are seen by the next that is `refreshed`."""
        self._add([candidate] if candidate not in self._slots else [])
        self._tally = self._tally.plus({candidate: Statistics(n, value)})

    def rebuild(self, tally: Tally) -> None:
        self._add([candidate for candidate, _ in tally if candidate not in self._slots])
        self._tally = tally.plus({})

    def refreshed(self, rng: np.random.Generator, drawn: Drawn | None = None) -> "Nystrom":
        """With an inducing set that is drawn anew, and means and variances of all candidates under it.

        drawn: what was drawn before, with the variances by which it is drawn now; else those of this model.
        """
        if self._tally.steps == self._drawn_at:
            return self
        fresh = copy(self)
        draws, order = rng.random(len(self._slots)), np.argsort(list(self._slots))  # by candidate, however they came
        lots = np.empty(len(draws))
        lots[order] = draws
        fresh.induce(np.flatnonzero(lots < self._chances(drawn)))
        fresh._drawn_at = self._tally.steps
        return fresh

    def drawn(self, candidates: Collection[int]) -> Drawn:
        """The inducing set, and the variances of all candidates that will then have been measured."""
        named = list(self._slots)
        looked = sorted({*named, *candidates})
        variances = self.variances.at(np.array(looked, dtype=np.int64)).tolist()
        inducing = [named[int(slot)] for slot in self.inducing]
        return Drawn(inducing, dict(zip(looked, variances, strict=True)), self._drawn_at)

    def recall(self, drawn: Drawn) -> None:
        """Measurements that came since are seen by the next that is `refreshed`."""
        self._drawn_at = drawn.steps
        self._add([candidate for candidate in drawn.inducing if candidate not in self._slots])
        self.induce(np.sort([self._slots[candidate] for candidate in drawn.inducing]).astype(np.int64))

    def induce(self, slots: Indices) -> None:
        """Make the candidates in these slots the inducing ones."""
        self.inducing = slots
        self.sketch = self._sketch() if len(slots) else None
        self.blocks = self.blocks.fork()
        made = [self._prior(block) if self.sketch is None else self._sweep(self.sketch, block) for block in self.blocks]
        self.blocks.means = BlockedVector([mean for mean, _ in made], self.blocks.starts)
        self.blocks.variances = BlockedVector([variance for _, variance in made], self.blocks.starts)

    # Answers

    def covariance_with(self, candidate: int) -> Vector:
        """k(x, x*) − k(x, S) G k(S, x*) at every candidate x."""
        prior = self.kernel(*(from_numpy(self.xp, rows) for rows in (self.features[[candidate]], self.features)))[0, :]
        if self.sketch is None:
            return to_numpy(prior)
        p = self.sketch.shrinks(from_numpy(self.xp, self.columns(np.array([candidate]))[:, 0]))
        return to_numpy(prior) - self.spread(to_numpy(p)[None, :])[0]

    def variance(self, candidate: int) -> float:
        """Of one candidate, the inducing set being what it is."""
        return max(self.variances[candidate], 0.0)

    def ghost(self) -> Ghost:
        """Its variances can go on without it, with the inducing set frozen."""
        return _Ghost(self)

    def columns(self, candidates: Indices) -> Matrix:
        """k(S, x) for some candidates x."""
        return self.blocks.columns(candidates)[self.inducing]

    def spread(self, P: Matrix) -> Matrix:
        """P k(S, A) for all candidates."""
        full = np.zeros((len(P), len(self._slots)))
        full[:, self.inducing] = P
        return self.blocks.spread(from_numpy(self.xp, full)).flat()

    # Inside

    def _add(self, candidates: list[int]) -> None:
        if not candidates:
            return
        first = len(self._slots)
        self._slots.update((candidate, first + i) for i, candidate in enumerate(candidates))
        new, all_ = (from_numpy(self.xp, self.features[rows]) for rows in (candidates, list(self._slots)))
        rows = self.kernel(new, all_)
        size = len(self._slots)
        self._K = grown(self._K, (size, size))
        self._K[first:size, :size] = rows
        self._K[:size, first:size] = self.xp.matrix_transpose(rows)
        self.blocks.add(new)

    def _chances(self, drawn: Drawn | None) -> Vector:
        """1 − (1 − min(1, q̄ σ̃²/λ))ⁿ for each unique candidate, under the inducing set so far."""
        candidates = np.array(list(self._slots), dtype=np.int64)
        variances = self.variances.at(candidates)
        if drawn is not None:  # whoever was not looked at then is as uncertain as before any measurement
            prior = self.blocks.prior_variances
            variances = np.array([drawn.variances.get(int(each), prior[int(each)]) for each in candidates])
        n = np.array([self._tally[int(candidate)].n for candidate in candidates])
        p = np.minimum(1.0, self.oversampling * variances / self.noise[candidates])
        with np.errstate(divide="ignore"):
            return -np.expm1(n * np.log1p(-p))

    def _sketch(self) -> Sketch:
        w, m = np.zeros(len(self._slots)), np.zeros(len(self._slots))
        for candidate, statistics in self._tally:
            slot = self._slots[candidate]
            w[slot] = statistics.n / self.noise[candidate]
            m[slot] = statistics.mean - self.prior_mean
        xp, S = self.xp, self.inducing
        R = np.setdiff1d(np.arange(len(w)), S)
        K_SX = xp.take(self._K, xp.asarray(S), axis=0)
        K_SS, K_SR = (xp.take(K_SX, xp.asarray(slots), axis=1) for slots in (S, R))
        data = [(from_numpy(xp, w[slots]), from_numpy(xp, m[slots])) for slots in (S, R)]
        return sketch(K_SS, K_SR, *data)

    def _prior(self, block: Block) -> tuple[Array, Array]:
        """Means and variances of one block, before anything induces them."""
        return self.xp.full(block.size, self.prior_mean, dtype=self.xp.float64), block.prior_variance

    def _sweep(self, made: Sketch, block: Block) -> tuple[Array, Array]:
        """Means and variances of one block."""
        means: list[Array] = []
        variances: list[Array] = []
        for start in range(0, block.size, SWEEP):
            part = slice(start, min(start + SWEEP, block.size))
            k_x = cast("CachedRows", block.cache).some(self.inducing, part)
            means.append(made.mean(k_x) + self.prior_mean)
            variances.append(made.variance(k_x, block.prior_variance[part]))
        return self.xp.concat(means), self._not_below_least(self.xp.concat(variances), block.prior_variance)

    def _not_below_least(self, variances: Array, prior: Array) -> Array:
        """No variance is below k λ/(λ + t k), what all t measurements at that one candidate would leave of it."""
        noise = float(np.min(self.noise))
        least = prior * noise / (noise + self._tally.steps * prior)
        return self.xp.where(variances > least, variances, least)


class _Ghost:
    """Imagined measurements with the inducing set frozen: cov[f̂(x), f̂(y) | data] loses a rank-one term for each."""

    def __init__(self, model: Nystrom) -> None:
        self._model = model
        self._terms = np.zeros((16, len(model.inducing)))
        self._count = 0
        self._looked_up: dict[int, tuple[Vector, Vector, float]] = {}

    def add(self, candidate: int, n: float) -> tuple[Array, float]:
        k_x, p, variance = self._at(candidate)
        P = self._terms[: self._count]
        c = P @ k_x
        variance, p = max(variance - float(c @ c), 0.0), p - c @ P
        seen = float(p @ k_x)
        sound = 0 < seen <= 2 * variance  # else rounding is all that is left of it, and there is nothing to shrink
        p = p / sqrt(seen + float(self._model.noise[candidate]) / n) if sound else np.zeros_like(p)
        self._count += 1
        self._terms = grown(self._terms, (self._count, len(p)))
        self._terms[self._count - 1] = p
        return p, variance

    def variance(self, candidate: int) -> float:
        k_x, _, variance = self._at(candidate)
        c = self._terms[: self._count] @ k_x
        return max(variance - float(c @ c), 0.0)

    def columns(self, candidates: Indices) -> Matrix:
        return self._model.columns(candidates)

    def spread(self, P: Matrix) -> Matrix:
        return self._model.spread(P)

    def _at(self, candidate: int) -> tuple[Vector, Vector, float]:
        """k(S, x), the coefficients of what is seen of x, and x's variance, before anything imagined."""
        if candidate not in self._looked_up:
            model = self._model
            k_x = model.columns(np.array([candidate]))[:, 0]
            p = k_x if model.sketch is None else to_numpy(model.sketch.seen(from_numpy(model.xp, k_x)))
            self._looked_up[candidate] = k_x, p, model.variances[candidate]
        return self._looked_up[candidate]
