"""Random histories of measurements for hypothesis: what a study may go through, in any order."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class History:
    """Candidates, their noise, and epochs (candidate, count, mean of the measurements)."""

    X: np.ndarray
    noise: np.ndarray
    epochs: list[tuple[int, int, float]]

    @property
    def merged(self):
        """Rows, counts and means with all epochs of a candidate taken together, in order of first appearance."""
        totals: dict[int, tuple[int, float]] = {}
        for row, n, mean in self.epochs:
            count, total = totals.get(row, (0, 0.0))
            totals[row] = (count + n, total + n * mean)
        rows = list(totals)
        return rows, [totals[r][0] for r in rows], [totals[r][1] / totals[r][0] for r in rows]

    @property
    def rho(self) -> float:
        """κ² n_max / λ_min, for a kernel of standard deviation 1."""
        return max(self.merged[1]) / self.noise.min()


@st.composite
def histories(draw, *, largest_count=1, least_noise=0.01, near_duplicates=False, grid=False, most_epochs=30):
    """Values are those of a smooth function plus noise of the size stated: data the model can believe."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    size = draw(st.integers(1, 9))
    X = rng.uniform(-2, 2, (size, 2))
    if grid:
        X = np.stack(np.meshgrid(np.linspace(-2, 2, 6), np.linspace(-1, 2, 6), indexing="ij"), axis=-1).reshape(-1, 2)
    if near_duplicates:
        X = np.concatenate([X, X + rng.uniform(-1e-6, 1e-6, X.shape)])
    noise = np.full(len(X), draw(st.floats(least_noise, 2.0)))
    if draw(st.booleans()):
        noise = noise * rng.uniform(1, 4, len(X))
    rows = draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=most_epochs))
    power = np.log10(largest_count)
    epochs = []
    for row in rows:
        n = int(10 ** rng.uniform(0, power))
        truth = np.sin(X[row, 0]) + np.cos(2 * X[row, 1])
        epochs.append((row, n, float(truth + np.sqrt(noise[row] / n) * rng.standard_normal())))
    return History(X, noise, epochs)
