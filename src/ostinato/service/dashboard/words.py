"""Numbers, moments and candidates as people read them."""

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any, cast

import numpy as np

from ostinato.candidates import Candidates
from ostinato.checks import rounded
from ostinato.service.dashboard.html import Html, dd, div, dl, dt, time_
from ostinato.study import Assigned, Measurement

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


def number(value: float | None, scale: float = 0.0) -> str:
    """A value, with the digits that mean something at a scale such as its standard deviation."""
    if value is None or not isfinite(value):
        return "–"
    return rounded(value, scale) if scale > 0 else f"{value:.6g}"


def percent(share: float | None) -> str:
    """A probability."""
    if share is None or not isfinite(share):
        return "–"
    if 0 < share < 0.001:
        return "< 0.1%"
    if 0.999 < share < 1:
        return "> 99.9%"
    return f"{share:.1%}" if share < 0.1 else f"{share:.0%}"


def cell(value: Any) -> str:
    """A cell of a candidate."""
    if value is None:
        return "–"
    if isinstance(value, np.generic):
        value = cast("Any", value).item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def cells(candidate: Any) -> dict[str, str]:
    """A candidate by column."""
    if isinstance(candidate, Mapping):
        given = cast("Mapping[Any, Any]", candidate)
        return {str(name): cell(value) for name, value in given.items() if value is not None}
    return {f"column {place}": cell(value) for place, value in enumerate(np.asarray(candidate).tolist())}


def in_line(candidate: Any) -> str:
    """A candidate in a line."""
    return ", ".join(f"{name} {value}" for name, value in cells(candidate).items())


def column_names(table: Candidates) -> list[str]:
    """Columns as pages name them."""
    return [str(c.name) if isinstance(c.name, str) else f"column {c.name}" for c in table.columns]


def candidate_list(candidate: Any, class_: str = "candidate") -> Html:
    """A candidate as pairs of a column and its value."""
    pairs = [div(dt(name), dd(value)) for name, value in cells(candidate).items()]
    return dl(*pairs, class_=class_)


def moment(at: float | None) -> Html | str:
    """A moment in the server's time, in full where one points at it."""
    if not at:
        return "–"
    when = datetime.fromtimestamp(at)
    today = when.date() == datetime.now().date()
    return time_(
        f"{when:%H:%M:%S}" if today else f"{when:%Y-%m-%d %H:%M}",
        datetime=when.astimezone().isoformat(timespec="seconds"),
        title=f"{when:%Y-%m-%d %H:%M:%S}",
    )


def duration(seconds: float) -> str:
    """3 min, 2 h 5 min."""
    if seconds < MINUTE:
        return f"{max(0, seconds):.0f} s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f} min"
    if seconds < DAY:
        return f"{seconds // HOUR:.0f} h {seconds % HOUR // MINUTE:.0f} min"
    return f"{seconds / DAY:.1f} days"


def ago(at: float, now: float) -> str:
    """How long ago that was."""
    return "just now" if now - at < 5 else f"{duration(now - at)} ago"


def worker_words(each: Assigned | Measurement) -> str:
    """Who it is of; where a gateway named the worker, with the name of its token."""
    named = each.token not in ("", each.worker)
    return f"{each.worker} ({each.token})" if named else each.worker or "–"
