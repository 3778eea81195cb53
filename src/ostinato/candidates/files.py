"""Candidates from files: CSV, Parquet, or a small TOML file that describes a space.

[temp]                          [solvent]                    [layers]           [rate]
low = 20                        levels = ["water", "none"]   low = 1            low = 1e-5
high = 80                                                    high = 6           high = 1
step = 2.5                                                   integer = true     log = true
"""

import csv
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any, TextIO, cast

import narwhals.stable.v2 as nw

from ostinato.candidates.identifiers import quoted
from ostinato.candidates.parameters import Category, Float, Integer, Ordered, Parameter
from ostinato.candidates.reading import listed, read_candidates, remarked
from ostinato.candidates.space import Space
from ostinato.candidates.table import Candidates
from ostinato.checks import counted
from ostinato.errors import InvalidCandidates, InvalidSetting, MissingSetting, OstinatoError

WITH_COMMA, WITH_POINT = re.compile(r"[-+]?[\d.]*,\d+"), re.compile(r"[-+]?\d+(\.\d+)+(,\d+)?")
LEADING_ZERO = re.compile(r"[+-]?0\d")
BEGINS_AS_NUMBER = re.compile(r"([<>≤≥~]\s*)?[-+]?\d")
BARE = re.compile(r"[A-Za-z0-9_.-]+")  # names of sections that need no quotes
SECTION = re.compile(r"^[ \t]*\[[ \t]*([^\[\]\"'\n]+?)[ \t]*\]", flags=re.MULTILINE)
NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
MISSING = ("na", "n/a", "nan", "null", "none", "?", "-", "--", "#n/a", "nd", "n.d.")
CSV = (".csv", ".tsv")
KINDS = ".csv, .tsv, .parquet or .toml"


def read_file(path: Path, ignore: Collection[str] = ()) -> Candidates:
    """The candidates that a file holds, by its ending. ignore: columns that are left out, as names of rows."""
    if path.is_dir():
        raise InvalidCandidates(f"{path} is a folder: give a table of candidates ({KINDS}).")
    if not path.is_file():
        raise InvalidCandidates(f"There is no file {path}: give a table of candidates ({KINDS}).")
    kind = path.suffix.lower()
    if kind in CSV:
        return remarked(_typed_table(path.name, *_read_rows(path), ignore))
    if kind == ".toml":
        if ignore:
            raise InvalidSetting(f"{path.name} describes a space: columns are left out (--ignore) of tables alone.")
        return read_candidates(read_space(path))
    if kind in (".parquet", ".pq"):
        frame = _read_parquet(path)
        _check_ignored(path.name, frame.columns, ignore)
        return read_candidates(frame.drop(list(ignore)))
    raise InvalidCandidates(f"{path.name} is of an unknown kind: give {KINDS}.")


def read_csv_text(text: str, name: str = "The table") -> Candidates:
    """Candidates from the text of a CSV file. name: of the file, for messages."""
    return _typed_table(name, *_rows_of(StringIO(text.removeprefix("\ufeff"), newline=""), name, None))


@dataclass(frozen=True)
class Cells:
    """A CSV file as text: the names of its columns, and the cells of each other line with its number."""

    file: str
    names: list[str]
    lines: list[tuple[int, list[str]]]
    decimal_commas: bool  # whether it may write decimals with commas

    def with_points(self, numbers: Collection[str], texts: Mapping[str, Collection[str]]) -> "Cells":
        """Decimals with points, cell by cell: one that cannot be read does not change how the others are.

        numbers: columns. texts: columns too, with those of their texts that stay as they are.
        """
        if not self.decimal_commas:
            return self
        lines = [(line, list(cells)) for line, cells in self.lines]
        for place, name in enumerate(self.names):
            rows = [(line, cells) for line, cells in lines if place < len(cells)]
            if name in numbers:
                _check_points(self.file, name, [(line, cells[place]) for line, cells in rows])
            for _, cells in rows if name in numbers or name in texts else ():
                if cells[place] not in texts.get(name, ()):
                    cells[place] = _with_point(cells[place])
        return replace(self, lines=lines)


def read_cells(path: Path) -> Cells:
    """The cells of a CSV file, as they are written."""
    numbered, decimal_commas = _read_rows(path)
    names = [name.strip() for name in numbered[0][1]] if numbered else []
    while names and not names[-1]:  # columns without a heading, as spreadsheets write where a line has more cells
        names.pop()
    lines = [(line, [cell.strip() for cell in cells]) for line, cells in numbered[1:]]
    file = path.name if path.is_file() else str(path)  # a pipe has a path such as /dev/fd/63
    for line, cells in lines:
        _check_width(file, line, names, cells, decimal_commas)
    return Cells(file, names, lines, decimal_commas)


def _check_width(file: str, line: int, names: list[str], cells: list[str], decimal_commas: bool) -> None:
    """Nothing stands beyond the last column: it may be the decimals of a number with a comma."""
    more = next((cell for cell in cells[len(names) :] if cell.strip()), None)
    if more is not None:
        point = "" if decimal_commas else "Write decimals with a point, or put such a number in quotes. "
        raise InvalidCandidates(
            f"{file}, line {line}: {more!r} is beyond the last column, {names[-1] if names else 'of none'}. {point}If "
            "it is not part of a number, give its column a heading, or delete it."
        )


def _read_rows(path: Path) -> tuple[list[tuple[int, list[str]]], bool]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            text = StringIO(file.read(), newline="")  # a pipe can be read once only
            return _rows_of(text, path.name, "\t" if path.suffix.lower() == ".tsv" else None)
        except UnicodeDecodeError as error:
            raise InvalidCandidates(f"{path.name} cannot be read ({error}): save it as CSV in UTF-8.") from None


def _rows_of(file: TextIO, name: str, delimiter: str | None) -> tuple[list[tuple[int, list[str]]], bool]:
    """All rows that are not empty, each with the number of its line; and whether decimals may be written with commas.

    Rows of empty cells at the end, as spreadsheets leave them, are left out.

    They are separated by commas, by the semicolons that spreadsheets write where decimals have commas, or by tabs, as
    what was copied from one is: by the first line.
    """
    if delimiter is None:
        first = file.readline()
        delimiter = max(",;\t", key=first.count)
        file.seek(0)
    try:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InvalidCandidates(f"{name} cannot be read ({error}): save it as CSV in UTF-8.") from None
    while rows and not any(cell.strip() for cell in rows[-1][1]):
        rows.pop()
    return rows, delimiter == ";"


def _check_ignored(file: str, names: Collection[str], ignore: Collection[str]) -> None:
    unknown = [name for name in ignore if name not in names]
    if unknown:
        raise InvalidSetting(f"{file} has no column {unknown[0]!r} to leave out: its columns are {', '.join(names)}.")
    if ignore and set(ignore) >= set(names):
        raise InvalidSetting(f"{file} has no other columns than {', '.join(names)}: leave some of them in.")


def _typed_table(
    file: str, numbered: list[tuple[int, list[str]]], decimal_commas: bool, ignore: Collection[str] = ()
) -> Candidates:
    """Columns of numbers or of texts from rows of text, each with the number of its line."""
    rows = [row for _, row in numbered]
    if len(rows) < 2:
        raise InvalidCandidates(
            f"{file} holds no candidates: its first line names columns, and each other line is one."
        )
    names, body = [name.strip() for name in rows[0]], rows[1:]
    if len(set(names)) < len(names) or not all(names):
        raise InvalidCandidates(f"{file}: the first line names the columns, {names}: give each a name of its own.")
    _check_ignored(file, names, ignore)
    for line, row in numbered[1:]:
        _check_width(file, line, names, row, decimal_commas)
        if len(row) != len(names):
            raise InvalidCandidates(
                f"{file}, line {line}: {counted(len(names), 'value')} wanted ({', '.join(names)}), and there are "
                f"{len(row)}: {row}."
            )
        empty = [name for name, cell in zip(names, row, strict=True) if not cell.strip() and name not in ignore]
        if empty:
            raise InvalidCandidates(
                f"{file}, line {line}: {empty[0]} is empty. Fill it, or leave out the line or the column "
                f"(on the command line: --ignore {quoted(empty[0])})."
            )
    lines = [line for line, _ in numbered[1:]]
    columns = {name: [row[j].strip() for row in body] for j, name in enumerate(names) if name not in ignore}
    for name, cells in columns.items():
        if decimal_commas:
            _check_points(file, name, list(zip(lines, cells, strict=True)))
        pointed = [_with_point(cell) for cell in cells] if decimal_commas else cells
        _check_numbers(file, name, pointed, lines)
        if all(map(_is_number, pointed)):  # else they are texts, and stay as they are
            columns[name] = pointed
    return listed({name: _typed(cells) for name, cells in columns.items()})


def _with_point(cell: str) -> str:
    """A decimal comma as a point; what is not a number as it is."""
    return cell.replace(",", ".") if NUMBER.fullmatch(cell) else cell


def _check_points(file: str, name: str, numbered: list[tuple[int, str]]) -> None:
    """In a column with decimal commas a point may be that of thousands, or of a decimal."""
    points = [(line, cell) for line, cell in numbered if WITH_POINT.fullmatch(cell)]
    if points and any(WITH_COMMA.fullmatch(cell) for _, cell in numbered):
        raise InvalidCandidates(
            f"{file}, line {points[0][0]}: {name} is {points[0][1]!r}, and decimals have commas in other lines: it may "
            "mean thousands or a decimal. Write numbers of this column without points."
        )


def _check_numbers(file: str, name: str, cells: list[str], lines: list[int]) -> None:
    """A column of numbers stays one, whatever stands for a value that is missing, and however decimals are written."""
    others = [(line, cell) for line, cell in zip(lines, cells, strict=True) if not _is_number(cell)]
    if not others or len(others) > len(cells) / 2:
        if others and all(NUMBER.fullmatch(cell) for cell in cells) and any("," in cell for cell in cells):
            raise InvalidCandidates(
                f"{file}, line {others[0][0]}: {name} is {others[0][1]!r}. Write decimals with a point."
            )
        return
    line, cell = others[0]
    if cell.lower() in MISSING:
        raise InvalidCandidates(
            f"{file}, line {line}: {name} is {cell!r}, and a number elsewhere. Fill it, or leave the line out."
        )
    if NUMBER.fullmatch(cell):
        raise InvalidCandidates(f"{file}, line {line}: {name} is {cell!r}. Write decimals with a point.")
    if BEGINS_AS_NUMBER.match(cell):
        raise InvalidCandidates(
            f"{file}, line {line}: {name} is {cell!r}, and a number in most other lines. Correct it; if the column "
            "holds names, let them all begin with a letter."
        )


def _is_number(cell: str) -> bool:
    try:
        return float(cell) == float(cell)
    except ValueError:
        return False


def _typed(cells: list[str]) -> list[Any]:
    """Integers, numbers, true and false, or texts: what all cells of a column are."""
    if any(LEADING_ZERO.match(cell) for cell in cells):  # a code such as 007, of which the zeros are a part
        return list(cells)
    for kind in (_whole, float):
        try:
            values = [kind(cell) for cell in cells]
        except ValueError:
            continue
        return values
    if {cell.lower() for cell in cells} <= {"true", "false"}:
        return [cell.lower() == "true" for cell in cells]
    return list(cells)


def _whole(cell: str) -> int:
    if "_" in cell:
        raise ValueError
    return int(cell)


def _read_parquet(path: Path) -> Any:
    for backend in ("polars", "pyarrow", "pandas"):
        try:
            return nw.read_parquet(str(path), backend=backend)
        except ImportError:
            continue
        except Exception as error:
            raise InvalidCandidates(f"{path.name} cannot be read as Parquet ({error}).") from None
    raise MissingSetting("Parquet files need polars, pyarrow or pandas: pip install polars, or save the table as CSV.")


def read_space(path: Path) -> Space:
    """The space that a TOML file describes: a section a column."""
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        described = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        unquoted = next((name for name in SECTION.findall(text) if not BARE.fullmatch(name)), None)
        hint = f' Put the name in quotes, as it has other signs than letters and digits: ["{unquoted}"].'
        raise InvalidCandidates(f"{path.name} is not a TOML file ({error}).{hint if unquoted else ''}") from None
    if not described:
        raise InvalidCandidates(
            f"{path.name} describes no columns: give sections such as [temp] with low, high and step."
        )
    return space_of(described, path.name)


def space_of(described: Mapping[str, Any], file: str = "The space") -> Space:
    """The space that a mapping describes, column by column, as a TOML file does. file: its name, for messages."""
    parameters = {name: _column(file, name, given) for name, given in described.items()}
    try:
        return Space(parameters)
    except OstinatoError as error:
        raise InvalidCandidates(f"{file}: {error}") from None


def _column(file: str, name: str, described: Any) -> Parameter:
    try:
        return _parameter(file, name, described)
    except InvalidCandidates as error:
        if file in str(error):
            raise
        raise InvalidCandidates(f"{file}, [{name}]: {error}") from None
    except (TypeError, OstinatoError) as error:
        raise InvalidCandidates(f"{file}, [{name}] is {described!r}: {error}") from None


def _parameter(file: str, name: str, described: Any) -> Parameter:
    given: dict[str, Any] = dict(cast("Any", described)) if isinstance(described, dict) else {}
    conditions = given.get("when")
    if isinstance(conditions, dict):
        del given["when"]
        return cast("Any", _parameter(file, name, given)).when(**conditions)
    for key in ("log", "integer", "ordered"):
        if not isinstance(given.get(key, False), bool):
            raise InvalidCandidates(
                f"{file}: [{name}] has `{key} = {given[key]!r}`, which is neither true nor false: give one of them, "
                "without quotes."
            )
    keys = set(given)
    if keys in ({"levels"}, {"levels", "ordered"}) and isinstance(given["levels"], list):
        return (Ordered if given.get("ordered") else Category)(*given["levels"])
    if {"low", "high"} <= keys <= {"low", "high", "step", "count", "log", "integer"} and given.get("integer"):
        return Integer(**{key: value for key, value in given.items() if key != "integer"})
    if {"low", "high"} <= keys <= {"low", "high", "step", "count", "log", "digits"}:
        return Float(**given)
    raise InvalidCandidates(
        f"{file}: [{name}] is {described!r}. Give levels = [...] (and ordered = true), or low and high, alone or "
        "with step, count or digits (and log = true, or integer = true); with when = {...} where it depends on "
        "another."
    )
