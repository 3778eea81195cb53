"""The log: every measurement, what it was corrected to and why; with buttons to correct and to take back."""

from math import isnan
from time import time
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.params import FromPath, FromQuery

from ostinato.errors import InvalidFeedback
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.html import (
    Html,
    a,
    button,
    div,
    empty,
    form,
    h1,
    h2,
    header,
    input_,
    label,
    p,
    span,
    tag,
    td,
    th,
    tr,
)
from ostinato.service.dashboard.measurements import Page, of_candidate, one, page_before
from ostinato.service.dashboard.pages import Fields, action, fragment, may, page, part, shown
from ostinato.service.dashboard.reading import one_value
from ostinato.service.dashboard.tables import heads_of, scrolling_table
from ostinato.service.dashboard.words import ago, in_line, moment, number, worker_words
from ostinato.service.requests import service_of
from ostinato.service.tokens import Role
from ostinato.storage import Revision
from ostinato.study import Measurement, Study


class LogLabels(msgspec.Struct, frozen=True):
    """What the table says of a study: the heading of values, and candidates by row."""

    value: str
    candidates: dict[int, str]


@shown("/studies/{study:str}/log")
async def log(
    request: Request[Any, Any, Any],
    study: FromPath[str],
    before: FromQuery[int | None] = None,
    row: FromQuery[int | None] = None,
    number: FromQuery[int | None] = None,
) -> str:
    """The page; with `number`, where that measurement is."""
    name = from_address(study)
    before = number + 5 if number is not None and before is None else before
    body = await _body(request, name, before, row, number)
    chosen = p("Of one candidate only. ", a("Show all", href=address_of(name, "log"))) if row is not None else None
    dialog = _dialog() if may(request, Role.ADMIN) else None
    return page(
        request, f"Log of {name}", header(h1("Log"), class_="head"), chosen, body, dialog, study=name, tab="log"
    )


@part("/studies/{study:str}/parts/log")
async def log_part(
    request: Request[Any, Any, Any],
    study: FromPath[str],
    before: FromQuery[int | None] = None,
    row: FromQuery[int | None] = None,
) -> str:
    """The rows alone."""
    return await _body(request, from_address(study), before, row, None)


async def _body(
    request: Request[Any, Any, Any], name: str, before: int | None, row: int | None, number: int | None
) -> Html:
    service = service_of(request)
    found = await (
        service.viewing(name, page_before, before) if row is None else service.viewing(name, of_candidate, row, before)
    )
    words = await service.viewing(name, _words, {each.index for each in found.measurements})
    live = {"hx_get": address_of(name, "parts", "log", row=row, before=before), "hx_trigger": "refresh"}
    return div(
        _table(request, name, found, words, number),
        _pager(name, found, before, row),
        id="log",
        hx_swap="outerHTML",
        data_live="1",
        **live,
    )


def _words(study: Study, rows: set[int]) -> LogLabels:
    return LogLabels(study.quantity.heading, {row: in_line(study.candidate(row)) for row in rows})


def _table(request: Request[Any, Any, Any], name: str, found: Page, words: LogLabels, marked: int | None) -> Html:
    if not found.measurements:
        return empty("Nothing was measured yet. Every measurement will be here, for ever.")
    admin = may(request, Role.ADMIN)
    heads = heads_of(("Number", "Candidate", words.value, "Told", "Batch", "Worker"), [words.value]) + (
        [th(span("Actions", class_="hidden"), scope="col")] if admin else []
    )
    now = time()
    rows = [
        _row(name, each, words.candidates[each.index], now, admin=admin, marked=each.number == marked)
        for each in found.measurements
    ]
    return scrolling_table("Measurements, the newest first", heads, rows, "log-table")


def _row(name: str, each: Measurement, words: str, now: float, *, admin: bool, marked: bool) -> Html:
    cells = [
        th(f"{each.number:,}", scope="row"),
        td(a(words, href=address_of(name, "log", row=each.index)), class_="cut", title=words),
        td(value_words(each), class_="number value-cell"),
        td(moment(each.at), span(ago(each.at, now), class_="muted small block")),
        td(f"{each.batch}.{each.repeat + 1}" if each.batch >= 0 else "observed", class_="muted"),
        td(worker_words(each), class_="muted cut"),
    ]
    if admin:
        cells.append(td(_buttons(name, each, words), class_="row-actions"))
    return tr(*cells, id=f"m{each.number}", class_="marked" if marked else None)


def value_words(each: Measurement) -> Html:
    """The value, and what it was before."""
    if each.value is None:
        now: Html = span("taken back", class_="badge off")
    elif isnan(each.value):
        now = span("failed", class_="badge bad")
    else:
        about = (
            f" (average of {each.count:,})" if each.count > 1 else f" ± {number(each.stderr)}" if each.stderr else ""
        )
        now = span(number(each.value) + about)
    if not each.revisions:
        return now
    return span(now, _was(each, each.revisions[-1]), class_="revised")


def _was(each: Measurement, last: Revision) -> Html:
    was = "failed" if each.told is None or isnan(each.told) else number(each.told)
    why = f": {last.why}" if last.why else ""
    return span(tag("del", was), why, class_="muted small block", title=f"was {was}")


def _buttons(name: str, each: Measurement, words: str) -> Html:
    about = {
        "data_number": each.number,
        "data_value": "" if each.value is None or isnan(each.value) else repr(each.value),  # whole
        "data_of": words,
    }
    correct = button(
        "Correct",
        type="button",
        class_="quiet",
        data_dialog="correct",
        data_post=address_of(name, "correct"),
        aria_label=f"Correct measurement {each.number}",
        **about,
    )
    retract = button(
        "Take back",
        type="button",
        class_="quiet danger",
        data_dialog="retract",
        data_post=address_of(name, "retract"),
        aria_label=f"Take back measurement {each.number}",
        **about,
    )
    return div(None if each.count > 1 else correct, None if each.value is None else retract)


def _dialog() -> Html:
    """One dialog for all rows; a script fills it in."""
    return tag(
        "dialog",
        form(
            h2("Measurement", data_title=True),
            p(data_about=True, class_="muted"),
            input_(type="hidden", name="number"),
            label("New value", input_(name="value", inputmode="decimal", autocomplete="off"), data_only="correct"),
            p("Write failed for a measurement that gave no value.", class_="muted small", data_only="correct"),
            label("Why", input_(name="why", maxlength=500, autocomplete="off", placeholder="typing mistake, …")),
            p(class_="form-error", role="alert"),
            div(
                button("Cancel", type="button", class_="button", data_close=True),
                button("Save", class_="button primary", data_save=True),
                class_="actions",
            ),
            hx_target="#log",
            hx_swap="outerHTML",
            hx_post="",
        ),
        id="revise",
        aria_label="Correct or take back a measurement",
    )


def _pager(name: str, found: Page, before: int | None, row: int | None) -> Html | None:
    newer = a("Newest", href=address_of(name, "log", row=row), class_="button") if before else None
    older = (
        a("Older", href=address_of(name, "log", row=row, before=found.earlier), class_="button")
        if found.earlier
        else None
    )
    return tag("nav", newer, older, class_="pager", aria_label="Pages of the log") if newer or older else None


@action("/studies/{study:str}/correct", Role.ADMIN)
async def correct(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """Another value for a measurement."""
    name, fields = from_address(study), await Fields.of(request)
    which, value, why = fields.whole("number"), one_value(fields.text("value")), fields.text("why")
    service = service_of(request)

    def change(found: Study) -> None:
        if one(found, which) is None:
            raise InvalidFeedback(f"There is no measurement {which}: the log shows their numbers.")
        found.correct(number=which, new=value, why=why)

    await service.viewing(name, change)
    service.events.changed(name)
    return fragment(await _body(request, name, which + 5, None, which))


@action("/studies/{study:str}/retract", Role.ADMIN)
async def retract(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """Take a measurement back."""
    name, fields = from_address(study), await Fields.of(request)
    service, which = service_of(request), fields.whole("number")
    why = fields.text("why")
    await service.viewing(name, Study.retract, number=which, why=why)
    service.events.changed(name)
    return fragment(await _body(request, name, which + 5, None, which))


ROUTES = [log, log_part, correct, retract]
