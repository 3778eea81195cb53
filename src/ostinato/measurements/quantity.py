"""What the measured number is called, and its unit: for headings, axes and answers."""

from typing import Any

from ostinato.errors import InvalidSetting
from ostinato.records import UNNAMED, Quantity

NAMES = {"real": "value", "binary": "success rate", "count": "count", "positive": "amount"}  # by outcome
LONGEST = 60  # characters


def quantity_of(value: Any, unit: Any, outcome: str) -> Quantity:
    """From the settings `value=` and `unit=`."""
    for name, text in (("value", value), ("unit", unit)):
        if text is not None:
            _check(name, text)
    if unit is not None and outcome == "binary":
        raise InvalidSetting(f"unit={unit!r} was given with outcome='binary', whose rates have none: leave it out.")
    found = Quantity(value or NAMES[outcome], unit or "", value is not None)
    return UNNAMED if found == UNNAMED else found


def _check(name: str, text: Any) -> None:
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > LONGEST:
        example = "value='yield'" if name == "value" else "unit='mg/l'"
        raise InvalidSetting(
            f"{name}={text!r} is not a text of 1 to {LONGEST} printable characters: give one, as in {example}."
        )
