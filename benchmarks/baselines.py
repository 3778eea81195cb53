"""Are the baselines fairly fast? BKB and BBKB against the one product that their algorithm cannot do without.

Every round they compute the variances of all candidates under a new inducing set: at the least a product of a
triangular m × m matrix with the m × |A| covariances, m²|A| flops. The floor is that product alone, for the same m's, in
the same run.
"""

import warnings
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from rich.console import Console
from scipy.linalg.blas import dtrmm

from benchmarks.problem import Row
from ostinato import Optimizer
from ostinato.errors import OstinatoWarning
from ostinato.policies import BBKB, BKB
from ostinato.problems import load

STEPS, LENGTHSCALE, STRIP = 400, 2.0, 512
POLICIES = {"BKB": BKB(), "BBKB": BBKB(1.1)}


def run(console: Console) -> Iterator[Row]:
    warnings.simplefilter("ignore", OstinatoWarning)  # Schaffer's worst values are far from what the kernel expects
    for name in POLICIES:
        for problem in ("schaffer", "nas201-cifar10"):
            with console.status(f"{name} on {problem} …"):
                row = _row(name, problem)
            yield row


def _row(name: str, problem: str) -> Row:
    ours, inducing = _run(name, problem)
    floor = _floor(inducing, load(problem).size)
    return Row(
        f"{name} on {problem}, {STEPS} measurements, up to {max(inducing)} inducing candidates: over its product alone",
        f"{ours / floor:.2f}",
        "≤ 2",
        ours / floor <= 2,
    )


def _run(name: str, problem: str) -> tuple[float, list[int]]:
    """Seconds of ask and tell, and the number of inducing candidates in each round."""
    setting, rng = load(problem), np.random.default_rng(0)
    opt = Optimizer(
        setting.candidates,
        policy=POLICIES[name],
        kernel=setting.kernel(LENGTHSCALE),
        noise_std=setting.noise_std,
        seed=0,
    )
    seconds, inducing, rounds = 0.0, [], 0
    while opt.steps < STEPS:
        start = perf_counter()
        batch = opt.ask(limit=STEPS - opt.steps)
        seconds += perf_counter() - start
        if opt.rounds > rounds:
            inducing.append(len(opt.core.known.model.inducing))
            rounds = opt.rounds
        values = setting.measure(batch.index, batch.repeats, rng)
        start = perf_counter()
        opt.tell(batch, values)
        seconds += perf_counter() - start
    return seconds, inducing


def _floor(inducing: list[int], candidates: int) -> float:
    """Seconds of the products alone, strip by strip so that they stay in the processor's cache."""
    rng = np.random.default_rng(0)
    largest = max(inducing)
    U, K = rng.standard_normal((largest, largest)), rng.standard_normal((STRIP, largest))
    seconds = 0.0
    for m in inducing:
        u, k = np.asfortranarray(U[:m, :m]), np.asfortranarray(K[:, :m])
        start = perf_counter()
        for _ in range(-(-candidates // STRIP)):
            dtrmm(1e-3, u, k, side=1, lower=1, overwrite_b=1)
        seconds += perf_counter() - start
    return seconds
