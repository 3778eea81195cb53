"""The page of a report, for the browser: figures and tables in one file."""

from collections.abc import Iterable, Sequence
from html import escape

from matplotlib.figure import Figure

from ostinato.experiments import figures
from ostinato.experiments.captions import FIGURES, caption
from ostinato.experiments.choices import chosen
from ostinato.experiments.records import Run
from ostinato.experiments.sheets import Sheet, ratio_sheets, result_sheets, setting_sheets

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


def page(
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
        *_section("Results", RESULTS_TEXT, result_sheets(runs), named=True),
        *_section("Ratios", RATIOS_TEXT, ratio_sheets(runs, against), named=True),
        *_section("Settings", CHOSEN_TEXT if chosen(runs) else GIVEN_TEXT, setting_sheets(runs)),
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
    made = [_figure(figure, FIGURES[name][1], caption(runs, name)) for name, figure in drawn.items()]
    return ["<h2>Figures</h2>", *made] if made else []


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
    ends = ("</tbody>\n<tbody>" if sheet.ends(i) else "" for i in range(len(sheet.rows)))
    return f"<tbody>{''.join(_table_row(sheet, i) + end for i, end in enumerate(ends))}</tbody>"


def _table_row(sheet: Sheet, i: int) -> str:
    cells = enumerate(sheet.once(i))
    shown = "".join(_cell("td", cell, j >= sheet.words, strong=(i, j) in sheet.strong) for j, cell in cells)
    start = '<tr class="quiet">' if i in sheet.quiet else "<tr>"
    return f"{start}{shown}</tr>\n"


def _cell(tag: str, text: str, number: bool, *, strong: bool = False) -> str:
    inner = f"<b>{escape(text)}</b>" if strong else escape(text)
    start = f'<{tag} class="number">' if number else f"<{tag}>"
    return f"{start}{inner}</{tag}>"
