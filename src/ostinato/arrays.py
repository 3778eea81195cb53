"""Array namespaces, shape checks, and the few operations the array API lacks.

The engine speaks the array API (``xp``): NumPy by default, anything that `array-api-compat`
wraps otherwise. What the standard has no word for stands here, once, with a fast NumPy form and a form
in the standard's own words.

`Array` is any array of that standard. `Vector` and `Matrix` are NumPy arrays of float64: what users get.

SciPy takes longer to import than all else, and whoever only reads a study needs none of it: the functions that call it
import it.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from array_api_compat import array_namespace, is_numpy_namespace, is_torch_namespace
from numpy.typing import NDArray

Array: TypeAlias = Any
Namespace: TypeAlias = Any
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
AT_ONCE = 2**20  # rows of very many that are looked at at a time


def namespace_of(array: Array) -> Namespace:
    """The array API namespace that `array` belongs to."""
    return np if type(array) is np.ndarray else unwrapped(array_namespace(array))


def unwrapped(xp: Namespace) -> Namespace:
    """NumPy as `np`, whatever wraps it, so that `xp is np` says it all; others as they are."""
    return np if is_numpy_namespace(xp) else xp


def erfcx_of(xp: Namespace) -> Any:
    """exp(x²) erfc(x) as PyTorch computes it where its arrays are; None for others, which go by SciPy's."""
    if not is_torch_namespace(xp):
        return None
    from importlib import import_module

    return import_module("torch").special.erfcx


def to_numpy(array: Array) -> NDArray[Any]:
    """A NumPy view or copy of any array, for results that leave the engine."""
    if type(array) is not np.ndarray:
        array = np.from_dlpack(array.detach().cpu() if is_torch_namespace(namespace_of(array)) else array)
    return cast("NDArray[Any]", array)


def from_numpy(xp: Namespace, array: NDArray[Any]) -> Array:
    if xp is np:
        return array
    return xp.reshape(xp.asarray(array.ravel().tolist(), dtype=xp.float64), array.shape)


def from_numpy_like(array: NDArray[Any], like: Array) -> Array:
    """An array of numbers where another array is: of the same library, and on the same device."""
    xp = namespace_of(like)
    return xp.asarray(array, device=like.device) if is_torch_namespace(xp) else from_numpy(xp, array)


def squared_distances(
    X: Array, Y: Array, lengthscale: float | Sequence[float], categories: Sequence[int] = ()
) -> Array:
    """‖(x − y)/lengthscale‖² for every row x of X and y of Y; one length-scale, or one a column.

    Differences come before squares: the expanded form |x|² + |y|² − 2xy would lose near-duplicate
    candidates to cancellation. In the columns of `categories` a difference is 1, whatever the codes.
    """
    xp, given = namespace_of(X), tuple(lengthscale) if isinstance(lengthscale, Sequence) else (lengthscale,)
    scales = given * X.shape[1] if len(given) == 1 else given
    if categories:
        return _with_categories(X, Y, scales, categories)
    if xp is np:
        from scipy.spatial.distance import cdist

        if len(set(scales)) == 1:
            r2 = cdist(X, Y, "sqeuclidean")
            r2 *= scales[0] ** -2.0
            return r2
        return cdist(X, Y, "sqeuclidean", w=np.asarray(scales) ** -2.0)
    gap = (X[:, None, :] - Y[None, :, :]) / xp.asarray(list(scales), dtype=X.dtype)
    return xp.sum(gap * gap, axis=-1)


def _with_categories(X: Array, Y: Array, scales: Sequence[float], categories: Sequence[int]) -> Array:
    """The same, where some of the columns hold codes of categories."""
    xp = namespace_of(X)
    numbers = [j for j in range(X.shape[1]) if j not in categories]
    if numbers:
        x, y = (xp.take(rows, xp.asarray(numbers), axis=1) for rows in (X, Y))
        r2 = squared_distances(x, y, [scales[j] for j in numbers])
    else:
        r2 = xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype)
    for j in categories:
        r2 += xp.astype(X[:, j][:, None] != Y[:, j][None, :], r2.dtype) * scales[j] ** -2.0
    return r2


def solve_lower(L: Any, b: Any, *, transposed: bool = False) -> Any:
    """L⁻¹ b for a lower-triangular L, or L⁻ᵀ b."""
    xp = namespace_of(L)
    if xp is np:
        if b.shape[0] != L.shape[0]:
            raise ValueError(f"A triangular matrix of size {L.shape[0]} does not go with {b.shape[0]} rows.")
        if L.shape[0] == 0:
            return b.copy()
        from scipy.linalg.lapack import dtrtrs

        solved, failed = cast("Any", dtrtrs)(L.T, b, lower=0, trans=not transposed)  # of Lᵀ, which need not be copied
        if failed:
            raise ArithmeticError(f"dtrtrs failed on a triangular matrix of size {L.shape[0]} (code {failed}).")
        return solved
    return xp.linalg.solve(xp.matrix_transpose(L) if transposed else L, b)


def transposed_times(L: Any, X: Any) -> Any:
    """Lᵀ X for a lower-triangular L; X may be overwritten."""
    xp = namespace_of(L)
    if xp is not np or X.ndim == 1:
        return xp.matmul(xp.matrix_transpose(L), X)
    from scipy.linalg.blas import dtrmm

    return dtrmm(1.0, L.T, X.T, side=1, lower=0, trans_a=1, overwrite_b=1).T


def inverse_from_cholesky(L: Array) -> Array:
    """(L Lᵀ)⁻¹, both triangles."""
    xp = namespace_of(L)
    if xp is not np:
        inverse = xp.linalg.inv(L)
        return xp.matmul(xp.matrix_transpose(inverse), inverse)
    if L.shape[0] == 0:
        return L
    from scipy.linalg.lapack import dpotri

    lower, failed = dpotri(L, lower=1)
    if failed:
        raise ArithmeticError(f"dpotri failed on a Cholesky factor of size {L.shape[0]} (code {failed}).")
    return np.tril(lower) + np.tril(lower, -1).T


def cholesky(A: Array) -> Array | None:
    """The lower Cholesky factor of A, or None when A is not positive definite to working precision."""
    xp = namespace_of(A)
    try:
        L = xp.linalg.cholesky(A)
    except Exception as error:  # each library has its own LinAlgError
        if type(error).__name__ not in {"LinAlgError", "_LinAlgError"}:
            raise
        return None
    return L if bool(xp.all(xp.isfinite(L))) else None


def grown(buffer: Array, shape: tuple[int, ...]) -> Array:
    """`buffer`, or a larger zero-padded copy (by half again) when `shape` does not fit in it."""
    if all(have >= need for have, need in zip(buffer.shape, shape, strict=True)):
        return buffer
    room = tuple(
        have if have >= need else max(need, have + have // 2, 16)
        for have, need in zip(buffer.shape, shape, strict=True)
    )
    xp = namespace_of(buffer)
    larger = xp.zeros(room, dtype=buffer.dtype)
    larger[tuple(slice(n) for n in buffer.shape)] = buffer
    return larger


def span_of(features: Matrix) -> tuple[Vector, Vector]:
    """The lowest and the highest of each column, some rows at a time: a mapped file is not copied."""
    starts = range(0, len(features), AT_ONCE)
    lows = [np.min(features[start : start + AT_ONCE], axis=0) for start in starts]
    return np.min(lows, axis=0), np.max([np.max(features[s : s + AT_ONCE], axis=0) for s in starts], axis=0)


def constant(value: float, size: int) -> Vector:
    """The same number so many times, in the memory of one."""
    return np.broadcast_to(np.float64(value), size)


def least_of(values: Vector) -> float:
    """The lowest of some numbers; of one number many times, that."""
    return float(values[0] if values.strides == (0,) else np.min(values))


def times(factor: float, values: Vector) -> Vector:
    """A multiple of some numbers; of one number many times, again one number many times."""
    alike = len(values) > 0 and values.strides == (0,)
    return constant(factor * float(values[0]), len(values)) if alike else factor * values
