"""What a run came to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ostinato.checks import counted
from ostinato.lazy import from_above
from ostinato.notebook import described
from ostinato.optimizer import Optimizer
from ostinato.records import Best, Certificate, Costs, Learned, Outlier

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ostinato.optimizer.frame import Library

SHOWN = 5  # outliers in a summary
ENDINGS = {  # why a run ended before its budget was spent, where that was no rule
    "interrupted": "interrupted: this is the result so far",
    "outage": "given up: nothing could be measured any more; this is the result so far",
    "failure": "stopped at a measurement that failed; this is the result so far",
    "exhausted": "no candidate was left to measure (caps on repeats, failures) before the budget was spent",
}


@dataclass(frozen=True)
class Result:
    """What a run found, and what it took. `optimizer` answers further questions, and can go on.

    ended: "budget" when it was spent, "interrupted" by Ctrl-C, "exhausted" when every candidate reached its cap or
    failed, "outage" when nothing could be measured for longer than `give_up_after`, "failure" where on_failure="stop",
    or the stopping rule that held.
    """

    best: Best
    steps: int
    failures: int
    epochs: int
    switches: int
    unique: int
    costs: Costs
    learned: Learned
    certificate: Certificate | None
    misfit: str  # the diagnosis where the model does not fit the data, or has seen too little; else nothing
    outliers: tuple[Outlier, ...]  # single values that do not fit
    ended: str
    optimizer: Optimizer
    study: Any = field(default=None, repr=False, compare=False)  # that was run, whose log has every single value

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: a study stays where it is stored."""
        return vars(self) | {"study": None}

    def plot(self, name: str = "measurements", *, columns: Sequence[str | int] = ()) -> "Figure":
        """A matplotlib figure, as of `Optimizer.plot`."""
        return from_above("ostinato.plots.figures", "plot")(self, name, columns=columns)

    def to_frame(self, library: "Library | None" = None) -> Any:
        """All measurements as a data frame, as of `Optimizer.to_frame`."""
        return (self.optimizer if self.study is None else self.study).to_frame(library)

    def _repr_html_(self) -> str:
        return described("Result", str(self))

    @property
    def interrupted(self) -> bool:
        return self.ended == "interrupted"

    def __str__(self) -> str:
        failed = f", {self.failures:,} more failed" if self.failures else ""
        lines = [
            f"best        {self.best}",
            f"run         {counted(self.steps, 'measurement')} of {counted(self.unique, 'candidate')}, "
            f"{counted(self.switches, 'switch', 'switches')}{failed}",
        ]
        if self.costs.switch_cost:
            lines.append(f"cost        {self.costs}")
        if self.optimizer.keeps_setups:
            lines.append(f"set-ups     {self.epochs:,}, one a batch")
        if self.misfit:
            lines.append(f"doubt       {self.misfit}")
        lines += [f"outlier     {outlier}" for outlier in self.outliers[:SHOWN]]
        if not self.learned.given:
            lines.append(f"learned     {self.learned}")
            lines.append(
                "            (learned from the same measurements: the regret guarantee does not hold as proved)"
            )
        elif self.learned.uncovered:
            lines.append(f"regret      without a proved bound: {self.learned.uncovered}")
        if self.certificate is not None:
            lines.append(f"certificate {self.certificate}")
        if self.ended != "budget":
            lines.append(f"            {ENDINGS.get(self.ended, f'stopped by {self.ended}')}")
        return "\n".join(lines)


def result_of(optimizer: Optimizer, ended: str, study: Any = None) -> Result:
    """The result so far, and why the run ended."""
    diagnosis = optimizer.diagnose()
    return Result(
        best=optimizer.best(),
        steps=optimizer.steps,
        failures=optimizer.failures,
        epochs=optimizer.epochs,
        switches=optimizer.switches,
        unique=optimizer.unique,
        costs=optimizer.costs,
        learned=optimizer.learned,
        certificate=optimizer.certificate,
        misfit="" if diagnosis.fits else diagnosis.verdict,
        outliers=diagnosis.outliers,
        ended=ended,
        optimizer=optimizer,
        study=study,
    )
