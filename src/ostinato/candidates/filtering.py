"""Which candidates meet conditions: `temp>=40`, `solvent=water`, `measured>0`, `retired=true`; on arrays, not on rows.

The API and the command line take a list of conditions; in the dashboard people type them with commas between, or a
word that any category holds.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.candidates import Candidates, Sampled
from ostinato.candidates.columns import Absent, Codec, Levels
from ostinato.errors import InvalidSetting, OstinatoError

Mask = NDArray[np.bool_]
Own = Mapping[str, Vector]  # what is known of every row besides its columns, as numbers; by names that no column has
CONDITION = re.compile(r"((?:[^<>=!≥≤≠~]|!(?!=))+)(>=|<=|!=|≥|≤|≠|=|>|<|~)(.+)", flags=re.DOTALL)
SAME = {"≥": ">=", "≤": "<=", "≠": "!="}
TRUTHS = {"true": "1", "false": "0"}
LONG = 1_000  # characters of a condition
CLOSE = 1e-9  # of a value: numbers this close are equal, as logarithms are rounded


def meeting(table: Candidates, conditions: Iterable[str], own: Own) -> Mask:
    """The rows that meet all conditions; an error where one is not a condition."""
    mask = np.ones(table.rows, dtype=np.bool_)
    for text in conditions:
        found = _read(text)
        if found is None:
            known = ", ".join((*own, *_names(table)))
            raise InvalidSetting(f"{text!r} is not a condition: write temp>=50 or solvent=water, of {known}.")
        mask &= _condition(table, *found, own)
    return mask


def passing(table: Candidates, text: str, own: Own) -> Mask:
    """The rows that meet all that a person typed, separated by commas: conditions, and words."""
    mask = np.ones(table.rows, dtype=np.bool_)
    for piece in filter(None, (each.strip() for each in text.split(","))):
        found = _read(piece)
        mask &= _holding(table, piece) if found is None else _condition(table, *found, own)
    return mask


def features_of(table: Candidates, place: int) -> Vector:
    """A column as numbers, for every row of the user's table."""
    if isinstance(table, Sampled):
        return table.features[[table.number_of(row) for row in range(table.rows)], place]
    return table.features[:, place][table.numbers]


def _read(text: str) -> tuple[str, str, str] | None:
    """The column, the sign and the value of a condition; None where it is not one."""
    if len(text) > LONG:
        raise InvalidSetting(f"A condition of {len(text):,} characters is too long: {LONG:,} are allowed.")
    found = CONDITION.fullmatch(text)
    name, sign, value = ("", "", "") if found is None else (part.strip() for part in found.groups())
    return (name, SAME.get(sign, sign), value) if name and value else None


def _names(table: Candidates) -> list[str]:
    return [str(column.name) for column in table.columns]


def _condition(table: Candidates, name: str, sign: str, value: str, own: Own) -> Mask:
    place = _place(table, name)
    if place is None:
        if name not in own:
            known = ", ".join((*own, *_names(table)[:20]))
            raise InvalidSetting(f"{name!r} is not a column of the candidates: there are {known}.")
        return _compared(own[name], sign, _number(name, TRUTHS.get(value.lower(), value)))
    codec, features = table.codecs[place], features_of(table, place)
    if isinstance(codec, Absent):  # a candidate without a value meets no condition on it
        return (features != codec.at) & _of_column(features, codec.codec, name, sign, value)
    return _of_column(features, codec, name, sign, value)


def _place(table: Candidates, name: str) -> int | None:
    """The column of a name; where none is written so, one that differs in capitals, or is `column 0`."""
    names = _names(table)
    if name in names:
        return names.index(name)
    lower = [each.lower() for each in names]
    wanted = name.lower().removeprefix("column ")
    return lower.index(wanted) if wanted in lower else None


def _of_column(features: Vector, codec: Codec, name: str, sign: str, value: str) -> Mask:
    if isinstance(codec, Levels) and (sign in ("=", "!=", "~") or not codec.ordered):
        return _of_level(features, codec, sign, value)
    return _compared(features, sign, _encoded(codec, name, value))


def _of_level(features: Vector, codec: Levels, sign: str, value: str) -> Mask:
    if sign not in ("=", "!=", "~"):
        raise InvalidSetting(f"{codec.name} is a category, and has no order: use =, != or ~ (contains).")
    words, wanted = [str(level) for level in codec.levels], value
    if sign == "~" or wanted not in words:  # capitals count where that says which is meant
        words, wanted = [word.lower() for word in words], value.lower()
    codes = [code for code, word in enumerate(words) if (wanted in word if sign == "~" else wanted == word)]
    among = np.isin(features, codes)
    return ~among if sign == "!=" else among


def _encoded(codec: Codec, name: str, value: str) -> float:
    """A value on the scale of its column."""
    said: Any = value if isinstance(codec, Levels) else _number(name, value)
    try:
        return float(codec.encode([said])[0])
    except OstinatoError:
        return -np.inf if isinstance(said, str) or said <= 0 else said  # below all that has a logarithm


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InvalidSetting(f"{name} is a number, and {value!r} is not: write {name}>=50, for example.") from None


def _compared(features: Vector, sign: str, value: float) -> Mask:
    close = np.isclose(features, value, rtol=CLOSE, atol=0.0)
    if sign in ("=", "~"):
        return close
    if sign == "!=":
        return ~close
    beyond = features > value if sign.startswith(">") else features < value
    return (beyond | close) if sign.endswith("=") else (beyond & ~close)


def _holding(table: Candidates, word: str) -> Mask:
    """Rows of which some category holds the word, or some number is it."""
    mask = np.zeros(table.rows, dtype=np.bool_)
    for place, codec in enumerate(table.codecs):
        plain = codec.codec if isinstance(codec, Absent) else codec
        if isinstance(plain, Levels):
            mask |= _of_level(features_of(table, place), plain, "~", word)
        else:
            try:
                mask |= _compared(features_of(table, place), "=", _encoded(plain, "", word))
            except InvalidSetting:
                continue
    return mask
