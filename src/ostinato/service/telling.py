"""Answers as a writer takes them: read and checked before they wait."""

from typing import Any

from ostinato.errors import InvalidFeedback
from ostinato.measurements.outcomes import Outcome
from ostinato.service.configuration import Limits
from ostinato.service.guards import check_worker
from ostinato.service.schemas import Told, ToldAll
from ostinato.service.tokens import Identity
from ostinato.storage import Source
from ostinato.study.exchange import Answer
from ostinato.study.intake import Report
from ostinato.study.origins import this_machine
from ostinato.study.reading import read_answer

THIS_MACHINE = this_machine()


def report_of(told: Told, outcome: Outcome, teller: Identity) -> Report:
    """What one answer says, and who tells it."""
    if told.values is None and told.trials is None:
        raise InvalidFeedback(
            f"Batch {told.batch} came without values: give values, null for a measurement that failed; or successes "
            "and trials."
        )
    read = read_answer(told.values, told.stderr, told.successes, told.trials, outcome)
    source = Source(
        told.program or "",
        told.version or "",
        THIS_MACHINE.host,
        check_worker(teller, told.worker) or "",
        token=teller.name,
    )
    return Report(told.batch, told.start, read, source, _said(told))


def checked_reports(data: ToldAll, outcome: Outcome, teller: Identity, limits: Limits) -> list[Report]:
    """What many answers say."""
    count = sum(len(each.values) if each.values is not None else each.trials or 0 for each in data.answers)
    if count > limits.values:
        raise InvalidFeedback(f"{count:,} values were told at once: tell {limits.values:,} at most.")
    return [report_of(each, outcome, teller) for each in data.answers]


def _said(told: Told) -> Answer | None:
    """What it says of its candidate, to be checked."""
    if told.row is None and told.candidate is None:
        return None
    candidate: Any = told.candidate
    return Answer(told.batch, row=told.row, candidate=candidate)
