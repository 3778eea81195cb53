"""Values as people type them: with a point or a comma, several at once, 3/20, or a word for one that failed."""

import re

from ostinato.checks import counted
from ostinato.errors import InvalidFeedback
from ostinato.measurements.typed import one_number

BETWEEN = re.compile(r"[\s;|]+")
WHOLE = re.compile(r"[0-9]{1,15}")
MAX_TRIALS = 1_000_000  # trials typed at once
MAX_VALUES = 100_000  # values typed at once
LARGEST = 10**15 - 1  # of whole numbers: far more than there are of anything, and databases can store it


def is_whole(text: str) -> bool:
    """Whether a text is a whole number from 0 to LARGEST, in digits that people type: ² is none."""
    return WHOLE.fullmatch(text) is not None


def one_value(text: str) -> float:
    """One value; NaN for one that failed."""
    found = values_in(text)
    if len(found) != 1:
        raise InvalidFeedback(f"{text[:60]!r} is {counted(len(found), 'value')}: give one.")
    return found[0]


def values_in(text: str, *, binary: bool = False) -> list[float]:
    """All values of a text, in order."""
    words = [word for word in BETWEEN.split(text.strip()) if word]
    if not words:
        raise InvalidFeedback("No value was given: type a number, or failed.")
    if len(words) > MAX_VALUES:
        raise InvalidFeedback(f"{len(words):,} values were given at once: give {MAX_VALUES:,} at most.")
    return [value for word in words for value in (_spelt_out(word) if binary else [one_number(word)])]


def _spelt_out(word: str) -> list[float]:
    """3/20 as three ones and seventeen zeros; yes and no as 1 and 0."""
    if word.lower() in ("yes", "y", "no", "n"):
        return [1.0 if word.lower().startswith("y") else 0.0]
    yes, slash, of = word.partition("/")
    if not (slash and is_whole(yes) and is_whole(of)):
        return [one_number(word)]
    if not int(yes) <= int(of) <= MAX_TRIALS:
        raise InvalidFeedback(f"{word} is not so many of so many: write 3/20 for 3 of 20.")
    return [1.0] * int(yes) + [0.0] * (int(of) - int(yes))
