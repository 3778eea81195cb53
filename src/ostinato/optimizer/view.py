"""What can be read of an optimiser. Nothing here changes it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ostinato.arrays import Matrix
from ostinato.candidates import Sampled
from ostinato.checks import counted
from ostinato.lazy import from_above
from ostinato.notebook import card
from ostinato.optimizer.certificate import certificate
from ostinato.optimizer.core import Core
from ostinato.optimizer.diagnosis import Diagnosis
from ostinato.optimizer.explanation import Explanation, explanation
from ostinato.optimizer.frame import Library, frame_of
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.readings import readings
from ostinato.optimizer.state import State
from ostinato.policies import Policy
from ostinato.policies.base import Custom
from ostinato.records import Batch, Best, Certificate, Costs, Learned, Outlier, Prediction, Quantity, choices

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class OptimizerView:
    """The answers of an optimiser: `Optimizer` is this, and what changes it."""

    def __init__(self, core: Core, draws: np.random.Generator) -> None:
        self.core = core
        self._draws = draws  # for `sample`, so that asking does not disturb a run

    @property
    def _problem(self) -> Problem:
        return self.core.problem

    @property
    def _state(self) -> State:
        return self.core.state

    def __repr__(self) -> str:
        choices = "a space" if self.candidates is None else counted(self.candidates, "candidate")
        return (
            f"Optimizer({choices}, {counted(self.steps, 'measurement')} of "
            f"{self.unique}, {counted(self.switches, 'switch', 'switches')})"
        )

    # What was done so far

    @property
    def policy(self) -> Policy:
        """How candidates are picked and repeated."""
        chosen: Any = self._problem.policy
        return chosen.own if isinstance(chosen, Custom) else chosen

    @property
    def measurement_cost(self) -> float:
        return self._problem.settings.measurement_cost

    @property
    def half_life(self) -> int | None:
        return self._problem.settings.half_life

    @property
    def candidates(self) -> int | None:
        """How many different candidates there are to choose from; None for a space that cannot be listed."""
        table = self._problem.table
        return None if isinstance(table, Sampled) else len(table)

    @property
    def memory_limit(self) -> int | None:
        """How many bytes the covariances of candidates may take; None where nothing limits them."""
        return self._problem.settings.memory_limit

    @property
    def keeps_setups(self) -> bool:
        """Whether repeats share the error of a set-up."""
        return self._problem.by_setup

    @property
    def quantity(self) -> Quantity:
        """What the measured number is called, and its unit."""
        return self._problem.quantity

    @property
    def maximizes(self) -> bool:
        """Whether higher is better."""
        return self._problem.sign > 0

    @property
    def steps(self) -> int:
        """Measurements taken in, asked for or not."""
        return self._state.steps

    @property
    def epochs(self) -> int:
        """Batches that were answered, in full or in part."""
        return self._state.ledger.epochs

    @property
    def rounds(self) -> int:
        """Decisions: of a batch, or of a round of several where the policy decides so. Each batch of a plan is one."""
        return self._state.ledger.rounds

    @property
    def switches(self) -> int:
        """Changes of candidate from one batch to the next."""
        return self._state.ledger.switches

    @property
    def unique(self) -> int:
        """Different candidates measured."""
        return len(self._state.history.counts)

    def counts(self) -> dict[int, int]:
        """How often each candidate was measured, by its index; those never measured left out."""
        index_of = self._problem.table.index_of
        return {index_of(number): n for number, n in self._state.history.counts.items()}

    @property
    def failures(self) -> int:
        """Measurements that were told as failed."""
        return self._state.failures.total()

    @property
    def costs(self) -> Costs:
        """What was paid for switches and measurements so far."""
        ledger, each, measurements = self._state.ledger, self.measurement_cost, self._state.told
        per_switch = ledger.switch_cost / ledger.switches if ledger.switches else 0.0
        most = max(measurements - 1, 0) * per_switch + measurements * each
        return Costs(ledger.switches, ledger.switch_cost, measurements, measurements * each, most)

    @property
    def in_flight(self) -> list[Batch]:
        """Batches asked and not yet answered in full."""
        return [open_.batch for open_ in self._state.ledger.in_flight]

    @property
    def log_det(self) -> float:
        """log det(I + K_t/λ) of everything measured: twice the information gained, in nats."""
        return self.core.known.posterior.log_det

    @property
    def certificate(self) -> Certificate | None:
        """The bound on the number of full batches; None where none is promised, or where anything is learned."""
        return certificate(self._problem, self._state, self.core.known)

    # Looking

    def plot(self, name: str = "measurements", *, columns: Sequence[str | int] = ()) -> "Figure":
        """A matplotlib figure: "measurements" by candidate, "progress", "posterior", "parallel", "batches", "noise" or
        "calibration". Needs matplotlib (the extra `plots`).

        columns: for "posterior", the column along which it is drawn, or two.
        """
        return from_above("ostinato.plots.figures", "plot")(self, name, columns=columns)

    def to_frame(self, library: "Library | None" = None) -> Any:
        """All measurements as a data frame: one row each, with the candidate's columns; NaN for one that failed.

        library: "pandas", "polars" or "pyarrow"; by default that of the candidates, else the first that is installed.
        """
        return frame_of(self._problem.table, readings(self.core), library)

    def _repr_html_(self) -> str:
        total, retired = self.candidates, len(self._state.retired)
        rows: list[tuple[str, object]] = [
            ("candidates", choices(None if total is None else total - retired, retired)),
            ("so far", f"{counted(self.steps, 'measurement')} of {counted(self.unique, 'candidate')}"),
            ("switches", f"{self.switches:,}"),
        ]
        rows += [("failed", f"{self.failures:,}")] if self.failures else []
        return card("Optimizer", [*rows, ("best", self.best())] if self.has_best else rows)

    # Answers

    def predict(self, points: Any = None) -> Prediction:
        """Mean and standard deviation of f at all candidates, or at new points given like the candidates."""
        return self.core.answers.predict(points)

    def covariance(self, points: Any = None) -> Matrix:
        """The covariance matrix of f at candidates or new points (up to 5,000: it has a row and a column for each)."""
        return self.core.answers.covariance(points)

    def sample(self, size: int = 1, points: Any = None) -> Matrix:
        """Joint draws of f from the posterior, one a row; at candidates or new points. Every call draws anew."""
        return self.core.answers.sample(size, points, self._draws)

    @property
    def has_best(self) -> bool:
        """Whether any candidate that may be measured was: without one nothing can be recommended."""
        return bool(self._state.history.counts.keys() - self._state.retired)

    def best(self, level: float = 0.95) -> Best:
        """The measured candidate of the best lower bound (mean less a standard deviation), not the luckiest."""
        return self.core.answers.best(level)

    def leader(self) -> tuple[int, float, float]:
        """Index, posterior mean and standard deviation of the best candidate so far; cheaper than `best`."""
        return self.core.answers.leader()

    def top(self, k: int = 5, level: float = 0.95) -> list[Best]:
        """The k best measured candidates, each with its chance of being the best of all.

        Their intervals are simultaneous: with probability `level` all of them hold at once. `chance` and `within` are
        estimated by random draws of all k together, so those of the first may differ a little from what `best` says.
        """
        return self.core.answers.top(k, level)

    def chance_within(self, gap: float) -> float:
        """The probability that no candidate is better than the recommended one by more than `gap`.

        It speaks of candidates that were never measured: where the kernel is learned, it is calibrated by how often
        such claims came true (docs/results.md, "How sure it is").
        """
        return self.core.answers.chance_within(gap)

    @property
    def learned(self) -> Learned:
        """What the model holds true besides the measurements, and which of it was learned from them."""
        return self.core.answers.learned()

    @property
    def outliers(self) -> list[Outlier]:
        """Single values that do not fit what all else says of their candidates, the furthest off first.

        While noise is learned they do not count, neither for choosing nor for answers.
        """
        return self.core.answers.outliers()

    def diagnose(self) -> Diagnosis:
        """Whether the model fits what was measured: residuals, repeats and returns, with a verdict in words."""
        return self.core.answers.diagnose()

    def explain(self, batch: Batch) -> Explanation:
        """Why this candidate and why this many repeats: in a sentence, and in numbers."""
        return explanation(batch)
