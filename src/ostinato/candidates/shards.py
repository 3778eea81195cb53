"""The shards of a table on a Dask cluster: what is asked of all of them, and single rows.

The driver keeps futures and a few rows. Whatever a worker holds follows from the files and from what it is asked, so
that Dask makes a lost shard again elsewhere, and the question is answered there.
"""

import pickle
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from operator import getitem
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix
from ostinato.candidates.shard import FilePiece, Shard, levels_of, load, made, rows_at
from ostinato.errors import InvalidSetting, MissingSetting, installing

T = TypeVar("T")
ROWS = 2_500_000  # of a shard, at most
PATIENCE = 2.0  # seconds after which it is looked whether the workers that were asked are still there
KEPT = 50_000  # rows that the driver keeps, of those it looked at


@dataclass
class Traffic:
    """Bytes that went to workers and came back, for all questions so far, and how many questions there were."""

    sent: int = 0
    received: int = 0
    questions: int = 0


class Shards:
    """All candidates: in shards on workers, and those that were added later, which are few, here."""

    def __init__(self, client: Any, futures: Sequence[Any], sizes: Sequence[int]) -> None:
        self.client, self.traffic = client, Traffic()
        self._futures = list(futures)
        self._homes: list[list[str]] | None = None  # the workers that hold each shard, and what was worked out of it
        self._ends: list[int] = np.cumsum(sizes).tolist()
        self.tail: Shard | None = None
        self._rows: dict[int, NDArray[np.float64]] = {}

    @classmethod
    def of(cls, client: Any, pieces: Sequence[Sequence[FilePiece]], kinds: Sequence[tuple[str, str]]) -> "Loading":
        """Shards that are read on all workers at once."""
        sizes = [sum(piece.stop - piece.first for piece in each) for each in pieces]
        firsts = [0, *np.cumsum(sizes).tolist()]
        loaded = [
            client.submit(load, each, kinds, first, pure=False) for each, first in zip(pieces, firsts, strict=False)
        ]
        return Loading(client, loaded, sizes)

    def __len__(self) -> int:
        return self._ends[-1] + (0 if self.tail is None else len(self.tail))

    @property
    def on_workers(self) -> int:
        """How many candidates are not here."""
        return self._ends[-1]

    @property
    def starts(self) -> list[int]:
        """The first candidate of each shard, and of those that were added where there are any."""
        return [0, *self._ends[:-1], *([] if self.tail is None else [self._ends[-1]])]

    def with_tail(self, features: Matrix) -> "Shards":
        """The same, with other candidates here after all others."""
        other = Shards(self.client, self._futures, np.diff([0, *self._ends]).tolist())
        other.traffic, other._homes = self.traffic, self._homes
        other.tail = Shard(self._ends[-1], features) if len(features) else None
        return other

    def ask(self, function: Callable[[Shard, Any], T], message: Any = None) -> list[T]:
        """What a function says of every shard and a message."""
        return self.ask_each(function, [message] * len(self.starts))

    def ask_each(self, function: Callable[[Shard, Any], T], messages: Sequence[Any]) -> list[T]:
        """The same, with a message for each."""
        asked = [(owner, pickle.dumps((function, messages[owner]))) for owner in range(len(self._futures))]
        found = self._answers(asked)
        return found if self.tail is None else [*found, function(self.tail, messages[-1])]

    def _answers(self, asked: Sequence[tuple[int, bytes]]) -> list[Any]:
        """What some shards answer to questions, each to its own."""
        from distributed import wait  # pyright: ignore[reportUnknownVariableType]

        answers = [self._submit(owner, question) for owner, question in asked]
        while True:
            try:
                wait(answers, timeout=PATIENCE)
                break
            except TimeoutError:
                answers = self._again_where_lost(asked, answers)
        came: list[bytes] = self.client.gather(answers)
        self.traffic.questions += 1
        self.traffic.sent += sum(len(question) for _, question in asked)
        self.traffic.received += sum(map(len, came))
        return [pickle.loads(each) for each in came]

    def _submit(self, owner: int, question: bytes) -> Any:
        """Where the shard is, so that what was worked out of it before is not worked out again; or anywhere."""
        if self._homes is None:
            found = self.client.who_has(self._futures)
            self._homes = [list(found.get(each.key, ())) for each in self._futures]
        home = self._homes[owner]
        where: dict[str, Any] = {"workers": home, "allow_other_workers": True} if home else {}
        return self.client.submit(answered, self._futures[owner], question, pure=False, **where)

    def _again_where_lost(self, asked: Sequence[tuple[int, bytes]], answers: list[Any]) -> list[Any]:
        """Questions to workers that are gone are asked again: where all were gone for a moment, Dask forgets them."""
        there = set(self.client.nthreads())
        homes = cast("list[list[str]]", self._homes)
        for place, (owner, question) in enumerate(asked):
            if there and homes[owner] and not there.intersection(homes[owner]) and not answers[place].done():
                homes[owner] = []
                answers[place] = self._submit(owner, question)
        return answers

    def rows(self, numbers: NDArray[np.int64]) -> Matrix:
        """The features of some candidates, from their files; those that were looked at before are kept."""
        new = np.unique([number for number in numbers.tolist() if number not in self._rows]).astype(np.int64)
        if len(new):
            self._fetch(new)
        found = [self._rows[number] for number in numbers.tolist()]
        if len(self._rows) > KEPT:
            self._rows = {}
        width = 0 if not found else len(found[0])
        return np.array(found).reshape(len(found), width)

    def remember(self, numbers: NDArray[np.int64], rows: Matrix) -> None:
        """Rows that a worker told besides."""
        self._rows.update(zip(numbers.tolist(), rows, strict=True))

    def _fetch(self, numbers: NDArray[np.int64]) -> None:
        owners = np.array([bisect_right(self._ends, number) for number in numbers.tolist()])
        parts = [(int(owner), numbers[owners == owner]) for owner in np.unique(owners)]
        away = [(owner, here) for owner, here in parts if owner < len(self._futures)]
        for owner, here in parts:
            if owner == len(self._futures) and self.tail is not None:
                self.remember(here, rows_at(self.tail, here - self._ends[-1]))
        if away:
            starts = [0, *self._ends]
            found = self._answers([(owner, pickle.dumps((rows_at, here - starts[owner]))) for owner, here in away])
            for (_, here), rows in zip(away, found, strict=True):
                self.remember(here, rows)

    def shuffled(self, split: Callable[..., Any], arguments: tuple[Any, ...], merge: Callable[..., T]) -> list[T]:
        """What belongs together, brought together: each shard's `split` makes as many parts as there are shards."""
        buckets = range(len(self._futures))
        submit = self.client.submit
        parts = [submit(split, shard, *arguments, pure=False) for shard in self._futures]
        own: list[Any] = [] if self.tail is None else split(self.tail, *arguments)
        merged = [
            submit(
                merge,
                [*(submit(getitem, part, bucket, pure=False) for part in parts), *([own[bucket]] if own else [])],
                pure=False,
            )
            for bucket in buckets
        ]
        return self.client.gather(merged)

    @property
    def count(self) -> int:
        """Shards on workers."""
        return len(self._futures)


class Loading:
    """Shards that are being read."""

    def __init__(self, client: Any, loaded: Sequence[Any], sizes: Sequence[int]) -> None:
        self._client, self._loaded, self._sizes = client, loaded, sizes

    def levels(self) -> dict[int, list[str]]:
        """All texts of each column that holds texts, in order."""
        found: dict[int, set[str]] = {}
        for each in self._client.gather([self._client.submit(levels_of, part, pure=False) for part in self._loaded]):
            for place, texts in each.items():
                found.setdefault(place, set()).update(texts)
        return {place: sorted(texts) for place, texts in found.items()}

    def shards(self, codecs: Sequence[Any], left_out: NDArray[np.int64]) -> Shards:
        """As shards, without some rows."""
        firsts = [0, *np.cumsum(self._sizes).tolist()]
        futures, sizes = list[Any](), list[int]()
        for number, part in enumerate(self._loaded):
            low, high = np.searchsorted(left_out, firsts[number : number + 2])
            out = left_out[low:high] - firsts[number]
            futures.append(self._client.submit(made, part, codecs, sum(sizes), out, pure=False))
            sizes.append(self._sizes[number] - len(out))
        return Shards(self._client, futures, sizes)


def connected(address: str) -> Any:
    """A client of the scheduler at an address: that of this process where there is one."""
    try:
        from distributed import Client, default_client  # pyright: ignore[reportUnknownVariableType]
    except ImportError:
        raise MissingSetting(f"Candidates on a Dask cluster need Dask: {installing('dask')}.") from None
    with suppress(ValueError):
        client = cast("Any", default_client())
        if client.scheduler.address == address:
            return client
    try:
        return Client(address)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"No Dask scheduler answers at {address} ({error}): start one, `dask scheduler`."
        ) from None


def divide(rows: Sequence[tuple[str, int]], workers: int) -> list[list[FilePiece]]:
    """Equal parts of some files, as many as there are workers, or more where these would be too large."""
    total = sum(count for _, count in rows)
    parts = min(max(workers, ceil(total / ROWS)), max(total, 1))
    edges = np.linspace(0, total, parts + 1).astype(int).tolist()
    pieces: list[list[FilePiece]] = [[] for _ in range(parts)]
    begin = 0
    for path, count in rows:
        for part, (low, high) in enumerate(pairwise(edges)):
            first, stop = max(low - begin, 0), min(high - begin, count)
            if first < stop:
                pieces[part].append(FilePiece(path, first, stop))
        begin += count
    return pieces


def answered(shard: Shard, packed: bytes) -> bytes:
    """On a worker: one question at a time for each shard, as what is kept of it changes."""
    function, message = pickle.loads(packed)
    with shard.lock:
        return pickle.dumps(function(shard, message))
