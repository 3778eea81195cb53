"""Candidates of a screen in leaves, each brought up to date only when its bound says that it may matter.

Candidates that lie near each other make a leaf, a small `HostBlock`. Terms wait; of a leaf that waits there are bounds
(`leaf_bounds.py`), so that whoever looks for candidates above a bar finds most leaves out of the question. A leaf that
may hold one is brought up to date first: it computes the covariances that it lacks, and takes up its terms; or, where
many wait, its means come from scratch and its variances stay as they were, which is too large. Candidates that these
leave are refined when somebody asks (`Screen.refine`).
"""

from collections.abc import Callable, Iterator
from copy import copy
from math import sqrt
from typing import Any, NamedTuple, Self

import numpy as np

from ostinato.arrays import Matrix, Vector, grown
from ostinato.kernels import Kernel
from ostinato.kernels.boxes import Boxes
from ostinato.kernels.stationary import Stationary
from ostinato.posterior.cache import TILE, Indices
from ostinato.posterior.host_block import GATHERED, STRIP, HostBlock
from ostinato.posterior.leaf_bounds import LeafBounds
from ostinato.posterior.screen_block import Rough, ScreenBlock

ACCURACY = 2.0**-46  # of the largest covariance: by how much those of leaves may be off
LEAF = 1_024  # candidates, at most
SAMPLED, AT_LEAST = 65_536, 64  # candidates of a sample, about; but no fewer than one in so many
SOON = 2.0  # Σ z² after which leaves are looked at again, about
WAIT = 64  # terms that a leaf takes up one by one; of more, it computes means from scratch and leaves variances
HOPEFUL = 64  # leaves whose best candidates make a first bar


class Leaves(NamedTuple):
    """Candidates in an order in which those that are near each other follow each other; where each leaf begins."""

    order: Indices
    starts: Indices

    @classmethod
    def of(cls, features: Matrix, kernel: Stationary, step: int = 1) -> "Leaves":
        """By halving the candidates across their widest column, counted in length-scales, until leaves are small.

        step: of a sample of one in so many candidates, so that it has as many leaves as all of them.
        """
        columns = np.ascontiguousarray((features / np.array(kernel.scale_of_each(features.shape[1]))).T)
        order = np.arange(len(features))
        starts, waiting = list[int](), [(0, len(features))]
        while waiting:
            start, stop = waiting.pop()
            if stop - start <= max(1, LEAF // step):
                starts.append(start)
                continue
            here, middle = columns[:, start:stop], (start + stop) // 2
            widest = int(np.argmax(np.max(here, axis=1) - np.min(here, axis=1)))
            sides = np.argpartition(here[widest], middle - start)
            columns[:, start:stop], order[start:stop] = here[:, sides], order[start:stop][sides]
            waiting += [(middle, stop), (start, middle)]  # the left half comes next
        return cls(order, np.array(starts))

    def edges(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts.tolist(), [*self.starts[1:].tolist(), len(self.order)], strict=True)

    def boxes(self, ordered: Matrix) -> Boxes:
        return Boxes(np.minimum.reduceat(ordered, self.starts), np.maximum.reduceat(ordered, self.starts))

    def updated_share(self, mean: Vector, deviation: Vector, slope: float) -> float:
        """The share of leaves, about, that may hold the highest mean + slope · deviation after a few terms."""
        best = np.max(mean + slope * deviation)
        later = (mean + sqrt(slope**2 + SOON) * deviation)[self.order]
        return float(np.mean(np.maximum.reduceat(later, self.starts) >= best))


class Sample(NamedTuple):
    """Some candidates, in about as many leaves as all of them: what is true of most leaves is seen from these, too."""

    places: Indices
    leaves: Leaves

    @classmethod
    def of(cls, features: Matrix, kernel: Stationary) -> "Sample":
        """One of every few candidates that follow each other: in a table that is in order, any other pattern may be
        that of a column.
        """
        step = min(max(1, len(features) // SAMPLED), AT_LEAST)
        starts = np.arange(0, len(features) - step + 1, step)
        places = starts + np.random.default_rng(0).integers(step, size=len(starts))
        return cls(places, Leaves.of(features[places], kernel, step))


class DoublePrecision(NamedTuple):
    """k(X, A)/κ² in double precision, for the candidates A of a leaf."""

    kernel: Kernel
    kappa2: float
    features: Matrix
    ones: int = 0
    accuracy: float = ACCURACY

    def coefficients(self, P: Any) -> Any:
        return P

    def points(self, X: Matrix) -> Matrix:
        return X

    def loose(self, points: Matrix, centre: Vector) -> Matrix:
        return points

    def looseness(self, X: Matrix, centre: Vector) -> None:
        """There is no faster way."""

    def at(self, part: slice) -> Callable[[Matrix, Matrix, slice], None]:
        """What writes rows of some of the X at a part of the candidates."""
        features = self.features[part]
        step = max(1, TILE // len(features))

        def fill(rows: Matrix, X: Matrix, some: slice) -> None:
            X = X[some]
            for start in range(0, len(X), step):
                np.divide(self.kernel(X[start : start + step], features), self.kappa2, out=rows[start : start + step])

        return fill

    @property
    def memory(self) -> Matrix:
        return self.features


class Leaf(HostBlock):
    """In double precision."""

    number = np.float64
    unit = 2.0**-53


class LazyBlock(ScreenBlock):
    """All candidates, leaf by leaf."""

    unit, accuracy, strip, lazy = Leaf.unit, ACCURACY, STRIP, True

    def __init__(self, kernel: Kernel, kappa2: float, features: Matrix, leaves: Leaves) -> None:
        self.start, self.size, self._order = 0, len(features), leaves.order
        self._rank = np.empty(self.size, dtype=np.int64)
        self._rank[leaves.order] = np.arange(self.size)
        ordered = features[leaves.order]
        self._leaves = [
            Leaf(start, DoublePrecision(kernel, kappa2, ordered[start:stop]), stop - start)
            for start, stop in leaves.edges()
        ]
        self._starts = leaves.starts
        self._bounds = LeafBounds(kernel, kappa2, leaves.boxes(ordered))
        self._X = np.empty((0, features.shape[1]))
        self._P, self._z = np.zeros((16, 16)), np.zeros(16)
        self._terms = self._known = 0  # terms; of these, known to alpha
        self._alpha = np.zeros(0)
        self._rows, self._seen = np.zeros((2, len(leaves.starts)), dtype=np.int64)
        self._best = self._starts.copy()  # the candidate of the highest bound in each leaf, when it was last seen
        self._mean_error = self._variance_error = 0.0
        self._looked = 0  # leaves that were brought up to date since the last terms
        self.updated_share = (
            0.0  # the share of leaves that are brought up to date at a time, on average of the last ten times
        )

    def prepared(self, numbers: Matrix | Vector) -> Matrix | Vector:
        return numbers

    @property
    def gathered(self) -> int:
        return GATHERED

    @property
    def memory(self) -> None:
        return None

    def fork(self) -> Self:
        other = copy(self)
        other._leaves, other._bounds = [leaf.fork() for leaf in self._leaves], self._bounds.fork()
        other._rows, other._seen, other._best = self._rows.copy(), self._seen.copy(), self._best.copy()
        other._P, other._z = self._P.copy(), self._z.copy()
        return other

    def adopt(self, mean: Vector, variance: Vector) -> None:
        """Means and variances of all candidates, as they are known from elsewhere."""
        for number, leaf in enumerate(self._leaves):
            here = self._order[leaf.start : leaf.start + leaf.size]
            leaf.adopt(mean[here], variance[here])
            self._note(number)
        self._seen[:] = self._terms

    # What comes waits

    def add(self, X: Matrix, filled: int) -> None:
        self._X = np.concatenate([self._X[:filled], X])
        self._bounds.add(X, filled)

    def condition(self, P: Matrix, z: Vector) -> None:
        stop = self._terms + len(P)
        self._P, self._z = grown(self._P, (stop, P.shape[1])), grown(self._z, (stop,))
        self._P[self._terms : stop, : P.shape[1]], self._z[self._terms : stop] = P, z
        for p, each in zip(P, z.tolist(), strict=True):
            self._bounds.term(p.astype(np.float64), each)
        self._terms = stop

    def refresh(self, alpha: Vector, W: Matrix, rough: Rough | None = None) -> None:
        """All leaves start again."""
        self._alpha, self._known = alpha, self._terms
        self._seen[:] = -WAIT - 1
        for leaf in self._leaves:
            leaf.forget()
        self._bounds.forget()

    def follow(self, alpha: Vector, mean_error: float, variance_error: float) -> None:
        self._alpha, self._known = alpha, self._terms
        self._mean_error, self._variance_error = mean_error, variance_error
        if self._looked:
            self.updated_share += 0.1 * (self._looked / len(self._leaves) - self.updated_share)
            self._looked = 0

    # Leaves

    def _leaf(self, number: int) -> HostBlock:
        """A leaf, up to date."""
        leaf, seen = self._leaves[number], int(self._seen[number])
        if seen == self._terms:
            return leaf
        self._looked += 1
        self._seen[number] = self._known - WAIT - 1  # until all is done: what is stopped half-way starts again
        rows = int(self._rows[number])
        leaf.add(self._X[rows:], rows)
        self._rows[number] = len(self._X)
        if self._known - seen > WAIT:
            leaf.renew(self._alpha)
            seen = self._known
        if seen < self._terms:
            leaf.condition(self._P[seen : self._terms, : len(self._X)], self._z[seen : self._terms])
        self._seen[number] = self._terms
        self._note(number)
        return leaf

    def _note(self, number: int) -> None:
        slopes = self._bounds.slopes
        tops, best, widest, lowest = self._leaves[number].tops(slopes, self._variance_error)
        self._best[number] = self._starts[number] + best
        self._bounds.note(number, slopes, tops + self._mean_error, widest, lowest)

    def _parts(self, places: Indices) -> Iterator[tuple[int, Indices, Indices]]:
        """Leaf by leaf: its number, some places within it, and where these are in what was given."""
        ranks = self._rank[places]
        order = np.argsort(ranks, kind="stable")
        ranks = ranks[order]
        edges = np.searchsorted(ranks, self._starts[1:])
        stops = [*edges.tolist(), len(ranks)]
        for number in np.flatnonzero(np.diff(stops, prepend=0)).tolist():
            part = slice(stops[number - 1] if number else 0, stops[number])
            yield number, ranks[part] - self._starts[number], order[part]

    def _everywhere(self) -> list[HostBlock]:
        return [self._leaf(number) for number in range(len(self._leaves))]

    # What is asked

    def unrefined(self, places: Indices) -> Any:
        found = np.empty(len(places), dtype=np.bool_)
        for number, here, at in self._parts(places):
            found[at] = self._leaf(number).unrefined(here)
        return found

    def refine(self, W: Matrix, places: Indices) -> None:
        for number, here, _ in self._parts(places):
            self._leaf(number).refine(W, here)
            self._note(number)

    def set_variances(self, places: Indices, variances: Vector) -> None:
        """Of leaves that are up to date; others would take off again what is taken off already."""
        for number, here, at in self._parts(places):
            if self._seen[number] == self._terms:
                self._leaves[number].set_variances(here, variances[at])

    def at(self, places: Indices) -> tuple[Vector, Vector]:
        mean, variance = np.empty((2, len(places)))
        for number, here, at in self._parts(places):
            mean[at], variance[at] = self._leaf(number).at(here)
        return mean, variance

    @property
    def means(self) -> tuple[float, float]:
        """The lowest as leaves were last seen: nothing rests on it but how near scores must lie to count as equal."""
        best, bounds = -np.inf, self._bounds.at(0.0)
        for number in np.argsort(-bounds).tolist():
            if bounds[number] < best:
                break
            best = max(best, self._leaf(number).means[1])
        return float(np.min(self._bounds.lowest)), best

    @property
    def largest_variance(self) -> float:
        return float(np.max(self._bounds.widest)) ** 2

    @property
    def variances(self) -> Vector:
        return np.concatenate([leaf.variances for leaf in self._everywhere()])[self._rank]

    def above(self, bar: float, slope: float, error: float = 0.0) -> Indices:
        if slope:
            self._bounds.slope = slope
        found = [np.zeros(0, dtype=np.int64)]
        for number in np.flatnonzero(self._bounds.at(slope) >= bar).tolist():
            leaf = self._leaf(number)
            found.append(leaf.above(bar, slope, error) + leaf.start)
        return np.sort(self._order[np.concatenate(found)])

    def highest(self, slope: float, count: int) -> tuple[Indices, Vector]:
        found = [leaf.highest(slope, count) for leaf in self._everywhere()]
        places = np.concatenate([here + start for (here, _), start in zip(found, self._starts, strict=True)])
        reach = np.concatenate([each for _, each in found])
        best = np.argpartition(-reach, count)[:count] if count < len(reach) else np.arange(len(reach))
        return self._order[places[best]], reach[best]

    def hopeful(self, slope: float, taken: Indices) -> Indices:
        best = self._order[self._best]
        best = best[np.argsort(-self._bounds.at(slope))]
        return np.sort(best[~np.isin(best, taken)][:HOPEFUL])
