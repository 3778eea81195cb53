"""Says where the candidates of a study and those that were given first differ."""

from collections.abc import Iterable
from typing import Any, cast

from ostinato.candidates import Candidates, Sampled, Space, unlike

LONG = 60  # characters of a value that are shown
BEFORE = 20  # of them, before the first that differs, where a value is longer
HOLDS = {"number": "numbers", "category": "categories"}


def difference(name: str, kept: Candidates, given: Candidates) -> str:
    """Why a study does not go on with other candidates."""
    start = f"The study {name!r} exists with other candidates: "
    return start + _difference(kept, given) + ". Give the same ones, or begin a study of another name."


def differs_at(kept: Candidates, given: Candidates) -> int | None:
    """The first row in which two tables differ, of those that both have."""
    rows: Iterable[int] = unlike(kept, given)
    return next((row for row in rows if repr(kept[row]) != repr(given[row])), None)


def _difference(kept: Candidates, given: Candidates) -> str:
    spaces = [table.space if isinstance(table, Sampled) else None for table in (kept, given)]
    if spaces != [None, None]:
        return _of_spaces(*spaces)
    columns = _of_columns(kept, given)
    if columns:
        return columns
    row = differs_at(kept, given)
    if row is None:
        return f"it has {kept.rows:,} rows, and {given.rows:,} were given"
    return _of_row(row, kept[row], given[row])


def _of_spaces(kept: Space | None, given: Space | None) -> str:
    if kept is None or given is None:
        was, now = ("a table" if space is None else repr(space) for space in (kept, given))
        return f"they are {was}, and {now} was given"
    names = _of_names([*kept.parameters], [*given.parameters], "parameter")
    if names:
        return names
    for name, parameter in kept.parameters.items():
        if parameter != given.parameters[name]:
            return f"parameter {name!r}: {parameter!r} is stored, and {given.parameters[name]!r} was given"
    return f"it has {len(kept.constraints)} constraints, and {len(given.constraints)} were given"


def _of_columns(kept: Candidates, given: Candidates) -> str:
    """Names, number and kind of columns; nothing where all are the same."""
    was, now = kept.columns, given.columns
    if kept.named != given.named:
        words = [f"columns {_listed([c.name for c in t.columns])}" if t.named else "no names" for t in (kept, given)]
        return f"it has {words[0]}, and {words[1]} were given"
    if not kept.named and len(was) != len(now):
        return f"it has {len(was)} columns, and {len(now)} were given"
    names = _of_names([column.name for column in was], [column.name for column in now], "column")
    if names:
        return names
    for one, two in zip(was, now, strict=True):
        if one.kind != two.kind:
            return f"column {one.name!r}: {HOLDS[one.kind]} are stored, and {HOLDS[two.kind]} were given"
    return ""


def _of_names(kept: list[Any], given: list[Any], what: str) -> str:
    missing, more = ([name for name in one if name not in two] for one, two in ((kept, given), (given, kept)))
    if missing or more:
        words = [f"{what} {_listed(missing)} is stored, and was not given"] if missing else []
        return "; ".join([*words, *([f"{what} {_listed(more)} was given, and is not stored"] if more else [])])
    return f"{what}s {_listed(kept)} are stored, and {_listed(given)} were given" if kept != given else ""


def _of_row(row: int, kept: Any, given: Any) -> str:
    """The first value in which a row differs."""
    types = [str(getattr(each, "dtype", "")) for each in (kept, given)]
    if isinstance(kept, dict):
        old, new = cast("dict[str, Any]", kept), cast("dict[str, Any]", given)
        pairs = [(name, old[name], new[name]) for name in old]
    else:
        pairs = [(column, *each) for column, each in enumerate(zip(kept.tolist(), given.tolist(), strict=True))]
    for column, one, two in pairs:
        if repr(one) != repr(two):
            first, second = _apart(repr(one), repr(two))
            return f"row {row}, column {column!r}: {first} is stored, and {second} was given"
    return f"numbers of the type {types[0]} are stored, and {types[1]} were given"


def _apart(one: str, two: str) -> tuple[str, str]:
    """Two texts, cut where they are long, with the first place in which they differ."""
    same = next((place for place, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), 0)
    start = max(0, same - BEFORE) if max(len(one), len(two)) > LONG else 0
    first, second = (
        ("…" if start else "") + text[start : start + LONG] + ("…" if len(text) > start + LONG else "")
        for text in (one, two)
    )
    return first, second


def _listed(names: list[Any]) -> str:
    return ", ".join(map(repr, names))
