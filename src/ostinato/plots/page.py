"""A report of a study, an optimiser or a result: one page of HTML that needs nothing else.

The answer first, then why, the figures, tables, settings and where the values come from. Names and values are shown as
text, whatever they are. Figures are inline SVG; there is no script and no request.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from typing import Any

import msgspec

from ostinato import __version__
from ostinato.checks import counted, rounded, short, within_heading
from ostinato.errors import MissingSetting, NothingMeasured
from ostinato.notebook import text
from ostinato.optimizer import Optimizer
from ostinato.plots.data.common import in_words, row_of
from ostinato.plots.figures import FIGURES, drawing, drawn, series_of
from ostinato.plots.source import Drawable, Source, ToldBatch
from ostinato.records import Best, choices
from ostinato.running.result import Result
from ostinato.study.records import Measurement
from ostinato.study.view import StudyView

TOP, BATCHES = 10, 200  # rows of the tables, at most
TOGETHER = (
    "All of these intervals hold at once with 95% probability. The last column is estimated by random draws of all "
    "these candidates together, so it may differ a little from the answer above."
)
KEPT_APART = ("pauses",)  # beside the settings, and not one
CSS = """
:root { color-scheme: light dark; --ink: #24292f; --soft: #656d76; --line: #d0d7de; --back: #ffffff; --mark: #f6f8fa }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --back: #0d1117; --mark: #161b22 }
}
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1rem 4rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word }
h1 { font-size: 1.6rem; margin: 0 0 .2rem } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem }
p.soft, figcaption, .soft { color: var(--soft); font-size: .9rem }
.answer { background: var(--mark); border-left: 4px solid #d55e00; padding: .8rem 1rem; margin: 1rem 0 }
.answer strong { font-size: 1.15rem }
.warning { border-left: 4px solid #e69f00; padding: .3rem 1rem; margin: .6rem 0; white-space: pre-line }
figure { margin: 1.6rem 0; break-inside: avoid } figure svg { width: 100%; height: auto; color: var(--ink) }
svg text { font-family: system-ui, sans-serif }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem; width: 100% }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
th { color: var(--soft); font-weight: 600; white-space: nowrap } td { min-width: 3.5rem; overflow-wrap: break-word }
pre { white-space: pre-wrap; font-size: .85rem }
@media print { body { max-width: none; padding: 0 } h2 { break-after: avoid } tr { break-inside: avoid } }
"""


def report(what: Drawable) -> str:
    """The page."""
    source = Source.of(what)
    study = what.study if isinstance(what, Result) else what
    view = study if isinstance(study, StudyView) else None
    title = f"Study {source.name}" if source.name else "Optimizer"
    parts = [
        f"<h1>{text(title)}</h1>",
        _answer(source),
        *_warnings(source, view),
        *_why(source),
        "<h2>Figures</h2>",
        *(_figure(what, name) for name in FIGURES),
        *_tables(source),
        *_settings(source, view),
        *_provenance(view),
        f'<p class="soft">Made by Ostinato {text(__version__)} on {datetime.now().astimezone():%Y-%m-%d %H:%M %Z}.</p>',
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{text(title)}</title>'
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}<style>{CSS}</style></head>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    )


# ---- the answer ---------------------------------------------------------------------------------------------------


def _answer(source: Source) -> str:
    try:
        best, words = source.looked(lambda optimizer: _best(optimizer))
    except (NothingMeasured, MissingSetting) as error:
        return f'<div class="answer">{text(error)}</div>'
    mean, low, high = (rounded(each, best.std) for each in (best.mean, *best.interval))
    return (
        f'<div class="answer"><strong>{text(words)}</strong><br>'
        f"{text(best.quantity.said(mean))}, with a {best.level:.0%} interval of {low} to "
        f"{high}, after {counted(best.n, 'measurement')} of it; {text(best.standing)}.</div>"
    )


def _best(optimizer: Optimizer) -> tuple[Best, str]:
    best = optimizer.best()
    return best, in_words(row_of(optimizer.core.problem.table, best.index))


def _warnings(source: Source, view: StudyView | None) -> Iterable[str]:
    """What `diagnose` says where something does not fit, and what `status` says of pauses."""
    said = [str(run) for run in view.status().paused] if view is not None else []
    with suppress(NothingMeasured, MissingSetting):
        said += source.looked(lambda optimizer: _doubts(optimizer))
    return (f'<div class="warning">{text(each)}</div>' for each in said)


def _doubts(optimizer: Optimizer) -> list[str]:
    found = optimizer.diagnose()
    return [*([] if found.fits else [found.verdict]), *(f"Outlier: {each}" for each in found.outliers)]


def _why(source: Source) -> Iterable[str]:
    try:
        rows = source.looked(lambda optimizer: _reasons(optimizer))
    except (NothingMeasured, MissingSetting):
        return []
    return ["<h2>Why</h2>", _table((), rows)]


def _reasons(optimizer: Optimizer) -> list[tuple[str, str]]:
    total, retired = optimizer.candidates, len(optimizer.retired)
    failed = f", {optimizer.failures:,} more failed" if optimizer.failures else ""
    measured = counted(optimizer.unique, "different candidate")
    rows = [
        ("candidates", choices(None if total is None else total - retired, retired)),
        ("measured", f"{counted(optimizer.steps, 'measurement')} of {measured}{failed}"),
        ("switches", f"{optimizer.switches:,}"),
        ("better is", "higher" if optimizer.maximizes else "lower"),
    ]
    rows += [("cost", str(optimizer.costs))] if optimizer.costs.switch_cost else []
    rows += [("model", str(optimizer.learned)), ("does it fit", optimizer.diagnose().verdict)]
    return rows + ([("certificate", str(optimizer.certificate))] if optimizer.certificate is not None else [])


# ---- figures and tables -------------------------------------------------------------------------------------------


def _figure(what: Drawable, name: str) -> str:
    kind = FIGURES[name]
    try:
        series = series_of(what, name)
    except MissingSetting as error:
        return f'<p class="soft">{text(kind.title)}: {text(error)}</p>'
    if series.missing:
        return f'<p class="soft">{text(kind.title)}: {text(series.missing)}</p>'
    svg = drawing("style").svg(drawn(series, name))
    return f"<figure>{svg}<figcaption>{text(kind.words)}</figcaption></figure>"


def _tables(source: Source) -> Iterable[str]:
    told = source.batches()
    try:
        top, batches, quantity, maximizes = source.looked(
            lambda optimizer: (_top(optimizer), _batches(optimizer, told), optimizer.quantity, optimizer.maximizes)
        )
    except MissingSetting:
        return
    if top:
        yield "<h2>Best candidates</h2>"
        yield _table(
            (
                "candidate",
                quantity.label if quantity.given else "estimate",
                "95% interval*",
                "measured",
                within_heading(maximizes=maximizes),
            ),
            top,
        )
        yield f'<p class="soft">* {TOGETHER}</p>'
    if batches:
        yield "<h2>Batches</h2>"
        if len(told) > BATCHES:
            yield f'<p class="soft">The last {BATCHES:,} of {len(told):,}.</p>'
        yield _table(("batch", "candidate", "measured", "failed", "average", "std"), batches)


def _top(optimizer: Optimizer) -> list[tuple[str, ...]]:
    if not optimizer.has_best:
        return []
    table, rows = optimizer.core.problem.table, list[tuple[str, ...]]()
    for each in optimizer.top(TOP):
        low, high = each.interval
        words = in_words(row_of(table, each.index))
        rows.append((words, f"{each.mean:.5g}", f"{low:.5g} to {high:.5g}", f"{each.n:,}", short(each.within)))
    return rows


def _batches(optimizer: Optimizer, told: Sequence[ToldBatch]) -> list[tuple[str, ...]]:
    table = optimizer.core.problem.table
    return [
        (
            "observed" if each.id < 0 else str(each.id),
            in_words(row_of(table, each.index)),
            f"{int(each.statistics.n):,} of {each.asked:,}",
            f"{each.failed:,}" if each.failed else "",
            f"{each.statistics.mean:.5g}" if each.statistics.n else "",
            f"{(each.statistics.squares / each.statistics.freedom) ** 0.5:.3g}" if each.statistics.freedom else "",
        )
        for each in told[-BATCHES:]
    ]


def _settings(source: Source, view: StudyView | None) -> Iterable[str]:
    if view is not None:
        kept: dict[str, Any] = msgspec.json.decode(view.reading(lambda reader: reader.record.settings))
        rows = [(name, _shown(value)) for name, value in kept.items() if name not in KEPT_APART and value is not None]
        budget = view.reading(lambda reader: reader.record.budget)
        rows += [("budget", f"{budget:,}")] if budget is not None else []
    else:
        rows = source.looked(lambda optimizer: _given(optimizer))
    return ["<h2>Settings</h2>", _table((), rows) if rows else '<p class="soft">All as they are by default.</p>']


def _given(optimizer: Optimizer) -> list[tuple[str, str]]:
    settings = optimizer.core.problem.settings
    told = ((field.name, getattr(settings, field.name), field.default) for field in fields(settings))
    return [(name, _shown(value)) for name, value, usual in told if name != "xp" and not _same(value, usual)]


def _same(value: Any, usual: Any) -> bool:
    return value is usual or (isinstance(value, (str, int, float)) and value == usual)


def _shown(value: Any) -> str:
    words = value if isinstance(value, str) else str(value)
    return words if len(words) <= 300 else words[:299] + "…"


def _provenance(view: StudyView | None) -> Iterable[str]:
    """Who measured with what."""
    if view is None:
        return []
    found: dict[tuple[str, ...], list[float]] = {}
    for each in view.measurements():
        source = _source(each)
        count, first, last = found.get(source, [0, each.at, each.at])
        found[source] = [count + each.count, min(first, each.at), max(last, each.at)]
    rows = [(*source, f"{int(n):,}", _when(first, last)) for source, (n, first, last) in found.items()]
    head = ("program", "version", "worker", "host", "measured", "told")
    created = _moment(view.reading(lambda reader: reader.record.created))
    made = f'<p class="soft">Stored in {text(str(view.storage))}; made {created}.</p>'
    return ["<h2>Where the values come from</h2>", made, *([_table(head, rows)] if rows else [])]


def _source(each: Measurement) -> tuple[str, ...]:
    return each.program, each.version, each.worker, each.host


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M:%S}"


def _when(first: float, last: float) -> str:
    """From when to when, on two lines."""
    return _moment(first) if first == last else f"{_moment(first)} to {_moment(last)}"


BREAKS = re.compile(r"(?<=[/\\_.:,;=@-])(?=\w)")  # where names of programs, hosts and workers may go on in a new line


def _cell(cell: object) -> str:
    """A cell; long words break after a slash, a dash or a dot, and not within a name."""
    return "<wbr>".join(text(part) for part in BREAKS.split(str(cell)))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    heads = "<thead><tr>" + "".join(f"<th>{text(each)}</th>" for each in head) + "</tr></thead>" if head else ""
    cells = ("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table>{heads}<tbody>{"".join(cells)}</tbody></table></div>'
