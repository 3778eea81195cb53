"""Measurements: observed, put right, listed."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ostinato.service.schemas.common import Body, Candidate, Count, Finite, Index, Key, Out, Row, Words, Worker


class Observation(Body, frozen=True):
    """What was measured of a candidate that nobody asked for: a value, null for one that failed.

    Or the average of `count`, and their std; or successes of so many trials.
    """

    row: Index | None = None
    candidate: Row | None = None
    value: Finite | UnsetType | None = UNSET
    stderr: Annotated[float, Meta(gt=0, le=1e100)] | None = None
    count: Count | None = None
    std: Annotated[float, Meta(ge=0, le=1e100)] | None = None
    successes: Annotated[int, Meta(ge=0, le=10**9)] | None = None
    trials: Annotated[int, Meta(ge=1, le=10**9)] | None = None


class Observe(Body, frozen=True):
    """Observations, taken in together, all of them or none. key: sent again with the same key they count once.

    The same key with other observations is refused.
    """

    observations: Annotated[list[Observation], Meta(min_length=1, max_length=10_000)]
    key: Key | None = None
    worker: Worker | None = None


class Retract(Body, frozen=True):
    """Measurements to be taken back: by their numbers, all of a batch, or all that failed since a moment.

    A batch below 0 holds observations of one candidate.
    """

    numbers: Annotated[list[Count], Meta(min_length=1, max_length=10_000)] | None = None
    batch: Annotated[int, Meta(ge=-(2**53), le=2**53)] | None = None
    failures: bool = False
    since: Annotated[float, Meta(ge=0, le=1e12)] = 0.0
    why: Words = ""


class Correct(Body, frozen=True):
    """Another value for a measurement; null says that it failed."""

    number: Count
    value: Finite | None
    why: Words = ""


class Close(Body, frozen=True):
    """A batch whose repeats will not come."""

    batch: Index


class RevisionOut(Out, frozen=True):
    """A value that took the place of another; null where it was taken back."""

    value: float | None
    at: float
    why: str


class MeasurementOut(Out, frozen=True):
    """A measurement; `value` is null where it failed or was taken back."""

    number: int
    at: float
    batch: int
    repeat: int
    row: int
    candidate: Candidate
    value: float | None
    failed: bool
    withdrawn: bool
    stderr: float | None
    count: int
    std: float | None
    told: float | None
    revisions: list[RevisionOut]
    worker: str
    token: str
    program: str
    version: str
    host: str
    began: float


class HistoryOut(Out, frozen=True):
    """Measurements in the order told. `next` is the number to go on from; null where that is all."""

    measurements: list[MeasurementOut]
    next: int | None


class BatchOut(Out, frozen=True):
    """A batch, and what became of it; numbers below 0 are observations."""

    batch: int
    made: float
    row: int
    candidate: Candidate
    repeats: int
    measured: int
    failed: int
    closed: bool
    average: float | None
    std: float | None


class BatchesOut(Out, frozen=True):
    """Batches, the newest first. `next` is the place to go on from; null where that is all."""

    batches: list[BatchOut]
    total: int
    next: int | None
