"""Candidates: listed, added, retired."""

from typing import Annotated

from msgspec import Meta

from ostinato.service.schemas.common import Body, Candidate, Cell, Index, Out


class CandidateOut(Out, frozen=True):
    """A candidate: how often it was measured, and what the model says of it where that was asked for."""

    row: int
    candidate: Candidate
    measured: int
    retired: bool
    mean: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None


class CandidatesOut(Out, frozen=True):
    """Some candidates, of so many. `next` is the place to go on from; null where that is all."""

    candidates: list[CandidateOut]
    total: int
    next: int | None


class Add(Body, frozen=True):
    """More candidates: the text of a CSV file, or rows. noise_std: of the new rows, where every row has its own."""

    csv: str | None = None
    rows: list[dict[str, Cell]] | None = None
    noise_std: Annotated[float, Meta(gt=0, le=1e100)] | None = None


class Added(Out, frozen=True):
    """The rows that are new; those that were there already are left out."""

    rows: list[int]


class Rows(Body, frozen=True):
    """Candidates by their rows."""

    rows: Annotated[list[Index], Meta(min_length=1, max_length=100_000)]
