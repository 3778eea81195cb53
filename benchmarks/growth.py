"""How the cost of an epoch grows: linearly in |A| and in q. Epochs return to known candidates after a warm start at q
random ones; the exponent is the slope of a straight line through (log size, log seconds).
"""

from collections.abc import Iterator, Sequence
from time import perf_counter

import numpy as np
from rich.console import Console

from benchmarks.problem import KERNEL, NOISE_STD, C, Row
from ostinato import MiniUCB, Optimizer
from ostinato.demo import grid

EPOCHS = 60


def run(console: Console) -> Iterator[Row]:
    sides, few = (22, 28, 35, 44), 400
    for kind, as_grid, sizes in (
        ("grid", True, (200, 400, 800, 1600)),
        ("grid not used", False, (400, 800, 1600)),  # below 400 the cache still fits the processor's own
    ):
        seconds = [epoch(side, few, as_grid) for side in sides]
        yield exponent("|A|", [side**3 for side in sides], seconds, f"q = {few}, {kind}", console)
        seconds = [epoch(22, q, as_grid) for q in sizes]
        yield exponent("q", sizes, seconds, f"|A| = 10,648, {kind}", console)


def epoch(side: int, q: int, as_grid: bool) -> float:
    """Median seconds of an ask and a tell at q known candidates."""
    X = grid(side)
    rng = np.random.default_rng(0)
    known = rng.choice(len(X), q, replace=False)
    block_size = None if as_grid else 16_384
    opt = Optimizer(X, kernel=KERNEL, noise_std=NOISE_STD, policy=MiniUCB(C, 0.0), seed=0, block_size=block_size)
    opt.observe(known, 3 + rng.standard_normal(q))
    seconds = []
    for _ in range(EPOCHS):
        start = perf_counter()
        batch = opt.ask(limit=1)
        opt.close(batch)
        opt.observe(int(rng.choice(known)), 3 + rng.standard_normal(1))
        seconds.append(perf_counter() - start)
    return float(np.median(seconds))


def exponent(name: str, sizes: Sequence[int], seconds: list[float], where: str, console: Console) -> Row:
    for size, second in zip(sizes, seconds, strict=True):
        console.print(f"{name} = {size:6,} ({where}): {1e3 * second:.2f} ms", highlight=False)
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    return Row(f"exponent of an epoch's cost in {name} ({where})", f"{slope:.2f}", "about 1 (≤ 1.2)", slope <= 1.2)
