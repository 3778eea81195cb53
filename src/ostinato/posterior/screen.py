"""Mean and variance of all candidates in low precision, with bounds on how far off they are.

To choose among very many candidates it is enough to know of most of them that they are not the best. So means and
variances are kept in single precision here, at half of the memory and of the time; with the errors that rounding can
have made at most, so that whoever chooses computes the few that may be best exactly (`Posterior.at_each`), and chooses
as if all had been computed so. All numbers are in units of κ, about the prior mean.

Every product p · k(X, A) is summed in strips of s rows, n of which count. With u = 2⁻²⁴ its error is at most

    ‖p‖₁ · ((min(s, n) + q/s + 4) u + the covariances' own error)

Variances after a rebuild are 1 − ‖T‖² with T = W k(X, A), W = L⁻¹ S: by the same bound for each row of W, they are off
by 2 ‖δT‖ + ‖δT‖², because ‖T‖ is at most 1. For a few orthonormal directions Q, ‖Qᵀ T‖ is at most ‖T‖, and the rows of
Qᵀ W have the same kind of bound. So 1 − ‖Qᵀ T‖² is a variance that is too large: most candidates are out of the
question by it, and no more is computed of them. Q is what takes most off the variances of a sample. So means are within
their error; variances are at most what is kept, and their error.

Where the numbers live, in memory or on a GPU, is the blocks' affair (`screen_block.py`, `host_block.py`).
"""

from collections.abc import Collection, Sequence
from copy import copy
from math import sqrt
from typing import Any, cast

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.posterior.cache import Indices
from ostinato.posterior.factor import Factor
from ostinato.posterior.screen_block import ErrorBounds, LeadingCandidates, Rough, ScreenBlock, SearchCriterion, Terms

SLOPES = (1.5, 4.0)  # the least and the most that a standard deviation counts
REPAIR_ABOVE = 0.02  # error of means and variances from which both are computed afresh
LOOSE_UP_TO = 0.003  # error up to which covariances are computed in the faster way that adds to it


class Screen:
    """All candidates. mean_error: by how much a mean may be off; variance_error: by how much a variance may be more."""

    def __init__(self, blocks: Sequence[ScreenBlock], kappa: float) -> None:
        self._kappa, self.filled = kappa, 0
        self._blocks = list(blocks)
        self._unit = max(block.unit for block in self._blocks)
        self.mean_error = self.variance_error = 0.0
        self._factor: Factor | None = None
        self._W: Any = None
        self._X: Matrix = np.zeros((0, 0))  # features of the unique candidates
        self._loose = np.zeros(0)  # by how much covariances with each of the first of these may be off besides
        self._begun = False  # whether any covariances were computed
        self.likely: Indices = np.zeros(0, dtype=np.int64)  # candidates that scored high when somebody looked last

    def fork(self) -> "Screen":
        """The same, with variances that go their own way; as long as this one is not brought up to date."""
        other = copy(self)
        other._blocks = [block.fork() for block in self._blocks]
        return other

    @property
    def memory(self) -> list[Any]:
        """What another screen of the same candidates may take over, when this one is not needed any more."""
        return [block.memory for block in self._blocks]

    def affords(self, count: int) -> bool:
        """Whether so many candidates are sooner computed exactly than all of them."""
        return all(count <= block.affordable * sum(each.size for each in self._blocks) for block in self._blocks)

    @property
    def needs_repair(self) -> bool:
        """Whether rounding errors may have grown so large that means and variances should be computed afresh."""
        return max(self.mean_error, self.variance_error) > REPAIR_ABOVE

    def add(self, X: Matrix) -> None:
        """More unique candidates."""
        for block in self._blocks:
            block.add(X, self.filled)
        self._X = np.concatenate([self._X[: self.filled], X]) if self.filled else X
        self.filled += len(X)

    def condition(self, terms: Sequence[tuple[Vector, float]]) -> None:
        """mean += z c, variance −= c², for terms (p, z) and c = p · k(X, A)."""
        if not terms:
            return
        self._begun = True
        P = np.zeros((len(terms), self.filled))
        for row, (p, _) in zip(P, terms, strict=True):
            row[: len(p)] = self._kappa * p
        z = np.array([z for _, z in terms])
        prepared = self._coefficients(P), self._blocks[0].prepared(z)
        for block in self._blocks:
            block.condition(*prepared)
        errors = self._errors(P)
        largest = 0.0 if self.lazy else max(abs(self.highest), abs(self.lowest)) + float(np.sum(np.abs(z)))
        self.mean_error += float(np.abs(z) @ errors) + len(terms) * (16 + largest) * self._unit  # sums round, too
        self.variance_error += float(np.sum(errors * (2 + errors))) + len(terms) * 4 * self._unit

    def tighten(self) -> bool:
        """Bring bounds nearer to what they bound; False where they are as near as they come."""
        return False

    def refresh(self, factor: Factor) -> None:
        """Means and variances from scratch."""
        alpha = self._kappa * factor.alpha
        if self.filled and not self._begun:
            self._loosen(alpha, self._kappa * factor.whitener)
        self.mean_error, self.variance_error = self._off(alpha, self._high), 0.0
        self.refined_by(factor)
        if self.filled:
            self._refresh(self._coefficients(alpha))

    def _loosen(self, alpha: Vector, W: Matrix) -> None:
        """Have covariances computed in a faster way, where that leaves errors small.

        What is computed is about the mean of the candidates by the sizes of their coefficients, so errors are smallest.
        """
        self._begun = True
        centre = np.average(self._X, axis=0, weights=np.abs(alpha) + np.finfo(np.float64).tiny)
        loose = self._blocks[0].looseness(self._X, centre)
        if loose is None:
            return
        self._loose = loose
        of_mean = float(self._errors(alpha, self._high))
        of_variance = 2 * float(np.linalg.norm(self._errors(W, self._gathered)))
        if max(of_mean, of_variance) > LOOSE_UP_TO:
            self._loose = np.zeros(0)
            return
        for block in self._blocks:
            block.loosen(centre)

    def refined_by(self, factor: Factor) -> None:
        """The factorisation of now, by which variances are refined."""
        self._factor, self._W = factor, None
        if self.lazy:
            self.mean_error = max(self.mean_error, self._off(self._kappa * factor.alpha))
            self._follow()

    def adopt(self, mean: Vector, variance: Vector, factor: Factor, off: float) -> None:
        """Means and variances of all candidates in double precision, which may be off by this much."""
        self.mean_error = self.variance_error = off
        self.refined_by(factor)
        for block in self._blocks:
            part = slice(block.start, block.start + block.size)
            block.adopt(mean[part] / self._kappa, variance[part] / self._kappa**2)

    @property
    def lazy(self) -> bool:
        """Whether candidates are brought up to date when they may matter."""
        return any(block.lazy for block in self._blocks)

    @property
    def updated_share(self) -> float:
        """The share of all candidates that is brought up to date at a time, where that is lazy; else 0."""
        return max(block.updated_share for block in self._blocks)

    def _follow(self) -> None:
        alpha = self._coefficients(self._kappa * cast("Factor", self._factor).alpha)
        for block in self._blocks:
            block.follow(alpha, self.mean_error, self.variance_error)

    def _off(self, alpha: Vector, strip: int | None = None) -> float:
        """By how much means may be off that are made of these."""
        return float(self._errors(alpha, strip)) + 16 * self._unit

    def _whitener(self) -> Any:
        """W = L⁻¹ S as blocks use it; whatever is refined by it may be off by as much as its size says."""
        if self._W is None:
            self._W = self._known_by(self._kappa * cast("Factor", self._factor).whitener, self._gathered)
            self._follow()
        return self._W

    def _along(self, Q: Matrix) -> Any:
        """Qᵀ W for orthonormal columns Q, likewise."""
        return self._known_by(self._kappa * (Q.T @ cast("Factor", self._factor).whitener), self._high)

    def _known_by(self, W: Matrix, strip: int) -> Any:
        """Rows as blocks use them; with what their size adds to the error of variances."""
        off = float(np.linalg.norm(self._errors(W, strip)))
        self.variance_error = max(self.variance_error, off * (2 + off) + (self.filled + 4) * self._unit)
        return self._coefficients(W)

    def _refresh(self, alpha: Any) -> None:
        """Variances by all unique candidates only where that may matter, which a sample shows."""
        W = self._whitener()
        previews = [block.preview(alpha, W) for block in self._blocks]
        seen = [preview for preview in previews if preview]
        lines = [(slope, max(preview.reach(slope) for preview in seen)) for slope in SLOPES if seen]
        for block, preview in zip(self._blocks, previews, strict=True):
            block.refresh(alpha, W, preview and Rough(self._along, preview, lines))

    def set_variances(self, candidates: Indices, variances: Vector) -> None:
        """What the variances of some candidates, in increasing order, are in double precision."""
        start = 0
        for block, here in self._parts(candidates):
            block.set_variances(here, variances[start : start + len(here)] / self._kappa**2)
            start += len(here)

    def _coefficients(self, P: Matrix | Vector) -> Any:
        return self._blocks[0].coefficients(P)

    def _errors(self, P: Matrix | Vector, strip: int | None = None) -> Vector:
        """Of each p · k(X, A), summed in strips of so many rows."""
        sizes, loose, strip = np.abs(P), len(self._loose), strip or self._blocks[0].strip
        terms = np.minimum(strip, np.count_nonzero(P, axis=-1) + 1)  # and a constant
        each = (terms + self.filled / strip + 4) * self._unit + max(block.accuracy for block in self._blocks)
        return each * np.sum(sizes, axis=-1) + sizes[..., :loose] @ self._loose

    @property
    def _high(self) -> int:
        return self._blocks[0].high

    @property
    def _gathered(self) -> int:
        return self._blocks[0].gathered

    @property
    def highest(self) -> float:
        return max(block.means[1] for block in self._blocks)

    @property
    def lowest(self) -> float:
        return min(block.means[0] for block in self._blocks)

    @property
    def settles(self) -> bool:
        """Whether it finds what may be chosen by itself, in double precision: one block, on a card."""
        return self._blocks[0].settles

    def leading(self, criterion: SearchCriterion, taken: Collection[int]) -> LeadingCandidates:
        """The candidates that may be chosen, but for those that are taken."""
        out = np.array(sorted(taken), dtype=np.int64)
        return self._blocks[0].leading(criterion, ErrorBounds(self.mean_error, self.variance_error), out, self.terms)

    def leading_draw(self, drawn: Any, criterion: SearchCriterion, taken: Indices) -> LeadingCandidates:
        """The candidates that may be the highest in a draw (`draws.CardDraw`), but for those that are taken."""
        off = self._kappa * self._off(self._kappa * drawn.coefficients) + drawn.f.off
        return self._blocks[0].leading_draw(drawn, criterion, 2 * off, taken)

    @property
    def terms(self) -> Terms:
        """What means and variances are made of, for blocks that compute them exactly."""
        return Terms(self._X, cast("Factor", self._factor))

    def highest_mean(self, taken: Indices, out: Indices) -> float:
        """The highest mean about the prior mean of all candidates but some; minus infinity where it is one of those
        taken. Those that are out do not count.
        """
        return self._blocks[0].highest_mean(self._highest_bar(out), np.union1d(taken, out), self.terms)

    def may_be_highest(self, out: Indices) -> Indices:
        """The candidates whose mean may be the highest of all but some."""
        bar = self._highest_bar(out)
        found = np.concatenate([block.above(bar, 0.0) + block.start for block in self._blocks])
        return found[~np.isin(found, out)] if len(out) else found

    def _highest_bar(self, out: Indices) -> float:
        """What the highest mean of all candidates but some reaches here, in any case."""
        if not len(out):
            return self.highest - 3 * self.mean_error
        near = self.highest_reach(0.0, len(out) + 1)  # of so many, one is not out
        mean, _ = self.most(np.setdiff1d(near, out))
        return float(np.max(mean)) - 4 * self.mean_error  # `most` adds the error once

    def hopeful(self, beta: float, taken: Collection[int]) -> Indices:
        """Likely candidates, without those that are taken; or where none is left, some of high mean and variance."""
        likely = sorted(candidate for candidate in self.likely.tolist() if candidate not in taken)
        if likely and not self.lazy:
            return np.array(likely, dtype=np.int64)
        places = self._parts(np.array(sorted(taken), dtype=np.int64))
        found = [block.hopeful(beta, here) + block.start for block, here in places]
        return np.union1d(np.array(likely, dtype=np.int64), np.concatenate(found))

    def highest_reach(self, slope: float, count: int) -> Indices:
        """The candidates of the highest mean + slope · standard deviation, as they are here."""
        found = [block.highest(slope, count) for block in self._blocks]
        places = np.concatenate([here + block.start for block, (here, _) in zip(self._blocks, found, strict=True)])
        reach = np.concatenate([each for _, each in found])
        return places[np.argpartition(-reach, count)[:count]] if count < len(places) else places

    @property
    def widest(self) -> float:
        """The most that any standard deviation may be."""
        return sqrt(max(max(block.largest_variance for block in self._blocks) + self.variance_error, 0.0))

    def above(self, lines: Sequence[tuple[float, float]]) -> tuple[Indices, Vector]:
        """The candidates of which mean + slope · standard deviation may be above a bar, for any of (bar, slope).

        With how far above it may be.
        """
        bar, slope = self._below(lines)
        low = [(self._low(bar, slope), slope) for bar, slope in lines]
        found, excess = list[Indices](), list[Vector]()
        for block in self._blocks:
            here, over = block.beyond((bar, slope), low, self.variance_error)
            found.append(here + block.start)
            excess.append(over)
        return np.concatenate(found), np.concatenate(excess)

    def _below(self, lines: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """One line, as bar and slope, that leaves all candidates that any of these leaves: a chord below them all."""
        widest = max(self.widest, self._unit)
        left, right = (min(bar - slope * width for bar, slope in lines) for width in (0.0, widest))
        slope = (left - right) / widest
        return self._low(left - 16 * self._unit * (8 + abs(left) + abs(slope)), slope), slope

    def _low(self, bar: float, slope: float) -> float:
        return bar - 16 * self._unit * (8 + abs(bar) + abs(slope)) - self.mean_error

    def most(self, candidates: Indices) -> tuple[Vector, Vector]:
        """The most that the mean and the variance of some candidates, in increasing order, may be."""
        parts = [block.at(here) for block, here in self._parts(candidates)]
        mean, variance = (np.concatenate(each) for each in zip(*parts, strict=True))
        return mean + self.mean_error, np.maximum(variance + self.variance_error, 0.0)

    def refine(self, candidates: Indices) -> None:
        """Variances by all unique candidates, of some candidates in increasing order."""
        rough = [(block, here[block.unrefined(here)]) for block, here in self._parts(candidates)]
        for block, here in rough:
            if len(here):
                block.refine(self._whitener(), here)

    @property
    def variances(self) -> Vector:
        """All of them, as they are here."""
        return np.concatenate([block.variances for block in self._blocks])

    def _parts(self, candidates: Indices) -> list[tuple[ScreenBlock, Indices]]:
        """Some candidates in increasing order, block by block."""
        edges = np.searchsorted(candidates, [block.start for block in self._blocks[1:]])
        return [
            (block, here - block.start) for block, here in zip(self._blocks, np.split(candidates, edges), strict=True)
        ]
