"""Facts that pass between the rooms and out to the user. All frozen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import msgspec

from ostinato.arrays import Vector
from ostinato.checks import at_most, counted, rounded, short
from ostinato.notebook import card, listing

SHOWN = 8  # length-scales in a line
NEARLY_CERTAIN = 0.9  # the probability of being the best from which that is said
STAYS = "no other candidate promises enough to be worth a switch"  # why a leader is measured again


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """What was believed when a batch was asked for. `Optimizer.explain` puts it into words.

    Values and standard deviations speak of the candidate's true value; noise_std of one measurement; setup_std of
    the error that repeats share. `staleness` is by how much the batch can shrink any standard deviation, where C is
    the most that the rule allows; `cause` is why the batch is shorter than that. `leads` says whether no measured
    candidate has a higher mean. `seeks` is what the candidate has more of than any other. `limits`: with robust=True,
    what is expected of a value, its standard deviation, and that of noise alone; higher is better there. `searched`: at
    how many points (or boxes) of a space the score was looked at; 0 where candidates are all of a table. `gap`: with
    search="certified", by how much at most another point of the space scores higher.
    """

    mean: float
    std: float
    noise_std: float
    setup_std: float
    staleness: float
    leads: bool
    measured: int
    leader: Any = None
    leader_mean: float | None = None
    first: bool = False
    beta: float | None = None
    C: float | None = None
    switch_cost: float | None = None
    cause: str = ""
    policy: str = ""
    seeks: str = ""
    limits: tuple[float, float, float] | None = None
    searched: int = 0
    gap: float | None = None

    def staleness_of(self, repeats: int) -> float:
        """By how much so many repeats can shrink any standard deviation."""
        return sqrt(1 + self.std**2 / (self.setup_std**2 + self.noise_std**2 / repeats))


class Batch(msgspec.Struct, frozen=True, eq=False):
    """Measure `candidate` (row `index` of the table) `repeats` times.

    `wanted` is what the rule asked for; `repeats` is lower where a cap or the limit of `ask` cut it. `round`: the
    decision that it came from, counted from 1.
    """

    id: int
    index: int
    candidate: Any
    repeats: int
    wanted: int
    capped: bool = False
    truncated: bool = False
    reason: "Reason | None" = None
    round: int = 0

    def __repr__(self) -> str:
        return f"Batch({self.id}, index={self.index}, candidate={self.candidate}, repeats={self.repeats})"

    @property
    def full(self) -> bool:
        """Whether nothing cut the batch."""
        return not (self.capped or self.truncated)


class Quantity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the measured number is called, and its unit where it has one. given: whether the user gave the name."""

    name: str
    unit: str = ""
    given: bool = False

    @property
    def heading(self) -> str:
        """Of single measurements: Yield (%); Value, where the user said nothing."""
        return self.label[:1].upper() + self.label[1:] if self.given or self.unit else "Value"

    @property
    def label(self) -> str:
        """For an axis or a heading: yield (%)."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def of(self, number: str) -> str:
        """A number with its unit: 70.1 %."""
        return f"{number} {self.unit}" if self.unit else number

    def said(self, number: str) -> str:
        """A number in a sentence, with the name where the user gave one: yield 70.1 %."""
        return f"{self.name} {self.of(number)}" if self.given else self.of(number)


UNNAMED = Quantity("value")


class Best(msgspec.Struct, frozen=True, eq=False, omit_defaults=True):
    """The measured candidate of the best lower bound: its mean less a standard deviation.

    `mean` and `interval` speak of the candidate's true value, not of single measurements. `n` is how often it was
    measured; `chance` the probability that no other candidate is better; with 90% probability none is better by more
    than `within`.
    """

    index: int
    candidate: Any
    mean: float
    std: float
    interval: tuple[float, float]
    level: float
    n: int
    chance: float
    within: float
    quantity: Quantity = UNNAMED

    def __str__(self) -> str:
        mean, low, high = (rounded(each, self.std) for each in (self.mean, *self.interval))
        return (
            f"{self.candidate}: {self.quantity.said(mean)} ({self.level:.0%} interval {low} to {high}) "
            f"after {counted(self.n, 'measurement')}; {self.standing}"
        )

    def _repr_html_(self) -> str:
        mean, low, high = (rounded(each, self.std) for each in (self.mean, *self.interval))
        rows = (
            ("candidate", self.candidate),
            (self.quantity.label if self.quantity.given else "estimate", self.quantity.of(mean)),
            (f"{self.level:.0%} interval", f"{low} to {high}"),
            ("measured", counted(self.n, "time")),
            ("standing", self.standing),
        )
        return card("Best", rows)

    @property
    def standing(self) -> str:
        """How near the best candidate it is, in words."""
        if self.chance >= NEARLY_CERTAIN:
            return f"the best of all with {self.chance:.0%} probability"
        return f"within {self.quantity.of(short(self.within))} of the best with 90% probability"


class Estimate(msgspec.Struct, frozen=True):
    """What is known of one measured candidate's true value, by itself; `n` is how often it was measured."""

    index: int
    mean: float
    std: float
    interval: tuple[float, float]
    n: int


class Outlier(msgspec.Struct, frozen=True, eq=False):
    """A single measurement that does not fit: its number in the order told, its batch, and what was expected of it."""

    number: int
    batch: int
    index: int
    candidate: Any
    value: float
    expected: tuple[float, float]

    def __str__(self) -> str:
        low, high = self.expected
        digits = high - low
        return (
            f"measurement {self.number}: {self.value:.6g}, where {rounded(low, digits)} to {rounded(high, digits)} was "
            f"expected of {self.candidate}"
        )


class Certificate(msgspec.Struct, frozen=True):
    """A proof, made by the run itself, that it switched rarely.

    Every full batch adds at least `gain_per_batch` to the log-determinant, which grew by `gain`; so there
    can be at most `bound` of them. Batches cut by a cap, by a limit, or not answered in full are counted apart.
    searched: candidates are points of a space, each the best that a search found. That bound holds all the same; bounds
    on regret need the best of all. With search="certified", `certified` batches are of points that score within `gap`
    of the highest, and `total_gap`, the sum over their measurements, is what bounds on regret grow by.
    """

    full: int
    capped: int
    truncated: int
    partial: int
    gain: float
    gain_per_batch: float
    searched: bool = False
    certified: int = 0
    gap: float = 0.0
    total_gap: float = 0.0

    @property
    def bound(self) -> float:
        return self.gain / self.gain_per_batch

    @property
    def holds(self) -> bool:
        """Whether the count obeys the bound. It always should: a False is a bug, please report it."""
        return self.full <= self.bound * (1 + 1e-9) + 1e-9

    def __str__(self) -> str:
        apart = [
            f"{n} {what}"
            for what, n in (("capped", self.capped), ("cut by a limit", self.truncated), ("partial", self.partial))
            if n
        ]
        return (
            f"{counted(self.full, 'full batch', 'full batches')}, at most {self.bound:,.0f} possible"
            + (f" (apart: {', '.join(apart)})" if apart else "")
            + ("" if self.holds else " — VIOLATED")
            + (f"; {self.maximum}" if self.searched else "")
        )

    @property
    def maximum(self) -> str:
        """In words, how near to the highest score of the space the candidates were, and what follows for regret."""
        if self.certified:
            return (
                f"{counted(self.certified, 'batch', 'batches')} scored within {at_most(self.gap)} of the highest of "
                f"the space, and bounds on regret grow by {at_most(self.total_gap)} at most"
            )
        return (
            "each candidate is the best that a search of the space found, which is approximate: regret stays sublinear "
            "if what the searches miss adds up to little enough"
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """Mean and standard deviation of f (not of a measurement) at each of the points asked about."""

    mean: Vector
    std: Vector
    _interval: Callable[[float], tuple[Vector, Vector]] = field(repr=False)

    def interval(self, level: float = 0.95) -> tuple[Vector, Vector]:
        """Between what each true value lies with probability `level`."""
        return self._interval(level)

    def __len__(self) -> int:
        return len(self.mean)


class Plan(msgspec.Struct, frozen=True, eq=False):
    """Batches to measure at the same time, in an order that is cheap to walk.

    `ratio` is by how much they shrink a standard deviation at most, before anything is learned from them; `C` what
    the policy would keep it within (None where it makes no such promise).
    """

    batches: tuple[Batch, ...]
    ratio: float
    C: float | None = None

    @property
    def repeats(self) -> int:
        """Measurements in all."""
        return sum(batch.repeats for batch in self.batches)

    @property
    def within(self) -> bool:
        """Whether the ratio is kept."""
        return self.C is None or self.ratio <= self.C * (1 + 1e-9)

    def __iter__(self) -> Iterator[Batch]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, place: int) -> Batch:
        return self.batches[place]

    def _repr_html_(self) -> str:
        title = f"Plan: {counted(self.repeats, 'measurement')} in {counted(len(self), 'batch', 'batches')}"
        rows = ((batch.id, f"{batch.repeats:,} ×", batch.candidate) for batch in self.batches)
        return listing(title, ("batch", "repeats", "candidate"), rows)

    def __str__(self) -> str:
        promise = "" if self.C is None else f" ({'within' if self.within else 'above'} the C = {self.C:g} of one batch)"
        lines = [
            f"{counted(self.repeats, 'measurement')} in {counted(len(self), 'batch', 'batches')}, decided in one go: "
            f"standard deviations shrink by a factor of up to {self.ratio:.3g} before anything is learned{promise}"
        ]
        return "\n".join(lines + [f"  {batch.repeats:>4} × {batch.candidate}" for batch in self.batches])


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """What the model holds true besides the measurements, in the user's units; and which of it was learned from them.

    lengthscales: by column, how far apart two candidates can be and still be alike (in decades for columns on a
    logarithmic scale; None where the kernel is the user's own). noise_std: of one measurement; from the lowest to
    the highest where candidates differ. uncovered: where nothing was learned, why the paper's bounds on regret do not
    hold as proved, in words.
    """

    mean: float
    std: float | None
    lengthscales: dict[str | int, float] | None
    noise_std: tuple[float, float]
    setup_std: float
    what: tuple[str, ...]
    fits: int = 0
    units: dict[str | int, str] = {}
    uncovered: str = ""

    @property
    def given(self) -> bool:
        """Whether kernel, noise, mean and set-up error were all given, so that nothing was learned."""
        return not self.what

    @property
    def guaranteed(self) -> bool:
        """Whether a bound on the regret is proved for this run, if the kernel and noise that were given are right.

        So nothing may be learned, and policy, schedule, candidates and settings must be those of a proof; `uncovered`
        says what is not. The certificate on the number of batches asks for less.
        """
        return self.given and not self.uncovered

    def __str__(self) -> str:
        low, high = self.noise_std
        noise = f"noise {low:.3g}" if low == high else f"noise {low:.3g} to {high:.3g}"
        parts = [noise + (f", set-ups {self.setup_std:.3g}" if self.setup_std else "")]
        if self.std is not None:
            parts.append(f"values vary by {self.std:.3g} around {rounded(self.mean, self.std)}")
        if self.lengthscales:
            shown = list(self.lengthscales.items())[:SHOWN]
            more = f" and {len(self.lengthscales) - SHOWN} more" if len(self.lengthscales) > SHOWN else ""
            alike = ", ".join(f"{_named(name)} {each:.3g}{self.units.get(name, '')}" for name, each in shown)
            parts.append(f"alike within {alike}{more}")
        return "; ".join(parts)


def _named(column: str | int) -> str:
    return f"column {column}" if isinstance(column, int) else column


def choices(candidates: int | None, retired: int) -> str:
    """How many candidates there are to choose from, in words. candidates: without those retired; None for a space."""
    what = "any point of a space" if candidates is None else counted(candidates, "candidate")
    return f"{what} to choose from" + (f", {retired:,} more retired" if retired else "")


class Costs(msgspec.Struct, frozen=True):
    """What a run has paid: switches and measurements, and their costs.

    `one_at_a_time` is what it would have paid, had it switched after every measurement, each time at the same average.
    """

    switches: int
    switch_cost: float
    measurements: int
    measurement_cost: float
    one_at_a_time: float

    @property
    def total(self) -> float:
        return self.switch_cost + self.measurement_cost

    def __str__(self) -> str:
        return (
            f"{self.total:,.6g} ({counted(self.switches, 'switch', 'switches')} {self.switch_cost:,.6g}, "
            f"{counted(self.measurements, 'measurement')} {self.measurement_cost:,.6g}; "
            f"switching every time: about {self.one_at_a_time:,.6g})"
        )
