"""Repeats of a batch, handed to one worker for a time."""

from math import inf
from typing import Any

import msgspec

Place = tuple[int, int]  # the number of a batch, and of one of its repeats


class Task(msgspec.Struct, frozen=True, eq=False):
    """Measure `candidate` (row `index` of the table) `repeats` times, and tell the values.

    They are the repeats from number `start` on of a batch, assigned to `worker` until then (seconds since 1970), or
    longer if that is renewed. `key` is what its lease is known by. `program` and `version` say with what a run measures
    it, and `host` on which machine, where that is not the one that tells; they are stored with its values.
    """

    study: str
    batch: int
    index: int
    candidate: Any
    start: int
    repeats: int
    until: float = inf
    worker: str = ""
    key: str = ""
    program: str = ""
    version: str = ""
    host: str = ""

    @property
    def place(self) -> Place:
        """Its batch, and the first of its repeats."""
        return self.batch, self.start

    @property
    def stop(self) -> int:
        """The number after that of its last repeat."""
        return self.start + self.repeats
