"""A study: the answer first, then warnings, then the figures that say why."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from litestar import Request
from litestar.params import FromPath, FromQuery
from litestar.response import Stream

from ostinato.checks import counted, short
from ostinato.errors import InvalidSetting, NothingMeasured
from ostinato.optimizer.diagnosis import Diagnosis
from ostinato.plots import data as series
from ostinato.plots.data.common import Series
from ostinato.records import NEARLY_CERTAIN, Best, Outlier
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.charts import coverage, lengths, measured, progress, scatter, slices
from ostinato.service.dashboard.charts.frame import NARROWEST, WIDEST, Picture, View, numbers_table
from ostinato.service.dashboard.drawings import CachedDrawing, drawings_of
from ostinato.service.dashboard.html import (
    Child,
    Html,
    a,
    button,
    dd,
    div,
    dl,
    dt,
    figcaption,
    figure,
    h1,
    h2,
    header,
    label,
    li,
    option,
    p,
    section,
    select,
    span,
    strong,
    tag,
    ul,
)
from ostinato.service.dashboard.pages import PAGE, may, page, part, shown
from ostinato.service.dashboard.states import ActivityCounts, StudySummary, activity_of, chip, summary_of
from ostinato.service.dashboard.words import candidate_list, column_names, in_line, number, percent
from ostinato.service.errors import Refused
from ostinato.service.requests import service_of, still_sees
from ostinato.service.routes.decorators import get
from ostinato.service.tokens import Role
from ostinato.study import Study
from ostinato.study.records import Status


class Figure(msgspec.Struct, frozen=True):
    """A figure of the page: what it is called, what it shows, its data and how they are drawn."""

    title: str
    about: str
    data: Callable[..., Series]
    draw: Callable[[Any, View], Picture]
    height: str = "middle"  # room that is kept for it


FIGURES = {
    "measurements": Figure(
        "Measurements by candidate", "The best candidates with every repeat", series.measurements, measured.draw, "tall"
    ),
    "progress": Figure(
        "Progress", "The recommended value with its interval, as it came about", series.progress, progress.draw
    ),
    "posterior": Figure(
        "Along a column", "What is believed, through the recommended candidate", series.posterior, slices.draw
    ),
    "batches": Figure("Batches and switches", "How long each candidate was stayed with", series.batches, lengths.draw),
    "noise": Figure("Noise", "How repeats of one candidate scatter", series.noise, scatter.draw),
    "calibration": Figure(
        "Calibration", "How often predictions held, made before each batch", series.calibration, coverage.draw
    ),
}


@shown("/studies/{study:str}")
async def overview(request: Request[Any, Any, Any], study: FromPath[str]) -> str:
    """The study's page."""
    name = from_address(study)
    seen = await service_of(request).viewing(name, summary_of)
    known: Status | None = drawings_of(request).known(name, "status")
    first = _answer(known, await service_of(request).viewing(name, activity_of)) if known else None
    return page(
        request,
        name,
        _head(request, seen),
        _lazy(name, "answer", "Recommended", first),
        _lazy(name, "warnings", "Warnings", None) if seen.measurements else None,
        div(*(_figure(name, key, each) for key, each in FIGURES.items()), class_="figures"),
        study=name,
        tab="overview",
    )


def _head(request: Request[Any, Any, Any], seen: StudySummary) -> Html:
    work = work_buttons(request, seen)
    return header(div(h1(seen.name), _counters(seen), class_="title"), work, class_="head")


def work_buttons(request: Request[Any, Any, Any], seen: StudySummary) -> Html | None:
    """What whoever measures wants first; nothing where the budget is spent."""
    if not may(request, Role.WORKER) or seen.state == "finished":
        return None
    return div(
        a("Measure", href=address_of(seen.name, "bench"), class_="button primary"),
        a("Plan a plate", href=address_of(seen.name, "plate"), class_="button"),
        class_="actions",
    )


def _counters(seen: StudySummary) -> Html:
    bar = (
        tag("progress", value=seen.answered, max=seen.budget, aria_label="Share of the budget that is spent")
        if seen.budget
        else None
    )
    under_way = span(f"{seen.assigned:,} under way", class_="muted") if seen.assigned else None
    return div(
        chip(seen.state),
        span(strong(seen.count), f" measurements{seen.failed}"),
        bar,
        under_way,
        id="counters",
        class_="counters",
        hx_get=address_of(seen.name, "parts", "counters"),
        hx_trigger="refresh",
        hx_swap="outerHTML",
        data_live="1",
        data_spoken=seen.screen_reader_text,
    )


def _lazy(name: str, what: str, title: str, content: Child) -> Html:
    """A part that is fetched when the page is there, and again when the study has changed."""
    return section(
        content or div(class_="loading", aria_busy="true"),
        class_=f"card {what}",
        id=what,
        aria_label=title,
        hx_get=address_of(name, "parts", what),
        hx_trigger="load, refresh",
        data_live="2",
    )


@part("/studies/{study:str}/parts/counters")
async def counters(request: Request[Any, Any, Any], study: FromPath[str]) -> str:
    """State and counters, as they are now."""
    return _counters(await service_of(request).viewing(from_address(study), summary_of))


# The answer


@part("/studies/{study:str}/parts/answer")
async def answer(request: Request[Any, Any, Any], study: FromPath[str]) -> str:
    """The recommended candidate."""
    name = from_address(study)
    drawn = await drawings_of(request).of(name, "status", Study.status)
    return _answer(drawn.value, await service_of(request).viewing(name, activity_of), drawn.again)


def _answer(status: Status, now: ActivityCounts, again: float = 0.0) -> Html:
    name, facts = status.name, _facts(status, now)
    if status.best is not None:
        return div(_recommended(name, status.best), facts, class_="answer-body", data_again=_seconds(again))
    if status.missing:
        code = " and ".join(status.missing)
        words = f"The best candidate is not known here: it takes the {code} of your own Python code."
    elif status.failures:
        words = f"All {counted(status.failures, 'measurement')} failed so far: there is no value to recommend by."
    else:
        words = "Nothing was measured yet. The answer will be here: a candidate, its value, and how sure that is."
    return div(h2("Recommended"), p(words, class_="lead"), facts, data_again=_seconds(again))


def _recommended(name: str, best: Best) -> Html:
    low, high = (number(each, best.std) for each in best.interval)
    return div(
        h2("Recommended"),
        candidate_list(best.candidate, "candidate large"),
        p(
            span(number(best.mean, best.std), span(f" {best.quantity.unit}", class_="unit"), class_="estimate"),
            span(f"{low} to {high}", class_="range"),
            span(f"{best.level:.0%} interval of the true {best.quantity.name}", class_="muted"),
            class_="estimate-line",
        ),
        p(_standing(best), class_="standing"),
        p(
            f"Measured {'once' if best.n == 1 else counted(int(best.n), 'time')}. ",
            a("Its measurements", href=address_of(name, "log", row=best.index)),
            class_="muted",
        ),
        class_="recommended",
    )


def _standing(best: Best) -> Html:
    if best.chance >= NEARLY_CERTAIN:
        return tag("span", "The best of all with ", strong(percent(best.chance)), " probability")
    return tag(
        "span",
        "Within ",
        strong(best.quantity.of(short(best.within))),
        " of the best with ",
        strong("90%"),
        " probability",
    )


def _facts(status: Status, now: ActivityCounts) -> Html:
    total = "a space" if status.candidates is None else f"{status.candidates:,}"
    pairs = [
        ("Candidates", total + (f", {status.retired:,} retired" if status.retired else "")),
        ("Measured", f"{status.unique:,}"),
        ("Batches", f"{now.batches:,}"),
        ("Switches", f"{status.switches:,}"),
        ("Under way", f"{now.in_flight:,}"),
        ("Waiting", f"{now.waiting:,}"),
    ]
    return dl(*(div(dt(name), dd(value)) for name, value in pairs), class_="facts")


# Warnings


@part("/studies/{study:str}/parts/warnings")
async def warnings(request: Request[Any, Any, Any], study: FromPath[str]) -> str:
    """What `diagnose` says, and values that do not fit."""
    name = from_address(study)
    drawn = await drawings_of(request).of(name, "warnings", _diagnosed)
    status: CachedDrawing[Status] = await drawings_of(request).of(name, "status", Study.status)
    outliers = drawn.value.outliers if drawn.value else status.value.outliers
    now = await service_of(request).viewing(name, activity_of)
    return _diagnosis(drawn.value, [*_paused(now), *_far(request, name, outliers)], drawn.again)


def _between(low: float, high: float) -> str:
    return f"{number(low, high - low)} to {number(high, high - low)}"


def _diagnosed(study: Study) -> Diagnosis | None:
    try:
        return study.diagnose()
    except NothingMeasured:
        return None


def _paused(now: ActivityCounts) -> list[Html]:
    return [li(f"Paused {run}", class_="bad") for run in now.paused]


def _far(request: Request[Any, Any, Any], name: str, outliers: Sequence[Outlier]) -> list[Html]:
    return [
        li(
            f"Measurement {each.number}: {number(each.value)}, where {_between(*each.expected)} was expected of "
            f"{in_line(each.candidate)}. ",
            a(
                "Look at it" if not may(request, Role.ADMIN) else "Correct it",
                href=address_of(name, "log", number=each.number),
            ),
            class_="bad",
        )
        for each in outliers
    ]


def _diagnosis(found: Diagnosis | None, warned: list[Html], again: float) -> Html:
    failed = (
        [li(f"{check.name}: {check.words}", class_="bad") for check in found.checks if not check.ok] if found else []
    )
    verdict = found.verdict if found else "Nothing can be said of the model yet."
    kind = "doubt" if found is None or found.fits is None else "good" if found.fits else "bad"
    checks = [li(f"{c.name}: {c.words}", class_="good") for c in found.checks if c.ok] if found else []
    return div(
        h2("Does the model fit?"),
        p(span(class_=f"light {kind}", aria_hidden="true"), verdict, class_="verdict"),
        ul(*warned, *failed, class_="warnings-list") if warned or failed else None,
        tag("details", tag("summary", counted(len(checks), "check") + " passed"), ul(*checks, class_="warnings-list"))
        if checks
        else None,
        data_again=_seconds(again),
    )


# Figures


def _figure(name: str, key: str, each: Figure) -> Html:
    tools = [
        button(words, type="button", class_="tool", data_zoom=way, title=title, aria_label=f"{title}: {each.title}")
        for words, way, title in (("+", "in", "Zoom in"), ("−", "out", "Zoom out"), ("Reset", "reset", "Show all"))
    ]
    return section(
        header(div(h2(each.title), p(each.about, class_="muted")), div(*tools, class_="tools"), class_="figure-head"),
        div(
            div(class_=f"loading {each.height}", aria_busy="true"),
            class_="figure-body",
            id=f"figure-{key}",
            data_figure=key,
            data_live="3",
            hx_get=address_of(name, "parts", "figures", key),
            hx_trigger="intersect once, refresh",
        ),
        class_=f"card figure {key}",
        aria_label=each.title,
    )


@part("/studies/{study:str}/parts/figures/{key:str}")
async def draw_figure(
    request: Request[Any, Any, Any],
    study: FromPath[str],
    key: FromPath[str],
    width: FromQuery[int] = 720,
    start: FromQuery[float | None] = None,
    end: FromQuery[float | None] = None,
    column: FromQuery[str] = "",
) -> str:
    """A figure at a width, of a part of its x axis."""
    name, each = from_address(study), FIGURES.get(key)
    if each is None:
        raise Refused(404, "not-found", f"There is no figure {key[:60]!r}: there are {', '.join(FIGURES)}.")
    view = View(min(max(width, NARROWEST), WIDEST), start, end)
    columns = [column] if column and key == "posterior" else []
    if columns:
        await service_of(request).viewing(name, _check_column, column)
    drawn = await drawings_of(request).of(
        name, f"figure {key}", lambda found: _data(each, found, columns), "".join(columns)
    )
    data, names = drawn.value
    picture = each.draw(data, view)
    return _pictured(key, each, picture, drawn.again, _choice(names, data) if key == "posterior" else None)


def _check_column(study: Study, column: str) -> None:
    """Before a thread is taken, and a place among what is kept."""
    names = column_names(study.table)
    if column not in names:
        raise InvalidSetting(f"{column[:60]!r} is not a column of the candidates: they have {', '.join(names[:20])}.")


def _data(each: Figure, study: Study, columns: list[str]) -> tuple[Series, list[str]]:
    return (each.data(study, columns) if columns else each.data(study)), column_names(study.table)


def _choice(names: list[str], data: Series) -> Html | None:
    """Which column to draw along."""
    axes = data.axes if isinstance(data, series.Slice) else ()
    if len(names) < 2 or not axes:
        return None
    listed = [option(name, value=name, selected=name == axes[0].name) for name in names[:200]]
    return label("Column ", select(*listed, name="column", data_column=True, id="column"))


def _pictured(key: str, each: Figure, picture: Picture, again: float, choice: Html | None) -> Html:
    if picture.missing:
        return div(p(picture.missing), class_=f"missing {each.height}", data_again=_seconds(again))
    return figure(
        choice,
        div(picture.drawing, div(class_="tip", role="status"), class_="drawing"),
        figcaption(picture.legend, p(picture.note, class_="muted small") if picture.note else None),
        numbers_table(each.title, picture.numbers),
        data_again=_seconds(again),
    )


def _seconds(again: float) -> str | None:
    return f"{again:.1f}" if again > 0 else None


@get("/studies/{study:str}/events", Role.READ, **{**PAGE, "media_type": "text/event-stream"})
async def events(request: Request[Any, Any, Any], study: FromPath[str]) -> Stream:
    """The study's counters, now and whenever they change."""
    name, service = from_address(study), service_of(request)
    await service.opened(name)
    service.events.check_room()
    return Stream(service.events.stream(name, partial(still_sees, request, name)), media_type="text/event-stream")


ROUTES = [overview, counters, answer, warnings, draw_figure, events]
