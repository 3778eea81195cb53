"""How many cosines a draw needs: regret of Thompson sampling with exact draws and with random Fourier features.

    python -m benchmarks.draws            10 seeds of each problem (two minutes of a core)
    python -m benchmarks.draws 150        150 seeds

The functions are drawn from the kernel at 2,000 scattered candidates, where exact draws are possible; kernel and noise
are given. MiniTS makes 300 measurements. Every count of cosines is compared with exact draws, seed by seed. Regret is
in standard deviations of the function. Off: the root mean square by which covariances within a draw differ from the
kernel's.
"""

import sys
import warnings
from typing import Any

import numpy as np

from benchmarks import explain
from benchmarks.refits import interval
from ostinato import MiniTS, Optimizer
from ostinato.arrays import Matrix, Vector
from ostinato.errors import OstinatoWarning
from ostinato.kernels import RBF, Kernel, Matern52
from ostinato.posterior import draws, fourier

SEEDS, CANDIDATES, STEPS, NOISE, DRAWS, PAIRS = 10, 2_000, 300, 0.5, 50, 2_000
EXACT = 0
COSINES = (EXACT, 32, 64, 128, 256)
PROBLEMS: dict[str, tuple[int, Kernel]] = {
    "2 columns": (2, Matern52(0.2)),
    "3 columns": (3, RBF(0.3)),
    "6 columns": (6, Matern52(0.5)),
    "6 columns, smooth": (6, RBF(1.0)),
    "10 columns": (10, Matern52(0.8)),
}


def run(kernel: Kernel, X: Matrix, truth: Vector, seed: int, cosines: int) -> tuple[float, float]:
    """Regret of a measurement on average, and of what is recommended."""
    draws.EXACT_UP_TO = 0 if cosines else CANDIDATES  # pyright: ignore[reportConstantRedefinition]
    fourier.FEATURES = cosines  # pyright: ignore[reportConstantRedefinition]
    rng = np.random.default_rng((seed, 1))
    opt = Optimizer(X, kernel=kernel, noise_std=NOISE, policy=MiniTS(1.2), budget=STEPS, seed=seed)
    regret = 0.0
    while opt.steps < STEPS:
        batch = opt.ask()
        opt.tell(batch, truth[batch.index] + NOISE * rng.standard_normal(batch.repeats))
        regret += batch.repeats * float(truth.max() - truth[batch.index])
    return regret / STEPS, float(truth.max() - truth[opt.best().index])


def problem(columns: int, kernel: Kernel, seed: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng((seed, 0))
    X = rng.random((CANDIDATES, columns))
    return X, draws.square_root(kernel(X, X)) @ rng.standard_normal(CANDIDATES)


def off(columns: int, kernel: Kernel, cosines: int) -> float:
    """For pairs of random points x, y, by how much the average of cos ω·(x − y) differs from the kernel."""
    rng, squares = np.random.default_rng(0), list[float]()
    for _ in range(DRAWS):
        x, y = rng.random((2, PAIRS, columns))
        spread: Any = fourier.EvenlySpread(cosines, 2 * columns + 2, rng)
        omega: Any = kernel.frequencies(columns, cosines, spread)
        truth = np.array([float(kernel(a[None], b[None])[0, 0]) for a, b in zip(x, y, strict=True)])
        squares.append(float(np.mean((np.cos((x - y) @ omega.T).mean(axis=1) - truth) ** 2)))
    return float(np.sqrt(np.mean(squares)))


def main(seeds: int = SEEDS) -> None:
    warnings.simplefilter("ignore", OstinatoWarning)
    gaps: dict[int, list[Vector]] = {}
    for name, (columns, kernel) in PROBLEMS.items():
        found = {cosines: np.empty((seeds, 2)) for cosines in COSINES}
        for seed in range(seeds):
            X, truth = problem(columns, kernel, seed)
            for cosines, rows in found.items():
                rows[seed] = run(kernel, X, truth, seed, cosines)
        print(f"{name}, {kernel}: regret {found[EXACT].mean(axis=0).round(3)} with exact draws", flush=True)
        for cosines in COSINES[1:]:
            gaps.setdefault(cosines, []).append(found[cosines] - found[EXACT])
            apart = off(columns, kernel, cosines)
            print(f"  {cosines} cosines: {said(gaps[cosines][-1])}; off by {apart:.3f}", flush=True)
    print(f"All, {seeds} seeds of each:")
    for cosines, parts in gaps.items():
        print(f"  {cosines} cosines: {said(np.concatenate(parts))}")


def said(gaps: Matrix) -> str:
    """How much more regret than with exact draws, with 95% intervals."""
    words: list[str] = []
    for what, gap in zip(("measured", "recommended"), gaps.T, strict=True):
        low, high = interval(gap)
        words.append(f"{what} {gap.mean():+.3f} ({low:+.3f} to {high:+.3f})")
    return ", ".join(words)


if __name__ == "__main__":
    explain(__doc__)
    main(*map(int, sys.argv[1:]))
