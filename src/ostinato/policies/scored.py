"""One candidate a round: the best-scoring one, measured as often as a rule says.

    x* = argmax over the candidates of the acquisition u
    B  = repeats(σ²(x*), λ(x*))

A `Score` says u (`ucb.py`, `ei.py`, `ts.py`); a `RepeatRule` says B (`single.py`, `mini.py`, `rare.py`); limits say
what is allowed (`limits.py`). An algorithm is one of each (`algorithms.py`). Where switching has a cost, x* is the
cheapest to go to of those that score nearly as well as the best.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from ostinato.errors import InvalidSetting
from ostinato.policies.base import BasePolicy, Proposal
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.limits import Limited
from ostinato.policies.repeat_value import RepeatValue

CHEAPER_WITHIN = (
    0.25  # of the winner's confidence width: as near as that, the candidate that is cheaper to go to is as good
)


class Score(ABC):
    """How attractive every candidate is."""

    smooth = True  # whether it is a function of mean and variance alone, and can be followed uphill
    seeks = ""  # in words, what the best-scoring candidate has more of than any other

    def width(self, belief: Belief) -> float | None:
        """β, where there is one."""
        return None

    @abstractmethod
    def __call__(self, belief: Belief) -> Scores:
        """The acquisition u at every candidate that may be the best; minus infinity is enough for the others."""

    def everywhere(self, belief: Belief) -> Scores:
        """The acquisition u at every candidate."""
        return self(belief)

    @abstractmethod
    def slack(self, belief: Belief, best: int) -> float:
        """How far below the best a score may lie and still be nearly as good."""


class RepeatRule(ABC):
    """How often the best-scoring candidate is measured."""

    @property
    def gain_of_full_batch(self) -> float | None:
        """What every full batch adds at least to the log-determinant, where that is promised."""
        return None

    @property
    def keeps_within(self) -> float | None:
        """By how much standard deviations may shrink within a batch, where that is promised."""
        return None

    @abstractmethod
    def __call__(self, repeat_value: RepeatValue) -> int:
        """B, for a candidate about which so much is known."""


@dataclass(frozen=True)
class ScoredPolicy(Limited, BasePolicy):
    """A score and a repeat rule, left open. Both follow from the settings, and are made once."""

    @cached_property
    @abstractmethod
    def score(self) -> Score:
        """Which candidate."""

    @cached_property
    @abstractmethod
    def repeats(self) -> RepeatRule:
        """How often."""

    @property
    def gain_of_full_batch(self) -> float | None:
        return self.repeats.gain_of_full_batch

    @property
    def keeps_within(self) -> float | None:
        return self.repeats.keeps_within

    @property
    def seeks(self) -> str:
        return self.score.seeks

    @property
    def searched(self) -> Callable[[Belief], Scores] | None:
        return self.score.everywhere if self.score.smooth else None

    def width(self, belief: Belief) -> float | None:
        return self.score.width(belief)

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        """The best-scoring candidate, or of those nearly as good the cheapest to go to."""
        scores = self.score(belief)
        if self.limits or belief.barred:
            scores = self.possible(scores, belief)
        best = scores.first_best(belief)
        if belief.travels:
            best = self._cheapest(best, scores, belief)
        return [self.proposal(best, self.repeats(belief.repeat_value(best)), belief, limit)]

    def _cheapest(self, best: int, scores: Scores, belief: Belief) -> int:
        """Of the candidates nearly as good as the best, the cheapest to go to."""
        near = scores.values.near_highest(max(self.score.slack(belief, best), scores.tolerance))
        costs = belief.costs(near)
        cheapest = near[costs <= costs.min()]
        values = [scores.at(int(candidate)) for candidate in cheapest]
        return belief.first(cheapest[[value >= max(values) - scores.tolerance for value in values]])


@dataclass(frozen=True)
class Combined(ScoredPolicy):
    """Any score with any repeat rule, of one's own too: Combined(UCB(2.0), MiniMeta(1.2))."""

    score: Score = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    repeats: RepeatRule = field()  # pyright: ignore[reportIncompatibleVariableOverride]

    def __post_init__(self) -> None:
        super().__post_init__()
        _of_kind(
            self.score, Score, "the score, comes first", "`__call__(self, belief)` and `slack(self, belief, best)`"
        )
        _of_kind(self.repeats, RepeatRule, "the repeat rule, comes second", "`__call__(self, repeat_value)`")


def _of_kind(given: object, kind: type, place: str, methods: str) -> None:
    """A part of one's own derives from `Score` or `RepeatRule`, which say what else is asked of it."""
    if not isinstance(given, kind):
        raise InvalidSetting(
            f"{given!r} is not a {kind.__name__}: this part, {place}, as in Combined(UCB(2.0), MiniMeta(1.2)). For one "
            f"of your own, derive a class from ostinato.policies.{kind.__name__} with {methods}, and give an object of "
            "it."
        )
