"""One run of `lazy.py`, printed as JSON: seconds of the processor, and what was chosen."""

import json
import sys
from time import process_time

import numpy as np

from ostinato import MiniUCB, Optimizer
from ostinato.kernels import RBF, Matern52
from ostinato.posterior import exact

KERNELS = {"RBF": RBF, "Matern52": Matern52}
C = 1.1
WAVES = 200  # of which the function is made, drawn for the kernel's length-scale
PART = 50_000
LONGEST = 100_000  # measurements


def function(X: np.ndarray, lengthscale: float, rng: np.random.Generator) -> np.ndarray:
    frequencies, phases = rng.standard_normal((X.shape[1], WAVES)) / lengthscale, 2 * np.pi * rng.random(WAVES)
    parts = [np.cos(X[start : start + PART] @ frequencies + phases).sum(axis=1) for start in range(0, len(X), PART)]
    return np.sqrt(2 / WAVES) * np.concatenate(parts)


def run(
    way: str, kernel: str, lengthscale: float, size: int, columns: int, beta: float, unique: int, noise: float
) -> dict[str, object]:
    """Upper confidence bounds with a given kernel, until so many different candidates were measured."""
    if way == "plain":
        exact.LAZY_SCREEN_FROM = sys.maxsize
    rng = np.random.default_rng(6)
    X = rng.random((size, columns))
    truth = function(X, lengthscale, rng)
    opt = Optimizer(X, kernel=KERNELS[kernel](lengthscale, 1.0), noise_std=noise, policy=MiniUCB(C, beta), seed=0)
    seconds, chosen, lazy = 0.0, list[tuple[int, int]](), 0
    while opt.unique < unique and opt.steps < LONGEST:
        start = process_time()
        batch = opt.ask()
        seconds += process_time() - start
        values = truth[batch.index] + noise * rng.standard_normal(batch.repeats)
        screen = opt.core.known.model.screen
        lazy += screen is not None and screen.lazy
        start = process_time()
        opt.tell(batch, values)
        seconds += process_time() - start
        chosen.append((batch.index, batch.repeats))
    return {"cpu": seconds, "unique": opt.unique, "epochs": len(chosen), "lazy": lazy, "chosen": chosen}


if __name__ == "__main__":
    way, kernel, lengthscale, size, columns, beta, unique, noise = sys.argv[1:]
    settings = float(lengthscale), int(size), int(columns), float(beta), int(unique), float(noise)
    print(json.dumps(run(way, kernel, *settings)))
