"""Batch lengths, switches and costs against measurements."""

import msgspec

from ostinato.optimizer import Optimizer
from ostinato.plots.data.common import Series, basics
from ostinato.plots.source import Drawable, Source, ToldBatch


class BatchBar(msgspec.Struct, frozen=True, kw_only=True):
    """A batch: its measurements are those after `start`. switches, cost: in all, up to its end.

    observed: nobody asked for it; it counts as no switch.
    """

    batch: int
    index: int
    start: int
    length: int
    asked: int
    failed: int
    observed: bool
    switched: bool
    switches: int
    cost: float


class Batches(Series, frozen=True, kw_only=True):
    """Batches in the order in which each was first told of. costly: whether a switch costs anything."""

    bars: tuple[BatchBar, ...] = ()
    costly: bool = False


def batches(what: Drawable) -> Batches:
    """How long each batch was, and what going from one to the next came to."""
    source = Source.of(what)
    found = source.batches()
    return source.looked(lambda optimizer: _batches(source.name, optimizer, found))


def _batches(name: str, optimizer: Optimizer, told: list[ToldBatch]) -> Batches:
    if not told:
        return Batches(**basics(name, optimizer), missing="Nothing was measured yet.")
    bars, problem = list[BatchBar](), optimizer.core.problem
    start, switches, cost, last = 0, 0, 0.0, None
    for each in told:
        number = problem.table.number_of(each.index)
        switched = each.id >= 0 and last not in (None, number)
        if each.id >= 0:
            cost += problem.cost(last, number) if switched and last is not None else 0.0
            switches, last = switches + switched, number
        cost += each.answered * optimizer.measurement_cost
        bars.append(_bar(each, start, switched=switched, switches=switches, cost=cost))
        start += each.answered
    note = "Each bar is a batch: as wide as it has measurements, and as high."
    return Batches(**basics(name, optimizer), note=note, bars=tuple(bars), costly=problem.switch_cost is not None)


def _bar(each: ToldBatch, start: int, *, switched: bool, switches: int, cost: float) -> BatchBar:
    return BatchBar(
        batch=each.id,
        index=each.index,
        start=start,
        length=each.answered,
        asked=each.asked,
        failed=each.failed,
        observed=each.id < 0,
        switched=switched,
        switches=switches,
        cost=cost,
    )
