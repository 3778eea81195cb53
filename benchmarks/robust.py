"""How sure answers are with robust=True where noise has heavy tails, on both sides or on one, as timings have.

python -m benchmarks.robust             20 runs of 150 measurements of 12 candidates each (minutes)
"""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks import explain
from ostinato import Optimizer
from ostinato.errors import OstinatoWarning

RUNS, BUDGET = 20, 150
X = np.linspace(0, 1, 12)[:, None]
TRUTH = np.sin(3 * X[:, 0])
Noise = Callable[[np.random.Generator, int], NDArray[np.float64]]
NOISES: dict[str, Noise] = {
    "one in twenty 20 times as far": lambda rng, n: np.where(rng.random(n) < 0.05, 10, 0.5) * rng.standard_normal(n),
    "Student's t, 2 degrees": lambda rng, n: 0.5 * rng.standard_t(2, n),
    "one-sided, log-normal": lambda rng, n: 0.5 * (np.exp(rng.standard_normal(n)) - np.exp(0.5)),
}


def run(noise: Noise, seed: int, *, robust: bool) -> tuple[float, float, float, float]:
    """Whether the 95% interval of the best holds its mean, and whether nothing is better by more than `within`.

    And how wide the interval is, and by how much the recommended candidate is worse than the best.
    """
    rng, opt = np.random.default_rng(seed), Optimizer(X, seed=seed, robust=robust, budget=BUDGET)
    while opt.steps < BUDGET:
        batch = opt.ask(limit=BUDGET - opt.steps)
        opt.tell(batch, TRUTH[batch.index] + noise(rng, batch.repeats))
    best = opt.best()
    low, high = best.interval
    truth = float(TRUTH[best.index])
    regret = float(TRUTH.max()) - truth
    return low <= truth <= high, regret <= best.within, high - low, regret


def main() -> None:
    warnings.simplefilter("ignore", OstinatoWarning)
    print(f"{'':32}{'robust':>8}{'interval (95%)':>16}{'within (90%)':>14}{'its width':>11}{'regret':>8}")
    for name, noise in NOISES.items():
        for robust in (True, False):
            held = np.mean([run(noise, seed, robust=robust) for seed in range(RUNS)], axis=0)
            claims, sizes = f"{held[0]:16.0%}{held[1]:14.0%}", f"{held[2]:11.2f}{held[3]:8.3f}"
            print(f"{name:32}{robust!s:>8}{claims}{sizes}", flush=True)


if __name__ == "__main__":
    explain(__doc__)
    main()
