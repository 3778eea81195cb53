"""What the data of all figures have in common, and how candidates and columns are called in them."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

import msgspec
import numpy as np

from ostinato.candidates import Candidates
from ostinato.candidates.rows import as_python
from ostinato.checks import counted
from ostinato.kernels import Column
from ostinato.optimizer import Optimizer

LEVEL = 0.95  # of intervals


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a figure.

    study: the name, empty for an optimiser. value: what the measured number is called on an axis. missing: in a
    sentence, why there is nothing to draw; empty where there is. note: how it was made, for a line below the figure.
    """

    study: str = ""
    value: str = "value"
    maximizes: bool = True
    missing: str = ""
    note: str = ""


def basics(name: str, optimizer: Optimizer) -> dict[str, Any]:
    """The fields that every figure has."""
    return {"study": name, "value": optimizer.quantity.label, "maximizes": optimizer.maximizes}


def lacking(optimizer: Optimizer) -> str:
    """Why nothing can be estimated; empty where something can."""
    if optimizer.steps and not optimizer.has_best:
        return "All candidates that were measured are retired."
    if optimizer.steps:
        return ""
    if optimizer.failures:
        all_ = "The only measurement" if optimizer.failures == 1 else f"All {optimizer.failures:,} measurements"
        return f"{all_} failed: there is no value to show."
    return "Nothing was measured yet."


def not_shown(optimizer: Optimizer) -> str:
    """How many candidates were measured and are retired, as a sentence with a space before it; empty where none is."""
    retired = len(optimizer.core.state.retired.intersection(optimizer.core.known.told.numbers.tolist()))
    return f" {counted(retired, 'more was', 'more were')} measured, and are retired." if retired else ""


def column_name(column: Column) -> str:
    """A column as an axis shows it: its name, or its place."""
    return column.name if isinstance(column.name, str) else f"column {column.name}"


def row_of(table: Candidates, index: int) -> dict[str, Any]:
    """A candidate by column, in values that JSON has."""
    row = table[index]
    values = cast("Mapping[str, Any]", row).values() if isinstance(row, Mapping) else np.asarray(row).tolist()
    return {
        column_name(column): as_python(value) for column, value in zip(table.columns, cast("Any", values), strict=True)
    }


def in_words(row: Mapping[str, Any]) -> str:
    """A candidate in a line: temp 40, solvent water."""
    named = all(not name.startswith("column ") for name in row)
    if named:
        return ", ".join(f"{name} {said(value)}" for name, value in row.items() if value is not None)
    return ", ".join(said(value) for value in row.values())


def said(value: Any, digits: int = 5) -> str:
    """A cell of a candidate in one line, numbers in at most so many digits."""
    if isinstance(value, float) and isfinite(value):
        return f"{value:.{digits}g}"
    return " ".join(str(value).split())


def cut(text: str, most: int) -> str:
    """A text in one line, with its middle left out where it is long: names often differ at their ends."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :] if tail else ''}"
