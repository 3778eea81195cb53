"""How close an epoch is to its floor. An epoch must carry q coefficients to |A| candidates: 2 q |A| operations. With
a cache of q rows that is one vector–matrix product, which streams the cache from memory once; on a grid whose kernel
splits over its columns it is one small matrix product, which need not wait for memory.

The run is repeated (it is the same run, bit for bit) and the fastest time of each epoch is kept, to leave out what
other programs on the machine cost; the bare products, at the same q in the same order, likewise.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from rich.console import Console

from benchmarks.problem import STEPS, Problem, Row, epochs_of

RUNS = 5
FROM = 200


def run(console: Console) -> Iterator[Row]:
    with console.status("running …"):
        grid = [epochs(as_grid=True) for _ in range(RUNS)]
        scattered = [epochs(as_grid=False) for _ in range(RUNS)]
        q, new = grid[0][0], grid[0][1]
        bare = np.min([products(q) for _ in range(RUNS)], axis=0)
    for name, runs, wanted in (("", grid, 1.3), (", grid not used", scattered, None)):
        seconds = np.min([r[2] for r in runs], axis=0)
        for low in range(FROM, int(q.max()), 100):
            at = (q >= low) & (q < low + 100)
            console.print(
                f"q from {low}{name}: {1e6 * np.median(seconds[at]):5.0f} µs an epoch, bare product "
                f"{1e6 * np.median(bare[at]):5.0f} µs, ratio {seconds[at].sum() / bare[at].sum():.2f}",
                highlight=False,
            )
        for what, kind in (("returns", ~new), ("first visits", new), ("all epochs", q > 0)):
            at = kind & (q >= FROM)
            ratio = seconds[at].sum() / bare[at].sum()
            yield Row(
                f"{what} at q ≥ {FROM} (q to {int(q.max())}){name}, against the bare vector–matrix product",
                f"{ratio:.2f} ×",
                f"≤ {wanted} ×" if wanted else "",
                ratio <= wanted if wanted else None,
            )


def epochs(*, as_grid: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, whether the candidate was new, and the seconds of ask and tell, for every epoch."""
    problem = Problem()
    opt = problem.optimizer(as_grid=as_grid)
    rows, before = [], 0
    for _, seconds in epochs_of(problem, opt, STEPS):
        rows.append((opt.unique, opt.unique > before, seconds))
        before = opt.unique
    q, new, seconds = zip(*rows, strict=True)
    return np.array(q), np.array(new), np.array(seconds)


def products(sizes: np.ndarray) -> np.ndarray:
    """Seconds of a bare product of a q-vector with a q×|A| cache, for every epoch's q."""
    cache = np.random.default_rng(0).random((int(sizes.max()), 10648))
    seconds = []
    for q in sizes:
        p = np.ones(q)
        start = perf_counter()
        p @ cache[:q]
        seconds.append(perf_counter() - start)
    return np.array(seconds)
