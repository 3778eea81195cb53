"""One run of one optimiser on one problem: what it recommends, what it regretted, how often it switched.

Rewards are told in odd units (shifted and stretched), since nothing is tuned to them; regrets are in units of the
truth's standard deviation. The n-th measurement of a candidate under a seed is the same whoever asks for it.
"""

from collections import Counter
from time import perf_counter
from typing import Any, Protocol

import msgspec

from ostinato.experiments.trial import Measurements
from ostinato.problems import Problem

SHIFT, STRETCH = 40.0, 7.0
CHECKPOINTS = (60, 300, 2_000)


class Asker(Protocol):
    def ask(self) -> tuple[int, int]: ...

    def tell(self, row: int, values: Any) -> None: ...

    def recommend(self) -> int: ...


class Outcome(msgspec.Struct, kw_only=True):
    """A finished run, with one entry a checkpoint. `claims`: what ours said at the end of how sure it was."""

    problem: str
    optimizer: str
    seed: int
    horizon: int
    t: list[int] = []
    recommended: list[float] = []  # the true regret of the candidate that it would recommend then
    regret: list[float] = []  # cumulative
    switches: list[int] = []
    unique: list[int] = []
    seconds: list[float] = []
    largest_batch: int = 0
    largest_candidate: int = 0
    claims: dict[str, float] = {}


def trial(problem: Problem, asker: Asker, outcome: Outcome) -> Outcome:
    """Run to the horizon. A batch that crosses a checkpoint is counted there as if it had ended there."""
    measure = Measurements(problem, outcome.seed)
    ahead = [t for t in CHECKPOINTS if t <= outcome.horizon][::-1]
    t, regret, switches, seconds, last, seen = 0, 0.0, 0, 0.0, None, Counter[int]()
    while t < outcome.horizon:
        start = perf_counter()
        row, repeats = asker.ask()
        seconds += perf_counter() - start
        repeats = min(repeats, outcome.horizon - t)
        values = SHIFT + STRETCH * measure(row, repeats)
        switches += last is not None and last != row
        last = row
        seen[row] += repeats
        outcome.largest_batch = max(outcome.largest_batch, repeats)
        start = perf_counter()
        asker.tell(row, values)
        seconds += perf_counter() - start
        each = float(problem.regrets[row])
        while ahead and ahead[-1] <= t + repeats:
            mark = ahead.pop()
            outcome.t.append(mark)
            outcome.recommended.append(float(problem.regrets[asker.recommend()]))
            outcome.regret.append(regret + (mark - t) * each)
            outcome.switches.append(switches)
            outcome.unique.append(len(seen))
            outcome.seconds.append(seconds)
        t += repeats
        regret += repeats * each
    outcome.largest_candidate = max(seen.values())
    return outcome
