"""How the recommendation came about: what was recommended at each of some moments, from the facts up to then alone."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ostinato.checks import whole
from ostinato.errors import NothingMeasured
from ostinato.optimizer import Optimizer
from ostinato.optimizer.facts import Fact, Recalled, Told
from ostinato.optimizer.past_answers import answers_after, without_choosing
from ostinato.plots.data.common import LEVEL, Series, basics, in_words, lacking, row_of
from ostinato.plots.source import Drawable, Source
from ostinato.records import Estimate

MOMENTS = 40  # at most, by default
NOTE = (
    "Each point was computed from the measurements up to it alone, with the study's settings of today and the "
    "hyperparameters learned anew."
)
RETIRED = " Candidates that are retired now are left out at all moments."


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """What was recommended after so many measurements: its estimated true value, and the 95% interval of that."""

    measurements: int  # told by then, those that failed included
    index: int
    label: str
    n: int  # of these, measurements of this candidate
    mean: float
    low: float
    high: float
    changed: bool  # whether another candidate was recommended at the moment before


class Progress(Series, frozen=True, kw_only=True):
    """The recommended value with its interval, against measurements."""

    level: float = LEVEL
    moments: tuple[Moment, ...] = ()


def progress(what: Drawable, moments: int = MOMENTS) -> Progress:
    """What was recommended at up to so many moments, evenly spread over the batches; the last of them is now."""
    source, most = Source.of(what), whole("moments", moments)
    return source.looked(lambda optimizer: _progress(source.name, optimizer, most))


def _progress(name: str, optimizer: Optimizer, most: int) -> Progress:
    missing = lacking(optimizer)
    if missing:
        return Progress(**basics(name, optimizer), missing=missing)
    return Progress(
        **basics(name, optimizer),
        note=NOTE + (RETIRED if optimizer.retired else ""),
        moments=tuple(_moments(optimizer, most)),
    )


def _moments(optimizer: Optimizer, most: int) -> Iterator[Moment]:
    core, before = optimizer.core, None
    problem = without_choosing(core.problem)
    table, facts = core.problem.table, core.state.facts
    told = np.cumsum([_answered(fact) for fact in facts]).tolist()
    for end in _ends(facts, most):
        try:
            last = end == len(facts)
            found = (
                core.answers.estimate(LEVEL)
                if last
                else answers_after(problem, core.state, facts[:end]).estimate(LEVEL)
            )
        except NothingMeasured:
            continue  # all had failed until then
        label = in_words(row_of(table, found.index))
        yield _moment(found, label, int(told[end - 1]), changed=before not in (None, found.index))
        before = found.index


def _moment(found: Estimate, label: str, measurements: int, *, changed: bool) -> Moment:
    low, high = found.interval
    return Moment(
        measurements=measurements,
        index=found.index,
        label=label,
        n=found.n,
        mean=found.mean,
        low=low,
        high=high,
        changed=changed,
    )


def _ends(facts: Sequence[Fact], most: int) -> list[int]:
    """How many facts there were at each moment, after some feedback; the last moment has all of them."""
    ends = [place + 1 for place, fact in enumerate(facts) if _answered(fact)]
    ends[-1] = len(facts)
    places = np.linspace(0, len(ends) - 1, min(most, len(ends))) if most > 1 else np.array([len(ends) - 1])
    return [ends[place] for place in np.unique(np.round(places).astype(int)).tolist()]


def _answered(fact: Fact) -> int:
    if isinstance(fact, Told):
        return sum(each.answered for each in fact.feedback.values())
    return fact.facts.answered if isinstance(fact, Recalled) else 0
