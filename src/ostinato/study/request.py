"""What is asked of a study in one call: some repeats of a batch, or a plan of several batches."""

import msgspec

from ostinato.optimizer.plan import Wish


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
