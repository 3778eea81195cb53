"""Sixteen simulated workers, each measuring for a random while: how busy `ask(workers=16)` keeps them from the first
second on, and what deciding without waiting costs in regret, against one worker that makes the same measurements.

A measurement takes a second on average (between half and one and a half). One dispatcher hands out work, asks for more
when none is left, and tells every value as it comes; while it thinks, in real time, workers that are free wait.
"""

import heapq
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.problem import Row
from ostinato import Batch, Optimizer
from ostinato.experiments.trial import Measurements
from ostinato.problems import load
from ostinato.problems.base import Problem

WORKERS, MEASUREMENTS, SEEDS = 16, 480, 8
PROBLEMS = ("rosenbrock", "schaffer", "hpobench-car")


def run(console: Console) -> Iterator[Row]:
    with console.status("running …"):
        for name in PROBLEMS:
            problem = load(name)
            plans = np.array([Shift(problem, WORKERS, seed).work() for seed in range(SEEDS)])
            alone = np.array([Shift(problem, 1, seed).work() for seed in range(SEEDS)])
            (busy, regret, recommended), (_, one, best) = plans.mean(axis=0), alone.mean(axis=0)
            yield Row(f"{name}: {WORKERS} workers are busy, of their time", f"{busy:.1%}", "≥ 95%", busy >= 0.95)
            yield Row(
                f"{name}: regret of {MEASUREMENTS} measurements, against one worker", f"{regret / one:.2f} ×", "", None
            )
            yield Row(
                f"{name}: regret of what is recommended, and one worker's", f"{recommended:.3f}, {best:.3f}", "", None
            )


class Shift:
    """Workers, and the dispatcher with its optimiser."""

    def __init__(self, problem: Problem, workers: int, seed: int) -> None:
        self._problem, self._workers = problem, workers
        self._opt = Optimizer(problem.candidates, budget=MEASUREMENTS, seed=seed)
        self._measure, self._rng = Measurements(problem, seed), np.random.default_rng(seed)
        self._now = 0.0
        self._asked = 0
        self._waiting: list[Batch] = []  # one entry a measurement to be made
        self._running: list[tuple[float, int, Batch]] = []  # when each will be finished
        self._times: list[tuple[float, float]] = []

    def work(self) -> tuple[float, float, float]:
        """The share of time that workers were busy, the regret of all measurements, and that of what is recommended."""
        regret = 0.0
        self._hand_out()
        while self._running:
            finished, _, batch = heapq.heappop(self._running)
            self._now = max(self._now, finished)
            self._thinking(self._opt.tell, batch, self._measure(batch.index, 1))
            regret += float(self._problem.regrets[batch.index])
            self._hand_out()
        last = max(start for start, _ in self._times)  # from then on workers run out of work
        busy = sum(min(end, last) - start for start, end in self._times)
        return busy / (last * self._workers), regret, float(self._problem.regrets[self._opt.best().index])

    def _hand_out(self) -> None:
        while len(self._running) < self._workers and self._asked < MEASUREMENTS:
            if not self._waiting:
                plan = self._thinking(self._opt.ask, MEASUREMENTS - self._asked, workers=self._workers)
                self._waiting = [batch for batch in plan for _ in range(batch.repeats)]
            self._asked += 1
            end = self._now + float(self._rng.uniform(0.5, 1.5))
            self._times.append((self._now, end))
            heapq.heappush(self._running, (end, self._asked, self._waiting.pop(0)))

    def _thinking(self, do: Any, *args: Any, **options: Any) -> Any:
        """The dispatcher's own time passes."""
        start = perf_counter()
        try:
            return do(*args, **options)
        finally:
            self._now += perf_counter() - start
