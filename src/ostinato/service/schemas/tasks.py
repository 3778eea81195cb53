"""Tasks: asked for, told, renewed, handed back."""

from typing import Annotated

from msgspec import Meta, field

from ostinato.service.schemas.common import Body, Candidate, Count, Finite, Index, Key, Out, Row, Seconds, Worker


class Ask(Body, frozen=True):
    """What is asked for: one task; or with slots or workers a plan of several, to be measured at the same time."""

    limit: Count | None = None
    slots: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    workers: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    distinct: bool = False
    shared: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=100)] = field(
        default_factory=list[str]
    )
    worker: Worker | None = None
    lease: Seconds = 600.0
    key: Key | None = None
    beyond: bool = False


class TaskOut(Out, frozen=True):
    """Measure `candidate` `repeats` times, and tell the values with `batch` and `start`, before `until`."""

    study: str
    batch: int
    start: int
    repeats: int
    row: int
    candidate: Candidate
    until: float
    worker: str
    key: str


class TasksOut(Out, frozen=True):
    """Tasks; where there is none, or fewer than wanted, why."""

    tasks: list[TaskOut]
    why: str = ""


class Told(Body, frozen=True):
    """The values of some repeats of a batch, in order; null for one that failed. Or successes of so many trials.

    Without `start` they are the next repeats that have no value. Give `start` where a request may be sent again: then
    telling the same again changes nothing.
    """

    batch: Index
    start: Index | None = None
    values: Annotated[list[Finite | None], Meta(min_length=1, max_length=1_000_000)] | None = None
    stderr: Annotated[float, Meta(gt=0, le=1e100)] | list[Annotated[float, Meta(gt=0, le=1e100)]] | None = None
    successes: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    trials: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    row: Index | None = None
    candidate: Row | None = None
    worker: Worker | None = None
    program: Annotated[str, Meta(max_length=1_000)] | None = None
    version: Annotated[str, Meta(max_length=200)] | None = None


class ToldAll(Body, frozen=True):
    """Answers that are stored together, all of them or none."""

    answers: Annotated[list[Told], Meta(min_length=1, max_length=10_000)]


class New(Out, frozen=True):
    """How many measurements are new: 0 where all were told before."""

    new: int


class Renew(Body, frozen=True):
    """A task, by its key; or all that a worker holds."""

    key: Annotated[str, Meta(min_length=1, max_length=300)] | None = None
    worker: Worker | None = None
    lease: Seconds | None = None


class Release(Body, frozen=True):
    """What a worker holds, or what is assigned of a batch; both left out, everything that the token may hand back."""

    worker: Worker | None = None
    batch: Index | None = None


class Changed(Out, frozen=True):
    """How many measurements, or candidates, that was."""

    changed: int


class LeaseOut(Out, frozen=True):
    """What is assigned to whom; `state` is held, over or gone. `token` is the name of the one it was asked for with."""

    batch: int
    start: int
    repeats: int
    row: int
    candidate: Candidate
    worker: str
    token: str
    since: float | None
    until: float
    state: str


class LeasesOut(Out, frozen=True):
    """All that is assigned."""

    leases: list[LeaseOut]
