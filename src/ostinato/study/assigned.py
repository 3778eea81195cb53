"""What is assigned to whom, for people to read; and what a run that has nothing to do waits for."""

import shlex
from collections import Counter
from datetime import datetime, timedelta
from time import monotonic

from ostinato.checks import counted
from ostinato.storage import Lease, Reader
from ostinato.study.records import Assigned
from ostinato.study.stored import StoredStudy
from ostinato.study.workers import GivenUpCheck, name_of, token_of

SAY_AFTER = 2.0  # seconds of waiting after which it is said for what
SAY_AGAIN_AFTER = 60.0  # seconds after which it is said again, where only the time has changed
WORKERS_NAMED = 3  # workers that are named


def assigned(stored: StoredStudy) -> list[Assigned]:
    """Every lease, by batch and repeat."""

    def find(reader: Reader) -> list[Assigned]:
        gone = GivenUpCheck(reader.now(), local=reader.local)
        return [_one(stored, reader, lease, gone) for lease in reader.leases() if lease.worker]

    return stored.read(find)


def _one(stored: StoredStudy, reader: Reader, lease: Lease, gone: GivenUpCheck) -> Assigned:
    batch = stored.batch(reader, lease.batch)
    state = "gone" if gone.has_ended(lease) else "over" if gone(lease) else "held"
    return Assigned(
        batch=lease.batch,
        start=lease.start,
        repeats=lease.count,
        index=batch.facts.index,
        candidate=stored.row(reader, batch.facts.index),
        worker=name_of(lease.worker),
        since=lease.since or None,
        until=lease.until,
        state=state,
        token=token_of(lease.worker),
    )


class WaitMessage:
    """Says what a run waits for: once, when that changes, and now and then while leases are renewed."""

    def __init__(self, stored: StoredStudy) -> None:
        self._stored = stored
        self.reset()

    def reset(self) -> None:
        """There is something to do."""
        self._since: float | None = None
        self._said: tuple[dict[str, int], float, float] | None = None  # who holds how many, until when; and when said

    def message(self) -> str | None:
        """What to say now; None where nothing is new."""
        now = monotonic()
        self._since = now if self._since is None else self._since
        if now - self._since < SAY_AFTER:
            return None
        counts, until, left = self._stored.read(_held)
        if not counts or (self._said and self._said[0] == counts and not self._is_worth(until, now)):
            return None
        self._said = counts, until, now
        return f"{in_words(counts, left)}; `{self._remedy()}` frees {'it' if sum(counts.values()) == 1 else 'them'}"

    def _is_worth(self, until: float, now: float) -> bool:
        return self._said is not None and until != self._said[1] and now - self._said[2] >= SAY_AGAIN_AFTER

    def _remedy(self) -> str:
        storage = self._stored.storage
        several = len(storage.patiently(storage.names)) > 1
        named = f" --name {shlex.quote(self._stored.name)}" if several else ""
        return f"ostinato release {shlex.quote(storage.address)}{named}"


def _held(reader: Reader) -> tuple[dict[str, int], float, float]:
    """How many repeats who holds, until when, and in how many seconds that is: clocks may differ."""
    now, counts = reader.now(), Counter[str]()
    gone = GivenUpCheck(now, local=reader.local)
    held = [lease for lease in reader.leases() if lease.worker and not gone(lease)]
    for lease in held:
        counts[name_of(lease.worker)] += lease.count
    until = max((lease.until for lease in held), default=0.0)
    return dict(counts), until, until - now


def in_words(counts: dict[str, int], seconds: float) -> str:
    """waiting for 3 measurements that robot-3 holds until 14:03:10, or longer if it renews that."""
    now = datetime.now()
    until = now + timedelta(seconds=min(seconds, 1e9))
    moment = f"{until:%H:%M:%S}" if until.date() == now.date() else f"{until:%Y-%m-%d %H:%M:%S}"
    names = list(counts)[:WORKERS_NAMED]
    if len(counts) > WORKERS_NAMED:
        names.append(counted(len(counts) - WORKERS_NAMED, "other"))
    who = f"{', '.join(names[:-1])} and {names[-1]} hold" if len(names) > 1 else f"{names[0]} holds"
    they = "they renew" if len(names) > 1 else "it renews"
    measurements = counted(sum(counts.values()), "measurement")
    return f"waiting for {measurements} that {who} until {moment}, or longer if {they} that"
