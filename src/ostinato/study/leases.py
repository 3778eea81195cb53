"""Which repeats are assigned to whom, within one `write` of the storage; `request.py` hands them out.

A repeat is known by its batch and its number. It is handed out for a time, which may be renewed; when that is over, or
its worker is known to be gone, it is handed out again.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

from msgspec.structs import replace

from ostinato.storage import BatchRecord, Lease, Reader, Writer
from ostinato.study.workers import GivenUpCheck, name_of, token_of


def in_hand(reader: Reader) -> dict[int, int]:
    """How many repeats of each batch are assigned to workers whose time is not over."""
    given_up, counts = GivenUpCheck(reader.now(), local=reader.local), Counter[int]()
    for lease in reader.leases():
        if not given_up(lease):
            counts[lease.batch] += lease.count
    return counts


def without(whole: range, taken: Iterable[range]) -> list[range]:
    """What is left of some repeats when others, in order, are taken away."""
    left, at = list[range](), whole.start
    for each in taken:
        if each.start > at:
            left.append(range(at, min(each.start, whole.stop)))
        at = max(at, each.stop)
    return [each for each in [*left, range(at, whole.stop)] if each.start < each.stop]


def give_back(writer: Writer, lease: Lease, keep: int) -> None:
    """The repeats of a lease from number `keep` on are for others, at once."""
    kept, rest = max(0, min(lease.count, keep - lease.start)), max(lease.start, keep)
    writer.release(lease)
    if kept:
        writer.lease(replace(lease, count=kept))
    if kept < lease.count:
        writer.lease(Lease(lease.batch, rest, lease.count - kept, "", 0.0))  # of nobody: no heart beats for it


def free(writer: Writer, worker: str | None, batch: int | None, token: str | None = None) -> int:
    """All that is assigned is for others, at once; or that of a worker, a batch or a token; returns how many."""
    found = [lease for lease in writer.leases(batch) if lease.worker and is_of(lease, worker, token)]
    for lease in found:
        give_back(writer, lease, 0)
    return sum(lease.count for lease in found)


def is_of(lease: Lease, worker: str | None, token: str | None) -> bool:
    """Whether it is assigned to a worker, and was asked for with a token; None for any.

    Leases of earlier versions know no token: there the worker's name was that of the token.
    """
    name = name_of(lease.worker)
    return worker in (None, name) and token in (None, token_of(lease.worker) or name)


def next_of(reader: Reader, batch: BatchRecord) -> int:
    """The first repeat of a batch that has no value."""
    facts, told = batch.facts, batch.facts.answered + batch.facts.withdrawn
    last = reader.overlapping(facts.id, max(0, told - 1), facts.places)
    if told == 0 or (len(last) == 1 and last[0].repeats.stop == told):
        return told  # so many repeats, and none beyond: there is no gap among them
    taken = [entry.repeats for entry in reader.overlapping(batch.facts.id, 0, batch.facts.places)]
    left = without(range(batch.facts.places), taken)
    return left[0].start if left else batch.facts.places


def answered(leases: Sequence[Lease], told: range) -> tuple[list[Lease], list[Lease]]:
    """Leases of a batch, in order, when some repeats have got their values; and those that held any of these before.

    No repeat is assigned twice, so that the leases in question are found without looking at all.
    """
    first = max(0, bisect_right(leases, told.start, key=attrgetter("start")) - 1)
    last = bisect_left(leases, told.stop, lo=first, key=attrgetter("start"))
    near = leases[first:last]
    ended = [lease for lease in near if lease.start < told.stop and told.start < lease.start + lease.count]
    left = list[Lease]()
    for lease in near:
        if lease in ended:
            left += [replace(lease, start=each.start, count=len(each)) for each in without(lease.repeats, [told])]
        else:
            left.append(lease)
    return [*leases[:first], *left, *leases[last:]], ended
