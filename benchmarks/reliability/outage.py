"""An instrument that is down in the middle of a run: what is recommended afterwards, beside runs without an outage.

88 candidates (temperature, acidity), a smooth yield with two peaks, noise of half its range. The noise of a
candidate's n-th value is the same in all arms. Runs are in memory; the tests do the same with programs and studies.
"""

import contextlib
import io
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import ostinato
from ostinato.errors import Failed, Paused

TEMPERATURE, ACIDITY = np.meshgrid(np.linspace(20, 90, 11), np.linspace(3, 10, 8), indexing="ij")
X = np.column_stack([TEMPERATURE.ravel(), ACIDITY.ravel()])
NOISE, BUDGET, SEEDS, RUNS = 0.5, 300, 20, 20
LASTS = 0.3  # seconds of an outage
RETRY = 0.02  # seconds of the first pause
Row = tuple[str, str, bool]


def peak(temperature: float, acidity: float, width: float) -> Any:
    return np.exp(-(((X[:, 0] - temperature) / 70) ** 2 + ((X[:, 1] - acidity) / 7) ** 2) / width)


TRUTH = peak(62, 6.2, 0.15) + 0.9 * peak(35, 8.5, 0.06)


@dataclass(frozen=True)
class Found:
    """What came of a run: the regret of what it recommends, failures that count, pauses, and calls of the function."""

    regret: float
    failures: int
    pauses: int
    calls: int


class Bench:
    """A noisy measurement that can be down, flaky, or impossible for some candidates."""

    def __init__(self, seed: int, *, down_after: float = np.inf, flaky: float = 0.0, failing: float = 0.0) -> None:
        self.calls, self._values = 0, Counter[int]()
        self._seed, self._flaky, self._down_after = seed, flaky, down_after
        self._failing = X[:, 0] > np.quantile(X[:, 0], 1 - failing)
        self._chance = np.random.default_rng([seed, 1])
        self._back = np.inf

    def __call__(self, candidate: Any) -> float:
        self.calls += 1
        index = int(np.argmin(((X - candidate) ** 2).sum(axis=1)))
        if self.calls > self._down_after:
            self._back = min(self._back, time.monotonic() + LASTS)
            if time.monotonic() < self._back:
                raise Failed("the pump is off")
        if self._chance.random() < self._flaky or self._failing[index]:
            raise Failed("no value")
        self._values[index] += 1
        noise = np.random.default_rng([self._seed, 2, index, self._values[index]])
        return float(TRUTH[index] + NOISE * noise.standard_normal())


def run(seed: int, on_failure: str = "pause", **bench: float) -> Found:
    """One run."""
    measure, possible = Bench(seed, **bench), TRUTH.copy()
    possible[measure._failing] = -np.inf
    with warnings.catch_warnings(record=True) as said, contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("always")
        result = ostinato.optimize(
            measure, X, budget=BUDGET, seed=seed, on_failure=on_failure, retry_every=RETRY, progress=False
        )
    pauses = sum(issubclass(each.category, Paused) for each in said)
    return Found(float(possible.max() - TRUTH[result.best.index]), result.failures, pauses, measure.calls)


ARMS: dict[str, tuple[dict[str, Any], Callable[[list[Found], list[Found]], bool]]] = {
    "no outage": ({}, lambda found, _: not any(each.pauses for each in found)),
    "an outage in the middle": (
        {"down_after": BUDGET / 2},
        lambda found, calm: mean(found) <= 1.1 * mean(calm) and all(each.failures == 0 for each in found),
    ),
    "the same, every failure counted": ({"down_after": BUDGET / 2, "on_failure": "count"}, lambda *_: True),
    "flaky: 30% of measurements fail": ({"flaky": 0.3}, lambda found, _: not any(each.pauses for each in found)),
    "a quarter of candidates fails": ({"failing": 0.25}, lambda found, _: not any(each.pauses for each in found)),
}


def mean(found: list[Found]) -> float:
    return float(np.mean([each.regret for each in found]))


def error_of(values: Any) -> float:
    """Of their mean."""
    return float(np.std(values)) / len(values) ** 0.5


def rows(size: int = RUNS) -> Iterator[Row]:
    """One row an arm. size: runs of each seed."""
    calm: list[Found] = []
    for name, (options, fine) in ARMS.items():
        found = [run(seed * RUNS + each, **options) for seed in range(SEEDS) for each in range(size)]
        calm = calm or found
        regret, apart = np.array(
            [(one.regret, one.regret - two.regret) for one, two in zip(found, calm, strict=True)]
        ).T
        failures, pauses = np.mean([each.failures for each in found]), sum(each.pauses for each in found)
        some = sum(each.failures > 0 for each in found)
        words = (
            f"regret {regret.mean():.4f}, {mean(found) / mean(calm):.2f} ± {error_of(apart) / mean(calm):.2f} of that "
            f"without an outage; {failures:.3g} failures count in a run (in {some} at all); {pauses} pauses"
        )
        yield f"{name} ({SEEDS} seeds × {size} runs of {BUDGET})", words, fine(found, calm)
