"""Columns that are no settings, found and said: what names rows, as a number of the sample does, and measurements."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ostinato.candidates.columns import Levels, Numbers
from ostinato.candidates.table import Candidates
from ostinato.checks import brief
from ostinato.errors import DateColumn, IdentifierColumn, MeasuredColumn, NumbersAsTexts, notify
from ostinato.records import Quantity

NAMES = {"id", "ids", "uid", "uuid", "guid", "key", "index", "idx", "no", "nr", "number", "name", "label", "code"}
NAMES |= {"barcode", "sku", "asin", "sample", "specimen", "well", "vial", "run", "experiment", "row", "item"}
CALLED_IDENTIFIERS = {"id", "unnamed"}  # id of the plate; what pandas calls an index that was written
DISTINCT_BY_CHANCE = 3  # rows of which a column may well be different in each by chance, whatever it is called
TEXTS_ALL_DIFFERENT_FROM = 10  # rows from which on texts that are all different are hardly levels of a setting
NUMBERS_FROM = 2  # numbers from which on a column of texts is probably meant as one of numbers
UNIT = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")  # after a name: yield (%), yield [%]
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d.*)?|\d{1,2}([-/.])\d{1,2}\2(\d{4}|\d{2})([T ]\d.*)?")
NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)([.,]\d+)?([eE][+-]?\d+)?")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|#")


def identifiers(table: Candidates) -> list[str]:
    """The columns that probably name rows: texts that are different in every one, and numbers that are called so."""
    if not table.named or len(table.codecs) < 2:
        return []
    return [str(codec.column.name) for place, codec in enumerate(table.codecs) if _names_rows(table, codec, place)]


def remark_identifiers(table: Candidates) -> None:
    """Say which columns probably name rows: a model cannot know, and users may not think of it."""
    found = [name for name in identifiers(table) if name not in dates(table)]
    if not found:
        return
    names, one = ", ".join(map(repr, found)), len(found) == 1
    notify(
        f"Column{'' if one else 's'} {names} {'is' if one else 'are'} different in every row, and taken as "
        f"{'a setting' if one else 'settings'}. If {'it only names' if one else 'they only name'} the rows, leave "
        f"{'it' if one else 'them'} out: measurements then say more of rows that are alike. (On the command line: "
        f"{' '.join(f'--ignore {quoted(name)}' for name in found)}; in Python give a table without.)",
        IdentifierColumn,
    )


def dates(table: Candidates) -> dict[str, str]:
    """The columns whose texts are all dates, each with the first of them."""
    texts = [codec for codec in table.codecs if isinstance(codec, Levels) and not codec.ordered]
    return {str(codec.name): codec.levels[0] for codec in texts if all(map(_is_date, codec.levels))}


def _is_date(level: Any) -> bool:
    return isinstance(level, str) and DATE.fullmatch(level.strip()) is not None


def remark_dates(table: Candidates) -> None:
    """Say which columns hold dates: as texts they have no order, and no day is nearer to another."""
    for name, first in dates(table).items():
        notify(
            f"Column {name!r} holds dates as texts ({first!r}, …), and is taken as a category: no date is nearer to "
            "one than to another. If time matters, give a number in its place, such as days since the first; if not, "
            f"leave the column out. (On the command line: --ignore {quoted(name)}; in Python give a table without.)",
            DateColumn,
        )


def remark_numbers(name: str, levels: Sequence[Any]) -> None:
    """Say that a column of texts or objects is a category because of a few values that are not plain numbers."""
    found = _shown(levels)
    if found:
        notify(
            f"Column {name!r} holds numbers that are not stored as numbers ({found}), and is taken as a category: no "
            "number is nearer to one than to another. If numbers are meant, correct what is none, write decimals with "
            "a point, and make it a column of numbers, as pandas.to_numeric does.",
            NumbersAsTexts,
        )


def _shown(levels: Sequence[Any]) -> str:
    """A number, and what makes a category of it; nothing for names, which texts such as 7 may be, all of a column."""
    numbers, texts = list[Any](), list[Any]()
    for each in levels:
        (numbers if NUMBER.fullmatch(str(each).strip()) else texts).append(each)
    if 2 * len(numbers) < len(levels) or len(numbers) < NUMBERS_FROM or not (texts or any(map(_is_odd, numbers))):
        return ""
    return " and ".join(brief(each) for each in (next(filter(_is_odd, numbers), numbers[0]), *texts[:1]))


def _is_odd(number: Any) -> bool:
    """Whether it is no name: a number among texts or objects, or one with a decimal comma."""
    return not isinstance(number, str) or "," in number


def measured_columns(table: Candidates, quantity: Quantity) -> list[str]:
    """The columns that are called as what is measured, with its unit or without, where the user gave it a name."""
    if not (quantity.given and table.named):
        return []
    names = [str(column.name) for column in table.columns]
    return [name for name in names if _without_unit(name) == _without_unit(quantity.name)]


def remark_measured(table: Candidates, quantity: Quantity) -> None:
    """Say which columns probably hold what was measured: taken as settings, they are what the model should find out."""
    for name in measured_columns(table, quantity):
        notify(
            f"Column {name!r} is called as what is measured, and taken as a setting. If it holds measurements, leave "
            "it out of the candidates, and give them as measurements. (On the command line: "
            f"--ignore {quoted(name)}, then `ostinato import` with the same file; in Python give a table without, "
            "then `observe`.)",
            MeasuredColumn,
        )


def _without_unit(name: str) -> str:
    return UNIT.sub("", name).strip().casefold()


def _names_rows(table: Candidates, codec: Any, place: int) -> bool:
    called = _is_called_so(str(codec.column.name))
    if isinstance(codec, Levels):
        texts = not codec.ordered and all(isinstance(level, str) for level in codec.levels)
        return (
            texts
            and len(codec.levels) == table.rows
            and table.rows >= (DISTINCT_BY_CHANCE if called else TEXTS_ALL_DIFFERENT_FROM)
        )
    if not (called and isinstance(codec, Numbers)) or table.rows < DISTINCT_BY_CHANCE or len(table) < table.rows:
        return False
    values = table.features[:, place]
    return bool(np.all(values == np.round(values))) and len(np.unique(values)) == table.rows


def _is_called_so(name: str) -> bool:
    """Whether a column's name is one of names: sample, Sample ID, product_no, unnamed: 0."""
    words = [word.lower() for word in WORD.findall(name)]
    return bool(words) and (words[-1] in NAMES or words[-1] == "#" or words[0] in CALLED_IDENTIFIERS)


def quoted(name: str) -> str:
    """A name as a word of a shell."""
    return name if re.fullmatch(r"[\w.-]+", name) else f'"{name}"'
