"""What a study knows: the best, predictions, explanations, whether the model fits."""

from typing import Annotated

from msgspec import Meta

from ostinato.service.schemas.common import Body, Candidate, Index, Out, Row

Interval = Annotated[list[float | None], Meta(min_length=2, max_length=2, description="From and to.")]


class BestOut(Out, frozen=True):
    """A candidate, its estimate, and how sure that is."""

    row: int
    candidate: Candidate
    mean: float | None
    std: float | None
    interval: Interval
    level: float
    n: float
    chance: float | None
    within: float | None


class OutlierOut(Out, frozen=True):
    """A measurement that does not fit."""

    number: int
    batch: int
    row: int
    candidate: Candidate
    value: float | None
    expected: Interval


class TopOut(Out, frozen=True):
    """The best measured candidates; their intervals hold all at once."""

    top: list[BestOut]


class Predict(Body, frozen=True):
    """Rows of the table, or points given like candidates."""

    rows: Annotated[list[Index], Meta(min_length=1, max_length=10_000)] | None = None
    points: Annotated[list[Row], Meta(min_length=1, max_length=10_000)] | None = None
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95


class PredictionOut(Out, frozen=True):
    """Of each point the mean, the standard deviation and the interval of its true value."""

    mean: list[float | None]
    std: list[float | None]
    low: list[float | None]
    high: list[float | None]


class ExplanationOut(Out, frozen=True):
    """Why a batch was asked for, in words."""

    batch: int
    words: str


class CheckOut(Out, frozen=True):
    """One question to the data, and what it says."""

    name: str
    ok: bool
    value: float | None
    chance: float | None
    words: str


class DiagnosisOut(Out, frozen=True):
    """Whether the model fits; null where too little was measured to say so."""

    verdict: str
    fits: bool | None
    checks: list[CheckOut]
    noise_std: float | None
    noise_interval: Interval | None
    outliers: list[OutlierOut]
    words: str
