"""What to recommend without a model of all candidates: the same that the optimiser names."""

import numpy as np
import pytest

from ostinato import Category, Optimizer, Ordered, Space
from ostinato.experiments.recommend import leader
from ostinato.kernels import RBF, Hamming
from ostinato.measurements.tally import Statistics
from ostinato.policies import Uniform

LINE = np.repeat(np.linspace(0, 5, 20), 2)[:, None]  # every row twice: they are one candidate
SPACE = Space(a=Ordered(1, 2, 3, 4), b=Category("x", "y", "z"))


@pytest.mark.filterwarnings("ignore::ostinato.errors.DuplicateCandidates")
@pytest.mark.parametrize(
    ("candidates", "kernel"),
    [(LINE, RBF(1.0)), (SPACE, RBF(1.5).on("a") * Hamming(1.0).on("b"))],
    ids=["line", "space"],
)
@pytest.mark.parametrize("noise_std", [0.01, 0.5, 5.0])
def test_it_is_the_best_of_the_optimiser(candidates, kernel, noise_std):
    for seed in range(10):
        optimizer = Optimizer(candidates, policy=Uniform(), kernel=kernel, noise_std=noise_std, seed=seed)
        rng, told = np.random.default_rng(seed), {}
        for _ in range(15):
            batch = optimizer.ask()
            values = rng.standard_normal(batch.repeats)
            optimizer.tell(batch, values)
            told[batch.index] = told.get(batch.index, Statistics()) + Statistics.of_values(values)
        assert leader(candidates, kernel, noise_std, told) == optimizer.best().index
