"""Users' own kernels on arrays that are not NumPy's, such as PyTorch's on a GPU.

The library's kernels speak the array API. One of a user's own may, or may know NumPy alone. Which it is, is found out
by trying it on a few candidates: `for_arrays_like` calls it with the arrays of the place where it is needed, and
compares with what it gives for NumPy's. Only what is the same is computed there; all else goes through NumPy.
"""

from dataclasses import dataclass, replace
from warnings import catch_warnings, simplefilter

import numpy as np

from ostinato.arrays import Array, from_numpy_like, namespace_of, to_numpy
from ostinato.kernels.base import Kernel, On, Product, Scaled, Sum
from ostinato.kernels.other import Custom, check_covariances

TOLERANCE = 1e-12  # of the largest covariance: by how much numbers may differ
ROWS = 32  # of which k(x, x) is computed at a time, where a function gives matrices alone


@dataclass(frozen=True, slots=True)
class DirectKernel(Kernel):
    """A function of the user's own, called with whatever arrays there are."""

    custom: Custom

    def __call__(self, X: Array, Y: Array) -> Array:
        found = self.custom.function(X, Y)
        check_covariances(found, (X.shape[0], Y.shape[0]))
        return found

    def diag(self, X: Array) -> Array:
        if self.custom.diagonal is None:
            xp, parts = namespace_of(X), [X[a : a + ROWS, :] for a in range(0, X.shape[0], ROWS)]
            return xp.concat([xp.linalg.diagonal(self(part, part)) for part in parts])
        found = self.custom.diagonal(X)
        check_covariances(found, (X.shape[0],))
        return found


@dataclass(frozen=True, slots=True)
class ThroughNumPy(Kernel):
    """A kernel that knows NumPy alone, for other arrays: these are copied, and so is what it returns.

    reason: what happened when it was given others.
    """

    kernel: Kernel
    reason: str

    def __call__(self, X: Array, Y: Array) -> Array:
        return from_numpy_like(self.kernel(to_numpy(X), to_numpy(Y)), X)

    def diag(self, X: Array) -> Array:
        return from_numpy_like(self.kernel.diag(to_numpy(X)), X)


def for_arrays_like(kernel: Kernel, rows: Array) -> Kernel:
    """The same kernel for arrays of the kind of some candidates' features, on which each part of it is tried."""
    if isinstance(kernel, Sum | Product):
        return replace(kernel, first=for_arrays_like(kernel.first, rows), second=for_arrays_like(kernel.second, rows))
    if isinstance(kernel, Scaled):
        return replace(kernel, kernel=for_arrays_like(kernel.kernel, rows))
    if isinstance(kernel, On):
        return replace(kernel, kernel=for_arrays_like(kernel.kernel, kernel.seen(rows)))
    there = DirectKernel(kernel) if isinstance(kernel, Custom) else kernel
    reason = _refusal(there, kernel, rows)
    return there if reason is None else ThroughNumPy(kernel, reason)


def numpy_parts(kernel: Kernel) -> list[ThroughNumPy]:
    """The parts of a kernel that go through NumPy."""
    if isinstance(kernel, Sum | Product):
        return numpy_parts(kernel.first) + numpy_parts(kernel.second)
    if isinstance(kernel, Scaled | On):
        return numpy_parts(kernel.kernel)
    return [kernel] if isinstance(kernel, ThroughNumPy) else []


def _refusal(there: Kernel, kernel: Kernel, rows: Array) -> str | None:
    """Why a kernel is not to be given arrays of this kind; None where it gives NumPy's numbers for them."""
    points = to_numpy(rows)
    expected = np.append(kernel(points, points).ravel(), kernel.diag(points))
    try:
        with catch_warnings():
            simplefilter("error")  # NumPy's functions take tensors in memory, with a warning
            found = there(rows, rows), there.diag(rows)
            others = {_kind(each) for each in found} - {_kind(rows)}
            if others:
                return f"it returned {others.pop()}"
            off = float(np.max(np.abs(np.append(*(to_numpy(each).ravel() for each in found)) - expected)))
    except Exception as error:  # whatever a function that was not made for them may do
        return f"{type(error).__name__}: {error}".splitlines()[0]
    same = off <= TOLERANCE * float(np.max(np.abs(expected)))
    return None if same else f"its numbers were off by {off:.2g}"


def _kind(array: Array) -> str:
    return f"a {type(array).__name__} of {array.dtype} on {array.device}"
