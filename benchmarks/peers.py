"""Seconds of the algorithm for 5,000 measurements, against the letter of the paper and against scikit-learn, which
must make the same choices. The function's own time is left out.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from rich.console import Console

from benchmarks.naive import LetterOfThePaper, Naive, ScikitLearn
from benchmarks.problem import STEPS, Problem, Row, epochs_of


def run(console: Console) -> Iterator[Row]:
    scattered, _, _ = ours(as_grid=False)
    seconds, choices, q = ours()
    console.print(
        f"ostinato: {seconds:.2f} s, {len(choices)} epochs, {q} different candidates "
        f"({scattered:.2f} s where the grid's structure is not used)",
        highlight=False,
    )
    for name, peer, wanted in (("the letter of the paper", LetterOfThePaper, 30), ("scikit-learn", ScikitLearn, 50)):
        with console.status(f"running {name} …"):
            theirs, their_choices = naive(peer)
        for kind, own in (("", seconds), (", grid not used", scattered)):
            ratio = theirs / own
            yield Row(f"faster than {name} ({theirs:.0f} s){kind}", f"{ratio:.0f} ×", f"≥ {wanted} ×", ratio >= wanted)
        same = sum(a == b for a, b in zip(choices, their_choices, strict=False))
        yield Row(f"same choices as {name}", f"{same} of {len(choices)}", "all", choices == their_choices)


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
