"""A plate: so many measurements planned at once, as a list that can be printed and filled in."""

import re
from collections.abc import Iterable
from math import isnan
from typing import Any, NamedTuple

from litestar import Request, Response
from litestar.params import FromPath, FromQuery

from ostinato.checks import counted
from ostinato.errors import InvalidFeedback, InvalidSetting
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.html import (
    Html,
    a,
    button,
    div,
    fieldset,
    form,
    h1,
    header,
    input_,
    label,
    legend,
    p,
    td,
    th,
    tr,
)
from ostinato.service.dashboard.pages import Fields, action, fragment, page, shown
from ostinato.service.dashboard.reading import one_value
from ostinato.service.dashboard.states import spent, summary_of
from ostinato.service.dashboard.tables import heads_of, scrolling_table
from ostinato.service.dashboard.tasks import AssignedRepeats, ask_for, held, keeps_setups, runs, tell
from ostinato.service.dashboard.words import cells, column_names, number
from ostinato.service.requests import service_of
from ostinato.service.schemas import Ask
from ostinato.service.tokens import Role
from ostinato.study import Measurement, Study

MOST = 1_536  # wells
USUAL = 24
HOURS = 24.0
TASK = re.compile(r"(\d{1,12})-(\d{1,12})-(\d{1,6})")
TARGET: dict[str, Any] = {"hx_target": "#plate", "hx_swap": "outerHTML"}
PREPARE = "Prepare anew for each batch number; wells of one batch share a preparation."


class Sheet(NamedTuple):
    """What the list of wells shows: columns of candidates, the name of the values, and whether batches are named."""

    columns: list[str]
    value: str
    batches: bool


@shown("/studies/{study:str}/plate", Role.WORKER)
async def plate(
    request: Request[Any, Any, Any], study: FromPath[str], tasks: FromQuery[str] = "", wanted: FromQuery[int] = 0
) -> str:
    """A plate that was planned; or three questions to plan one."""
    name = from_address(study)
    body = await _planned(request, name, tasks, wanted) if tasks else await _questions(request, name)
    return page(request, f"Plate of {name}", body, study=name, tab="plate")


async def _questions(request: Request[Any, Any, Any], name: str, why: str = "") -> Html:
    columns = await service_of(request).viewing(name, _columns)
    seen = await service_of(request).viewing(name, summary_of)
    if seen.state == "finished":
        return div(header(h1("Plan a plate"), class_="head"), spent(seen), id="plate")
    shared = [
        label(input_(type="checkbox", name="shared", value=place), f" {each}", class_="check")
        for place, each in enumerate(columns[:50])
    ]
    return div(
        header(h1("Plan a plate"), class_="head"),
        p(why, class_="lead", role="status") if why else None,
        form(
            label(
                "How many measurements",
                input_(type="number", name="slots", value=USUAL, min=1, max=MOST, required=True, inputmode="numeric"),
            ),
            label(
                input_(type="checkbox", name="distinct", value="yes"), " every candidate once at most", class_="check"
            ),
            fieldset(legend("The same for the whole plate"), div(*shared, class_="checks")),
            label(
                "Hours until others may be given them",
                input_(type="number", name="hours", value=f"{HOURS:g}", min=0.1, max=700, step="any", required=True),
            ),
            p(class_="form-error", role="alert"),
            button("Plan it", class_="button primary"),
            class_="card padded stacked",
            hx_post=address_of(name, "plate"),
            **TARGET,
        ),
        id="plate",
    )


def _columns(study: Study) -> list[str]:
    return column_names(study.table)


def _plain_columns(study: Study) -> list[str]:
    return [str(column.name) for column in study.table.columns]


def in_address(tasks: Iterable[tuple[int, int, int]]) -> str:
    """Tasks, each its batch, its first repeat and how many these are, as the address of a plate holds them."""
    return ".".join(f"{batch}-{start}-{repeats}" for batch, start, repeats in tasks)


def _from_address(text: str) -> list[tuple[int, int, int]]:
    tasks = [TASK.fullmatch(each) for each in text.split(".")]
    found = [(int(each[1]), int(each[2]), int(each[3])) for each in tasks if each is not None]
    if len(found) < len(tasks) or len(found) > MOST:
        raise InvalidSetting("That is not the address of a plate: plan one anew.")
    return found


async def _planned(request: Request[Any, Any, Any], name: str, tasks: str, wanted: int, why: str = "") -> Html:
    """The plate. wanted: the wells that were asked for; why: there are fewer."""
    listed = _from_address(tasks)

    def find(study: Study) -> tuple[list[AssignedRepeats], Sheet]:
        tasks = [held(study, batch, start, min(repeats, MOST)) for batch, start, repeats in listed]
        return tasks, Sheet(column_names(study.table), study.quantity.heading, keeps_setups(study))

    found, sheet = await service_of(request).viewing(name, find)
    wells = [(task, repeat) for task in found for repeat in range(task.start, task.start + task.repeats)]
    left = sum(len(task.left) for task in found)
    return div(
        header(
            div(
                h1(f"Plate of {name}"),
                p(
                    f"{counted(len(wells), 'measurement')} in {counted(len(found), 'task')}; {left} to come",
                    class_="muted",
                ),
                _fewer(len(wells), wanted, why) if len(wells) < wanted else None,
                p(PREPARE) if sheet.batches else None,
            ),
            div(
                button("Print", type="button", class_="button", data_print=True),
                a("Plan another", href=address_of(name, "plate"), class_="button"),
                class_="actions",
            ),
            class_="head",
        ),
        form(
            input_(type="hidden", name="tasks", value=tasks),
            input_(type="hidden", name="wanted", value=wanted),
            _wells(name, wells, sheet),
            p(class_="form-error", role="alert"),
            button("Save the values", class_="button primary") if left else p("All values are stored.", class_="lead"),
            hx_post=address_of(name, "plate", "tell"),
            **TARGET,
        ),
        id="plate",
        class_="plate",
    )


def _fewer(wells: int, wanted: int, why: str) -> Html:
    """That wells stay empty, for as long as the plate is looked at; why, when it is planned."""
    words = f"You asked for {counted(wanted, 'measurement')}, and there were {wells} to plan"
    return p(f"{words}: {why}." if why else f"{words}.", class_="lead", role="status")


def _wells(name: str, wells: list[tuple[AssignedRepeats, int]], sheet: Sheet) -> Html:
    next_one = next((well for well in wells if well[1] in well[0].left), None)
    rows = [_well(name, place, well, sheet, chosen=well is next_one) for place, well in enumerate(wells, start=1)]
    heads = heads_of(["Well", *(["Batch"] if sheet.batches else []), *sheet.columns, sheet.value])
    return scrolling_table("Wells of the plate", heads, rows, "plate-table")


def _well(name: str, place: int, well: tuple[AssignedRepeats, int], sheet: Sheet, *, chosen: bool) -> Html:
    """A field for the value; a value that was stored leads to where it is undone. chosen: typing starts here."""
    task, repeat = well
    values = cells(task.candidate)
    told = next((each for each in task.told if each.repeat == repeat), None)
    entry = (
        input_(
            name=f"v-{task.batch}-{repeat}",
            inputmode="decimal",
            autocomplete="off",
            autofocus=chosen,
            aria_label=f"Value of well {place}",
        )
        if told is None
        else a(
            _said(told),
            href=address_of(name, "bench", batch=task.batch, start=task.start or "0", repeats=task.repeats),
            title="Change it",
        )
    )
    return tr(
        th(str(place), scope="row"),
        td(str(task.batch)) if sheet.batches else None,
        *(td(values.get(each, "–")) for each in sheet.columns),
        td(entry, class_="fill"),
    )


def _said(each: Measurement) -> str:
    return "skipped" if each.value is None else "failed" if isnan(each.value) else number(each.value)


@action("/studies/{study:str}/plate", Role.WORKER)
async def plan(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """Ask for as many measurements as the plate has wells."""
    name, fields = from_address(study), await Fields.of(request)
    slots = fields.whole("slots")
    if not 1 <= slots <= MOST:
        raise InvalidSetting(f"slots={slots} is out of range: give 1 to {MOST:,}.")
    columns = await service_of(request).viewing(name, _plain_columns)
    wanted = Ask(
        slots=slots,
        distinct=bool(fields.text("distinct")),
        shared=[each for place, each in enumerate(columns) if str(place) in fields.all("shared")],
        lease=_seconds(fields.text("hours")),
    )
    found = await ask_for(request, name, wanted)
    if not found.tasks:
        return fragment(await _questions(request, name, f"Nothing to measure now: {found.why}."))
    tasks = in_address([(task.batch, task.start, task.repeats) for task in found.tasks])
    address = address_of(name, "plate", tasks=tasks, wanted=slots)
    return fragment(await _planned(request, name, tasks, slots, found.why), hx_push_url=address)


def _seconds(hours: str) -> float:
    try:
        seconds = float(hours.replace(",", ".") or HOURS) * 3_600
    except ValueError:
        raise InvalidSetting(f"hours={hours[:20]!r} is not a number.") from None
    return min(max(seconds, 60.0), 31 * 86_400.0)


@action("/studies/{study:str}/plate/tell", Role.WORKER)
async def tell_plate(request: Request[Any, Any, Any], study: FromPath[str]) -> Response[str]:
    """The values that were filled in, all of them or none."""
    name, fields = from_address(study), await Fields.of(request)
    tasks = fields.text("tasks")
    wells = [
        (batch, repeat)
        for batch, start, repeats in _from_address(tasks)
        for repeat in range(start, start + min(repeats, MOST))
    ]
    said = {(place, *well): fields.text(f"v-{well[0]}-{well[1]}") for place, well in enumerate(wells, start=1)}
    values = {(batch, repeat): _one(text, place) for (place, batch, repeat), text in said.items() if text}
    if not values:
        raise InvalidSetting("No value was filled in: type them beside the wells, or failed where there is none.")
    await tell(request, name, runs(values))
    return fragment(await _planned(request, name, tasks, fields.whole("wanted", 0)))


def _one(said: str, well: int) -> float:
    """The value of a well; an error that names the well."""
    try:
        return one_value(said)
    except InvalidFeedback as error:
        raise InvalidFeedback(f"Well {well}: {error} Nothing was stored.") from None


ROUTES = [plate, plan, tell_plate]
