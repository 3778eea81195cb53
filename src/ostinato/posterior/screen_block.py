"""Some of very many candidates, with means and variances in low precision: what a screen asks of them.

`ScreenBlock` says what that is; `host_block.HostBlock` is one in the machine's memory, in single precision, and
`card.CardBlock` one on a GPU. All numbers are in units of κ, about the prior mean. Places are counted within the
block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.posterior.cache import Indices
from ostinato.posterior.factor import Factor

Floats: TypeAlias = NDArray[np.floating[Any]]
Along: TypeAlias = Callable[[Matrix], Any]  # from orthonormal directions, one a column, to coefficients Qᵀ W


class Preview(NamedTuple):
    """What was seen of a sample of candidates before the others: W k(X, A) and means."""

    whitened: Floats
    mean: Floats

    def reach(self, slope: float) -> float:
        """The highest mean + slope · standard deviation."""
        return float(np.max(self.mean + slope * np.sqrt(np.maximum(1 - np.sum(self.whitened**2, axis=0), 0))))


class Rough(NamedTuple):
    """How variances are bounded by few directions, and by all of W where any line (slope, bar) is reached then."""

    along: Along
    preview: Preview
    lines: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class SearchCriterion:
    """What a search maximises, in the units of values: `value(mean, variance, places)` of a candidate.

    bound(mean, variance): the most that a value may be; higher where the mean is, and where the variance is.
    least(value, mean, variance): what another candidate must reach to be chosen where the best is this one.
    order(places): lower for what is chosen of several that are equal; None where costs settle that, too.
    """

    bound: Callable[[Any, Any], Any]
    value: Callable[[Any, Any, Any], Any]
    least: Callable[[float, float, float], float]
    order: Callable[[Any], Any] | None
    centre: float
    kappa: float
    slope: float | None = None  # where the bound is mean + slope · standard deviation


class LeadingCandidates(NamedTuple):
    """Candidates that may be chosen, in increasing order, with mean, variance and value in double precision."""

    candidates: Indices
    mean: Vector
    variance: Vector
    values: Vector


class ErrorBounds(NamedTuple):
    """The largest errors: by how much a mean may be off, and by how much a variance may be too small."""

    mean: float
    variance: float


class Terms(NamedTuple):
    """What means and variances are made of in double precision: unique candidates and a factorisation.

    imagined: coefficients of what is in flight, one row each, on X, which then ends with candidates only imagined.
    """

    X: Matrix
    factor: Factor
    imagined: Matrix | None = None


class Covariances(Protocol):
    """k(X, A)/κ² for the candidates A of a block, as rows that are to be weighted.

    ones: 1 where a row of ones comes before all others, else 0.
    """

    @property
    def ones(self) -> int: ...

    def coefficients(self, P: Any) -> Any:
        """On ones and rows, for coefficients P on covariances."""
        ...

    @property
    def accuracy(self) -> float:
        """By how much they may be off, of the largest."""
        ...

    def points(self, X: Matrix) -> Any:
        """Some X, as `fill` wants them."""
        ...

    def loose(self, points: Any, centre: Vector) -> Any:
        """The same, as `fill` computes them faster; where there is a `looseness`."""
        ...

    def looseness(self, X: Matrix, centre: Vector) -> Vector | None:
        """By how much those with each of X may be off then, besides; None where there is no faster way."""
        ...

    def at(self, part: slice) -> Callable[[Any, Any, slice], None]:
        """What writes rows of some of the points at a part of the candidates."""
        ...

    @property
    def memory(self) -> Any:
        """What those of as many candidates may take over."""
        ...


class ScreenBlock(ABC):
    """Candidates start … start + size."""

    start: int
    size: int
    unit: float  # the rounding error of one operation, relative
    accuracy: float  # by how much covariances may be off, of the largest
    strip: int  # covariances that are summed at a time
    settles = False  # whether it finds what may be chosen by itself, in double precision
    lazy = False  # whether it puts off what comes until it matters
    updated_share = 0.0  # if so, the share of candidates that is brought up to date at a time
    affordable = 0.1  # the share of candidates that may be computed exactly, before computing all of them is better

    @property
    def high(self) -> int:
        """Covariances that are summed at a time in a refresh."""
        return self.strip

    @property
    def gathered(self) -> int:
        """The same, where variances are refined."""
        return self.strip

    @abstractmethod
    def prepared(self, numbers: Matrix | Vector) -> Any:
        """Numbers as blocks like this one use them."""

    def coefficients(self, P: Matrix | Vector) -> Any:
        """Coefficients on covariances as blocks like this one use them."""
        return self.prepared(P)

    @property
    @abstractmethod
    def memory(self) -> Any:
        """What another block of the same candidates may take over, when this one is not needed any more."""

    @abstractmethod
    def fork(self) -> Self:
        """The same covariances and means, with variances that go their own way."""

    @abstractmethod
    def add(self, X: Matrix, filled: int) -> None:
        """More unique candidates, after those that are filled."""

    def looseness(self, X: Matrix, centre: Vector) -> Vector | None:
        """By how much covariances with each of X may be off besides, if `loosen` follows; None where it may not."""
        return None

    def loosen(self, centre: Vector) -> None:  # noqa: B027 (nothing, where there is no faster way)
        """Compute the covariances that are awaited about this point, which is faster."""

    @abstractmethod
    def condition(self, P: Any, z: Any) -> None:
        """mean += z c, variance −= c², for each row p of P and c = p · k(X, A)."""

    def preview(self, alpha: Any, W: Any) -> Preview | None:
        """A look at some candidates before a refresh, for blocks that use some directions of W alone."""
        return None

    @abstractmethod
    def refresh(self, alpha: Any, W: Any, rough: Rough | None = None) -> None:
        """Means and variances from scratch; after a preview, variances as they are, or more."""

    def adopt(self, mean: Vector, variance: Vector) -> None:  # noqa: B027 (for blocks that begin later than others)
        """Means and variances that are known from elsewhere."""

    def follow(self, alpha: Any, mean_error: float, variance_error: float) -> None:  # noqa: B027 (for blocks that wait)
        """What means are made of after all terms so far, and by how much means and variances may be off."""

    # Blocks that settle choices by themselves:

    def leading(self, criterion: SearchCriterion, off: ErrorBounds, taken: Indices, terms: Terms) -> LeadingCandidates:
        """The candidates that may be chosen, but for those that are taken."""
        raise NotImplementedError

    def leading_draw(self, drawn: Any, criterion: SearchCriterion, off: float, taken: Indices) -> LeadingCandidates:
        """Those that may be the highest in a draw, which may be off by so much here; in units of f."""
        raise NotImplementedError

    def highest_mean(self, bar: float, taken: Indices, terms: Terms) -> float:
        """The highest mean in double precision, in units of f, of those whose mean here reaches a bar, but for some."""
        raise NotImplementedError

    # Blocks that do not always have the variances by all unique candidates:

    def unrefined(self, places: Indices) -> NDArray[np.bool_]:
        """At which of some places variances are by some of the unique candidates alone."""
        return np.zeros(len(places), dtype=np.bool_)

    def refine(self, W: Any, places: Indices) -> None:  # noqa: B027 (nothing, unless there is something to refine)
        """Variances by all unique candidates, at some places."""

    def set_variances(self, places: Indices, variances: Vector) -> None:  # noqa: B027 (nothing, unless there is something to refine)
        """What the variances at some places are."""

    @abstractmethod
    def at(self, places: Indices) -> tuple[Vector, Vector]:
        """Means and variances at some places, as they are here."""

    @property
    @abstractmethod
    def means(self) -> tuple[float, float]:
        """The lowest and the highest."""

    @property
    @abstractmethod
    def largest_variance(self) -> float:
        """Of all that are here."""

    @property
    @abstractmethod
    def variances(self) -> Vector:
        """All of them."""

    @abstractmethod
    def above(self, bar: float, slope: float, error: float = 0.0) -> Indices:
        """Where mean + slope · standard deviation may be above a bar, if variances are off by `error` at the most."""

    def beyond(
        self, chord: tuple[float, float], lines: Sequence[tuple[float, float]], error: float
    ) -> tuple[Indices, Vector]:
        """Where any of some lines (bar, slope) may be reached, and by how much; a chord lies below them all."""
        here = self.above(*chord, error)
        mean, variance = self.at(here)
        width = np.sqrt(np.maximum(variance + error, 0.0))
        over = np.max([slope * width + mean - bar for bar, slope in lines], axis=0)
        return here[over >= 0], over[over >= 0]

    @abstractmethod
    def highest(self, slope: float, count: int) -> tuple[Indices, Vector]:
        """Where mean + slope · standard deviation is highest, and how high; as many places as asked for, or all."""

    @abstractmethod
    def hopeful(self, slope: float, taken: Indices) -> Indices:
        """Some refined places of high mean + slope · standard deviation, spread over all but those that are taken."""
