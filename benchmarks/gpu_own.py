"""Kernels of one's own on a GPU: the same choices as on the processor, and how long both take.

    python -m benchmarks.gpu_own                    runs over 10⁵ candidates, on a GPU and on the processor
    python -m benchmarks.gpu_own 1000000            over as many candidates
    python -m benchmarks.gpu_own 2000 torch         the same by PyTorch on the processor: to try it without a GPU

Which kernels the card computes, and which it has copied from the processor, is printed with each row.
"""

import sys
from time import perf_counter
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from array_api_compat import array_namespace

from benchmarks import explain
from benchmarks.gpu import asked
from ostinato import MiniEI, MiniUCB
from ostinato.arrays import Array, Matrix, Vector
from ostinato.errors import SlowKernel
from ostinato.kernels import Custom, Kernel, Linear, Matern52
from ostinato.policies import GPEI, GPUCB

STEPS = 100


def periodic(X: Array, Y: Array) -> Array:
    """Takes any arrays."""
    xp = array_namespace(X)
    wave = xp.sin(4.0 * (X[:, None, 0] - Y[None, :, 0]))
    return xp.exp(-2.0 * wave * wave - 3.0 * xp.sum((X[:, None, 1:] - Y[None, :, 1:]) ** 2, axis=-1))


def periodic_in_numpy(X: Matrix, Y: Matrix) -> Matrix:
    """The same for NumPy's arrays alone."""
    wave = np.sin(4.0 * (X[:, None, 0] - Y[None, :, 0]))
    return np.exp(-2.0 * wave * wave - 3.0 * np.sum((X[:, None, 1:] - Y[None, :, 1:]) ** 2, axis=-1))


def ones(X: Array) -> Array:
    return array_namespace(X).ones(X.shape[0], dtype=X.dtype)


class Path(Kernel):
    """A class of one's own, for NumPy's arrays alone: the covariance of a random walk."""

    def __call__(self, X: Matrix, Y: Matrix) -> Matrix:
        return np.minimum(X[:, :1], Y[:, 0]) + 0.5

    def diag(self, X: Matrix) -> Vector:
        return X[:, 0] + 0.5


KERNELS = {
    "any arrays": Custom(periodic, ones),
    "any arrays, + Matérn": Custom(periodic, ones) + 0.3 * Matern52(0.3),
    "a sum of ours": Matern52(0.3) + 0.2 * Linear(1.0),
    "NumPy alone": Custom(periodic_in_numpy, ones),
    "NumPy alone, + Matérn": Custom(periodic_in_numpy, ones) + 0.3 * Matern52(0.3),
    "a class, × Matérn": Path() * Matern52(0.4),
}
POLICIES: dict[str, dict[str, Any]] = {
    "GP-UCB": {"policy": GPUCB()},
    "mini-GP-UCB": {"policy": MiniUCB()},
    "GP-EI": {"policy": GPEI()},
    "mini-GP-EI, 4 in flight": {"policy": MiniEI(C=1.5), "slots": 4},
    "earn": {"goal": "earn", "budget": STEPS},
}


def main(size: str = "100000", device: str = "cuda") -> None:
    X, same, made = np.random.default_rng(1).random((int(size), 3)), 0, 0
    for kernel in KERNELS:
        for policy, how in POLICIES.items():
            settings = {**how, "kernel": KERNELS[kernel], "noise_std": 0.3}
            found, seconds, copied = list[Any](), list[float](), list[bool]()
            for where in (device, "cpu"):
                start = perf_counter()
                with catch_warnings(record=True) as warned:
                    simplefilter("always", SlowKernel)
                    found.append(asked(X, settings, where, STEPS))
                seconds.append(perf_counter() - start)
                copied.append(any(issubclass(each.category, SlowKernel) for each in warned))
            same, made = same + (found[0] == found[1]), made + 1
            says, how_computed = "the same" if found[0] == found[1] else "OTHERS", "copied" if copied[0] else "there"
            print(
                f"{kernel:22} {policy:24} {len(found[0][0]):4} batches: {says:9} {how_computed:7}"
                f"{seconds[0]:6.1f} s, processor {seconds[1]:6.1f} s",
                flush=True,
            )
    print(f"{same} of {made} the same")


if __name__ == "__main__":
    explain(__doc__)
    main(*sys.argv[1:])
