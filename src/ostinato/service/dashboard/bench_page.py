"""Measuring by hand, on a phone: one candidate, how many repeats, and one field for values."""

from math import isnan
from typing import Any

from litestar import Request, Response
from litestar.params import FromPath, FromQuery

from ostinato.checks import counted
from ostinato.errors import InvalidFeedback
from ostinato.records import Quantity
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.html import (
    Html,
    button,
    div,
    form,
    h1,
    h2,
    input_,
    joined,
    label,
    li,
    ol,
    p,
    span,
    strong,
    tag,
)
from ostinato.service.dashboard.measurements import one
from ostinato.service.dashboard.pages import Fields, action, fragment, page, shown
from ostinato.service.dashboard.reading import one_value, values_in
from ostinato.service.dashboard.states import spent, summary_of
from ostinato.service.dashboard.tasks import LEASE, AssignedRepeats, ask_for, check_room, held, keeps_setups, runs, tell
from ostinato.service.dashboard.words import candidate_list, in_line, number
from ostinato.service.guards import check_owner
from ostinato.service.requests import service_of
from ostinato.service.schemas import Ask
from ostinato.service.tokens import Role
from ostinato.study import Assigned, Measurement, Study, Task

TARGET: dict[str, Any] = {"hx_target": "#bench", "hx_swap": "outerHTML"}
PREPARE = "its repeats share a preparation. Prepare anew for each other batch."


@shown("/studies/{study:str}/bench", Role.WORKER)
async def bench(
    request: Request[Any, Any, Any],
    study: FromPath[str],
    batch: FromQuery[int | None] = None,
    start: FromQuery[int] = 0,
    repeats: FromQuery[int] = 1,
) -> str:
    """What whoever looks is measuring; or a button that asks."""
    name = from_address(study)
    if batch is not None:
        body = await _measuring(request, name, batch, start, repeats)
    else:
        body = await _idle(request, name)
    return page(request, f"Measure {name}", body, study=name, tab="bench")


async def _idle(request: Request[Any, Any, Any], name: str, why: str = "") -> Html:
    leases = await service_of(request).viewing(name, Study.leases)
    own = [each for each in leases if each.token == request.user.name and each.state == "held"]
    seen = await service_of(request).viewing(name, summary_of)
    if seen.state == "finished" and not own:
        return div(h1("Measure"), spent(seen), id="bench", class_="bench")
    return div(
        h1("Measure"),
        p(why, class_="lead", role="status") if why else None,
        p("You are given one candidate, and how often to measure it.", class_="muted") if not why else None,
        button(
            "What should I measure?", class_="button primary huge", hx_post=address_of(name, "bench", "ask"), **TARGET
        ),
        _own(name, own) if own else None,
        id="bench",
        class_="bench",
    )


def _own(name: str, own: list[Assigned]) -> Html:
    links = [
        li(
            tag(
                "a",
                in_line(each.candidate),
                href=address_of(name, "bench", batch=each.batch, start=each.start or "0", repeats=each.repeats),
            ),
            span(f" × {each.repeats}", class_="muted"),
        )
        for each in own[:20]
    ]
    return div(h2("You hold already"), ol(*links, class_="held-list"))


async def _measuring(request: Request[Any, Any, Any], name: str, batch: int, start: int, repeats: int) -> Html:
    service = service_of(request)
    task: AssignedRepeats = await service.viewing(name, held, batch, max(start, 0), max(repeats, 0))
    study = (await service.opened(name)).viewing
    setups = await service.viewing(name, keeps_setups)
    return _task(name, task, study.quantity, binary=study.outcome.binary, setups=setups)


def _task(name: str, task: AssignedRepeats, quantity: Quantity, *, binary: bool, setups: bool) -> Html:
    left, done = task.left, task.repeats - len(task.left)
    times = "once" if task.repeats == 1 else f"{task.repeats} times"
    return div(
        p("Measure", class_="muted small"),
        h1(candidate_list(task.candidate, "candidate huge")),
        p(strong(times), span(f" · {done} of {task.repeats} done", class_="muted"), class_="times", role="status"),
        p(f"Batch {task.batch}: {PREPARE}", class_="muted") if setups else None,
        tag("progress", value=done, max=task.repeats, aria_label="Repeats that are done"),
        _entry(name, task, quantity, binary=binary) if left else _done(name),
        _told(name, task) if task.told else None,
        _others(name, task) if left else None,
        id="bench",
        class_="bench",
    )


def _entry(name: str, task: AssignedRepeats, quantity: Quantity, *, binary: bool) -> Html:
    """Two buttons for yes and no, in a form of their own: the Enter key in an empty field must not press one."""
    sent: dict[str, Any] = {"hx_post": address_of(name, "bench", "tell"), **TARGET}
    return div(_yes_or_no(task, sent) if binary else None, _typed(task, quantity, sent, binary=binary))


def _yes_or_no(task: AssignedRepeats, sent: dict[str, Any]) -> Html:
    answers = (
        button(words, name="values", value=value, class_="button huge") for words, value in (("Yes", "1"), ("No", "0"))
    )
    return form(_hidden(task), div(*answers, class_="two"), p(class_="form-error", role="alert"), **sent)


def _typed(task: AssignedRepeats, quantity: Quantity, sent: dict[str, Any], *, binary: bool) -> Html:
    place = task.left[0] - task.start + 1
    return form(
        _hidden(task),
        label(
            f"{quantity.heading} {place} of {task.repeats}",
            input_(
                name="values",
                inputmode="decimal",
                autocomplete="off",
                autofocus=True,
                enterkeyhint="send",
                class_="huge",
                aria_describedby="how",
            ),
        ),
        p(
            "3/20 for 3 yes of 20." if binary else "Or paste several, with spaces between them.",
            id="how",
            class_="muted small",
        ),
        p(class_="form-error", role="alert"),
        div(
            button("Save", class_="button primary huge"),
            button("It failed", name="failed", value="yes", class_="button huge", type="submit"),
            class_="two",
        ),
        **sent,
    )


def _hidden(task: AssignedRepeats) -> Html:
    said = {"batch": task.batch, "start": task.start, "repeats": task.repeats, "seen": task.seen}
    return joined(input_(type="hidden", name=key, value=value) for key, value in said.items())


def _done(name: str) -> Html:
    return div(
        p("All values are stored.", class_="lead", role="status"),
        button(
            "What next?",
            class_="button primary huge",
            hx_post=address_of(name, "bench", "ask"),
            autofocus=True,
            **TARGET,
        ),
    )


def _told(name: str, task: AssignedRepeats) -> Html:
    """Values so far; the last one can be undone by a large button, others are corrected by touching them."""
    listed = [li(_value(name, task, each), class_="told") for each in task.told]
    return div(h2("Entered"), ol(*listed, class_="told-list"))


def _value(name: str, task: AssignedRepeats, each: Measurement) -> Html:
    said = "skipped" if each.value is None else "failed" if isnan(each.value) else number(each.value)
    last = each is task.told[-1]
    return tag(
        "details",
        tag("summary", strong(said), span("Undo" if last else "Change", class_="undo")),
        form(
            _hidden(task),
            input_(type="hidden", name="number", value=each.number),
            label(f"{said} should have been", input_(name="value", inputmode="decimal", autocomplete="off")),
            p(class_="form-error", role="alert"),
            div(
                button("Save", class_="button primary"),
                button("Leave it out", name="out", value="yes", class_="button", formnovalidate=True)
                if each.value is not None
                else None,
                class_="two",
            ),
            hx_post=address_of(name, "bench", "correct"),
            **TARGET,
        ),
    )


def _others(name: str, task: AssignedRepeats) -> Html:
    ways = (
        ("skip", "Skip this one", "It will not be made."),
        ("enough", "Enough of it", "No more repeats: decide anew."),
        ("back", "Hand it back", "Somebody else is given it."),
    )
    return form(
        _hidden(task),
        *(
            button(
                words,
                name="what",
                value=what,
                class_="button",
                title=title,
                hx_post=address_of(name, "bench", what),
                **TARGET,
            )
            for what, words, title in ways
        ),
        class_="others",
    )


# What the buttons do


@action("/studies/{study:str}/bench/ask", Role.WORKER)
async def ask(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """The next candidate."""
    name = from_address(study)
    found = await ask_for(request, name, Ask(lease=LEASE))
    if not found.tasks:
        address = address_of(name, "bench")
        return fragment(await _idle(request, name, f"Nothing to measure now: {found.why}."), hx_push_url=address)
    task = found.tasks[0]
    return await _shown(request, name, task.batch, task.start, task.repeats)


async def _shown(request: Request[Any, Any, Any], name: str, batch: int, start: int, repeats: int) -> Response[str]:
    address = address_of(name, "bench", batch=batch, start=start or "0", repeats=repeats)
    return fragment(await _measuring(request, name, batch, start, repeats), hx_push_url=address)


def _task_in(fields: Fields) -> tuple[int, int, int]:
    return fields.whole("batch"), fields.whole("start", 0), fields.whole("repeats", 1)


@action("/studies/{study:str}/bench/tell", Role.WORKER)
async def tell_values(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """One value or several, for the next repeats."""
    name, fields = from_address(study), await Fields.of(request)
    place, service = _task_in(fields), service_of(request)
    task: AssignedRepeats = await service.viewing(name, held, *place)
    binary = (await service.opened(name)).viewing.outcome.binary
    said = "failed" if fields.text("failed") else fields.text("values")
    values = values_in(said, binary=binary)
    left = task.left_after(fields.whole("seen", task.seen))
    check_room(left, values)
    told = {(task.batch, repeat): value for repeat, value in zip(left, values, strict=False)}
    await tell(request, name, runs(told))
    return await _shown(request, name, *place)


@action("/studies/{study:str}/bench/correct", Role.WORKER)
async def undo(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """Another value for one that was entered here by the same person; or it is left out."""
    name, fields = from_address(study), await Fields.of(request)
    which, out = fields.whole("number"), bool(fields.text("out"))
    value = None if out else one_value(fields.text("value"))
    service, user = service_of(request), request.user

    def change(study: Study) -> None:
        found = one(study, which)
        if found is None:
            raise InvalidFeedback(f"There is no measurement {which}: the log shows their numbers.")
        check_owner(user, [found.token])
        if value is None:
            study.retract(number=which, why="undone", again=False)
        else:
            study.correct(number=which, new=value, why="undone")

    await service.viewing(name, change)
    service.events.changed(name)
    return await _shown(request, name, *_task_in(fields))


@action("/studies/{study:str}/bench/skip", Role.WORKER)
async def skip(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """The next repeat will not be made."""
    name, fields = from_address(study), await Fields.of(request)
    batch, start, repeats = _task_in(fields)
    task: AssignedRepeats = await service_of(request).viewing(name, held, batch, start, repeats)
    left = task.left_after(fields.whole("seen", task.seen))
    if left and left[0] in task.left:  # else it was skipped already, and the answer to that was lost
        place = left[0]
        await _check_held(request, name, batch, place)
        await service_of(request).viewing(name, Study.skip, Task(name, batch, 0, None, start, repeats), place)
    service_of(request).events.changed(name)
    return await _shown(request, name, batch, start, repeats)


async def _check_held(request: Request[Any, Any, Any], name: str, batch: int, repeat: int | None = None) -> None:
    """Whoever is no administrator says of what it holds itself that it will not be measured, and of nothing else.

    All of a batch, or one repeat. What nobody holds may be given up by all who work here.
    """
    leases = await service_of(request).viewing(name, Study.leases)
    of_batch = [each for each in leases if each.batch == batch]
    check_owner(
        request.user,
        (each.token for each in of_batch if repeat is None or each.start <= repeat < each.start + each.repeats),
    )


@action("/studies/{study:str}/bench/enough", Role.WORKER)
async def enough(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """No more repeats of this batch."""
    name, fields = from_address(study), await Fields.of(request)
    batch = fields.whole("batch")
    await _check_held(request, name, batch)
    await service_of(request).viewing(name, Study.close, batch)
    service_of(request).events.changed(name)
    words = "No more repeats of that candidate are asked for"
    return fragment(await _idle(request, name, f"{words}."), hx_push_url=address_of(name, "bench"))


@action("/studies/{study:str}/bench/back", Role.WORKER)
async def back(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """Hand back what was not measured."""
    name, fields = from_address(study), await Fields.of(request)
    batch = fields.whole("batch")
    service = service_of(request)
    n = await service.viewing(name, Study.release_all, batch=batch, token=request.user.name)
    service.events.changed(name)
    words = f"{counted(n, 'measurement')} handed back."
    return fragment(await _idle(request, name, words), hx_push_url=address_of(name, "bench"))


ROUTES = [bench, ask, tell_values, undo, skip, enough, back]
