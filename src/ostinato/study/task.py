"""Repeats of a batch, handed to one worker for a time."""

from typing import Any

import msgspec


class Task(msgspec.Struct, frozen=True, eq=False):
    """Measure `candidate` (row `index` of the table) `repeats` times, and tell the values.

    They are the repeats from number `start` on of a batch, in this worker's hands until then (seconds since 1970).
    """

    study: str
    batch: int
    index: int
    candidate: Any
    start: int
    repeats: int
    until: float
