"""A new study: drop a table, see how it was understood, answer four questions."""

from pathlib import PurePath
from typing import Any

import msgspec
import numpy as np
from litestar import Request, Response
from litestar.datastructures import UploadFile

from ostinato.candidates import Candidates
from ostinato.candidates.columns import Levels, Logs
from ostinato.candidates.files import read_csv_text
from ostinato.candidates.identifiers import identifiers
from ostinato.checks import counted
from ostinato.errors import InvalidCandidates, InvalidFeedback, InvalidSetting
from ostinato.service.create import create_study
from ostinato.service.dashboard.addresses import address_of
from ostinato.service.dashboard.html import (
    Child,
    Html,
    button,
    div,
    fieldset,
    form,
    h1,
    h2,
    header,
    input_,
    label,
    legend,
    option,
    p,
    select,
    span,
    strong,
    td,
    th,
    tr,
)
from ostinato.service.dashboard.pages import action, fragment, page, shown
from ostinato.service.dashboard.reading import is_whole, one_value
from ostinato.service.dashboard.tables import heads_of, plain_table, scrolling
from ostinato.service.dashboard.words import cell, column_names, number
from ostinato.service.requests import service_of
from ostinato.service.schemas import NewStudy
from ostinato.service.service import unknown
from ostinato.service.tokens import Role
from ostinato.study import Study

SETTINGS = ("direction", "goal", "outcome", "value", "unit")
SETUP = ("setup", "setup_std")  # whether repeats share an error, and its size
SOME = 6  # levels that are shown
OUTCOMES = (
    ("real", "A number", "any value: yield, time, signal"),
    ("positive", "An amount", "above 0, and noisier where it is larger: cost, concentration"),
    ("count", "A count", "0, 1, 2, …: colonies, clicks, faults"),
    ("binary", "Yes or no", "it worked, or it did not"),
)


@shown("/new", Role.ADMIN)
async def new(request: Request[Any, Any, Any]) -> str:
    """The page: first the table."""
    return page(
        request,
        "New study",
        header(h1("New study"), class_="head"),
        form(
            div(
                label(
                    strong("Drop a CSV file here"),
                    span(" or choose one"),
                    input_(type="file", name="file", accept=".csv,text/csv", required=True, id="file"),
                    class_="drop",
                    data_drop=True,
                ),
                p(
                    "The first line names the columns. Each other line is a candidate, which you could measure.",
                    class_="muted",
                ),
                class_="card padded",
            ),
            p(class_="form-error", role="alert"),
            div(id="understood"),
            class_="stacked",
            hx_post="/new",
            hx_encoding="multipart/form-data",
            id="new",
        ),
    )


async def _form(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return dict(await request.form())


async def _text(given: dict[str, Any]) -> tuple[str, str]:
    """The name of the file, and what it holds."""
    file = given.get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise InvalidCandidates("No file was given: drop a CSV file, or choose one.")
    try:
        return file.filename, (await file.read()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidCandidates(f"{file.filename} is not text in UTF-8: save it as CSV in UTF-8.") from None


@action("/new/columns", Role.ADMIN)
async def columns(request: Request[Any, Any, Any]) -> Response[str]:
    """The columns as they were understood, and the questions."""
    name, text = await _text(await _form(request))
    read = await service_of(request).think(_read, text, name)
    return fragment(div(_understood(read), _questions(PurePath(name).stem), id="understood", class_="stacked"))


class TableSummary(msgspec.Struct, frozen=True):
    """A table in words: rows, those that are the same, and of every column its kind and what it holds."""

    rows: int
    same: int
    columns: list[tuple[str, str, str]]
    identifiers: list[str]


def _read(text: str, name: str) -> TableSummary:
    table_ = read_csv_text(text, name)
    seen = table_.on_logs()
    listed = [(each, *_described(seen, place)) for place, each in enumerate(column_names(seen))]
    return TableSummary(table_.rows, table_.rows - len(table_), listed, identifiers(table_))


def _described(table_: Candidates, place: int) -> tuple[str, str]:
    codec = table_.codecs[place]
    if isinstance(codec, Levels):
        some = ", ".join(cell(level) for level in codec.levels[:SOME])
        more = f", and {len(codec.levels) - SOME:,} more" if len(codec.levels) > SOME else ""
        return "category", f"{counted(len(codec.levels), 'level')}: {some}{more}"
    levels = np.unique(table_.features[:, place])
    ends = [float(each) for each in (levels[0], levels[-1])]
    if isinstance(codec, Logs):
        ends = [10**each for each in ends]
    kind = "number, logarithmic" if isinstance(codec, Logs) else "number"
    return kind, f"{number(ends[0])} to {number(ends[1])}, {counted(len(levels), 'different value')}"


def _understood(read: TableSummary) -> Html:
    rows = [tr(th(name, scope="row"), td(kind), td(holds)) for name, kind, holds in read.columns]
    heads = heads_of(["Column", "Kind", "Holds"])
    one = "row repeats an earlier one, and counts for it"
    same = f" {counted(read.same, one, 'rows repeat earlier ones, and count for them')}." if read.same else ""
    naming = (
        f" {', '.join(read.identifiers)}: different in every row, and taken as a setting. If it only names the rows, "
        "leave the column out of the file."
    )
    return div(
        h2("As it was understood"),
        p(f"{counted(read.rows - read.same, 'candidate')}, {counted(len(read.columns), 'column')}.{same}"),
        p(naming) if read.identifiers else "",
        scrolling("Columns", plain_table("Columns as they were understood", heads, rows), class_="scrolls"),
        class_="card padded",
    )


def _questions(name: str) -> Html:
    return div(
        _question(
            "1. What is it called, and which way is better?",
            label("Name of the study", input_(name="name", value=name, required=True, maxlength=200)),
            _choices("direction", (("maximize", "Higher is better", ""), ("minimize", "Lower is better", ""))),
        ),
        _question(
            "2. What is it for, and how many measurements are there?",
            _choices(
                "goal",
                (
                    ("find", "Find the best", "what is measured on the way is only a means"),
                    ("earn", "Earn on the way", "every measurement counts, such as customers served"),
                ),
            ),
            label(
                "Measurements in all",
                input_(name="budget", type="number", min=1, inputmode="numeric", placeholder="no limit"),
            ),
        ),
        _question(
            "3. What kind of number is a measurement?",
            label(
                span("Kind", class_="hidden"),
                select(*(option(f"{words}: {about}", value=key) for key, words, about in OUTCOMES), name="outcome"),
            ),
            div(
                label("What it is called", input_(name="value", maxlength=60, placeholder="yield")),
                label("Unit", input_(name="unit", maxlength=60, placeholder="%", size=8)),
                class_="two",
            ),
        ),
        _question(
            "4. Do repeats share an error?",
            _choices(
                "setup",
                (
                    ("no", "No", "every single measurement is off by itself"),
                    ("yes", "Yes", "all repeats of one preparation or calibration are too high, or too low, together"),
                ),
            ),
            label(
                "If so, its standard deviation",
                input_(name="setup_std", inputmode="decimal", autocomplete="off", placeholder="learned"),
            ),
            p(
                "Without it, where there is such an error, intervals are too narrow. With it, prepare anew for each "
                "batch. Settings cannot be changed later.",
                class_="muted small",
            ),
        ),
        p(class_="form-error", role="alert"),
        button("Make the study", class_="button primary"),
        class_="stacked",
    )


def _question(words: str, *content: Child) -> Html:
    return fieldset(legend(words), *content, class_="card padded question")


def _choices(name: str, choices: tuple[tuple[str, str, str], ...]) -> Html:
    return div(
        *(
            label(
                input_(type="radio", name=name, value=value, checked=place == 0),
                span(strong(words), span(about, class_="muted small block") if about else None),
                class_="choice",
            )
            for place, (value, words, about) in enumerate(choices)
        ),
        class_="choices",
    )


@action("/new", Role.ADMIN)
async def make(request: Request[Any, Any, Any]) -> Response[str]:
    """Make it, and go there."""
    given = await _form(request)
    _, text = await _text(given)
    said = {key: str(given.get(key) or "").strip() for key in ("name", "budget", *SETTINGS, *SETUP)}
    wanted = _wanted(said, text)
    service = service_of(request)
    if not request.user.sees(wanted.name):
        raise unknown(wanted.name)
    if wanted.name in await service.names(request.user):
        raise InvalidSetting(f"There is a study {wanted.name!r} already: give another name.")
    await service.think(create_study, service.storage, wanted, service.config.limits)
    await service.viewing(wanted.name, Study.counters)
    return fragment(div(), hx_redirect=address_of(wanted.name))


def _wanted(said: dict[str, str], text: str) -> NewStudy:
    budget = said["budget"]
    if budget and not (is_whole(budget) and int(budget) > 0):
        raise InvalidSetting(f"budget={budget[:20]!r} is not a whole number above 0: give one, or leave it empty.")
    if not said["name"]:
        raise InvalidSetting("The study has no name: give one.")
    settings: dict[str, Any] = {key: said[key] for key in SETTINGS if said[key]} | _setup(said)
    try:
        return msgspec.convert(
            {"name": said["name"], "csv": text, "settings": settings} | ({"budget": int(budget)} if budget else {}),
            NewStudy,
        )
    except msgspec.ValidationError as error:
        raise InvalidSetting(f"That cannot be: {error}.") from None


def _setup(said: dict[str, str]) -> dict[str, Any]:
    """The error that repeats share, as `setup_std`: learned where its size is not given."""
    size = said["setup_std"]
    if said["setup"] != "yes":
        if size:
            raise InvalidSetting(
                f"Repeats share no error, and its standard deviation is {size[:20]!r}: choose Yes, or leave it empty."
            )
        return {}
    if not size:
        return {"setup_std": "learn"}
    try:
        std = one_value(size)
    except InvalidFeedback as error:
        raise InvalidSetting(f"Standard deviation: {error}") from None
    if not std > 0:
        raise InvalidSetting(
            f"Standard deviation: {size[:20]!r} is not a number above 0: give one, or leave it empty to learn it."
        )
    return {"setup_std": std}


ROUTES = [new, columns, make]
