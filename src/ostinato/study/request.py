"""What is asked of a study in one call: some repeats of a batch, or a plan of several batches."""

from collections.abc import Collection

import msgspec

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

    def take(self, writer: Writer, only: Collection[int] | None = None) -> tuple[list[Lease], int]:
        """What is there for it, and how many measurements are still to be decided on for it.

        only: batches that were decided for it, where it asks for others than wait.
        """
        if self.wish is not None:
            return self._planned(writer, self.wish, only)
        lease = handed_out(writer, self.lease, self.key, self.most, self.share, mine=self.mine)
        return ([], 1) if lease is None else ([lease], 0)

    def _planned(self, writer: Writer, wish: Wish, only: Collection[int] | None) -> tuple[list[Lease], int]:
        fresh = wish.distinct or bool(wish.shared)
        leases = sorted((e for e in writer.leases() if e.worker.startswith(self.key)), key=lambda e: (e.batch, e.start))
        while (left := self._wanted(writer, wish, leases)) > 0:
            key = f"{self.key}{len(leases)}"
            lease = handed_out(writer, self.lease, key, left, 1, (only or ()) if fresh else None)
            if lease is None:
                return leases, left
            leases.append(lease)
        return leases, 0

    def _wanted(self, writer: Writer, wish: Wish, leases: list[Lease]) -> int:
        own = sum(lease.count for lease in leases)
        if wish.slots is not None:
            return wish.slots - own
        wanted = (wish.workers or 0) - sum(in_hand(writer).values())
        return wanted if self.most is None else min(wanted, self.most - own)
