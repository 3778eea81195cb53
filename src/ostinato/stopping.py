"""When to stop before the budget is spent: rules that a user can name.

optimize(…, stop=Width(0.5))                           the recommended candidate's interval is no wider than 0.5
optimize(…, stop=Within(0.1, chance=0.95))             with 95% probability no candidate is better by more than 0.1
optimize(…, stop=NoImprovement(500))                   500 measurements brought no better recommendation
optimize(…, stop=Spent(2_000))                         switches and measurements have cost 2,000
optimize(…, stop=[Width(0.5), Spent(2_000)])           whichever comes first; so does any function of an Optimizer

Where scales are learned, a rule that asks the model does not hold before 20 measurements of ten different candidates
(or of all, if there are fewer): less says nothing. What is to be spent never waits, and cuts the last batch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any, TypeAlias, cast

from scipy.special import ndtri

from ostinato.checks import fraction, positive, whole
from ostinato.errors import InvalidSetting
from ostinato.optimizer import Optimizer

Rule: TypeAlias = Callable[[Optimizer], bool]
MIN_CANDIDATES, MIN_MEASUREMENTS = (
    10,
    20,
)  # different candidates, and measurements, before any rule can hold where anything is learned
ROUNDING = 1e-9
AGAIN = 1.05  # growth of measurements after which a costly question is asked again


@dataclass(frozen=True)
class Width:
    """The interval of the recommended candidate is no wider than `width`."""

    width: float
    level: float = 0.95

    def __post_init__(self) -> None:
        positive("width", self.width)
        fraction("level", self.level)

    def watch(self) -> Rule:
        return self._holds

    def _holds(self, optimizer: Optimizer) -> bool:
        _, _, std = optimizer.leader()
        return 2 * float(ndtri(0.5 + self.level / 2)) * std <= self.width


@dataclass(frozen=True)
class Within:
    """With probability `chance` no candidate is better than the recommended one by more than `gap`."""

    gap: float
    chance: float = 0.95

    def __post_init__(self) -> None:
        positive("gap", self.gap)
        fraction("chance", self.chance)

    def watch(self) -> Rule:
        asked = 0

        def holds(optimizer: Optimizer) -> bool:
            nonlocal asked
            if optimizer.steps < AGAIN * asked:
                return False
            asked = optimizer.steps
            return optimizer.chance_within(self.gap) >= self.chance

        return holds


@dataclass(frozen=True)
class NoImprovement:
    """So many measurements brought no recommendation that is better by more than its own uncertainty.

    They are counted from the beginning of a run: where a study goes on, anew.
    """

    measurements: int

    def __post_init__(self) -> None:
        whole("measurements", self.measurements)

    def watch(self) -> Rule:
        best, since = -float("inf"), 0

        def holds(optimizer: Optimizer) -> bool:
            nonlocal best, since
            _, mean, std = optimizer.leader()
            value = mean if optimizer.maximizes else -mean
            if value > best + std:
                best, since = value, optimizer.steps
            return optimizer.steps - since >= self.measurements

        return holds


@dataclass(frozen=True)
class Spent:
    """Switches and measurements together have cost so much that not even one more measurement is paid for."""

    cost: float

    def __post_init__(self) -> None:
        positive("cost", self.cost)

    def watch(self) -> Rule:
        return lambda optimizer: self.affordable(optimizer) < 1

    def affordable(self, optimizer: Optimizer, in_hand: Mapping[int, int] | None = None) -> int:
        """Measurements that what is left still pays for, after those in hand: repeats of batches, by their numbers."""
        left = self.cost - optimizer.costs.total - optimizer.cost_of(in_hand or {})
        return floor(left / optimizer.measurement_cost + ROUNDING)


def rule_of(text: str) -> Any:
    """A rule as it is written on the command line: width=0.5, within=0.1, no-improvement=500 or spent=2000."""
    kinds: dict[str, Any] = {"width": Width, "within": Within, "no-improvement": NoImprovement, "spent": Spent}
    name, _, value = text.partition("=")
    try:
        number = int(value) if name == "no-improvement" else float(value)
        return kinds[name](number)
    except (KeyError, ValueError):
        raise InvalidSetting(
            f"{text!r} is not a rule to stop by: write width=0.5, within=0.1, no-improvement=500 or spent=2000."
        ) from None


def watched(stop: Any) -> list[tuple[str, Rule]]:
    """The rules that the user gave, made ready for one run, each by its name."""
    several = isinstance(stop, (list, tuple))
    given = cast("Sequence[Any]", () if stop is None else stop if several else (stop,))
    for rule in given:
        if isinstance(rule, type) or not (hasattr(rule, "watch") or callable(rule)):
            raise InvalidSetting(
                f"stop={rule!r} is not a rule: give Width(…), Within(…), NoImprovement(…), Spent(…), or a function "
                "of an "
                "Optimizer that returns whether to stop."
            )
    return [(_name(rule), _made_ready(rule)) for rule in given]


def met(rules: Sequence[tuple[str, Rule]], optimizer: Optimizer) -> str | None:
    """The name of the first rule that is met; none is before anything was measured."""
    return next((name for name, rule in rules if optimizer.steps and rule(optimizer)), None)


def spending(stop: Any) -> list[Spent]:
    """Those of the rules that limit what is spent."""
    given = cast("Sequence[Any]", stop if isinstance(stop, (list, tuple)) else (stop,))
    return [rule for rule in given if isinstance(rule, Spent)]


def _made_ready(rule: Any) -> Rule:
    if not hasattr(rule, "watch"):
        return rule
    return rule.watch() if isinstance(rule, Spent) else _patient(rule.watch())


def _patient(rule: Rule) -> Rule:
    """The same rule, once there is something to judge by: where scales are learned, a few candidates say nothing."""

    def holds(optimizer: Optimizer) -> bool:
        looked = (
            optimizer.unique >= min(MIN_CANDIDATES, optimizer.candidates or MIN_CANDIDATES)
            and optimizer.steps >= MIN_MEASUREMENTS
        )
        return (optimizer.learned.given or looked) and rule(optimizer)

    return holds


def _name(rule: Any) -> str:
    return repr(rule) if hasattr(rule, "watch") else getattr(rule, "__name__", repr(rule))
