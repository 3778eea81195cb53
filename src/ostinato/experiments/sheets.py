"""The tables of a report, ready to be shown: results, ratios between algorithms, settings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import floor, isnan, log10

from ostinato.checks import counted
from ostinato.experiments import summary
from ostinato.experiments.choices import Trial, settings, shown
from ostinato.experiments.records import Run
from ostinato.experiments.summary import Estimate, Ratio, Row

SHORT = "†"
GIVEN = "given"  # settings that were not chosen from several
SIMPLE = 1  # the place among those compared of the one that is a difference


@dataclass(frozen=True)
class Sheet:
    """A table ready to be shown: cells are text, the columns after the first `words` are numbers.

    `strong` cells are bold, `quiet` rows pale, and a line is drawn where the first cell changes.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    words: int = 1
    strong: frozenset[tuple[int, int]] = frozenset()
    quiet: frozenset[int] = frozenset()
    remarks: list[str] = field(default_factory=list[str])

    def once(self, i: int) -> tuple[str, ...]:
        """A row, in which a problem's name stands only where it is the first of its rows."""
        row = self.rows[i]
        return ("", *row[1:]) if self.words > 1 and i and self.rows[i - 1][0] == row[0] else row

    def ends(self, i: int) -> bool:
        """Whether a row is the last of its problem, and others follow."""
        return self.words > 1 and i + 1 < len(self.rows) and self.rows[i + 1][0] != self.rows[i][0]


def result_sheets(runs: Sequence[Run]) -> list[Sheet]:
    """How every algorithm stood at the end, a table a problem."""
    rows = summary.table(runs)
    best = summary.winners(rows)
    return [_result(problem, list(mine), best) for problem, mine in groupby(rows, key=lambda row: row.problem)]


def _result(problem: str, rows: list[Row], best: dict[str, str]) -> Sheet:
    winner = frozenset((i, j) for i, row in enumerate(rows) if best.get(problem) == row.algorithm for j in (0, 1))
    short = frozenset(i for i, row in enumerate(rows) if row.short)
    measure = "regret, % of\nuniform’s" if rows[0].normalised else "average\nregret"
    simple = "simple regret,\n% of random"
    return Sheet(
        title=problem,
        columns=("algorithm", measure, simple, "candidates", "switches", "rounds", "seconds", "seeds ×\nlength"),
        rows=[_result_cells(row) for row in rows],
        strong=winner,
        quiet=short,
        remarks=[f"{SHORT} a shorter horizon, where regret is higher: not to be compared with longer runs."]
        if short
        else [],
    )


def _result_cells(row: Row) -> tuple[str, ...]:
    counts = (f"{estimate.value:,.0f}" for estimate in (row.unique, row.switches, row.rounds))
    regret = _plus_minus(row.regret, 100.0 if row.normalised else 1.0)
    mark = SHORT if row.short else ""
    simple = _plus_minus(row.simple, 100.0)
    return (row.algorithm, regret, simple, *counts, _number(row.seconds.value), f"{row.seeds} × {mark}{row.t:,}")


def ratio_sheets(runs: Sequence[Run], against: str | None = None) -> list[Sheet]:
    """Every algorithm against one on each problem; `ratios.csv` has all pairs."""
    pairs = ((problem, summary.reference(runs, problem, against)) for problem in summary.problems(runs))
    made = (summary.ratios_to(runs, *pair) for pair in pairs)
    return [_ratio(ratios) for ratios in made if ratios]


def _ratio(ratios: list[Ratio]) -> Sheet:
    cells = [(i, j, x) for i, ratio in enumerate(ratios) for j, x in enumerate(compared(ratio))]
    lengths = [_length(ratio) for ratio in ratios]
    usual = max(lengths, key=lengths.count)
    others = "".join(f"; {SHORT} on {length}" for length in dict.fromkeys(lengths) if length != usual)
    return Sheet(
        title=f"{ratios[0].problem}: ratios to {ratios[0].against}",
        columns=("algorithm", "regret", "simple regret,\n% points", "candidates", "switches", "seconds"),
        rows=[_ratio_cells(ratio, usual) for ratio in ratios],
        strong=frozenset((i, j + 1) for i, j, x in cells if x.high < (0 if j == SIMPLE else 1)),
        quiet=frozenset(i for i, ratio in enumerate(ratios) if _length(ratio) != usual),
        remarks=[f"On {usual}{others}."],
    )


def compared(ratio: Ratio) -> tuple[Estimate, ...]:
    """What a ratio compares, in the order of the columns."""
    return ratio.regret, ratio.simple, ratio.unique, ratio.switches, ratio.seconds


def _ratio_cells(ratio: Ratio, usual: str) -> tuple[str, ...]:
    cells = [_points(x) if j == SIMPLE else from_to(x) for j, x in enumerate(compared(ratio))]
    return (ratio.algorithm + (SHORT if _length(ratio) != usual else ""), *cells)


def _length(ratio: Ratio) -> str:
    return f"{counted(ratio.seeds, 'seed')} after {ratio.t:,} measurements"


def setting_sheets(runs: Sequence[Run], *, details: bool = True) -> list[Sheet]:
    """The settings used and, with `details`, everything they were chosen from."""
    tried = [list(group) for _, group in groupby(settings(runs), key=lambda trial: (trial.problem, trial.algorithm))]
    if not tried:
        return []
    columns = ("problem", "algorithm", "used", "tried" if not details else "all that was tried: regret")
    rows = [_setting_cells(group, details) for group in tried]
    return [Sheet("Settings", columns, rows, words=4 if details else 3)]


def _setting_cells(group: list[Trial], details: bool) -> tuple[str, ...]:
    best = next(trial for trial in group if trial.best)
    used = shown(best.settings) or "none"
    if best.stage == "report":
        return best.problem, best.algorithm, used, GIVEN
    every = " · ".join(f"{shown(trial.settings) or 'none'}: {_trial_regret(trial)}" for trial in group)
    return best.problem, best.algorithm, used, every if details else str(len(group))


def _trial_regret(trial: Trial) -> str:
    return f"{_number(100 * trial.regret)}%" if trial.normalised else _number(trial.regret)


# Numbers


def _decimals(x: float) -> int:
    """As many as three significant digits need."""
    return max(2 - floor(log10(abs(x))), 0) if x else 0


def _number(x: float, decimals: int | None = None) -> str:
    return "–" if isnan(x) else f"{x:,.{_decimals(x) if decimals is None else decimals}f}"


def _plus_minus(estimate: Estimate, unit: float) -> str:
    value, half = unit * estimate.value, unit * estimate.half
    return _number(value) if isnan(half) else f"{_number(value)} ± {_number(half, _decimals(value))}"


def _points(difference: Estimate) -> str:
    """A difference of shares, in percentage points."""
    value, half = 100 * difference.value, 100 * difference.half
    if isnan(value):
        return "–"
    return f"{value:+.2f}" + ("" if isnan(half) else f" ± {half:.2f}")


def from_to(estimate: Estimate) -> str:
    """A ratio with its interval in brackets."""
    ends = "" if isnan(estimate.low) else f" ({_times(estimate.low)}–{_times(estimate.high)})"
    return _times(estimate.value) + ends


def _times(x: float) -> str:
    """A ratio: three digits, of which two decimals at most, or what it takes to show one digit of a small one."""
    return _number(x, None if isnan(x) or not x or x >= 10 else max(-floor(log10(x)), 2))
