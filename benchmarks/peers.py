"""Seconds of the algorithm for 5,000 measurements, against the letter of the paper and against scikit-learn, which
must make the same choices. The function's own time is left out. Ours is the median of runs before, between and after
those of the others, which take a hundred times as long: machines are not always equally fast.
"""

from collections.abc import Iterator
from statistics import median
from time import perf_counter

import numpy as np
from rich.console import Console

from benchmarks.naive import LetterOfThePaper, Naive, ScikitLearn
from benchmarks.problem import STEPS, Problem, Row, epochs_of

PEERS: tuple[tuple[str, type[Naive], int], ...] = (
    ("the letter of the paper", LetterOfThePaper, 30),
    ("scikit-learn", ScikitLearn, 50),
)
KINDS = {"": True, ", grid not used": False}
RUNS = 3


def run(console: Console) -> Iterator[Row]:
    own: dict[str, list[float]] = {kind: [] for kind in KINDS}
    _, choices, q = ours()
    again(own)
    theirs: dict[str, float] = {}
    for name, peer, _ in PEERS:
        with console.status(f"running {name} …"):
            theirs[name], their_choices = naive(peer)
        again(own)
        same = sum(a == b for a, b in zip(choices, their_choices, strict=False))
        yield Row(f"same choices as {name}", f"{same} of {len(choices)}", "all", choices == their_choices)
    grid, scattered = (median(own[kind]) for kind in KINDS)
    console.print(
        f"ostinato: {grid:.2f} s, {len(choices)} epochs, {q} different candidates ({scattered:.2f} s where the grid's "
        "structure is not used)",
        highlight=False,
    )
    for name, _, wanted in PEERS:
        for kind in KINDS:
            ratio = theirs[name] / median(own[kind])
            what = f"faster than {name} ({theirs[name]:.0f} s){kind}"
            yield Row(what, f"{ratio:.0f} ×", f"≥ {wanted} ×", ratio >= wanted)


def again(own: dict[str, list[float]]) -> None:
    for kind, as_grid in KINDS.items():
        own[kind] += [ours(as_grid=as_grid)[0] for _ in range(RUNS)]


def ours(*, as_grid: bool = True) -> tuple[float, list[tuple[int, int]], int]:
    problem = Problem()
    opt = problem.optimizer(as_grid=as_grid)
    epochs = list(epochs_of(problem, opt, STEPS))
    return sum(seconds for _, seconds in epochs), [(batch.index, batch.repeats) for batch, _ in epochs], opt.unique


def naive(peer: type[Naive]) -> tuple[float, list[tuple[int, int]]]:
    problem = Problem()
    opt = peer(problem.X, np.random.default_rng(0).permutation(len(problem.X)))
    seconds, choices, steps = 0.0, [], 0
    while steps < STEPS:
        start = perf_counter()
        index, repeats = opt.ask(STEPS - steps)
        seconds += perf_counter() - start
        values = problem.measure(index, repeats)
        start = perf_counter()
        opt.tell(index, values)
        seconds += perf_counter() - start
        choices.append((index, repeats))
        steps += repeats
    return seconds, choices
