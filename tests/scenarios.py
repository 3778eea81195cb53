"""Optimisers that are hard to draw: nothing measured, everything failed, long names, extreme scales, and others."""

import numpy as np

from ostinato import Category, Float, Integer, Optimizer, Space

LONG = ["a category of a very long name that no axis has room for, " + each for each in ("first", "second", "third")]


def run(optimizer, truth, steps, noise=0.3, seed=0):
    """Ask and tell until so many were measured."""
    rng = np.random.default_rng(seed)
    while optimizer.steps + optimizer.failures < steps:
        batch = optimizer.ask(limit=steps - optimizer.steps - optimizer.failures)
        optimizer.tell(batch, [truth(batch.candidate) + noise * rng.standard_normal() for _ in range(batch.repeats)])
    return optimizer


def grid():
    return Space(temp=Float(20, 80, step=5), ph=Float(4, 9, step=0.5))


def hill(c):
    return 10 - ((c["temp"] - 55) / 15) ** 2 - (c["ph"] - 6.5) ** 2


def empty():
    return Optimizer(grid(), seed=1)


def one_measurement():
    opt = Optimizer(grid(), seed=1)
    opt.observe({"temp": 40, "ph": 7}, [3.2])
    return opt


def one_candidate():
    return run(Optimizer(np.array([[1.0, 2.0]]), seed=1), lambda c: 5.0, 12)


def all_failed():
    opt = Optimizer(grid(), seed=1)
    for _ in range(4):
        batch = opt.ask()
        opt.tell(batch, [None] * batch.repeats)
    return opt


def ordinary():
    return run(Optimizer(grid(), seed=1, switch_cost=3.0), hill, 150, noise=0.8)


def with_failures():
    rng = np.random.default_rng(5)
    opt = Optimizer(grid(), seed=1)
    for _ in range(30):
        batch = opt.ask()
        failed = batch.candidate["temp"] > 65
        opt.tell(batch, [None if failed else hill(batch.candidate) + rng.normal() for _ in range(batch.repeats)])
    return opt


def minimized():
    return run(Optimizer(grid(), seed=2, direction="minimize"), lambda c: -hill(c), 120)


def long_names():
    space = Space(
        {
            "the kind of solvent that was used in the second washing step": Category(*LONG),
            "temperature of the oven in which it was dried (°C)": Integer(1, 9),
        }
    )
    return run(Optimizer(space, seed=1), lambda c: len(next(iter(c.values()))) / 10 + list(c.values())[1] / 3, 60)


def tiny_values():
    table = np.linspace(1e-12, 9e-12, 12)[:, None]
    return run(Optimizer(table, seed=1), lambda c: 1e-12 * np.sin(c[0] * 4e11), 60, noise=1e-13)


def huge_values():
    table = np.linspace(1e12, 9e12, 12)[:, None]
    return run(Optimizer(table, seed=1), lambda c: 1e12 * np.sin(c[0] / 2.5e12), 60, noise=1e11)


def binary():
    rng = np.random.default_rng(3)
    opt = Optimizer(np.linspace(0, 1, 15)[:, None], seed=1, outcome="binary")
    while opt.steps < 300:
        batch = opt.ask()
        opt.tell(batch, (rng.random(batch.repeats) < 0.2 + 0.6 * np.exp(-8 * (batch.candidate[0] - 0.6) ** 2)) * 1.0)
    return opt


def conditional():
    space = Space(
        solver=Category("adam", "sgd"),
        rate=Float(1e-4, 1, log=True),
        momentum=Float(0, 1).when(solver="sgd"),
    )

    def truth(c):
        base = -((np.log10(c["rate"]) + 2) ** 2)
        return base + (1 - (c["momentum"] - 0.8) ** 2 if c["solver"] == "sgd" else 0)

    return run(Optimizer(space, seed=1), truth, 80, noise=0.2)


def million(rows=1_000_000):
    rng = np.random.default_rng(0)
    table = rng.random((rows, 3))
    return run(Optimizer(table, seed=1), lambda c: -np.sum((c - 0.6) ** 2), 60, noise=0.05)


def averages_only():
    opt = Optimizer(grid(), seed=1)
    for i, temp in enumerate((20, 40, 60)):
        opt.observe({"temp": temp, "ph": 7}, n=20 + i, mean=float(temp % 37), std=2.0)
    return opt


SMALL = [
    *(empty, one_measurement, one_candidate, all_failed, ordinary, with_failures, minimized, long_names),
    *(tiny_values, huge_values, binary, conditional, averages_only),
]
