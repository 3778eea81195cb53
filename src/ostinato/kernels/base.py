"""What a kernel is, and how kernels combine.

A kernel k(x, y) says how much the values at candidates x and y have in common. `std` is the
prior standard deviation, in the user's own units; length-scales are in each column's own units.

    RBF(lengthscale=2.0, std=3.0)                         one length-scale for all columns
    RBF(lengthscale=(10.0, 0.5))                          one a column
    RBF(10.0).on("temp") * Hamming().on("solvent")        products, on chosen columns
    0.5 * Matern52(1.0) + Constant(2.0)                   sums, and scaling of the covariance

Shapes: X is (n, d), Y is (m, d); k(X, Y) is (n, m) and k.diag(X) is (n,).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.random import Generator

from ostinato.arrays import Array, Matrix, namespace_of
from ostinato.checks import positive
from ostinato.errors import InvalidKernel, InvalidSetting


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the candidate table as kernels see it: numbers, or codes of unordered categories."""

    name: str | int
    kind: Literal["number", "category"] = "number"
    log: bool = False

    @property
    def unit(self) -> str:
        """What a distance in this column is counted in, where that is not the column's own unit."""
        return "" if self.kind == "category" else " decades" if self.log else ""


class Kernel(ABC):
    """A positive covariance function. Frozen settings; no state."""

    @abstractmethod
    def __call__(self, X: Array, Y: Array) -> Array:
        """The covariance of every row of X with every row of Y."""

    @abstractmethod
    def diag(self, X: Array) -> Array:
        """k(x, x) for every row of X."""

    def bind(self, columns: Sequence[Column]) -> "Kernel":
        """This kernel made ready for these columns (names become positions), or an error that says why not."""
        return self

    def factors(self, width: int) -> "tuple[Kernel, ...] | None":
        """One kernel a column whose product is this one, where it splits so; it then is cheap on grids."""
        return None

    def frequencies(self, width: int, count: int, rng: Generator) -> Matrix | None:
        """`count` draws (count, width) of the spectral density, where this kernel is stationary."""
        return None

    def on(self, *names: str | int) -> "On":
        """This kernel, looking at these columns only."""
        if not names:
            raise InvalidKernel("on() was given no column: name at least one, as in RBF(2.0).on('temp').")
        return On(self, names)

    def __add__(self, other: "Kernel") -> "Kernel":
        if not isinstance(cast("object", other), Kernel):
            raise InvalidKernel(f"{other!r} cannot be added to a kernel: make it one, Constant(…) or Custom(function).")
        return Sum(self, other)

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        if isinstance(other, Kernel):
            return Product(self, other)
        if callable(other):
            raise InvalidKernel(f"{other!r} cannot multiply a kernel: make it one, Custom(function).")
        return Scaled(self, other)

    def __rmul__(self, other: float) -> "Kernel":
        return Scaled(self, other)


@dataclass(frozen=True, slots=True)
class Sum(Kernel):
    """k₁ + k₂: the sum of two independent functions."""

    first: Kernel
    second: Kernel

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.first(X, Y) + (self.second.std**2 if isinstance(self.second, Constant) else self.second(X, Y))

    def diag(self, X: Array) -> Array:
        return self.first.diag(X) + self.second.diag(X)

    def bind(self, columns: Sequence[Column]) -> Self:
        return replace(self, first=self.first.bind(columns), second=self.second.bind(columns))


@dataclass(frozen=True, slots=True)
class Product(Kernel):
    """k₁ · k₂: values are alike where both kernels say so."""

    first: Kernel
    second: Kernel

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.first(X, Y) * self.second(X, Y)

    def diag(self, X: Array) -> Array:
        return self.first.diag(X) * self.second.diag(X)

    def bind(self, columns: Sequence[Column]) -> Self:
        return replace(self, first=self.first.bind(columns), second=self.second.bind(columns))

    def factors(self, width: int) -> tuple[Kernel, ...] | None:
        first, second = self.first.factors(width), self.second.factors(width)
        if first is None or second is None:
            return None
        return tuple(Product(a, b) for a, b in zip(first, second, strict=True))

    def frequencies(self, width: int, count: int, rng: Generator) -> Matrix | None:
        # The spectral density of a product is a convolution: independent frequencies add.
        first = self.first.frequencies(width, count, rng)
        second = self.second.frequencies(width, count, rng)
        return None if first is None or second is None else first + second


@dataclass(frozen=True, slots=True)
class Scaled(Kernel):
    """factor · k: the covariance (not the standard deviation) times a number."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        positive("a kernel's factor", self.factor)

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.factor * self.kernel(X, Y)

    def diag(self, X: Array) -> Array:
        return self.factor * self.kernel.diag(X)

    def bind(self, columns: Sequence[Column]) -> Self:
        return replace(self, kernel=self.kernel.bind(columns))

    def factors(self, width: int) -> tuple[Kernel, ...] | None:
        parts = self.kernel.factors(width)
        return None if parts is None else (Scaled(parts[0], self.factor), *parts[1:])

    def frequencies(self, width: int, count: int, rng: Generator) -> Matrix | None:
        return self.kernel.frequencies(width, count, rng)


@dataclass(frozen=True, slots=True)
class On(Kernel):
    """A kernel that looks at some of the columns, by name (or by position where there are no names)."""

    kernel: Kernel
    names: tuple[str | int, ...]

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.kernel(self.seen(X), self.seen(Y))

    def diag(self, X: Array) -> Array:
        return self.kernel.diag(self.seen(X))

    def bind(self, columns: Sequence[Column]) -> "On":
        places = tuple(_place(name, columns) for name in self.names)
        if len(set(places)) < len(places):
            raise InvalidKernel(f"The kernel looks at a column twice ({self.names!r}): name each column once.")
        return On(self.kernel.bind([columns[place] for place in places]), places)

    def factors(self, width: int) -> tuple[Kernel, ...] | None:
        parts = self.kernel.factors(len(self.names))
        if parts is None:
            return None
        own = dict(zip(self.names, parts, strict=True))
        return tuple(own.get(column, Constant()) for column in range(width))

    def frequencies(self, width: int, count: int, rng: Generator) -> Matrix | None:
        own = self.kernel.frequencies(len(self.names), count, rng)
        if own is None:
            return None
        wide = np.zeros((count, width))
        wide[:, [int(name) for name in self.names]] = own
        return wide

    def seen(self, X: Array) -> Array:
        """The columns that it looks at, as the kernel within sees them."""
        xp = namespace_of(X)
        return xp.take(X, xp.asarray([int(name) for name in self.names]), axis=1)


@dataclass(frozen=True, slots=True)
class Constant(Kernel):
    """std² everywhere: an unknown offset, common to all candidates."""

    std: float = 1.0

    def __post_init__(self) -> None:
        positive("std", self.std)

    def __call__(self, X: Array, Y: Array) -> Array:
        return namespace_of(X).full((X.shape[0], Y.shape[0]), self.std**2, dtype=X.dtype)

    def diag(self, X: Array) -> Array:
        return namespace_of(X).full(X.shape[0], self.std**2, dtype=X.dtype)

    def factors(self, width: int) -> tuple[Kernel, ...]:
        return (self, *(Constant() for _ in range(width - 1)))

    def frequencies(self, width: int, count: int, rng: Generator) -> Matrix:
        return np.zeros((count, width))


@dataclass(frozen=True)
class Anisotropic(Kernel):
    """A kernel with a prior standard deviation and length-scales: one, or one a column.

    `categories` are the positions of the columns that hold codes of unordered categories; `bind` fills them in.
    """

    lengthscale: float | Sequence[float] = 1.0
    std: float = 1.0
    categories: tuple[int, ...] = field(default=(), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscale", as_lengthscale(self.lengthscale))
        positive("std", self.std)

    @property
    def scales(self) -> tuple[float, ...]:
        return cast("tuple[float, ...]", self.lengthscale)

    def scale_of_each(self, width: int) -> tuple[float, ...]:
        return self.scales * width if len(self.scales) == 1 else self.scales

    def bind(self, columns: Sequence[Column]) -> Self:
        if len(self.scales) not in (1, len(columns)):
            raise InvalidKernel(
                f"{type(self).__name__} has {len(self.scales)} length-scales for {len(columns)} columns "
                f"({', '.join(str(column.name) for column in columns)}): give one for all, or one a column."
            )
        return replace(self, categories=tuple(j for j, each in enumerate(columns) if each.kind == "category"))

    def split(self, width: int) -> tuple[Self, ...]:
        """One kernel of this kind a column; the first carries the standard deviation."""
        return tuple(
            replace(
                self,
                lengthscale=scale,
                std=self.std if column == 0 else 1.0,
                categories=(0,) if column in self.categories else (),
            )
            for column, scale in enumerate(self.scale_of_each(width))
        )


def without_constant(kernel: Kernel) -> tuple[Kernel, float]:
    """k and c² of a kernel k + c², a constant being what an unknown mean adds; c² is 0 where there is none."""
    if isinstance(kernel, Sum) and isinstance(kernel.second, Constant):
        rest, constant = without_constant(kernel.first)
        return rest, constant + kernel.second.std**2
    return kernel, 0.0


def as_lengthscale(value: Any) -> tuple[float, ...]:
    given: tuple[Any, ...] = (value,) if np.ndim(value) == 0 else tuple(value)
    if not given:
        raise InvalidSetting("lengthscale is empty: give one number, or one a column.")
    return tuple(positive("lengthscale", scale) for scale in given)


def _place(name: str | int, columns: Sequence[Column]) -> int:
    for place, column in enumerate(columns):
        if column.name == name:
            return place
    known = ", ".join(repr(column.name) for column in columns)
    raise InvalidKernel(f"The kernel looks at column {name!r}, which is not there. The columns are {known}.")
