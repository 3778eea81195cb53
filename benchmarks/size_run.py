"""One figure of `size.py`, printed as JSON: a script that any state of the code can run."""

import json
import resource
import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from ostinato import Float, MiniTS, MiniUCB, Optimizer, Space
from ostinato.kernels import RBF, Matern52
from ostinato.learning.learner import Learner
from ostinato.policies.find import Find

try:
    from ostinato.optimizer.knowledge import Knowledge
except ModuleNotFoundError:  # earlier states, which do not look for outliers
    Knowledge = object

NOISE, FROM = 0.02, 100  # of the function's spread; unique candidates from which an epoch is compared
LATE = 15  # epochs before which one on a space is not compared
COLUMNS = int(sys.argv[4]) if len(sys.argv) > 4 else 6
GIGABYTE = 1024**2  # in the kernel's units


class Timed:
    """Seconds that a method takes from now on, and how often it was called."""

    def __init__(self, owner: Any, name: str) -> None:
        self.seconds, self.count, self._method = 0.0, 0, getattr(owner, name, None)
        if self._method is not None:  # some states of the code have none of this name
            setattr(owner, name, self._timed())

    def _timed(self) -> Any:
        def timed(*args: Any, **settings: Any) -> Any:
            start = process_time()
            try:
                return self._method(*args, **settings)
            finally:
                self.seconds += process_time() - start
                self.count += 1

        return timed


class Run:
    """A function of all columns, measured; with what every ask and tell took."""

    def __init__(self, size: int, steps: int, **settings: Any) -> None:
        rng = np.random.default_rng(6)
        X = rng.random((size, COLUMNS))
        self._truth = np.sum(np.sin(7 * X + 3 * np.roll(X, 1, axis=1)), axis=1)
        self._noise = NOISE * float(np.std(self._truth))
        self._rng, self._steps = np.random.default_rng(0), steps
        start = process_time()
        self.optimizer = Optimizer(X, seed=0, **settings)
        self.made = process_time() - start
        self.epochs: list[tuple[int, float, float, bool]] = []  # unique candidates, ask, tell, whether it fitted

    def go(self, between: Callable[[], None] = lambda: None) -> None:
        """All epochs. between: what else is done after each."""
        fits, reviews, opt = Timed(Learner, "_fitted"), Timed(Knowledge, "_review_outliers"), self.optimizer
        while opt.steps < self._steps:
            before, start = (fits.count, fits.seconds, reviews.seconds), process_time()
            batch = opt.ask(limit=self._steps - opt.steps)
            asked = process_time() - start - (fits.seconds - before[1]) - (reviews.seconds - before[2])
            values = self.values(batch)
            start = process_time()
            opt.tell(batch, values)
            self.epochs.append((opt.unique, asked, process_time() - start, fits.count > before[0]))
            between()
        self.fits, self.reviews = fits.seconds, reviews.seconds

    def values(self, batch: Any) -> Any:
        return self._truth[batch.index] + self._noise * self._rng.standard_normal(batch.repeats)


def learned(size: int, steps: int) -> dict[str, float]:
    start = process_time()
    run = Run(size, steps, goal="find", budget=steps)
    run.go()
    q, asked, told, fitted = (np.array(each) for each in zip(*run.epochs, strict=True))
    usual = np.interp(np.arange(len(q)), np.flatnonzero(~fitted), asked[~fitted])
    found = {
        "cpu": run.made + run.fits + run.reviews + float(np.sum(asked + told)),
        "making": run.made,
        "fits": run.fits,
        "reviews": run.reviews,  # of values that may be outliers, which go before fits
        "rebuilding": float(np.sum((asked - usual)[fitted])),
        "epochs": len(q),
        "unique": int(q[-1]),
        "peak": peak(),
    }
    return found | {"all": process_time() - start}


def epochs(size: int, steps: int) -> dict[str, float]:
    """Epochs of expected improvement that looks at ever more candidates, over the bare product; measured in turns."""
    bare = Product(size)
    run = Run(size, steps, policy=Find(worth=0.0), budget=steps)
    run.go(bare.measure)
    q, asked, told, fitted = (np.array(each) for each in zip(*run.epochs, strict=True))
    late = (q >= FROM) & ~fitted
    spent, least = (asked + told)[late], (q * bare.seconds)[late]
    return {"epoch": float(np.sum(spent) / np.sum(least)), "epochs": int(np.sum(late)), "unique": int(q[-1])}


def answers(size: int, steps: int) -> dict[str, float]:
    from ostinato.running.progress import describe

    run = Run(size, steps, goal="find", budget=2 * steps)
    run.go()
    opt, found = run.optimizer, {}
    for name, question in (("line", lambda: describe(opt)), ("best", opt.best), ("top", opt.top)):
        opt.tell(batch := opt.ask(), run.values(batch))
        opt.ask()
        start = process_time()
        question()
        found[name] = process_time() - start
    return found


def slots(size: int, steps: int) -> dict[str, float]:
    run = Run(size, steps, goal="find", budget=1_000)
    run.go()
    start = process_time()
    batches = run.optimizer.ask(slots=96)
    return {"cpu": process_time() - start, "batches": len(batches), "unique": run.optimizer.unique}


def clicks(size: int, items: int) -> dict[str, float]:
    """A night of a shop with this many items, of which some have been shown."""
    rng = np.random.default_rng(0)
    X = rng.random((size, 5))
    rates = 0.02 + 0.1 * X[:, 0] * X[:, 1]
    rows, shown = rng.choice(size, items, replace=False), rng.integers(5, 40, items)
    opt = Optimizer(X, outcome="binary", goal="earn", budget=10**6, seed=0)
    opt.observe(rows, successes=rng.binomial(shown, rates[rows]), trials=shown)
    found: dict[str, float] = {}
    for name, slots in (("plan of 1,000", 1_000), ("plan of 20", 20)):
        start = process_time()
        batches = opt.ask(slots=slots)
        found[name] = process_time() - start
        for batch in batches:
            opt.tell(batch, successes=int(rng.binomial(batch.repeats, rates[batch.index])), trials=batch.repeats)
    start = process_time()
    opt.best()
    return found | {"best": process_time() - start, "peak": peak()}


def space(size: int, steps: int) -> dict[str, float]:
    """An epoch on all points of a space, which are a grid: everything learned, over RBF and noise given."""
    found: dict[str, float] = {}
    for name, given in (("learned", {}), ("given", {"kernel": RBF(0.15, 1.5), "noise_std": NOISE})):
        rng, side = np.random.default_rng(0), round(size ** (1 / 3))
        opt = Optimizer(
            Space(**{f"x{j}": Float(0.0, 1.0, count=side) for j in range(3)}),
            policy=MiniUCB(1.2, 2.0),
            budget=steps,
            seed=0,
            **given,
        )
        fits, spent = Timed(Learner, "_fitted"), list[float]()
        while opt.steps < steps:
            count, start = fits.count, process_time()
            batch = opt.ask(limit=steps - opt.steps)
            asked, truth = process_time() - start, sum(np.sin(7 * x) for x in batch.candidate.values())
            values = truth + NOISE * rng.standard_normal(batch.repeats)
            start = process_time()
            opt.tell(batch, values)
            if fits.count == count and opt.epochs > LATE:
                spent.append(asked + process_time() - start)
        found |= {name: float(np.mean(spent)), f"{name} epochs": len(spent), f"{name} unique": opt.unique}
    return found | {"ratio": found["learned"] / found["given"], "peak": peak()}


def one_policy(policy: Any, size: int, steps: int) -> dict[str, float]:
    run = Run(size, steps, policy=policy, kernel=Matern52(0.5, 1.5), noise_std=0.2)
    run.go()
    return {"cpu": float(np.sum([asked + told for _, asked, told, _ in run.epochs[2:]])) / (len(run.epochs) - 2)}


def address(size: int, steps: int) -> dict[str, float]:
    resource.setrlimit(resource.RLIMIT_AS, (16 * 1024**3,) * 2)
    return learned(size, steps)


class Product:
    """The bare vector–matrix product in double precision: seconds for a row of the cache, each time it is measured."""

    def __init__(self, size: int, rows: int = 64) -> None:
        self._cache, self._p = np.random.default_rng(0).random((rows, size)), np.ones(rows)
        self.seconds: list[float] = []

    def measure(self) -> None:
        start = process_time()
        self._p @ self._cache
        self.seconds.append((process_time() - start) / len(self._p))


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIGABYTE


KINDS = {
    "learned": learned,
    "epochs": epochs,
    "answers": answers,
    "slots": slots,
    "clicks": clicks,
    "address": address,
    "space": space,
    "MiniTS": lambda size, steps: one_policy(MiniTS(1.2), size, steps),
    "MiniUCB": lambda size, steps: one_policy(MiniUCB(1.2, 2.0), size, steps),
}

if __name__ == "__main__":
    print(json.dumps(KINDS[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))))
