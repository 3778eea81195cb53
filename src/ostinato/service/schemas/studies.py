"""Studies: made, listed, where they stand."""

from typing import Annotated, Literal

from msgspec import Meta, field

from ostinato.service.schemas.answers import BestOut, OutlierOut
from ostinato.service.schemas.common import Body, Cell, Count, Finite, Name, Out

Label = Annotated[str, Meta(min_length=1, max_length=60)]


class Settings(Body, frozen=True):
    """As for `ostinato create`; what is left out is learned, or has the default of `Optimizer`."""

    goal: Literal["find", "earn"] | None = None
    direction: Literal["maximize", "minimize"] | None = None
    outcome: Literal["real", "binary", "count", "positive"] | None = None
    value: Label | None = None
    unit: Label | None = None
    half_life: Count | None = None
    switch_cost: Annotated[float, Meta(ge=0, le=1e9)] | None = None
    max_repeats: Count | None = None
    noise_std: Annotated[float, Meta(gt=0, le=1e100)] | None = None
    setup_std: Annotated[float, Meta(ge=0, le=1e100)] | Literal["learn"] | None = None
    mean: Finite | None = None
    robust: bool | None = None
    search: Literal["sampled", "certified"] | None = None
    kernel: Annotated[str, Meta(max_length=1_000)] | None = None
    policy: Annotated[str, Meta(max_length=1_000)] | None = None
    stop: Annotated[list[Annotated[str, Meta(max_length=100)]], Meta(max_length=10)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**53)] | None = None


class Column(Body, frozen=True):
    """A column of a space: levels, or a range from low to high."""

    levels: Annotated[list[str | float | int | bool], Meta(min_length=1, max_length=10_000)] | None = None
    ordered: bool | None = None
    low: Finite | None = None
    high: Finite | None = None
    step: Finite | None = None
    count: Count | None = None
    digits: Annotated[int, Meta(ge=0, le=15)] | None = None
    log: bool | None = None
    integer: bool | None = None
    when: dict[str, Cell | list[Cell]] | None = None


class NewStudy(Body, frozen=True):
    """A study to be made. Candidates are given once: as the text of a CSV file, as rows, or as a space."""

    name: Name
    csv: str | None = None
    rows: list[dict[str, Cell]] | None = None
    space: Annotated[dict[str, Column], Meta(max_length=100)] | None = None
    budget: Count | None = None
    settings: Settings | None = None


class Budget(Body, frozen=True):
    """How many measurements there will be in all."""

    budget: Count


class StatusOut(Out, frozen=True):
    """Where a study stands; `candidates` is null in a space that cannot be listed."""

    name: str
    created: float
    candidates: int | None
    retired: int
    budget: int | None
    measurements: int
    failures: int
    in_flight: int
    waiting: int
    unique: int
    batches: int
    switches: int
    finished: bool
    best: BestOut | None
    outliers: list[OutlierOut]
    missing: list[str]
    paused: list[str]
    value: str
    unit: str


class StudyOut(Out, frozen=True):
    """A study in a list: its counters, which need no model."""

    name: str
    created: float
    budget: int | None
    measurements: int
    failures: int
    batches: int
    in_flight: int


class Unreadable(Out, frozen=True):
    """A study that cannot be read, and why."""

    name: str
    detail: str


class StudiesOut(Out, frozen=True):
    """Studies that the token may see. unreadable: those of which no counters can be read."""

    studies: list[StudyOut]
    unreadable: list[Unreadable] = field(default_factory=list[Unreadable])
