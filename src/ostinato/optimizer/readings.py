"""What an optimiser was told, measurement by measurement."""

from collections import Counter
from collections.abc import Iterator
from math import nan, sqrt

import msgspec

from ostinato.measurements.batches import numbers_among
from ostinato.measurements.feedback import Feedback
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.core import Core
from ostinato.optimizer.facts import Recalled, Told


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement (NaN for one that failed), or the average of `count` that were told together.

    `number` is its own in the order told; `batch` is below 0 for what nobody asked for.
    """

    number: int
    batch: int
    repeat: int
    index: int
    value: float
    stderr: float | None = None
    count: int = 1
    std: float | None = None


def readings(core: Core) -> Iterator[Reading]:
    """All that was told, in the order it came. What a storage gave as aggregates stays so."""
    if not core.state.gaps:
        yield from _by_place(core)
        return
    numbers = numbers_among(core.state.told, core.state.gaps)
    for each in _by_place(core):
        yield msgspec.structs.replace(each, number=numbers[each.number - 1])


def _by_place(core: Core) -> Iterator[Reading]:
    """The same, with places among what counts for numbers."""
    index_of, before, repeats = core.problem.table.index_of, 0, Counter[int]()
    for fact in core.state.facts:
        if isinstance(fact, Told):
            for candidate, feedback in fact.feedback.items():
                yield from _of_feedback(feedback, fact.batch, index_of(candidate), before, repeats[fact.batch])
            told = sum(feedback.answered for feedback in fact.feedback.values())
        elif isinstance(fact, Recalled):
            yield from _of_statistics(fact.facts.statistics, fact.facts.failed, fact.facts.id, fact.facts.index, before)
            told = fact.facts.answered
        else:
            continue
        before += told
        repeats[fact.batch if isinstance(fact, Told) else fact.facts.id] += told


def _of_feedback(feedback: Feedback, batch: int, index: int, before: int, repeat: int) -> Iterator[Reading]:
    if not feedback.singly:
        yield from _of_statistics(feedback.statistics, feedback.failed, batch, index, before, repeat)
        return
    errors = None if feedback.weighted is None else feedback.weighted[1].tolist()
    for i, (place, value) in enumerate(zip(feedback.all_places, feedback.all_values, strict=True)):
        yield Reading(
            number=before + place + 1,
            batch=batch,
            repeat=repeat + i,
            index=index,
            value=value,
            stderr=None if errors is None else errors[i],
        )


def _of_statistics(
    statistics: Statistics, failed: int, batch: int, index: int, before: int, repeat: int = 0
) -> Iterator[Reading]:
    """One row for what has a value, and one for each that failed."""
    n = int(statistics.n)
    if n:
        scatter = sqrt(statistics.squares / (n - 1)) if n > 1 and not statistics.known else None
        error = sqrt(statistics.known) if statistics.known else None
        own = Reading(number=before + 1, batch=batch, repeat=repeat, index=index, value=statistics.mean)
        yield msgspec.structs.replace(own, count=n, std=scatter, stderr=error)
    for place in range(n, n + failed):
        yield Reading(number=before + place + 1, batch=batch, repeat=repeat + place, index=index, value=nan)
