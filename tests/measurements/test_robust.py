"""robust=True: single values that are far off count less."""

import numpy as np
import pytest

from ostinato import Optimizer
from ostinato.measurements.robust import limited
from sizes import size

X = np.linspace(0, 1, 20)[:, None]
TRUTH = np.sin(5 * X[:, 0])


def test_values_far_off_are_brought_near():
    assert limited(np.array([1.0, 1.2, 0.9, 50.0]), 0.0, 1.0, 0.1).tolist() == pytest.approx([1.0, 1.2, 0.9, 1.4])
    assert limited(np.array([50.0]), 2.0, 1.0, 0.1).tolist() == [5.0]


@pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
def test_outliers_do_not_win_where_one_asks_for_that():
    """One measurement in ten is off by 20: the recommended candidate and the noise are right all the same."""

    def run(robust, seed):
        opt, rng = Optimizer(X, robust=robust, seed=seed), np.random.default_rng(seed)
        while opt.steps < 200:
            batch = opt.ask(limit=200 - opt.steps)
            y = TRUTH[batch.index] + 0.2 * rng.standard_normal(batch.repeats)
            opt.tell(batch, y + 20 * rng.choice([-1, 0, 1], batch.repeats, p=[0.05, 0.9, 0.05]))
        return TRUTH.max() - TRUTH[opt.best().index], opt.learned.noise_std[0]

    robust, plain = (np.array([run(kind, seed) for seed in range(size(4, 10))]) for kind in (True, False))
    assert robust[:, 0].mean() < plain[:, 0].mean()
    assert np.median(robust[:, 1]) < 0.5 * np.median(plain[:, 1])


@pytest.mark.parametrize("place", [1, 3, 5])
def test_an_early_outlier_is_seen_for_what_it_is_later(place):
    """Among the first measurements nothing is known that it could be far from."""
    noises = []
    for seed in range(size(3, 6)):
        opt, rng, done = Optimizer(X, robust=True, seed=seed), np.random.default_rng(seed), 0
        while opt.steps < 60:
            batch = opt.ask(limit=5)
            values = np.sin(X[batch.index, 0]) + 0.2 * rng.standard_normal(batch.repeats)
            if done < place <= done + batch.repeats:
                values[0] += 1e4
            done += batch.repeats
            opt.tell(batch, values)
        noises.append(opt.learned.noise_std[0])
    assert np.median(noises) < 0.6
