"""Candidates of a space that cannot be listed: points sampled from it, and those that were asked for or observed.

Inside there is a finite set of candidates, as with a table: a pool of quasi-random points that grows with the run, and
points that a search found beside them. Outside there are only the points that were named, asked for or observed: they
have indices, in the order they were named, and keep them. Numbers are never given anew: a set only grows.

Named points are told apart by their values, and not by their features, which are float64: whole numbers above 2⁵³ and
logarithms are rounded there. Points of the pool, and those that a search finds, are told apart by their features.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates.parameters import WIDEST, When
from ostinato.candidates.rows import ListedRows
from ostinato.candidates.space import Space
from ostinato.candidates.table import Candidates, is_one_row
from ostinato.checks import brief, is_whole
from ostinato.errors import InvalidCandidates, UnknownCandidate

SMALLEST = 2048  # points of the pool
POOL_DOUBLES_AT = 128  # named points from which the pool doubles, each time they do
LARGEST = 2**15  # points of the pool
MIN_ALLOWED = 256  # points that the constraints allow, for which as many as MAX_DRAWN are drawn
MAX_DRAWN = 2**16
NAMED_LAST = 2**40  # in the order that settles ties: the pool comes first, in the order it was drawn


class Sampled(Candidates):
    """A growing set of points of a space. What adds to it gives another one; this one stays as it is."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space, self._seed = space, seed
        self._codecs = [parameter.codec(name) for name, parameter in space.parameters.items()]
        self._named, self.rows, self.parts = True, 0, (0,)
        self._drawn = 0  # points of the quasi-random sequence that were used
        self._by_row = None
        self._by_values: dict[tuple[Any, ...], int] = {}  # named points
        self.features = np.zeros((0, len(self._codecs)))
        self.priority = np.zeros(0, dtype=np.int64)
        self._first = np.zeros(0, dtype=np.intp)
        self._numbers = np.zeros(0, dtype=np.intp)
        self._row = ListedRows(tuple(space.parameters), tuple([] for _ in space.parameters))

    def seeded(self, seed: int) -> "Sampled":
        """The same named points, with a pool of its own."""
        fresh = Sampled(self.space, seed).with_pool()
        return fresh.with_named([self[index] for index in range(self.rows)])

    def within(self, space: Space) -> "Sampled":
        """The same named points, of a space with constraints that were not known here."""
        return Sampled(space, self._seed).with_named([self[index] for index in range(self.rows)])

    @property
    def span(self) -> tuple[Vector, Vector]:
        """The lowest and the highest feature of every column."""
        low, high = zip(*(parameter.ends for parameter in self.space.parameters.values()), strict=True)
        return np.array(low), np.array(high)

    def on_logs(self) -> "Sampled":
        """The space says which columns are."""
        return self

    def index_of(self, number: int) -> int:
        if self._first[number] < 0:
            raise UnknownCandidate(f"Point {number} of the pool was never asked for or observed: it has no index.")
        return int(self._first[number])

    def point(self, number: int) -> dict[str, Any]:
        """Any point of the set as the user knows it: as it was named, or as it would be."""
        return self[self.index_of(number)] if self._first[number] >= 0 else self._value_of(self.features[number])

    def _absent(self, numbers: NDArray[np.intp], column: int) -> NDArray[np.bool_]:
        return self.space.absent(self.features[numbers])[:, column]

    def row_at(self, feature: Vector) -> dict[str, Any]:
        """The point of the space that is nearest to some features, as the user knows it."""
        return self._value_of(feature)

    # What adds to it

    def with_pool(self) -> "Sampled":
        """With as many points in the pool as so many named ones deserve."""
        wanted = min(SMALLEST * 2 ** int(np.log2(max(1, self.rows // POOL_DOUBLES_AT))), LARGEST)
        if self._drawn >= wanted:
            return self
        rows = self._allowed(self._drawn, wanted)
        while len(rows) + len(self) < MIN_ALLOWED and wanted < MAX_DRAWN:
            rows += self._allowed(wanted, 2 * wanted)
            wanted *= 2
        if not rows and not len(self):
            raise InvalidCandidates(
                f"The constraints allow none of {MAX_DRAWN:,} points of the space: loosen one, or give narrower "
                "ranges. Where one value follows from others (x + y = 1), leave its parameter out and compute it from "
                "them."
            )
        other = self._with(self._encoded(rows), self._drawn + np.arange(len(rows)))
        other._drawn = wanted
        return other

    def _allowed(self, start: int, end: int) -> list[dict[str, Any]]:
        """Those of some points of the sequence that the constraints allow."""
        from scipy.stats import qmc  # it takes a third of a second to import, and few need it

        unit = qmc.Sobol(len(self._codecs), rng=np.random.default_rng((self._seed, 1))).random(end)[start:]
        parameters = self.space.parameters
        rows = ({name: p.sampled(float(at)) for (name, p), at in zip(parameters.items(), u, strict=True)} for u in unit)
        return [row for row in map(self.space.settled, rows) if self.space.allows(row)]

    def with_points(self, features: Matrix) -> "Sampled":
        """With more points, each the nearest that the space has; those that it has already, or forbids, left out."""
        rows = [row for row in map(self._value_of, features) if self.space.allows(row)]
        return self._with(self._encoded(rows), NAMED_LAST + len(self) + np.arange(len(rows)))

    def trials(self, features: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
        """The points of the space that are nearest to some, as kernels see them; and which of them are allowed."""
        snapped = self.space.snapped(features)
        if not self.space.constraints:
            return snapped, np.ones(len(snapped), dtype=np.bool_)
        return snapped, np.array([self.space.allows(self._value_of(each)) for each in snapped], dtype=np.bool_)

    def with_trials(self, features: Matrix) -> "Sampled":
        """With more points as they are, for a moment: to see how they would score."""
        other = self._appended(features, 2 * NAMED_LAST + np.arange(len(features)))
        other._by_row = None
        return other

    def holding(self, where: Any) -> "Sampled":
        """With indices for the points that are spoken of, by rows as the user knows them."""
        rows = self._rows_of(where)
        if rows is None:
            return self
        meant = [self._meant(row) for row in rows]
        return self.with_named([self._allowed_one(row) for row, number in meant if number is None])

    def named_by(self, where: Any) -> int | list[int]:
        rows = self._rows_of(where)
        if rows is None:
            return super().named_by(where)
        numbers = [self._found_as(*self._meant(row)) for row in rows]
        return numbers[0] if is_one_row(where) else numbers

    def points(self, points: Any) -> Matrix:
        """The same; parameters that depend on others have a value where these say so, and nowhere else."""
        features, rows = self.encode(points), self._rows_of(points) or []
        missing = np.array([[value is None for value in row.values()] for row in rows]).reshape(features.shape)
        for place, name, absent in self.space.contradictions(features, missing):
            said = "has a value where there is no such parameter" if absent else "is missing"
            wanted = "leave it out" if absent else "give a value"
            parameter = self.space.parameters[name]
            raise UnknownCandidate(f"{name} {said} in point {place}, and it is {parameter!r}: {wanted}.")
        return features

    def with_named(self, rows: Sequence[dict[str, Any]]) -> "Sampled":
        """With indices for some points, which are added where they are new; they stay as they are given."""
        new = {key: row for row in rows if (key := tuple(row.values())) not in self._by_values}
        if not new:
            return self
        features = np.ascontiguousarray(self._encoded(list(new.values())))
        other = self._with(features, NAMED_LAST + len(self) + np.arange(len(features)))
        given, twins = dict[int, dict[str, Any]](), list[int]()
        for place, (row, feature) in enumerate(zip(new.values(), features, strict=True)):
            number = other._known[feature.tobytes()]
            if number in given or other._first[number] >= 0:  # another value of the same features
                number = len(other) + len(twins)
                twins.append(place)
            given[number] = row
        other = other._appended(features[twins], np.full(len(twins), NAMED_LAST)) if twins else other
        return other.naming(list(given), given)

    def numbers_of(self, rows: Sequence[dict[str, Any]]) -> list[int]:
        """The numbers of named points."""
        return [self._by_values[tuple(row.values())] for row in rows]

    def _encoded(self, rows: Sequence[dict[str, Any]]) -> Matrix:
        return self.encode(list(rows)) if rows else self.features[:0]

    def naming(self, numbers: Sequence[int], given: Mapping[int, dict[str, Any]] | None = None) -> "Sampled":
        """With indices for some points of the set that have none yet."""
        new = [number for number in dict.fromkeys(numbers) if self._first[number] < 0]
        if not new:
            return self
        other, rows = copy(self), [(given or {}).get(number) or self.point(number) for number in new]
        other._first, other.priority = self._first.copy(), self.priority.copy()
        other._first[new] = np.arange(self.rows, self.rows + len(new))
        other.priority[new] = NAMED_LAST + other._first[new]
        other._numbers = np.append(self._numbers, new)
        listed = zip(self._row.listed, zip(*(row.values() for row in rows), strict=True), strict=True)
        other._row = ListedRows(self._row.names, tuple([*old, *more] for old, more in listed))
        other.rows, other.parts = self.rows + len(new), (self.rows + len(new),)
        keys = zip((tuple(row.values()) for row in rows), new, strict=True)
        other._by_values = dict(keys) | self._by_values
        return other

    def _with(self, features: Matrix, priority: NDArray[np.int64]) -> "Sampled":
        """With more points, those that it has already left out."""
        known = dict(self._known)
        new = list[int]()
        for place, row in enumerate(np.ascontiguousarray(features)):
            if row.tobytes() not in known:
                known[row.tobytes()] = len(self) + len(new)
                new.append(place)
        other = self._appended(features[new], priority[: len(features)][new])
        other._by_row = known
        return other

    def _appended(self, features: Matrix, priority: NDArray[np.int64]) -> "Sampled":
        other = copy(self)
        other.features = np.concatenate([self.features, features])
        other.priority = np.append(self.priority, priority)
        other._first = np.append(self._first, np.full(len(features), -1, dtype=np.intp))
        return other

    # Finding

    @property
    def _known(self) -> dict[bytes, int]:
        if self._by_row is None:
            rows = reversed(list(enumerate(self.features)))  # of several with the same features, the first
            self._by_row = {row.tobytes(): number for number, row in rows}
        return self._by_row

    def _rows_of(self, where: Any) -> list[dict[str, Any]] | None:
        """Rows as the user knows them, in the order of the parameters; None where there are none, as of indices."""
        named = None if is_whole(where) else self._named_columns(where)
        if named is None:
            return None
        self._encode_named(named)  # which says what is no value of any column
        given = list(zip(*(named[name] for name in self.space.parameters), strict=True))
        return [
            {name: self._or_none(name, v) for name, v in zip(self.space.parameters, row, strict=True)} for row in given
        ]

    def _or_none(self, name: str, value: Any) -> Any:
        """NaN is how pandas says that there is no value."""
        absent = isinstance(self.space.parameters[name], When) and isinstance(value, float) and isnan(value)
        return None if absent else value

    def _meant(self, row: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
        """A point with values that the space has, and the number of the named one that it is, but for rounding."""
        known = self._by_values.get(tuple(row.values()))
        if known is not None:
            return row, known
        row = self._checked(row)
        known = self._by_values.get(tuple(row.values()))
        return row, self._near(row) if known is None else known

    def _near(self, row: dict[str, Any]) -> int | None:
        """The named point that this one is, but for rounding."""
        low, high = self.span
        gaps = np.abs(self.features[self._numbers] - self._encoded([row])) / np.where(high > low, high - low, 1.0)
        parameters = self.space.parameters.items()
        for index in np.flatnonzero(np.max(gaps, axis=1, initial=0.0) <= WIDEST).tolist():
            if all(
                parameter.same(row[name], column[index])
                for (name, parameter), column in zip(parameters, self._row.listed, strict=True)
            ):
                return int(self._numbers[index])
        return None

    def _found_as(self, row: dict[str, Any], number: int | None) -> int:
        if number is None:
            raise UnknownCandidate(f"{brief(row)} was never asked for or observed: observe it first.")
        return number

    def _value_of(self, feature: Vector) -> dict[str, Any]:
        parameters = self.space.parameters.items()
        row = {name: p.nearest(float(each)) for (name, p), each in zip(parameters, feature, strict=True)}
        return self.space.settled(row)

    def _checked(self, row: dict[str, Any]) -> dict[str, Any]:
        """A point as a user gives it, with values that the space has."""
        feature = self._encoded([row])
        absent, own = self.space.absent(feature)[0], dict[str, Any]()
        for place, (name, parameter) in enumerate(self.space.parameters.items()):
            if (row[name] is None) != absent[place]:
                wanted = "leave it out" if absent[place] else "give a value"
                raise UnknownCandidate(f"{name} is {row[name]!r} in {brief(row)}, and it is {parameter!r}: {wanted}.")
            own[name] = None if row[name] is None else parameter.own(row[name])
            if row[name] is not None and own[name] is None:
                raise self._no_value(name, row[name], float(feature[0, place]))
        return own

    def _no_value(self, name: str, given: Any, feature: float) -> UnknownCandidate:
        parameter = self.space.parameters[name]
        (low, high), nearest = parameter.ends, parameter.nearest(feature)
        if not low <= feature <= high or parameter.size == inf:
            return UnknownCandidate(
                f"{name} is {brief(given)}, outside of {parameter!r}: give a point of the space, the nearest has "
                f"{nearest!r}; or begin with a wider space."
            )
        return UnknownCandidate(
            f"{name} is {brief(given)}, none of {parameter!r}: give one of its values, the nearest is {nearest!r}."
        )

    def _allowed_one(self, row: dict[str, Any]) -> dict[str, Any]:
        if not self.space.allows(row):
            raise UnknownCandidate(f"{brief(row)} is ruled out by the space's constraints: give a point that is not.")
        return row
