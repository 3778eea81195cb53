"""What a study is doing, in a word."""

import msgspec

from ostinato.checks import counted
from ostinato.service.dashboard.addresses import address_of
from ostinato.service.dashboard.html import Html, a, empty, span
from ostinato.storage import Reader
from ostinato.study import Study
from ostinato.study.leases import in_hand
from ostinato.study.paused import paused_runs

WORDS = {
    "finished": "The budget is spent",
    "paused": "A run waits, since nothing can be measured",
    "running": "Measurements are under way",
    "waiting": "Nothing is under way",
    "new": "Nothing was measured yet",
}


class StudySummary(msgspec.Struct, frozen=True, kw_only=True):
    """A study's counters and state: soon read, however large it is."""

    name: str
    created: float
    budget: int | None
    measurements: int
    failures: int
    assigned: int
    numbered: int
    state: str

    @property
    def answered(self) -> int:
        return self.measurements + self.failures

    @property
    def so_far(self) -> str:
        return self.count + self.failed

    @property
    def count(self) -> str:
        return f"{self.answered:,}" + ("" if self.budget is None else f" of {self.budget:,}")

    @property
    def failed(self) -> str:
        return f", {self.failures:,} failed" if self.failures else ""

    @property
    def screen_reader_text(self) -> str:
        """For those who hear the page."""
        return f"{counted(self.answered, 'measurement')}, {self.state}"


class ActivityCounts(msgspec.Struct, frozen=True):
    """What is under way: read anew each time, since it changes often and needs no model."""

    batches: int
    in_flight: int
    waiting: int
    paused: tuple[str, ...]


def activity_of(study: Study) -> ActivityCounts:
    """What is under way, and which runs pause."""
    return study.reading(_activity)


def _activity(reader: Reader) -> ActivityCounts:
    in_flight = sum(in_hand(reader).values())
    pending = sum(batch.facts.pending for batch in reader.unfinished())
    return ActivityCounts(
        reader.record.asked, in_flight, pending - in_flight, tuple(str(run) for run in paused_runs(reader))
    )


def summary_of(study: Study) -> StudySummary:
    """The study at a glance."""
    return study.reading(lambda reader: _summary(study.name, reader))


def _summary(name: str, reader: Reader) -> StudySummary:
    record, assigned = reader.record, sum(lease.count for lease in reader.leases())
    if record.budget is not None and record.answered >= record.budget:
        state = "finished"
    elif paused_runs(reader):
        state = "paused"
    elif assigned:
        state = "running"
    else:
        state = "waiting" if record.answered else "new"
    return StudySummary(
        name=name,
        created=record.created,
        budget=record.budget,
        measurements=record.answered - record.failed,
        failures=record.failed,
        assigned=assigned,
        numbered=record.numbered,
        state=state,
    )


def spent(seen: StudySummary) -> Html:
    """Why nothing more is measured, where that would be done."""
    words = f"This study is finished: its budget of {counted(seen.budget or 0, 'measurement')} is spent."
    return empty(words, a("The result", href=address_of(seen.name), class_="button primary"))


def chip(state: str) -> Html:
    """A state, coloured and in words."""
    return span(state, class_=f"chip {state}", title=WORDS[state])
