"""The order that settles ties: random, drawn from the seed, and the same however many candidates were added since.

Up to DRAWN_UP_TO candidates it is a permutation that is drawn once. Of more it is computed where somebody looks, so
that nothing has the size of the candidate set: a Feistel network on the bits of a candidate's number, which is
one-to-one on a power of four, is repeated until it ends below the number of candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWN_UP_TO = 2**20  # candidates up to which the order is drawn
ROUNDS = 6
MIX = 0x9E3779B97F4A7C15 - 2**64  # an odd multiplier whose bits look random


@dataclass(frozen=True)
class Order:
    """Of candidates that were `sizes[0]` at first, and more after each addition.

    state: of the generator that the order is drawn with; or the key that it is computed by.
    """

    state: Any
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return self.sizes[-1]

    def __getitem__(self, which: Any) -> Any:
        """The places of some candidates in the order."""
        numbers = np.asarray(which, dtype=np.int64)
        found = np.empty(numbers.shape, dtype=np.int64)
        early = numbers < self.sizes[0]
        found[early] = self._first(numbers[early])
        found[~early] = self._later[numbers[~early] - self.sizes[0]]
        return int(found) if found.ndim == 0 else found

    def on_card(self, which: Any) -> Any:
        """The same of candidates that are listed on a GPU; there, where the order is computed."""
        if isinstance(self.state, int) and len(self.sizes) == 1:
            return _walk(which, self.sizes[0], self.state, backwards=False)
        return which.new_tensor(self[which.cpu().numpy()])

    def lowest(self, count: int) -> NDArray[np.int64]:
        """The first candidates in the order; those that were added come after all others."""
        count = min(count, len(self))
        if count > self.sizes[0]:
            return np.argsort(self[np.arange(len(self))])[:count]
        if isinstance(self.state, int):
            return _walk(np.arange(count), self.sizes[0], self.state, backwards=True)
        return lowest(self._drawn, count)

    def grown(self, size: int) -> "Order":
        return Order(self.state, (*self.sizes, size))

    def __getstate__(self) -> tuple[Any, tuple[int, ...]]:
        return self.state, self.sizes

    def __setstate__(self, state: tuple[Any, tuple[int, ...]]) -> None:
        self.__dict__.update(state=state[0], sizes=state[1])

    def _first(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        if isinstance(self.state, int):
            return _walk(numbers, self.sizes[0], self.state, backwards=False)
        return self._drawn[numbers]

    @cached_property
    def _drawn(self) -> NDArray[np.int64]:
        return generator_of(self.state).permutation(self.sizes[0])

    @cached_property
    def _later(self) -> NDArray[np.int64]:
        """Those that were added come last, each time in a random order of their own."""
        first = int(self._first(np.zeros(1, dtype=np.int64))[0])
        parts = [added(first, old, new) for old, new in pairwise(self.sizes)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def drawn(rng: np.random.Generator, sizes: Sequence[int]) -> Order:
    """The order of candidates that came in so many steps; the generator goes on as if it had been drawn."""
    if sizes[0] > DRAWN_UP_TO:
        return Order(int(rng.integers(2**62)), tuple(sizes))
    state = dict(rng.bit_generator.state)
    rng.permutation(sizes[0])
    return Order(state, tuple(sizes))


def lowest(priority: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The candidates of the lowest priority, in order."""
    first = np.arange(len(priority)) if count >= len(priority) else np.argpartition(priority, count)[:count]
    return first[np.argsort(priority[first])]


def added(first: int, old: int, new: int) -> NDArray[np.int64]:
    return old + np.random.default_rng((first, old, new)).permutation(new - old)


def generator_of(state: dict[str, Any]) -> np.random.Generator:
    made = np.random.Generator(getattr(np.random, state["bit_generator"])())
    made.bit_generator.state = state
    return made


def _walk(numbers: Any, size: int, key: int, *, backwards: bool) -> Any:
    """A one-to-one map of 0 … size − 1: what lies beyond is mapped again until it does not.

    Numbers are those of NumPy or, on a GPU, of PyTorch: whole numbers of 64 bits with a sign in both.
    """
    half = ((size - 1).bit_length() + 1) // 2
    keys = np.random.SeedSequence(key).generate_state(ROUNDS, np.uint64).astype(np.int64).tolist()
    keys = keys[::-1] if backwards else keys
    values = _network(numbers, half, keys, backwards=backwards)
    beyond = values >= size
    while beyond.any():
        values[beyond] = _network(values[beyond], half, keys, backwards=backwards)
        beyond = values >= size
    return values


def _network(values: Any, half: int, keys: Sequence[int], *, backwards: bool) -> Any:
    mask = (1 << half) - 1
    left, right = values >> half, values & mask
    for each in keys:
        if backwards:
            left, right = right ^ _mixed(left, each, mask), left
        else:
            left, right = right, left ^ _mixed(right, each, mask)
    return (left << half) | right


def _mixed(values: Any, key: int, mask: int) -> Any:
    """Products are modulo 2⁶⁴, and shifts fill with zeros, as if there were no sign."""
    mixed = (values ^ key) * MIX
    mixed = (mixed ^ ((mixed >> 32) & (2**32 - 1))) * MIX
    return (mixed >> 29) & mask
