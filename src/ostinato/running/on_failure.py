"""What a run does where measurements fail, as the user chose."""

from math import inf
from typing import Any, Literal, cast, get_args

import msgspec

from ostinato.checks import number, positive
from ostinato.errors import InvalidSetting

Way = Literal["pause", "count", "stop"]
RETRY_EVERY, LONGEST_PAUSE = 10.0, 600.0  # seconds: the first pause, and the longest that it grows to
GIVE_UP_AFTER = 3 * 86_400.0  # seconds: longer than a weekend
MOST_IN_A_ROW = 10  # failures of a task, after which the rest of it is left


class OnFailure(msgspec.Struct, frozen=True):
    """How failures are taken.

    way: "pause" while nothing can be measured, and count other failures; "count" all of them; or "stop" at the first.
    retry_every: seconds until the first new try; pauses then double. give_up_after: seconds of an outage.
    """

    way: Way = "pause"
    retry_every: float = RETRY_EVERY
    give_up_after: float = GIVE_UP_AFTER

    @classmethod
    def of(cls, on_failure: Any, retry_every: Any, give_up_after: Any) -> "OnFailure":
        """As it was given, checked."""
        if on_failure not in get_args(Way):
            raise InvalidSetting(f"on_failure={on_failure!r} is not known: give 'pause', 'count' or 'stop'.")
        longest = inf if number(give_up_after) == inf else positive("give_up_after", give_up_after)
        return cls(cast("Way", on_failure), positive("retry_every", retry_every), longest)

    @property
    def pauses(self) -> bool:
        return self.way == "pause"

    @property
    def most_in_a_row(self) -> float:
        """Failures of one task, after which it is not gone on with."""
        return {"pause": MOST_IN_A_ROW, "count": inf, "stop": 1}[self.way]

    def after(self, pause: float) -> float:
        """The pause after one of so many seconds."""
        return min(2 * pause, max(LONGEST_PAUSE, self.retry_every))


COUNT = OnFailure("count")
