"""The list of studies: state, the last values, measurements so far, and the best candidate of each."""

from math import isfinite
from typing import Any
from urllib.parse import urlencode

import msgspec
from litestar import Request
from litestar.params import FromPath, FromQuery

from ostinato.errors import OstinatoError
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.charts.spark import spark
from ostinato.service.dashboard.drawings import drawings_of
from ostinato.service.dashboard.html import (
    Html,
    a,
    div,
    empty,
    form,
    h1,
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
from ostinato.service.dashboard.pages import may, page, part, shown
from ostinato.service.dashboard.states import StudySummary, chip, summary_of
from ostinato.service.dashboard.tables import heads_of, plain_table
from ostinato.service.dashboard.words import in_line, moment, number
from ostinato.service.errors import problem_of
from ostinato.service.requests import service_of
from ostinato.service.studies import Studies
from ostinato.service.tokens import Role
from ostinato.study import Study
from ostinato.study.records import Status

PAGE = 50  # studies
VALUES = 48  # of a sparkline


class StudyListItem(msgspec.Struct, frozen=True):
    """A study in the list; what cannot be read is said instead."""

    name: str
    seen: StudySummary | None
    values: tuple[float, ...] = ()
    problem: str = ""


@shown("/")
async def home(request: Request[Any, Any, Any], after: FromQuery[int] = 0, find: FromQuery[str] = "") -> str:
    """The studies that whoever looks may see."""
    return page(
        request,
        "Studies",
        header(
            h1("Studies"),
            a("New study", href="/new", class_="button primary") if may(request, Role.ADMIN) else None,
            class_="head",
        ),
        await _studies(request, max(after, 0), find),
    )


@part("/parts/studies")
async def studies_part(request: Request[Any, Any, Any], after: FromQuery[int] = 0, find: FromQuery[str] = "") -> str:
    """The list alone, as it is now."""
    return await _studies(request, max(after, 0), find)


async def _studies(request: Request[Any, Any, Any], after: int, find: str) -> Html:
    service = service_of(request)
    names = [name for name in await service.names(request.user) if find.lower() in name.lower()]
    some = names[after : after + PAGE]
    listed = await service.read(lambda: [_listed(service.studies, name) for name in some])
    live = {"data_live": "10", "hx_get": "/parts/studies", "hx_trigger": "refresh", "hx_swap": "outerHTML"}
    if not names and not find:
        return div(_none(may(request, Role.ADMIN)), id="studies", **live)
    known = drawings_of(request)
    rows = [_row(each, known.known(each.name, "status")) for each in listed]
    heads = ("Study", "State", "Last values", "Measurements", "Best so far")
    return div(
        _search(find) if len(names) > 10 or find else None,
        div(
            plain_table("Studies", heads_of(heads), rows, "studies"),
            class_="card",
        ),
        _pager(len(names), after, find),
        id="studies",
        **{**live, "hx_get": _address("/parts/studies", after, find)},
    )


def _none(admin: bool) -> Html:
    if admin:
        return empty(
            "There are no studies yet. Make one from a table of candidates.",
            a("New study", href="/new", class_="button"),
        )
    return empty("There are no studies that you may see.")


def _search(find: str) -> Html:
    return form(
        label(
            span("Find a study", class_="hidden"),
            input_(type="search", name="find", value=find, placeholder="Find a study"),
        ),
        class_="search",
        method="get",
        action="/",
        role="search",
    )


def _address(path: str, after: int, find: str) -> str:
    return f"{path}?{urlencode({'after': after, 'find': find})}"


def _pager(total: int, after: int, find: str) -> Html | None:
    if total <= PAGE:
        return None
    earlier = a("Previous", href=_address("/", max(0, after - PAGE), find), class_="button") if after else None
    later = a("Next", href=_address("/", after + PAGE, find), class_="button") if after + PAGE < total else None
    return tag(
        "nav",
        earlier,
        span(f"{after + 1:,} to {min(after + PAGE, total):,} of {total:,}"),
        later,
        class_="pager",
        aria_label="Pages",
    )


def _listed(studies: Studies, name: str) -> StudyListItem:
    try:
        study = studies.opened(name).viewing
        return StudyListItem(name, summary_of(study), last_values(study))
    except OstinatoError as error:
        return StudyListItem(name, None, problem=problem_of(error).detail)


def last_values(study: Study) -> tuple[float, ...]:
    """The last values that were told and count."""
    told = study.last_measurements(VALUES)
    return tuple(each.value for each in told if each.value is not None and isfinite(each.value))


def _row(each: StudyListItem, status: Status | None) -> Html:
    link = th(a(each.name, href=address_of(each.name)), scope="row")
    if each.seen is None:
        return tr(link, td(each.problem, colspan=4, class_="error"))
    made = span("made ", moment(each.seen.created), class_="muted small")
    return tr(
        th(a(each.name, href=address_of(each.name)), made, scope="row"),
        td(chip(each.seen.state)),
        td(spark(each.values), class_="spark-cell"),
        td(each.seen.so_far, class_="number"),
        td(
            best_words(status)
            if status
            else span(span("being worked out", class_="hidden"), class_="pending", aria_busy="true"),
            class_="best-cell",
            hx_get=address_of(each.name, "parts", "best"),
            hx_trigger="intersect once",
        )
        if each.seen.measurements
        else td(span("–", class_="muted"), class_="best-cell"),
    )


@part("/studies/{study:str}/parts/best")
async def best(request: Request[Any, Any, Any], study: FromPath[str]) -> str:
    """The best candidate in a line."""
    drawn = await drawings_of(request).of(from_address(study), "status", Study.status)
    return best_words(drawn.value)


def best_words(status: Status) -> Html:
    """The best candidate, and between what its value lies."""
    if status.best is None:
        words = "takes code of the study's own" if status.missing else "–"
        return span(words, class_="muted")
    found = status.best
    low, high = found.interval
    mean, low_, high_ = (number(each, found.std) for each in (found.mean, low, high))
    return div(
        p(span(found.quantity.of(mean), class_="estimate-small"), span(f"{low_} to {high_}", class_="muted")),
        p(in_line(found.candidate), class_="muted small cut", title=in_line(found.candidate)),
    )


ROUTES = [home, studies_part, best]
