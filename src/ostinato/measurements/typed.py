"""One value as people type it: with a point or a comma, or a word for a measurement that failed."""

import re
from math import isfinite, nan

from ostinato.errors import InvalidFeedback

FAILED = ("failed", "fail", "nan", "na", "n/a", "-", "–", "x")
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")  # 1,234: in half of the world 1234, in the other 1.234


def is_failed(word: str) -> bool:
    """Whether a word stands for a measurement that failed."""
    return word.lower() in FAILED


def has_decimal_comma(word: str) -> bool:
    """Whether a comma can only be that of a decimal, as keyboards of half of the world write it."""
    return word.count(",") == 1 and "." not in word


def with_point(word: str) -> str:
    """A number as Python writes it, where it has a decimal comma or a typographic minus; else the word as it is."""
    plain = word.replace("−", "-")
    if THOUSANDS.fullmatch(plain):
        raise InvalidFeedback(
            f"{word} may be {plain.replace(',', '')} or {plain.replace(',', '.')}: write one of these."
        )
    return plain.replace(",", ".") if has_decimal_comma(plain) else plain


def one_number(word: str) -> float:
    """One value; NaN for one that failed."""
    if is_failed(word):
        return nan
    plain = with_point(word)
    try:
        value = float(plain)
    except ValueError:
        hint = "Put spaces between values." if "," in word else "Write nan for a measurement that failed."
        raise InvalidFeedback(f"{word[:60]!r} is not a number. {hint}") from None
    if not isfinite(value):
        raise InvalidFeedback(f"{word[:60]} is not finite: write nan for a measurement that failed.")
    return value
