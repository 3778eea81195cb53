"""The algorithms that are a score and a repeat rule: three of each, so nine."""

from dataclasses import dataclass

from ostinato.checks import positive
from ostinato.confidence import Schedule
from ostinato.policies.base import BasePolicy, WithBeta, WithC
from ostinato.policies.ei import EI
from ostinato.policies.mini import MiniMeta
from ostinato.policies.rare import RareSwitching
from ostinato.policies.scored import RepeatRule, Score, ScoredPolicy
from ostinato.policies.single import Once
from ostinato.policies.ts import TS
from ostinato.policies.ucb import UCB


@dataclass(frozen=True)
class WithGrowth(BasePolicy):
    """Batches at whose end the determinant has grown by the factor 1 + C, C > 0."""

    C: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("C", self.C)


@dataclass(frozen=True)
class MiniUCB(WithBeta, WithC, ScoredPolicy):
    """mini-GP-UCB: upper confidence bounds, repeated by the mini-META rule."""

    @property
    def score(self) -> Score:
        return UCB(self.beta)

    @property
    def repeats(self) -> RepeatRule:
        return MiniMeta(self.C)


@dataclass(frozen=True)
class MiniEI(WithBeta, WithC, ScoredPolicy):
    """mini-GP-EI: expected improvement, repeated by the mini-META rule."""

    beta: float | Schedule = 1.0

    @property
    def score(self) -> Score:
        return EI(self.beta)

    @property
    def repeats(self) -> RepeatRule:
        return MiniMeta(self.C)


@dataclass(frozen=True)
class MiniTS(WithC, ScoredPolicy):
    """mini-GP-TS: Thompson sampling, repeated by the mini-META rule."""

    @property
    def score(self) -> Score:
        return TS()

    @property
    def repeats(self) -> RepeatRule:
        return MiniMeta(self.C)


@dataclass(frozen=True)
class GPUCB(WithBeta, ScoredPolicy):
    """GP-UCB: upper confidence bounds, one measurement a step."""

    @property
    def score(self) -> Score:
        return UCB(self.beta)

    @property
    def repeats(self) -> RepeatRule:
        return Once()


@dataclass(frozen=True)
class GPEI(WithBeta, ScoredPolicy):
    """GP-EI: expected improvement, one measurement a step."""

    beta: float | Schedule = 1.0

    @property
    def score(self) -> Score:
        return EI(self.beta)

    @property
    def repeats(self) -> RepeatRule:
        return Once()


@dataclass(frozen=True)
class GPTS(ScoredPolicy):
    """GP-TS: Thompson sampling, one measurement a step."""

    @property
    def score(self) -> Score:
        return TS()

    @property
    def repeats(self) -> RepeatRule:
        return Once()


@dataclass(frozen=True)
class RareUCB(WithBeta, WithGrowth, ScoredPolicy):
    """RS-OFUL's switching rule with upper confidence bounds."""

    @property
    def score(self) -> Score:
        return UCB(self.beta)

    @property
    def repeats(self) -> RepeatRule:
        return RareSwitching(self.C)


@dataclass(frozen=True)
class RareEI(WithBeta, WithGrowth, ScoredPolicy):
    """RS-OFUL's switching rule with expected improvement."""

    beta: float | Schedule = 1.0

    @property
    def score(self) -> Score:
        return EI(self.beta)

    @property
    def repeats(self) -> RepeatRule:
        return RareSwitching(self.C)


@dataclass(frozen=True)
class RareTS(WithGrowth, ScoredPolicy):
    """RS-OFUL's switching rule with Thompson sampling."""

    @property
    def score(self) -> Score:
        return TS()

    @property
    def repeats(self) -> RepeatRule:
        return RareSwitching(self.C)
