"""Lines on stderr that begin with the date and time."""

import sys
from datetime import datetime


def say(words: str) -> None:
    """Print a line that begins with the date and time."""
    print(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {words}", file=sys.stderr)


def lasting(seconds: float) -> str:
    """A time in words: 40 s, 12 min, 3.5 h, 2.1 days."""
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
