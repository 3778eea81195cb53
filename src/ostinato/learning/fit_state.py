"""The last fit as a fact, from which the learned prior can be made again."""

import msgspec


class FitState(msgspec.Struct, frozen=True):
    """The last fit: the logarithms that were learned, the units they are in, and when that was.

    `relative` holds λ(x)/λ of all candidates, as float64 bytes, where noise differs between them; `noises` that of
    some, where it follows the mean.
    """

    at: tuple[int, float]
    fits: int = 0
    point: list[float | None] = []
    mean: float = 0.0
    spread: float = 1.0
    floor: float | None = None
    relative: bytes | None = None
    noises: dict[int, float] = {}
