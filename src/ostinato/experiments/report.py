"""The report of an experiment: figures, tables and one page with all of them, on paper and in the terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ostinato.experiments import figures, summary
from ostinato.experiments.captions import FIGURES
from ostinato.experiments.choices import Trial, settings, shown
from ostinato.experiments.files import last_rows, write_csv, write_rows
from ostinato.experiments.page import page
from ostinato.experiments.records import Run
from ostinato.experiments.sheets import Sheet, compared, ratio_sheets, result_sheets, setting_sheets
from ostinato.experiments.summary import Ratio, Row


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
    path = folder / "report.html"
    path.write_text(page(runs, drawn, title, facts, notes, against), encoding="utf-8")
    return path


def _write_files(runs: Sequence[Run], folder: Path) -> None:
    write_csv(runs, folder / "results.csv")
    write_rows(last_rows(runs), folder / "runs.csv")
    write_rows(map(_flat_ratio, summary.ratios(runs)), folder / "ratios.csv")
    write_rows(map(_flat_row, summary.table(runs)), folder / "summary.csv")
    write_rows(map(_flat_trial, settings(runs)), folder / "settings.csv")


def _flat_row(row: Row) -> dict[str, object]:
    counts = {"unique": row.unique, "switches": row.switches, "rounds": row.rounds}
    numbers = {"regret": row.regret, "simple": row.simple} | counts
    flat: dict[str, object] = {"problem": row.problem, "algorithm": row.algorithm, "of_uniform": row.normalised}
    for name, estimate in (numbers | {"seconds": row.seconds}).items():
        flat |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return flat | {"seeds": row.seeds, "t": row.t, "short": row.short}


def _flat_ratio(ratio: Ratio) -> dict[str, object]:
    flat: dict[str, object] = {"problem": ratio.problem, "algorithm": ratio.algorithm, "against": ratio.against}
    names = ("regret", "simple_difference", "unique", "switches", "seconds")
    for name, estimate in zip(names, compared(ratio), strict=True):
        flat |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return flat | {"seeds": ratio.seeds, "t": ratio.t}


def _flat_trial(trial: Trial) -> dict[str, object]:
    return {
        "problem": trial.problem,
        "algorithm": trial.algorithm,
        "settings": shown(trial.settings),
        "stage": trial.stage,
        "regret": trial.regret,
        "of_uniform": trial.normalised,
        "seeds": trial.seeds,
        "t": trial.t,
        "used": trial.best,
    }


# For the terminal


def text_tables(runs: Sequence[Run], against: str | None = None) -> list[Table]:
    """The tables for the terminal, 80 columns wide where names are not long: results, ratios, settings."""
    sheets = [*result_sheets(runs), *ratio_sheets(runs, against), *setting_sheets(runs, details=False)]
    return [_text_table(sheet) for sheet in sheets]


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
    for i in range(len(sheet.rows)):
        cells = (Text(cell, style="bold" if (i, j) in sheet.strong else "") for j, cell in enumerate(sheet.once(i)))
        table.add_row(*cells, style="dim" if i in sheet.quiet else "", end_section=sheet.ends(i))
    return table
