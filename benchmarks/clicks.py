"""Clicks: 200 items with click rates from .05 to .30, 10,000 events, `outcome="binary"`, `goal="earn"`, nothing tuned.

Three shops: rates that follow two columns with several peaks, rates that follow five columns in a straight line, and
rates that follow no column at all, where nothing is learned of one item from another. 20 seeds each; what was shown
from event 3,000 on, by its true rates, is compared with showing the best item alone. For the last shop the same is said
of Thompson sampling on counts, with the right prior.

Then a day's clicks as in docs/how-to.md: every item shown to about as many visitors, few of whom click, and what is
said of the recommended item from that alone. Rates of .02 nearly everywhere and up to .12 in one corner of two columns,
or scattered without regard to any column. 60 days each (20 of 1,000 items).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.problem import Row
from ostinato import Optimizer

ITEMS, EVENTS, FROM, SEEDS = 200, 10_000, 3_000, 20
LOW, HIGH = 0.05, 0.30
DAYS = ((200, 2_000), (200, 4_000), (200, 20_000), (200, 60_000), (1_000, 20_000))  # items and views
WANTED, COVERED = 0.9, (0.85, 1.0)


def run(console: Console) -> Iterator[Row]:
    for shop in (peaks, line, unrelated):
        runs = [_earned(shop, seed) for seed in track(range(SEEDS), shop.__name__, console=console, transient=True)]
        shares, held, low, high = (np.array(each) for each in zip(*runs, strict=True))
        fine = shares >= WANTED
        wanted = shop is not unrelated
        yield Row(
            f"{shop.__name__}: share of the best attainable clicks, on average and in the worst seed",
            f"{shares.mean():.1%}, {shares.min():.1%}",
            f"≥ {WANTED:.0%} in each" if wanted else "",
            bool(fine.all()) if wanted else None,
        )
        yield Row(f"{shop.__name__}: seeds of {SEEDS} above {WANTED:.0%}", f"{np.count_nonzero(fine)}", "", None)
        yield Row(
            f"{shop.__name__}: 90% intervals that hold the true rate of an item",
            f"{held.mean():.1%}",
            f"≥ {COVERED[0]:.0%}" if wanted else "",
            bool(COVERED[0] <= held.mean() <= COVERED[1]) if wanted else None,
        )
        inside = bool(low.min() >= 0 and high.max() <= 1)
        yield Row(f"{shop.__name__}: intervals within 0 and 1", "all" if inside else "not all", "all", inside)
    shares = np.array([_thompson(seed) for seed in range(SEEDS)])
    yield Row("unrelated: Thompson sampling on counts, the same", f"{shares.mean():.1%}, {shares.min():.1%}", "", None)
    for law, days in ((corner, DAYS), (scattered, DAYS[1:3])):
        for items, views in days:
            name = f"a day, {law.__name__}, {items:,} items, {views:,} views"
            seeds = range(60 if items < 1_000 else 20)
            runs = [_day(law, items, views, seed) for seed in track(seeds, name, console=console, transient=True)]
            held, within, ratio = np.mean(runs, axis=0)
            found = f"{held:.0%}, {within:.0%}, {ratio:.2f}"
            yield Row(f"{name}: 95% interval held, within held, estimate ÷ truth", found, "", None)


def peaks(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    X = rng.random((ITEMS, 2))
    heights = sum(rng.random() * np.exp(-np.sum((X - rng.random(2)) ** 2, axis=1) / 0.1) for _ in range(3))
    return X, _rates(np.asarray(heights))


def line(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    X = rng.random((ITEMS, 5))
    return X, _rates(X @ rng.random(5))


def unrelated(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return rng.random((ITEMS, 3)), _rates(rng.random(ITEMS))


def corner(rng: np.random.Generator, items: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    price, rating = rng.uniform(5, 50, items), rng.integers(1, 6, items)
    return np.column_stack([price, rating]), 0.02 + 0.02 * rating * np.exp(-(((price - 20) / 10) ** 2))


def scattered(rng: np.random.Generator, items: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return rng.random((items, 2)), 0.02 * np.exp(0.6 * rng.standard_normal(items))


def _day(law, items: int, views: int, seed: int) -> tuple[bool, bool, float]:
    """Of the recommended item: whether its interval and `within` hold, and its estimate over its rate."""
    rng = np.random.default_rng(seed)
    X, rates = law(rng, items)
    shown = np.bincount(rng.integers(items, size=views), minlength=items)
    rows = np.flatnonzero(shown)
    opt = Optimizer(X, outcome="binary", goal="earn", seed=0)
    opt.observe(rows, successes=rng.binomial(shown[rows], rates[rows]), trials=shown[rows])
    best = opt.best()
    rate = float(rates[best.index])
    low, high = best.interval
    return low <= rate <= high, bool(rates.max() - rate <= best.within), best.mean / rate


def _rates(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evenly from the lowest to the highest rate."""
    return LOW + (HIGH - LOW) * np.argsort(np.argsort(heights)) / (ITEMS - 1)


def _earned(shop, seed: int) -> tuple[float, float, float, float]:
    """The share of attainable clicks, how many intervals hold, and their ends."""
    rng = np.random.default_rng(seed)
    X, rates = shop(rng)
    opt = Optimizer(X, outcome="binary", goal="earn", budget=EVENTS, seed=seed)
    shown: list[float] = []
    while opt.steps < EVENTS:
        batch = opt.ask(limit=EVENTS - opt.steps)
        seen = rng.random(batch.repeats) < rates[batch.index]
        opt.tell(batch, successes=int(seen.sum()), trials=batch.repeats)
        shown += [float(rates[batch.index])] * batch.repeats
    low, high = opt.predict().interval(0.9)
    held = float(np.mean((low <= rates) & (rates <= high)))
    return float(np.mean(shown[FROM:])) / HIGH, held, float(low.min()), float(high.max())


def _thompson(seed: int) -> float:
    rng = np.random.default_rng(seed)
    _, rates = unrelated(rng)
    yes, no = np.full(ITEMS, 4.6), np.full(ITEMS, 21.6)  # mean .175, std .072: the law of the rates
    shown: list[float] = []
    for _ in range(EVENTS):
        item = int(np.argmax(rng.beta(yes, no)))
        click = rng.random() < rates[item]
        yes[item] += click
        no[item] += not click
        shown.append(float(rates[item]))
    return float(np.mean(shown[FROM:])) / HIGH
