"""What is asked of a study in one call: some repeats of a batch, or a plan of several batches."""

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from ostinato.optimizer.plan import Wish
from ostinato.storage import Lease, Writer
from ostinato.study.leases import handed_out, in_hand


class Request(msgspec.Struct, frozen=True):
    """key: by which the answer is found again where it was not heard. lease: seconds for which repeats are handed out.

    most: repeats, at most; share: among how many workers a batch is shared out; wish: of a plan. mine: keys of what
    the one who asks still holds.
    """

    key: str
    lease: float
    most: int | None = None
    share: int = 1
    wish: Wish | None = None
    mine: frozenset[str] = frozenset()

    def take(self, writer: Writer, only: Collection[int] | None = None) -> list[Lease]:
        """What is there for it: of some batches, where it asks for others than wait."""
        if self.wish is None:
            lease = handed_out(writer, self.lease, self.key, self.most, self.share, mine=self.mine)
            return [] if lease is None else [lease]
        fresh = self.wish.distinct or bool(self.wish.shared)
        leases = sorted((e for e in writer.leases() if e.worker.startswith(self.key)), key=lambda e: (e.batch, e.start))
        while (left := self._wanted(writer, leases)) > 0:
            key = f"{self.key}{len(leases)}"
            lease = handed_out(writer, self.lease, key, left, 1, (only or ()) if fresh else None)
            if lease is None:
                break
            leases.append(lease)
        return leases

    def missing(self, writer: Writer, leases: list[Lease]) -> int:
        """Measurements that are still to be decided on for it."""
        return int(not leases) if self.wish is None else self._wanted(writer, leases)

    def rest(self, missing: int) -> Wish | None:
        """What is to be decided, where so many are missing."""
        return None if self.wish is None else replace(self.wish, slots=missing, workers=None)

    def _wanted(self, writer: Writer, leases: list[Lease]) -> int:
        own = sum(lease.count for lease in leases)
        if self.wish is None or self.wish.slots is not None:
            return (self.wish.slots or 0 if self.wish else 1) - own
        wanted = (self.wish.workers or 0) - sum(in_hand(writer).values())
        return wanted if self.most is None else min(wanted, self.most - own)
