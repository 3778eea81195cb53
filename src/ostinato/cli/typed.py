"""Values as people type them, at a prompt or behind a command."""

from ostinato.errors import InvalidFeedback
from ostinato.measurements.typed import has_decimal_comma, one_number

TRUTHS = {"true": 1.0, "false": 0.0}
MAX_TRIALS = 1_000_000  # trials typed at once


def typed_values(words: list[str], *, binary: bool) -> list[float]:
    """Numbers, nan for a measurement that failed; of yes or no also true, false, and 3/20 for 3 ones and 17 zeros."""
    return [value for word in words for value in _values(word, binary=binary)]


def commas_read(words: list[str]) -> str:
    """Which commas were read as those of decimals, so that nobody who meant two values misses it."""
    said = [f"{word} as {word.replace(',', '.')}" for word in words if has_decimal_comma(word)]
    return f"read {', '.join(said)}" if said else ""


def _values(word: str, *, binary: bool) -> list[float]:
    yes, slash, of = word.partition("/")
    if slash and yes.isdigit() and of.isdigit():
        if not binary:
            raise InvalidFeedback(f"{word!r} is not a number: 3/20 is for what is yes or no (outcome binary).")
        if int(yes) > int(of):
            raise InvalidFeedback(f"{word!r} has more successes than trials: write successes/trials, as 3/20.")
        if not 0 < int(of) <= MAX_TRIALS:
            raise InvalidFeedback(f"{word!r} is of {int(of):,} trials: give 1 to {MAX_TRIALS:,} at once.")
        return [1.0] * int(yes) + [0.0] * (int(of) - int(yes))
    if binary and word.lower() in TRUTHS:
        return [TRUTHS[word.lower()]]
    return [one_number(word)]
