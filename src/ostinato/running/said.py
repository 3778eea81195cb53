"""Lines for whoever comes back after hours."""

import sys
from datetime import datetime


def say(words: str) -> None:
    """A line, with the moment."""
    print(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {words}", file=sys.stderr)


def lasting(seconds: float) -> str:
    """A time in words: 40 s, 12 min, 3.5 h, 2.1 days."""
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
