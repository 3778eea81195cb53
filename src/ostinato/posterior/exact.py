"""The exact posterior over all candidates: unique candidates and blocks, joined.

    condition(candidate, n, mean)      one epoch: O(|A|(q + d) + q²), whether the candidate is new or known
    rebuild(tally)                     from the facts alone: O(|A| q² + q³), or O(q³) until all candidates are asked for

Rounding drifts over many epochs, so a fresh factorisation repairs the state on a schedule: the q-sized part and the
means every q epochs, the variances every 64 q. That is 3% of a long run at q = 300, and 8% on grids, where epochs are
cheap.
"""

from copy import copy
from functools import cached_property
from math import inf, sqrt
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Namespace, Vector, from_numpy, namespace_of, to_numpy
from ostinato.errors import InvalidKernel, InvalidSetting
from ostinato.kernels import Kernel
from ostinato.kernels.base import without_constant
from ostinato.kernels.form import has_product_form
from ostinato.kernels.single import has_single_form
from ostinato.kernels.stationary import Stationary
from ostinato.measurements.tally import Tally
from ostinato.posterior.blocks import BlockedVector, Blocks, prior_variance_of
from ostinato.posterior.cache import Indices, RowMemory, paying_grid
from ostinato.posterior.device import Device
from ostinato.posterior.factor import Factor
from ostinato.posterior.fresh_predictions import FreshPredictions
from ostinato.posterior.ghost import FORESEEN, ExactGhost
from ostinato.posterior.grid import Grid
from ostinato.posterior.incremental_factor import IncrementalFactor
from ostinato.posterior.lazy_block import LazyBlock, Leaves, Sample
from ostinato.posterior.model import Model
from ostinato.posterior.screen import Screen
from ostinato.posterior.screening import Screening
from ostinato.posterior.unique import Direction, Unique, rounding_at

MIN_EPOCHS_BETWEEN_REPAIRS = 64  # epochs between two repairs, at the least
SCREEN_ABOVE = 20_000  # candidates from which choices are screened in single precision
LAZY_FROM = 48  # unique candidates from which a screen may be lazy
LAZY_SCREEN_FROM = 300_000  # candidates, likewise: below, looking after leaves takes longer than it saves
MAX_UPDATED_SHARE = 0.4  # the share of leaves that are brought up to date at a time, from which laziness does not pay
LAZY_MAX_COLUMNS = 5  # columns, up to which the boxes of leaves are small enough that laziness pays
SAMPLE_TOLERANCE = 0.1  # by how much that share in a sample may be off
VARIANCES_EVERY = 64  # repairs of the q-sized part to one of all variances
DRIFT = 1e-9  # below zero, in units of the prior's variance, at which variances are repaired at once
AFRESH_ABOVE = 1e4  # κ² n/λ from which answers are computed afresh, so that no update's rounding is in them


class Posterior:
    """What is believed of f at every candidate, after everything that was measured."""

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
        device: Device | None = None,
    ) -> None:
        self.features, self.kernel, self.noise, self.prior_mean = features, kernel, noise, mean
        self.block_size, self.memory, self.device = block_size, memory, device
        self._grid = self._find_grid()
        self.may_be_lazy = len(features) >= LAZY_SCREEN_FROM  # so that most may wait, where that pays
        self.screened = self._is_screened(xp)
        self.blocks_outdated = self.screened  # whether the blocks do not know yet what the unique candidates know
        self._screening = self._new_screening()
        self._room: RowMemory | None = None  # memory for the first blocks that are made
        self.kappa2 = self._largest_variance(xp)
        self.unique = Unique(xp)
        self._slots: dict[int, int] = {}
        self.measured = np.zeros(0, dtype=np.int64)  # the candidates in slots, in their order
        self._X = from_numpy(self.xp, self.features[self.measured])  # and their features
        self._since_means = self._since_variances = 0
        self._lazy_from: float = LAZY_FROM
        self.jitter = 0.0
        self._incremental = IncrementalFactor()
        self._factor: Factor | None = None
        self._fresh: FreshPredictions | None = None
        self._foreseen: dict[int, BlockedVector] = {}
        self._direction: tuple[int, Direction] | None = None  # of the candidate that was looked at last

    def _find_grid(self) -> Grid | None:
        return paying_grid(self.kernel, self.features) if self.block_size is None and self.device is None else None

    def _is_screened(self, xp: Namespace) -> bool:
        """Whether choices are made in single precision, as long as that is precise enough."""
        if self.device is not None:
            return True
        return len(self.features) > SCREEN_ABOVE and xp is np and self._grid is None and has_single_form(self.kernel)

    def _largest_variance(self, xp: Namespace) -> float:
        """κ²."""
        alike = self.screened and has_product_form(self.kernel, self.features.shape[1])  # k(x, x) is one number
        return prior_variance_of(self.kernel, self.features[:1] if alike else self.features, xp)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: a namespace is a module, which follows from the arrays."""
        return {name: value for name, value in vars(self).items() if name != "xp"}

    @cached_property
    def xp(self) -> Namespace:
        return namespace_of(self.unique.alpha)

    def _build_blocks(self) -> Blocks:
        """What has the size of the candidate set, up to date; whatever stops that, it is behind as before."""
        if hasattr(self.features, "lattice"):  # all points of a space, of which nothing is stored
            raise InvalidSetting(
                f"Single precision is not enough for what was measured so often, and double precision for all "
                f"{len(self.features):,} points of this space does not fit: give a coarser space, or leave device out."
            )
        settings = self.xp, self.kernel, self.features, self.prior_mean, self.block_size
        room, self._room = self._room, None
        blocks = Blocks.of(*settings, grid=self._grid, memory=self.memory, room=room)
        if self.blocks_outdated:
            try:
                self.blocks_outdated, self.__dict__["blocks"] = False, blocks
                if self.unique.size:
                    blocks.add(self._X)
                    self._repair(everything=True)
            except BaseException:
                self.drop_blocks()
                raise
            self._screening = self._new_screening()
        return blocks

    # Made when somebody first looks, and up to date from then on. (In a protocol pyright knows no cached properties.)
    blocks = cast("Blocks", cached_property(_build_blocks))

    def drop_blocks(self) -> None:
        """Drop the blocks; they are made anew, up to date, when they are next used."""
        self.__dict__.pop("blocks", None)
        self.blocks_outdated = True

    def _new_screening(self) -> Screening:
        return Screening(device=self.device)

    @property
    def screen(self) -> Screen | None:
        """All candidates in single precision, up to date; None where they are up to date in double, or better be."""
        found = self.rough_screen
        if found is None or not (found.needs_repair or found.updated_share > MAX_UPDATED_SHARE):
            return found
        self.screened = False
        return None

    def enable_lazy_screen(self, slope: float) -> None:
        """Keep very many candidates in a lazy screen from now on, if that pays for whoever looks for mean + slope · σ.

        Whether it does is estimated from the blocks; from time to time, because at first all candidates are alike. It
        is asked of a sample first: putting all candidates into leaves takes as long as several epochs.
        """
        if self.unique.size < self._lazy_from or self.blocks_outdated or not self._has_lazy_form:
            return
        self._lazy_from = 1.25 * self.unique.size
        some = self.means.at(self._sample.places) - self.prior_mean, np.sqrt(self.variances.at(self._sample.places))
        if self._sample.leaves.updated_share(*some, slope) > MAX_UPDATED_SHARE + SAMPLE_TOLERANCE:
            return
        mean, variance = self.means.flat() - self.prior_mean, self.variances.flat()
        leaves = self._leaves
        if leaves.updated_share(mean, np.sqrt(variance), slope) > MAX_UPDATED_SHARE:
            return
        screen = Screen([LazyBlock(self.kernel, self.kappa2, self.features, leaves)], sqrt(self.kappa2))
        screen.add(self.features[self.measured])
        screen.adopt(mean, variance, self.factor, DRIFT)
        self._screening.start_with(screen)
        self.drop_blocks()
        self.screened = True
        self._lazy_from = inf
        del self._leaves, self._sample

    def disable_lazy_screen(self) -> None:
        """Leave the lazy screen, if there is one: from now on all candidates are brought up to date."""
        if self._screening.lazy:
            self.screened = False
            _ = self.blocks

    @cached_property
    def _leaves(self) -> Leaves:
        return Leaves.of(self.features, cast("Stationary", without_constant(self.kernel)[0]))

    @cached_property
    def _sample(self) -> Sample:
        return Sample.of(self.features, cast("Stationary", without_constant(self.kernel)[0]))

    @property
    def _has_lazy_form(self) -> bool:
        kernel = without_constant(self.kernel)[0]
        narrow = self.features.shape[1] <= LAZY_MAX_COLUMNS
        smooth = narrow and has_single_form(self.kernel) and not cast("Stationary", kernel).categories
        blocks = self.xp is np and self._grid is None and self.device is None
        return smooth and blocks and self.fits(4 * self.unique.size)

    @property
    def rough_screen(self) -> Screen | None:
        """The screen, also where its bounds are too wide to choose by: `needs_repair` says so."""
        if not (self.screened and self.blocks_outdated):
            return None
        rows = len(self.measured) * (2 if self._screening.lazy else 1)  # which is in double precision
        if not self.fits(rows) or not self._screening.bring_up_to_date(
            self.kernel, self.features, self.measured, self.kappa2, self.factor
        ):
            self.screened = False
            return None
        return self._screening.screen

    def fits(self, rows: int) -> bool:
        """Whether a screen of so many unique candidates may be kept."""
        return self.memory is None or self.device is not None or 4 * len(self.features) * rows <= self.memory

    def reuse_memory_of(self, other: "Posterior") -> None:
        """Take over the memory of another posterior of the same candidates, which will not be used any more."""
        if self.screened:
            self._screening = other._screening.released()
        self._room = other.blocks.room.passed_on() if "blocks" in vars(other) else other._room

    heaviest = cast("float", property(lambda self: self.unique.heaviest))

    @property
    def log_det(self) -> float:
        return self.unique.log_det

    @property
    def means(self) -> BlockedVector:
        return self.blocks.means

    @property
    def variances(self) -> BlockedVector:
        return self.blocks.variances

    def at(self, candidate: int) -> tuple[float, float]:
        """Mean and variance of f at one candidate."""
        mean, variance = self.at_each(np.array([candidate]))
        return float(mean[0]), float(variance[0])

    # Conditioning

    def condition(self, candidate: int, n: float, value: float) -> None:
        """Take in n measurements with mean `value` at one candidate."""
        if self.blocks_outdated and not self.screened:
            _ = self.blocks  # brought up to date
        direction, noise = self.direction(candidate), float(self.noise[candidate]) / n
        if candidate not in self._slots:
            self._add([candidate])
        p, z = self.unique.absorb(direction, noise, value - self.prior_mean)
        if self.blocks_outdated:
            self._screening.defer(to_numpy(p), z)
        else:
            left = direction.variance * noise / (direction.variance + noise)  # v e/D, without a subtraction
            self.blocks.condition(p, z, candidate, left)
        self._factor = self._fresh = self._direction = None
        self._since_means += 1
        self._since_variances += 1
        every = max(MIN_EPOCHS_BETWEEN_REPAIRS, self.unique.size)
        long_ago = self._since_variances >= VARIANCES_EVERY * every
        drifted = not self.blocks_outdated and (long_ago or self.blocks.rounding > DRIFT * (self.kappa2 or 1.0))
        if drifted or self._since_means >= every:
            self._repair(everything=drifted)

    def direction(self, candidate: int) -> Direction:
        """Where measuring a candidate moves the posterior; with its variance, to the last digit.

        Kept for the next call: what is asked for is likely to be told.
        """
        if self._direction is None or self._direction[0] != candidate:
            slot = self._slots.get(candidate)
            if slot is not None:
                found = self.unique.direction(slot)
            elif self.blocks_outdated or candidate >= len(self.features):
                k_x = from_numpy(self.xp, self.columns(np.array([candidate]))[:, 0])
                found = self.unique.direction_of_new(k_x, self.prior_variance(candidate))
            else:
                found = self.unique.direction_of_new(*self.blocks.column(candidate))
            self._direction = candidate, found
        return self._direction[1]

    def variance(self, candidate: int) -> float:
        """The variance of f at one candidate, to the last digit."""
        return self.direction(candidate).variance

    def prior_variance(self, candidate: int) -> float:
        """k(x, x)."""
        if self.screened or self.blocks_outdated:
            return float(self.kernel.diag(from_numpy(self.xp, self.features[[candidate]]))[0])
        return self.blocks.prior_variances[candidate]

    def slot_of(self, candidate: int) -> int | None:
        """The place of a candidate among those measured."""
        return self._slots.get(candidate)

    def rebuild(self, tally: Tally, *, everywhere: bool = True) -> None:
        """Start again from the facts: the posterior is a function of the tally alone.

        everywhere: at all candidates at once; else, where nothing was measured before, when they are asked for.
        """
        known = self.unique.size > 0 and not self.blocks_outdated
        later = (self.screened or not everywhere) and not known
        if later:
            self.drop_blocks()
        missing = [candidate for candidate, _ in tally if candidate not in self._slots]
        if missing:
            self._add(missing)
        w, m = np.zeros(self.unique.size), np.zeros(self.unique.size)
        for candidate, statistics in tally:
            slot = self._slots[candidate]
            w[slot] = statistics.n / self.noise[candidate]
            m[slot] = statistics.mean - self.prior_mean
        self.unique.restart(from_numpy(self.xp, w), from_numpy(self.xp, m))
        self._factor = self._fresh = self._direction = None
        if self.blocks_outdated:
            self._screening.invalidate()
            self.unique.adopt(self._factor_anew())
            if not later:
                _ = self.blocks  # brought up to date
        else:
            self._repair(everything=True)

    @classmethod
    def like(
        cls, model: Model, kernel: Kernel | None = None, noise: Vector | None = None, mean: float | None = None
    ) -> "Posterior":
        """The exact posterior of another model's settings, or of some others in their place; nothing measured."""
        made = type(model) if isinstance(model, Posterior) else cls
        return made(
            model.features,
            model.kernel if kernel is None else kernel,
            model.noise if noise is None else noise,
            mean=model.prior_mean if mean is None else mean,
            xp=model.xp,
            block_size=model.block_size,
            memory=model.memory,
            device=model.device,
        )

    def extended(self, features: Matrix, noise: Vector) -> "Posterior":
        """The same with more candidates after those that there were; only one of the two may go on."""
        more = features[len(self.features) :]
        own = self.blocks if len(more) else None
        other = copy(self)
        other.features, other.noise, other._foreseen, other._fresh = features, noise, {}, None
        other.may_be_lazy = len(features) >= LAZY_SCREEN_FROM
        other._incremental = IncrementalFactor()
        if own is not None:
            blocks = own.extended(self.kernel, self._X, more, self.factor, self.prior_mean)
            other.blocks, other.kappa2 = blocks, blocks.prior_variances.highest
            other.screened, other._screening = False, self._new_screening()
            for name in ("_leaves", "_sample"):
                other.__dict__.pop(name, None)
        return other

    def ghost(self) -> ExactGhost:
        """Its variances can go on without it."""
        return ExactGhost(self)

    def columns(self, candidates: Indices) -> Matrix:
        """k(X, x) for some candidates x."""
        if self.blocks_outdated:
            return to_numpy(self.kernel(self._X, from_numpy(self.xp, self.features[candidates])))
        return self.blocks.columns(candidates)

    # Predictions: NumPy, and exact to the last digit that float64 can hold

    def covariance_with(self, candidate: int) -> Vector:
        """cov(f(x), f(candidate)) at every candidate x."""
        return self.ghost().spread(to_numpy(self.direction(candidate).p)[None, :], candidate)[0]

    def covariance_between(self, candidate: int, others: Indices) -> Vector:
        """cov(f(x), f(candidate)) at some candidates x."""
        p = to_numpy(self.direction(candidate).p)
        q = len(self.measured)
        covariance = p[:q] @ self.columns(others)
        if len(p) > q:
            x, X = (from_numpy(self.xp, self.features[each]) for each in ([candidate], others))
            covariance = covariance + p[q] * to_numpy(self.kernel(x, X))[0]
        return covariance

    def at_each(self, candidates: Indices) -> tuple[Vector, Vector]:
        """Mean and variance of f at some candidates: as kept, or computed afresh where they are not."""
        if self.blocks_outdated:
            return self._afresh_at.at(candidates)
        return self.blocks.means.at(candidates), self.blocks.variances.at(candidates)

    def answer_at(self, candidates: Indices) -> tuple[Vector, Vector]:
        """The same for answers: computed afresh where counts over noise are large, too."""
        return self._afresh_at.at(candidates) if self.blocks_outdated or self._afresh else self.at_each(candidates)

    @property
    def _afresh_at(self) -> FreshPredictions:
        if self._fresh is None:
            settings = self.features, self.kernel, self.prior_mean, self.measured
            self._fresh = FreshPredictions(*settings, self.factor, self._precise(), self.device)
        return self._fresh

    def rows(self, candidate: int) -> BlockedVector:
        """k(x, A) of a candidate x, block by block; kept while it is in flight."""
        if candidate not in self._foreseen:
            if len(self._foreseen) >= FORESEEN:
                self._foreseen = {}
            X = from_numpy(self.xp, self.features[[candidate]])
            parts = [self.features[block.start : block.start + block.size] for block in self.blocks]
            rows = [self.kernel(X, from_numpy(self.xp, part)) for part in parts]
            self._foreseen[candidate] = BlockedVector(rows, self.blocks.starts)
        return self._foreseen[candidate]

    def over_candidates(self) -> tuple[Vector, Vector]:
        """Mean and variance of f at all candidates, for answers.

        Where they are not kept, they are computed some at a time: that takes no memory for all covariances.
        """
        if self.blocks_outdated or self._afresh:
            mean, variance = self._afresh_at.everywhere
            return mean.copy(), variance.copy()
        return self.means.flat(), self.variances.flat()

    @property
    def _afresh(self) -> bool:
        return self.kappa2 * self.unique.heaviest > AFRESH_ABOVE

    def predict(self, points: Matrix) -> tuple[Vector, Vector]:
        """Mean and variance of f at any points (rows of features)."""
        X = from_numpy(self.xp, points)
        k_x = self.kernel(self._X, X)
        mean = to_numpy(self.factor.mean(k_x)) + self.prior_mean
        variance = to_numpy(self.factor.variance(k_x, self.kernel.diag(X)))
        places, slots = self._measured_rows(points)
        mean[places] = to_numpy(self.factor.mean_at_measured)[slots] + self.prior_mean
        variance[places] = to_numpy(self.factor.variance_at_measured)[slots]
        return mean, np.maximum(variance, 0.0)

    def covariance(self, points: Matrix) -> Matrix:
        """The covariance matrix of f at any points."""
        X = from_numpy(self.xp, points)
        k_x = self.kernel(self._X, X)
        covariance = to_numpy(self.factor.covariance(k_x, self.kernel(X, X)))
        places, slots = self._measured_rows(points)
        if len(places):
            rows = to_numpy(self.factor.covariance_with_measured(k_x))[slots]
            covariance[places, :], covariance[:, places] = rows, rows.T
            among = to_numpy(self.factor.covariance_among_measured())
            covariance[np.ix_(places, places)] = among[np.ix_(slots, slots)]
        return (covariance + covariance.T) / 2

    @property
    def factor(self) -> Factor:
        """A factorisation; made when first asked for, kept until the next measurement. It goes on from the last one."""
        if self._factor is None:
            self._factor = self.unique.factor(self._incremental)
            self.jitter = max(self.jitter, self._factor.jitter)
        return self._factor

    def _factor_anew(self) -> Factor:
        """The same from scratch, whatever anybody looked at before: for repairs."""
        self._incremental, self._factor = IncrementalFactor(), None
        return self.factor

    # Bookkeeping

    def _add(self, candidates: list[int]) -> None:
        X = from_numpy(self.xp, self.features[candidates])
        self._slots.update((candidate, self.unique.size + i) for i, candidate in enumerate(candidates))
        self.measured, self._X = np.append(self.measured, candidates), self.xp.concat([self._X, X])
        self.unique.add(self.kernel(X, self._X))
        if not self.blocks_outdated:
            self.blocks.add(X)
        for candidate in candidates:
            self._foreseen.pop(candidate, None)

    def _repair(self, *, everything: bool) -> None:
        """From a fresh factorisation: the q-sized part and the means, or the variances too."""
        self.unique.adopt(self._factor_anew())
        self._direction = None
        self._since_means = 0
        if self.blocks_outdated:
            return
        self.blocks.means = self._fresh_means()
        if everything:
            self._repair_variances()

    def _repair_variances(self) -> None:
        self._since_variances = 0
        self.blocks.rounding = 0.0
        self.blocks.variances = self._fresh_variances()
        self._check_positive()

    def _fresh_means(self) -> BlockedVector:
        at_measured = to_numpy(self.factor.mean_at_measured) + self.prior_mean
        return self._pinned(self.blocks.fresh_means(self.factor), at_measured)

    def _fresh_variances(self) -> BlockedVector:
        at_measured = np.maximum(to_numpy(self.factor.variance_at_measured), 0.0)
        return self._pinned(self.blocks.fresh_variances(self.factor), at_measured)

    def _pinned(self, values: BlockedVector, at_slots: Vector) -> BlockedVector:
        """With the product forms' numbers at measured candidates, which lose none of their digits."""
        precise = self._precise()
        for candidate, slot in self._slots.items():
            if precise[slot] and candidate < len(self.features):
                values[candidate] = float(at_slots[slot])
        return values

    def _precise(self) -> NDArray[np.bool_]:
        """Which slots have ℓ ≤ k, so that the product forms at measured candidates are the better ones."""
        return to_numpy(self.unique.w) * to_numpy(self.xp.linalg.diagonal(self.unique.K)) >= 1

    def _measured_rows(self, points: Matrix) -> tuple[list[int], list[int]]:
        """Places in `points`, and slots, of rows that are measured candidates."""
        precise = self._precise()
        known = {self.features[candidate].tobytes(): slot for candidate, slot in self._slots.items() if precise[slot]}
        found = [(place, known[row.tobytes()]) for place, row in enumerate(points) if row.tobytes() in known]
        return [place for place, _ in found], [slot for _, slot in found]

    @property
    def _rounding(self) -> float:
        """How far below zero a variance came, in units of the prior's."""
        return self.blocks.rounding / (self.kappa2 or 1.0)

    def _check_positive(self) -> None:
        """A fresh factorisation leaves no more than rounding: a variance further below zero is the kernel's fault."""
        if self._rounding > rounding_at(self.unique.size, self.kappa2 * self.unique.heaviest):
            raise InvalidKernel(
                f"The kernel is not positive on these candidates: a variance came out {self._rounding:.3g} of the "
                "largest below zero. Check that k(x, y) is symmetric and a valid covariance."
            )
