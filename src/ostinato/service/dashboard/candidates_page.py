"""The table of candidates."""

from typing import Any

from litestar import Request, Response
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery

from ostinato.checks import counted
from ostinato.service.dashboard.addresses import address_of, from_address
from ostinato.service.dashboard.drawings import drawings_of
from ostinato.service.dashboard.html import (
    Html,
    a,
    button,
    div,
    empty,
    form,
    h1,
    header,
    input_,
    joined,
    label,
    p,
    span,
    tag,
    td,
    th,
    tr,
)
from ostinato.service.dashboard.listing import PAGE, Row, Rows, TableEstimates, TableQuery, page_of, table_estimates
from ostinato.service.dashboard.pages import fragment, page, part, shown
from ostinato.service.dashboard.tables import scrolling_table
from ostinato.service.dashboard.words import column_names, number, percent
from ostinato.study import Study

COLUMNS = 12  # of a candidate, at most
BELIEFS = (("n", "Measured"), ("mean", "Estimate"), ("low", "95% from"), ("high", "to"))
HINT = "Conditions like temp >= 40, solvent = water; or a word that a category holds."


def wanted_in(
    find: FromQuery[str] = "",
    sort: FromQuery[str] = "",
    down: FromQuery[bool] = True,
    measured: FromQuery[bool] = False,
    after: FromQuery[int] = 0,
) -> TableQuery:
    """Which rows an address asks for."""
    return TableQuery(find, sort, down, measured, max(after, 0))


WANTED: dict[str, Any] = {"dependencies": {"wanted": Provide(wanted_in, sync_to_thread=False)}}


@shown("/studies/{study:str}/candidates", **WANTED)
async def candidates(request: Request[Any, Any, Any], study: FromPath[str], wanted: NamedDependency[TableQuery]) -> str:
    """The page: the filter at once, the rows as soon as they are known."""
    name = from_address(study)
    return page(
        request,
        f"Candidates of {name}",
        header(h1("Candidates"), class_="head"),
        _filter(name, wanted),
        div(
            div(class_="loading tall", aria_busy="true"),
            id="rows",
            class_="rows",
            hx_get=_address(name, wanted),
            hx_trigger="load",
            hx_swap="outerHTML",
        ),
        study=name,
        tab="candidates",
    )


@part("/studies/{study:str}/parts/candidates", **WANTED)
async def rows(
    request: Request[Any, Any, Any], study: FromPath[str], wanted: NamedDependency[TableQuery]
) -> Response[str]:
    """A page of rows; the address of the whole page follows it."""
    name = from_address(study)
    drawings = drawings_of(request)
    known = await drawings.of(name, "believed", table_estimates)
    detail = repr(wanted)

    def draw(found: Study) -> tuple[Rows, list[str]]:
        beliefs: TableEstimates = (
            known.value if len(known.value.counts.measured) == found.table.rows else table_estimates(found)
        )
        return page_of(found, beliefs, wanted), column_names(found.table)

    drawn = await drawings.of(name, "candidates", draw, detail)
    return fragment(_rows(name, *drawn.value), hx_replace_url=address_of(name, "candidates", **_said(wanted)))


def _address(name: str, wanted: TableQuery, **other: Any) -> str:
    """Of some rows."""
    return address_of(name, "parts", "candidates", **{**_said(wanted), **other})


def _said(wanted: TableQuery) -> dict[str, Any]:
    return {
        "find": wanted.find,
        "sort": wanted.sort,
        "down": "" if wanted.down else "false",
        "measured": "true" if wanted.measured else "",
        "after": wanted.after or "",
    }


def _filter(name: str, wanted: TableQuery) -> Html:
    return form(
        label(
            span("Filter"),
            input_(
                type="search",
                name="find",
                value=wanted.find,
                placeholder="temp >= 40, solvent = water",
                autocomplete="off",
            ),
        ),
        label(
            input_(type="checkbox", name="measured", value="true", checked=wanted.measured),
            " measured only",
            class_="check",
        ),
        p(HINT, class_="muted small"),
        id="filter",
        class_="filter",
        role="search",
        hx_get=address_of(name, "parts", "candidates"),
        hx_target="#rows",
        hx_swap="outerHTML",
        hx_trigger="input delay:300ms, submit",
    )


def _rows(name: str, found: Rows, columns: list[str]) -> Html:
    wanted = found.wanted
    if not found.rows:
        return div(empty("No candidate passes this filter."), _order(wanted), id="rows", class_="rows")
    shown_columns = columns[:COLUMNS]
    beliefs = BELIEFS if found.believed else BELIEFS[:1]
    heads = [_head(name, wanted, "row", "Row")]
    heads += [_head(name, wanted, f"column:{place}", each) for place, each in enumerate(shown_columns)]
    heads += [_head(name, wanted, key, words) for key, words in beliefs]
    if found.believed:
        heads.append(
            th("Beats best", scope="col", title="Probability that its true value is better than the recommended one's")
        )
    first, last = wanted.after + 1, wanted.after + len(found.rows)
    return div(
        p(f"{first:,} to {last:,} of {counted(found.total, 'candidate')}", role="status", class_="muted small"),
        scrolling_table(
            "Candidates with what is believed of each",
            heads,
            [_row(name, each, shown_columns, found.believed) for each in found.rows],
            "candidates-table",
        ),
        _pager(name, found),
        _order(wanted),
        id="rows",
        class_="rows",
        hx_get=_address(name, wanted),
        hx_trigger="refresh",
        hx_swap="outerHTML",
        data_live="5",
    )


def _order(wanted: TableQuery) -> Html:
    """How the rows are sorted, for the filter to keep."""
    kept = {key: _said(wanted)[key] for key in ("sort", "down")}
    return joined(input_(type="hidden", form="filter", name=key, value=value) for key, value in kept.items() if value)


def _head(name: str, wanted: TableQuery, key: str, words: str) -> Html:
    current = wanted.sort == key
    down = not wanted.down if current else key not in ("row",) and not key.startswith("column:")
    mark = ("↓" if wanted.down else "↑") if current else ""
    sorts = button(
        words,
        span(mark, aria_hidden="true", class_="sort-mark"),
        type="button",
        class_="sort",
        hx_get=_address(name, wanted, sort=key, down="true" if down else "false", after=""),
        hx_target="#rows",
        hx_swap="outerHTML",
    )
    order = ("descending" if wanted.down else "ascending") if current else None
    return th(sorts, scope="col", aria_sort=order)


def _row(name: str, row: Row, columns: list[str], is_believed: bool) -> Html:
    values = [td(row.cells.get(column, "–"), class_="cut") for column in columns]
    std = row.std or 0.0
    marks = [
        span("best", class_="badge") if row.best else None,
        span("retired", class_="badge off") if row.retired else None,
    ]
    n = a(f"{row.n:,}", href=address_of(name, "log", row=row.index)) if row.n else "0"
    beliefs = [td(n, class_="number")]
    if is_believed:
        beliefs += [td(number(each, std), class_="number") for each in (row.mean, row.low, row.high)]
        beliefs.append(td("–" if row.best else percent(row.beats), class_="number"))
    return tr(th(str(row.index), *marks, scope="row"), *values, *beliefs, class_="best-line" if row.best else None)


def _pager(name: str, found: Rows) -> Html | None:
    wanted = found.wanted
    if found.total <= PAGE:
        return None

    def to(words: str, after: int, there: bool) -> Html:
        return button(
            words,
            type="button",
            hx_get=_address(name, wanted, after=after or ""),
            hx_target="#rows",
            hx_swap="outerHTML",
            disabled=not there,
            class_="button",
        )

    last = (found.total - 1) // PAGE * PAGE
    return tag(
        "nav",
        to("First", 0, wanted.after > 0),
        to("Previous", max(0, wanted.after - PAGE), wanted.after > 0),
        to("Next", wanted.after + PAGE, wanted.after + PAGE < found.total),
        to("Last", last, wanted.after < last),
        class_="pager",
        aria_label="Pages of candidates",
    )


ROUTES = [candidates, rows]
