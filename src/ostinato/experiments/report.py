"""The report of an experiment: figures, tables and one page with all of them, on paper and in the terminal."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from math import floor, isnan, log10
from pathlib import Path

from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ostinato.checks import counted
from ostinato.experiments import figures, summary
from ostinato.experiments.records import Run
from ostinato.experiments.summary import Estimate, Ratio, Row, Trial

SHORT = "†"
GIVEN = "given"  # settings that were not chosen from several

FIGURES: dict[str, tuple[Callable[[Sequence[Run]], Figure], str, str]] = {
    "regret": (
        figures.regret,
        "Regret",
        "How much worse an average measurement was than one of the best candidate. Lower is better. Lines are means "
        "over seeds and bands their 95% intervals; where bands overlap, the order may be chance. Lines that end early "
        "had a shorter horizon. Both axes are logarithmic.",
    ),
    "unique": (
        figures.unique,
        "Different candidates",
        "How many different candidates had been measured. Fewer means cheaper: the time that an exact Gaussian process "
        "takes can be made to grow with this number instead of that of measurements. A line that flattens repeats "
        "candidates it knows. Bands are 95% intervals over seeds.",
    ),
    "rounds": (
        figures.rounds,
        "Rounds",
        "How many rounds had been decided; after each the model is brought up to date. (A round of a mini algorithm "
        "is one batch.) The diagonal is a round for every "
        "single measurement. For the mini algorithms the dotted line counts different candidates: the further the "
        "solid line is above it, the more often they came back to a candidate they knew.",
    ),
    "seconds": (
        figures.seconds,
        "Time",
        "The same regret against the processor time that the algorithm itself had taken, that of the measurements "
        "left out. The marker is where the run ended: down is better, left is faster.",
    ),
}
SHARES = (
    "At 1 an algorithm does no better than measuring candidates at random (“uniform”); at 0.1 it loses a tenth of that."
)
UNITS = "On {} uniform did not run, so regret is not normalised there but in the problem’s own units."


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


# ---- everything at once -------------------------------------------------------------------------------------------


def write(
    runs: Sequence[Run],
    folder: Path,
    *,
    title: str,
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    against: str | None = None,
) -> Path:
    """Write figures, CSV files and `report.html` into `folder`, and return the page's path.

    against: the algorithm that the others are compared with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write_files(runs, folder)
    drawn = {name: make(runs) for name, (make, *_) in FIGURES.items()} if summary.problems(runs) else {}
    for name, figure in drawn.items():
        figures.save_png(figure, folder / f"{name}.png")
    page = folder / "report.html"
    page.write_text(_page(runs, drawn, title, facts, notes, against), encoding="utf-8")
    return page


def _write_files(runs: Sequence[Run], folder: Path) -> None:
    summary.write_csv(runs, folder / "results.csv")
    summary.write_rows(summary.last_rows(runs), folder / "runs.csv")
    summary.write_rows(map(_flat_ratio, summary.ratios(runs)), folder / "ratios.csv")
    summary.write_rows(map(_flat_row, summary.table(runs)), folder / "summary.csv")
    summary.write_rows(map(_flat_trial, summary.settings(runs)), folder / "settings.csv")


def _flat_row(row: Row) -> dict[str, object]:
    counts = {"unique": row.unique, "switches": row.switches, "rounds": row.rounds}
    numbers = {"regret": row.regret, "simple": row.simple} | counts
    flat: dict[str, object] = {"problem": row.problem, "algorithm": row.algorithm, "normalised": row.normalised}
    for name, estimate in (numbers | {"seconds": row.seconds}).items():
        flat |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return flat | {"seeds": row.seeds, "t": row.t, "short": row.short}


def _flat_ratio(ratio: Ratio) -> dict[str, object]:
    flat: dict[str, object] = {"problem": ratio.problem, "algorithm": ratio.algorithm, "against": ratio.against}
    names = ("regret", "simple_difference", "unique", "switches", "seconds")
    for name, estimate in zip(names, _compared(ratio), strict=True):
        flat |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return flat | {"seeds": ratio.seeds, "t": ratio.t}


def _flat_trial(trial: Trial) -> dict[str, object]:
    return {
        "problem": trial.problem,
        "algorithm": trial.algorithm,
        "settings": summary.shown(trial.settings),
        "stage": trial.stage,
        "regret": trial.regret,
        "normalised": trial.normalised,
        "seeds": trial.seeds,
        "t": trial.t,
        "used": trial.best,
    }


# ---- tables -------------------------------------------------------------------------------------------------------


def text_tables(runs: Sequence[Run], against: str | None = None) -> list[Table]:
    """The tables for the terminal, 80 columns wide where names are not long: results, ratios, settings."""
    sheets = [*_results(runs), *_ratios(runs, against), *_settings(runs, details=False)]
    return [_text_table(sheet) for sheet in sheets]


def _results(runs: Sequence[Run]) -> list[Sheet]:
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


def _ratios(runs: Sequence[Run], against: str | None = None) -> list[Sheet]:
    """Every algorithm against one on each problem; `ratios.csv` has all pairs."""
    pairs = ((problem, summary.reference(runs, problem, against)) for problem in summary.problems(runs))
    made = (summary.ratios_to(runs, *pair) for pair in pairs)
    return [_ratio(ratios) for ratios in made if ratios]


def _ratio(ratios: list[Ratio]) -> Sheet:
    compared = [(i, j, x) for i, ratio in enumerate(ratios) for j, x in enumerate(_compared(ratio))]
    lengths = [_length(ratio) for ratio in ratios]
    usual = max(lengths, key=lengths.count)
    others = "".join(f"; {SHORT} on {length}" for length in dict.fromkeys(lengths) if length != usual)
    return Sheet(
        title=f"{ratios[0].problem}: ratios to {ratios[0].against}",
        columns=("algorithm", "regret", "simple regret,\n% points", "candidates", "switches", "seconds"),
        rows=[_ratio_cells(ratio, usual) for ratio in ratios],
        strong=frozenset((i, j + 1) for i, j, x in compared if x.high < (0 if j == SIMPLE else 1)),
        quiet=frozenset(i for i, ratio in enumerate(ratios) if _length(ratio) != usual),
        remarks=[f"On {usual}{others}."],
    )


SIMPLE = 1  # the place among those compared of the one that is a difference


def _compared(ratio: Ratio) -> tuple[Estimate, ...]:
    return ratio.regret, ratio.simple, ratio.unique, ratio.switches, ratio.seconds


def _ratio_cells(ratio: Ratio, usual: str) -> tuple[str, ...]:
    cells = [_points(x) if j == SIMPLE else _from_to(x) for j, x in enumerate(_compared(ratio))]
    return (ratio.algorithm + (SHORT if _length(ratio) != usual else ""), *cells)


def _length(ratio: Ratio) -> str:
    return f"{counted(ratio.seeds, 'seed')} after {ratio.t:,} measurements"


def _settings(runs: Sequence[Run], *, details: bool = True) -> list[Sheet]:
    """The settings used and, with `details`, everything they were chosen from."""
    tried = [
        list(group) for _, group in groupby(summary.settings(runs), key=lambda trial: (trial.problem, trial.algorithm))
    ]
    if not tried:
        return []
    columns = ("problem", "algorithm", "used", "tried" if not details else "all that was tried: regret")
    rows = [_setting_cells(group, details) for group in tried]
    return [Sheet("Settings", columns, rows, words=4 if details else 3)]


def _setting_cells(group: list[Trial], details: bool) -> tuple[str, ...]:
    best = next(trial for trial in group if trial.best)
    used = summary.shown(best.settings) or "none"
    if best.stage == "report":
        return best.problem, best.algorithm, used, GIVEN
    every = " · ".join(f"{summary.shown(trial.settings) or 'none'}: {_trial_regret(trial)}" for trial in group)
    return best.problem, best.algorithm, used, every if details else str(len(group))


def _trial_regret(trial: Trial) -> str:
    return f"{_number(100 * trial.regret)}%" if trial.normalised else _number(trial.regret)


# ---- numbers ------------------------------------------------------------------------------------------------------


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


def _from_to(estimate: Estimate) -> str:
    ends = "" if isnan(estimate.low) else f" ({_times(estimate.low)}–{_times(estimate.high)})"
    return _times(estimate.value) + ends


def _times(x: float) -> str:
    """A ratio: three digits, of which two decimals at most, or what it takes to show one digit of a small one."""
    return _number(x, None if isnan(x) or not x or x >= 10 else max(-floor(log10(x)), 2))


# ---- for the terminal ---------------------------------------------------------------------------------------------


def _text_table(sheet: Sheet) -> Table:
    caption = "\n".join(sheet.remarks) or None
    table = Table(title=sheet.title, caption=caption, box=SIMPLE_HEAD, header_style="bold", collapse_padding=True)
    table.pad_edge = False
    table.title_justify = table.caption_justify = "left"
    for j, column in enumerate(sheet.columns):
        table.add_column(
            column,
            justify="left" if j < sheet.words else "right",
            vertical="top",
            no_wrap=j == 0 or j >= sheet.words,
            overflow="fold",
        )
    for i, row in enumerate(sheet.rows):
        cells = (
            Text(cell, style="bold" if (i, j) in sheet.strong else "") for j, cell in enumerate(_once(sheet, i, row))
        )
        table.add_row(*cells, style="dim" if i in sheet.quiet else "", end_section=_ends(sheet, i))
    return table


def _once(sheet: Sheet, i: int, row: tuple[str, ...]) -> tuple[str, ...]:
    """A problem's name stands in the first of its rows only."""
    return ("", *row[1:]) if sheet.words > 1 and i and sheet.rows[i - 1][0] == row[0] else row


def _ends(sheet: Sheet, i: int) -> bool:
    return sheet.words > 1 and i + 1 < len(sheet.rows) and sheet.rows[i + 1][0] != sheet.rows[i][0]


# ---- for the browser ----------------------------------------------------------------------------------------------

CSS = """
:root { color-scheme: light dark; --ink: #22262b; --soft: #626973; --line: #dfe2e6; --page: #fff; --shade: #f5f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e9; --soft: #9ea5ae; --line: #3a4048; --page: #16191d; --shade: #1e2227; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.55 system-ui, "Segoe UI", sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 3rem 1.5rem 5rem; }
h1 { font-size: 2.1rem; line-height: 1.2; letter-spacing: -0.01em; margin: 0 0 1.5rem; }
h2 { font-size: 1.4rem; line-height: 1.3; margin: 3.5rem 0 0.75rem; padding-top: 1rem; }
h2 { border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 0.4rem; }
p, li { max-width: 44rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; margin: 1.5rem 0;
  padding: 1rem 1.25rem; background: var(--shade); border-radius: 6px; font-size: 0.9rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0 2.5rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption, .remark { color: var(--soft); font-size: 0.9rem; max-width: 48rem; margin-top: 0.6rem; }
figcaption b { color: var(--ink); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; line-height: 1.4; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 0.28rem 1.1rem 0.28rem 0; }
th { font-weight: 600; color: var(--soft); border-bottom: 1.5px solid var(--line); vertical-align: bottom; }
th.number, td.number { text-align: right; white-space: nowrap; padding: 0.28rem 0 0.28rem 1.1rem; }
tbody + tbody tr:first-child td { border-top: 1px solid var(--line); }
tr.quiet td { color: var(--soft); }
td:first-child { white-space: nowrap; }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --page: #fff; --shade: #fff; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  figure, tr, dl { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 8pt; }
}
"""

RESULTS_TEXT = (
    "Means over seeds at the end of the runs; ± is half the width of the 95% interval (Student’s t over seeds). Bold: "
    "the lowest mean regret of those that went the whole way. Simple regret is that of the candidate that would be "
    "recommended at the end; 100% is the mean regret of all candidates, that of recommending one at random. Candidates "
    "are different candidates measured, seconds the processor time of the algorithm."
)
RATIOS_TEXT = (
    "Each algorithm over one other, on the seeds both have and after as many measurements as both made: 0.5 is half as "
    "much, 2 is twice. In brackets the 95% interval (Student’s t on the logarithms of the ratios, seed by seed). "
    "Simple regret can be 0, so it is compared by difference, in percentage points of a random candidate’s regret "
    "(± 95%). Bold: the whole interval is on the better side of 1, or of 0. ratios.csv has all pairs."
)
CHOSEN_TEXT = (
    "Settings chosen by mean regret on seeds of their own at a short horizon; the paper chose and reported on the same "
    "seeds. Percentages are shares of uniform’s regret."
)
GIVEN_TEXT = (
    "The settings that the algorithms ran with. They were given, or stand in the middle of what could be tried."
)


def _page(
    runs: Sequence[Run],
    drawn: dict[str, Figure],
    title: str,
    facts: Sequence[tuple[str, str]],
    notes: Sequence[str],
    against: str | None,
) -> str:
    body = [
        f"<h1>{escape(title)}</h1>",
        _facts(facts),
        _notes(notes),
        *_figure_section(runs, drawn),
        *_section("Results", RESULTS_TEXT, _results(runs), named=True),
        *_section("Ratios", RATIOS_TEXT, _ratios(runs, against), named=True),
        *_section("Settings", CHOSEN_TEXT if summary.chosen(runs) else GIVEN_TEXT, _settings(runs)),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    content = "\n".join(part for part in body if part)
    return (
        f'<!DOCTYPE html>\n<html lang="en-GB">\n<head>{head}<style>{CSS}</style></head>\n'
        f"<body><main>\n{content}\n</main></body>\n</html>\n"
    )


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    return f"<dl>{items}</dl>" if items else ""


def _notes(notes: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(note)}</p>" for note in notes)


def _figure_section(runs: Sequence[Run], drawn: dict[str, Figure]) -> list[str]:
    made = [_figure(figure, FIGURES[name][1], _caption(runs, name)) for name, figure in drawn.items()]
    return ["<h2>Figures</h2>", *made] if made else []


def _caption(runs: Sequence[Run], name: str) -> str:
    """What the figure shows, and for regret what its numbers are."""
    without = [problem for problem in summary.problems(runs) if not summary.has_uniform(runs, problem)]
    shares = [SHARES] if len(without) < len(summary.problems(runs)) else []
    units = [UNITS.format(", ".join(without))] if without else []
    return " ".join([FIGURES[name][2], *(shares + units if name == "regret" else [])])


def _figure(figure: Figure, name: str, caption: str) -> str:
    drawing = figures.svg(figure).replace("<svg ", f'<svg role="img" aria-label="{escape(name)}" ', 1)
    return f"<figure>\n{drawing}\n<figcaption><b>{escape(name)}.</b> {escape(caption)}</figcaption></figure>"


def _section(title: str, text: str, sheets: Sequence[Sheet], *, named: bool = False) -> list[str]:
    if not sheets:
        return []
    tables = [(f"<h3>{escape(sheet.title)}</h3>\n" if named else "") + _table(sheet) for sheet in sheets]
    return [f"<h2>{escape(title)}</h2>", f"<p>{escape(text)}</p>", *tables]


def _table(sheet: Sheet) -> str:
    head = "".join(_cell("th", name, j >= sheet.words) for j, name in enumerate(sheet.columns))
    remarks = "".join(f'<p class="remark">{escape(remark)}</p>' for remark in sheet.remarks)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead>{_bodies(sheet)}</table></div>{remarks}'


def _bodies(sheet: Sheet) -> str:
    """The rows, those of one problem together."""
    rows = (
        _table_row(sheet, i, row) + ("</tbody>\n<tbody>" if _ends(sheet, i) else "") for i, row in enumerate(sheet.rows)
    )
    return f"<tbody>{''.join(rows)}</tbody>"


def _table_row(sheet: Sheet, i: int, row: tuple[str, ...]) -> str:
    cells = enumerate(_once(sheet, i, row))
    shown = "".join(_cell("td", cell, j >= sheet.words, strong=(i, j) in sheet.strong) for j, cell in cells)
    start = '<tr class="quiet">' if i in sheet.quiet else "<tr>"
    return f"{start}{shown}</tr>\n"


def _cell(tag: str, text: str, number: bool, *, strong: bool = False) -> str:
    inner = f"<b>{escape(text)}</b>" if strong else escape(text)
    start = f'<{tag} class="number">' if number else f"<{tag}>"
    return f"{start}{inner}</{tag}>"
