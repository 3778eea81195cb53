"""What a study tells: single measurements, and where it stands."""

from collections.abc import Iterator

import msgspec
import numpy as np

from ostinato.checks import counted
from ostinato.records import Best, Outlier
from ostinato.storage import Entry
from ostinato.storage.values import Kind


class Measurement(msgspec.Struct, frozen=True):
    """One measurement (NaN for one that failed), or the average of `count` that were told together."""

    batch: int
    repeat: int
    index: int
    value: float
    stderr: float | None = None
    count: int = 1
    std: float | None = None


class Status(msgspec.Struct, frozen=True):
    """Where a study stands. `in_flight` are in workers' hands; `waiting` were asked for, and are for whoever comes.

    `outliers` are single values that do not fit, which do not count while noise is learned.
    """

    name: str
    created: float
    candidates: int
    budget: int | None
    measurements: int
    failures: int
    in_flight: int
    waiting: int
    unique: int
    batches: int
    switches: int
    best: Best | None
    outliers: tuple[Outlier, ...] = ()

    @property
    def finished(self) -> bool:
        return self.budget is not None and self.measurements + self.failures >= self.budget

    def __str__(self) -> str:
        failed = f", {self.failures:,} of them failed" if self.failures else ""
        lines = [
            f"study       {self.name}: {counted(self.candidates, 'candidate')} to choose from",
            f"so far      {self._so_far}{failed}; {counted(self.unique, 'candidate')}, "
            f"{counted(self.switches, 'switch', 'switches')}",
        ]
        if self.in_flight:
            lines.append(f"in flight   {counted(self.in_flight, 'measurement')}")
        if self.waiting:
            lines.append(f"waiting     {counted(self.waiting, 'measurement')}, asked for and in nobody's hands")
        lines += [f"best        {self.best}"] if self.best else []
        return "\n".join([*lines, *(f"outlier     {outlier}" for outlier in self.outliers)])

    @property
    def _so_far(self) -> str:
        made = self.measurements + self.failures
        if self.budget is None:
            return counted(made, "measurement")
        return f"{made:,} of {counted(self.budget, 'measurement')}"


def measurements_of(entry: Entry, index: int) -> Iterator[Measurement]:
    numbers = entry.told.numbers()
    if entry.told.kind == Kind.SUMMARY:
        n = entry.told.count
        std = float(np.sqrt(numbers[1] / (n - 1))) if n > 1 else None
        yield Measurement(entry.batch, 0, index, float(numbers[0]), count=n, std=std)
        return
    errors = numbers[entry.told.count :] if entry.told.kind == Kind.WEIGHTED else None
    for i in range(entry.told.count):
        stderr = None if errors is None else float(errors[i])
        yield Measurement(entry.batch, entry.start + i, index, float(numbers[i]), stderr)
