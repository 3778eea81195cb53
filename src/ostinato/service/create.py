"""Studies made from what a request says. Nothing in it is code, a path or a program."""

from collections.abc import Callable
from typing import Any

import msgspec

from ostinato.candidates import Candidates, read_candidates
from ostinato.candidates.files import read_csv_text, space_of
from ostinato.candidates.reading import listed
from ostinato.errors import InvalidCandidates, InvalidSetting
from ostinato.service.configuration import Limits
from ostinato.service.schemas import Column, NewStudy, Settings
from ostinato.stopping import rule_of
from ostinato.storage import Storage
from ostinato.study import Study
from ostinato.study.expressions import kernel_of, policy_of


def _rules(texts: list[str]) -> Any:
    return tuple(map(rule_of, texts)) or None


READERS: dict[str, Callable[[Any], Any]] = {"kernel": kernel_of, "policy": policy_of, "stop": _rules}


def create_study(storage: Storage, wanted: NewStudy, limits: Limits) -> None:
    """Make a study, or find that it is there as it is wanted."""
    if "/" in wanted.name or wanted.name in (".", ".."):
        raise InvalidSetting(f"name={wanted.name!r} cannot be part of an address: give one without /.")
    table = candidates_of(wanted.csv, wanted.rows, wanted.space, limits)
    Study(wanted.name, storage, table, budget=wanted.budget, **settings_of(wanted.settings or Settings()))


def settings_of(given: Settings) -> dict[str, Any]:
    """As `Study` takes them."""
    said = {name: value for name, value in msgspec.structs.asdict(given).items() if value is not None}
    return {name: READERS[name](value) if name in READERS else value for name, value in said.items()}


def candidates_of(
    csv: str | None, rows: list[dict[str, Any]] | None, space: dict[str, Column] | None, limits: Limits
) -> Candidates:
    """The one set of candidates that was given."""
    given = [each for each in (csv, rows, space) if each is not None]
    if len(given) != 1:
        raise InvalidCandidates(f"{len(given)} of csv, rows and space were given: give one of them.")
    if csv is not None:
        return _limited(read_csv_text(csv, "csv"), limits)
    if rows is not None:
        return _limited(_of_rows(rows), limits)
    described = space_of({name: _said(column) for name, column in (space or {}).items()}, "space")
    if described.enumerable and described.size > limits.rows:
        raise InvalidCandidates(
            f"The space has {described.size:,.0f} combinations, and {limits.rows:,} are served at most: give coarser "
            "steps, or ranges without step, from which points are sampled."
        )
    return read_candidates(described)


def _said(column: Column) -> dict[str, Any]:
    said = {name: value for name, value in msgspec.structs.asdict(column).items() if value is not None}
    if said.get("integer"):
        said |= {name: int(said[name]) for name in ("low", "high", "step") if name in said and _is_whole(said[name])}
    return said


def _is_whole(value: float) -> bool:
    return float(value).is_integer()


def _limited(table: Candidates, limits: Limits) -> Candidates:
    if table.rows > limits.rows:
        raise InvalidCandidates(f"There are {table.rows:,} rows, and {limits.rows:,} are served at most.")
    return table


def _of_rows(rows: list[dict[str, Any]]) -> Candidates:
    """Rows as a table: all with the same columns, of numbers or of texts."""
    if not rows or not rows[0]:
        raise InvalidCandidates("rows is empty: give at least one row with at least one column.")
    names = list(rows[0])
    for place, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise InvalidCandidates(
                f"rows[{place}] has the columns {', '.join(row) or 'none'}, and rows[0] has {', '.join(names)}: give "
                "every row all of them."
            )
    columns = {name: [row[name] for row in rows] for name in names}
    for name, cells in columns.items():
        _check_column(name, cells)
    return listed(columns)


def _check_column(name: str, cells: list[Any]) -> None:
    if not name.strip():
        raise InvalidCandidates("A column has no name: give it one.")
    texts = [isinstance(cell, str) for cell in cells]
    for place, cell in enumerate(cells):
        if cell is None:
            raise InvalidCandidates(f"rows[{place}].{name} is null: every candidate needs all its columns.")
        if texts[place] != texts[0]:
            raise InvalidCandidates(f"rows[{place}].{name} is {cell!r}: give texts or numbers, and not both.")
