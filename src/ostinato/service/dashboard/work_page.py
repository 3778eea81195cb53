"""What is under way: who holds which batch, what waits for somebody, and which runs pause."""

from time import time
from typing import Any

import msgspec
from litestar import Request, Response
from litestar.params import FromPath

from ostinato.checks import counted
from ostinato.errors import UnknownBatch
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.html import (
    Html,
    a,
    button,
    div,
    empty,
    h1,
    h2,
    header,
    li,
    p,
    section,
    span,
    tag,
    td,
    th,
    tr,
    ul,
)
from ostinato.service.dashboard.pages import Fields, action, fragment, may, page, part, shown
from ostinato.service.dashboard.plate_page import MOST as WELLS
from ostinato.service.dashboard.plate_page import in_address
from ostinato.service.dashboard.reading import LARGEST
from ostinato.service.dashboard.tables import heads_of, scrolling_table
from ostinato.service.dashboard.words import duration, in_line, moment, worker_words
from ostinato.service.requests import service_of
from ostinato.service.tokens import Role
from ostinato.storage import BatchRecord, Reader
from ostinato.study import Assigned, Study
from ostinato.study.leases import in_hand
from ostinato.study.paused import paused_runs

MOST = 200  # rows of each table
NUMBERS = ("Repeat", "Waiting", "Measured")
STATES = {"held": "measuring", "over": "time is over", "gone": "process has ended"}


class WorkInProgress(msgspec.Struct, frozen=True):
    """What is held, what waits, and which runs pause."""

    held: list[Assigned]
    waiting: list[tuple[BatchRecord, int, str]]
    paused: list[str]


def work_of(study: Study) -> WorkInProgress:
    """What is under way now."""

    def find(reader: Reader) -> tuple[list[BatchRecord], dict[int, int], list[str]]:
        return reader.unfinished(), dict(in_hand(reader)), [str(run) for run in paused_runs(reader)]

    batches, assigned, paused = study.reading(find)
    left = [(batch, batch.facts.pending - assigned.get(batch.facts.id, 0)) for batch in batches]
    waiting = [(batch, n, in_line(study.candidate(batch.facts.index))) for batch, n in left[:MOST] if n > 0]
    return WorkInProgress(study.leases(), waiting, paused)


@shown("/studies/{study:str}/progress")
async def progress(request: Request[Any, Any, Any], study: FromPath[str]) -> str:
    """The page."""
    name = from_address(study)
    body = await _body(request, name)
    return page(
        request, f"In progress in {name}", header(h1("In progress"), class_="head"), body, study=name, tab="progress"
    )


@part("/studies/{study:str}/parts/progress")
async def progress_part(request: Request[Any, Any, Any], study: FromPath[str]) -> str:
    """The tables alone, as they are now."""
    return await _body(request, from_address(study))


async def _body(request: Request[Any, Any, Any], name: str) -> Html:
    work = await service_of(request).viewing(name, work_of)
    return div(
        _paused(work.paused),
        _held(request, name, work.held),
        _lists(request, name, work.held),
        _waiting(request, name, work.waiting),
        id="work",
        hx_get=address_of(name, "parts", "progress"),
        hx_trigger="refresh",
        hx_swap="outerHTML",
        data_live="1",
    )


def _paused(paused: list[str]) -> Html | None:
    return section(h2("Paused runs"), ul(*(li(each) for each in paused)), class_="card padded bad") if paused else None


def _held(request: Request[Any, Any, Any], name: str, held: list[Assigned]) -> Html:
    if not held:
        return section(h2("Assigned"), empty("Nothing is assigned to anybody."))
    worker = may(request, Role.WORKER)
    heads = ["Worker", "Batch", "Repeat", "Candidate", "Since", "Until", "State"]
    now = time()
    rows = [
        tr(
            th(worker_words(each), scope="row"),
            td(str(each.batch)),
            td(_repeats(each), class_="number"),
            td(in_line(each.candidate), class_="cut", title=in_line(each.candidate)),
            td(moment(each.since)),
            td(moment(each.until), span(_left(each, now), class_="muted small block")),
            td(span(STATES.get(each.state, each.state), class_=f"badge {'on' if each.state == 'held' else 'off'}")),
            td(_button(name, each) if request.user.owns(each.token) else None, class_="row-actions")
            if worker
            else None,
        )
        for each in held[:MOST]
    ]
    more = p(f"and {len(held) - MOST:,} more", class_="muted") if len(held) > MOST else None
    table = _table("What is assigned to whom", heads, rows, actions=worker)
    return section(h2("Assigned"), table, more)


def _repeats(each: Assigned) -> str:
    """Which repeats of its batch, as the log numbers them."""
    first, last = each.start + 1, each.start + each.repeats
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _lists(request: Request[Any, Any, Any], name: str, held: list[Assigned]) -> Html | None:
    """All that a worker holds as one list, such as that of a plate whose page was closed."""
    if not may(request, Role.WORKER):
        return None
    workers: dict[str, list[Assigned]] = {}
    for each in held:
        if request.user.owns(each.token):
            workers.setdefault(worker_words(each), []).append(each)
    links = [li(_list(name, words, own[:WELLS])) for words, own in list(workers.items())[:MOST]]
    return (
        div(p("As lists to print and to fill in:", class_="muted"), ul(*links, class_="held-list")) if links else None
    )


def _list(name: str, worker: str, own: list[Assigned]) -> Html:
    tasks = in_address((each.batch, each.start, each.repeats) for each in own)
    words = f"{worker}: {counted(sum(each.repeats for each in own), 'measurement')}"
    return a(words, href=address_of(name, "plate", tasks=tasks))


def _left(each: Assigned, now: float) -> str:
    return f"{duration(each.until - now)} left" if each.until > now else "handed to whoever asks next"


def _button(name: str, each: Assigned) -> Html:
    return button(
        "Release",
        type="button",
        class_="quiet",
        hx_post=address_of(name, "release"),
        hx_vals=msgspec.json.encode({"batch": each.batch, "worker": each.worker}).decode(),
        hx_target="#work",
        hx_swap="outerHTML",
        hx_confirm=f"Release what {each.worker} holds of batch {each.batch}? Others are given it at once.",
        aria_label=f"Release batch {each.batch} of {each.worker}",
    )


def _waiting(request: Request[Any, Any, Any], name: str, waiting: list[tuple[BatchRecord, int, str]]) -> Html | None:
    if not waiting:
        return None
    admin = may(request, Role.ADMIN)
    heads = ["Batch", "Candidate", "Waiting", "Measured", "Asked", "Why"]
    rows = [
        tr(
            th(str(batch.facts.id), scope="row"),
            td(words, class_="cut", title=words),
            td(f"{n:,}", class_="number"),
            td(f"{batch.facts.answered:,} of {batch.facts.repeats:,}", class_="number"),
            td(moment(batch.made)),
            td(_why(name, batch.facts.id)),
            td(_close(name, batch.facts.id, n), class_="row-actions") if admin else None,
        )
        for batch, n, words in waiting
    ]
    about = p("Asked for, and not assigned to a worker: whoever asks next is given them first.", class_="muted")
    return section(h2("Waiting"), about, _table("Batches that wait for a worker", heads, rows, actions=admin))


def _why(name: str, batch: int) -> Html:
    return tag(
        "details",
        tag("summary", "Why?"),
        div("…", hx_get=address_of(name, "parts", "why", str(batch)), hx_trigger="toggle from:closest details once"),
    )


def _close(name: str, batch: int, n: int) -> Html:
    return button(
        "Close",
        type="button",
        class_="quiet danger",
        hx_post=address_of(name, "close"),
        hx_vals=msgspec.json.encode({"batch": batch}).decode(),
        hx_target="#work",
        hx_swap="outerHTML",
        hx_confirm=f"Give up the {counted(n, 'measurement')} of batch {batch} that did not come?",
        aria_label=f"Close batch {batch}",
    )


def _table(title: str, heads: list[str], rows: list[Html], *, actions: bool) -> Html:
    last = [th(span("Actions", class_="hidden"), scope="col")] if actions else []
    return scrolling_table(title, [*heads_of(heads, NUMBERS), *last], rows)


@part("/studies/{study:str}/parts/why/{batch:int}")
async def why(request: Request[Any, Any, Any], study: FromPath[str], batch: FromPath[int]) -> str:
    """Why a batch was asked for."""
    if batch > LARGEST:
        raise UnknownBatch(f"There is no batch {str(batch)[:20]}… in this study.")
    found = await service_of(request).viewing(from_address(study), Study.explain, batch)
    return p(str(found), class_="small")


@action("/studies/{study:str}/release", Role.WORKER)
async def release(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """Hand back what a worker holds of a batch."""
    name, fields = from_address(study), await Fields.of(request)
    service, batch, worker = service_of(request), fields.whole("batch"), fields.given("worker")
    await service.viewing(name, Study.release_all, worker=worker, batch=batch, token=request.user.limit)
    service.events.changed(name)
    return fragment(await _body(request, name))


@action("/studies/{study:str}/close", Role.ADMIN)
async def close(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """Give up what did not come of a batch."""
    name, fields = from_address(study), await Fields.of(request)
    service, batch = service_of(request), fields.whole("batch")
    await service.viewing(name, Study.close, batch)
    service.events.changed(name)
    return fragment(await _body(request, name))


ROUTES = [progress, progress_part, why, release, close]
