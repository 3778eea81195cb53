"""The algorithms that are a score and a repeat rule: three of each, so nine."""

from dataclasses import dataclass
from functools import cached_property

from ostinato.checks import positive
from ostinato.confidence import Schedule
from ostinato.policies.base import WithBeta, WithC
from ostinato.policies.ei import EI
from ostinato.policies.mini import MiniMeta
from ostinato.policies.rare import RareSwitching
from ostinato.policies.scored import RepeatRule, Score, ScoredPolicy
from ostinato.policies.single import Once
from ostinato.policies.ts import TS
from ostinato.policies.ucb import UCB


@dataclass(frozen=True)
class ScoresByUCB(WithBeta, ScoredPolicy):
    """Upper confidence bounds."""

    @cached_property
    def score(self) -> Score:
        return UCB(self.beta)


@dataclass(frozen=True)
class ScoresByEI(WithBeta, ScoredPolicy):
    """Expected improvement."""

    beta: float | Schedule = 1.0

    @cached_property
    def score(self) -> Score:
        return EI(self.beta)


@dataclass(frozen=True)
class ScoresByTS(ScoredPolicy):
    """Thompson sampling."""

    @cached_property
    def score(self) -> Score:
        return TS()


@dataclass(frozen=True)
class RepeatsOnce(ScoredPolicy):
    """One measurement a step."""

    @cached_property
    def repeats(self) -> RepeatRule:
        return Once()


@dataclass(frozen=True)
class RepeatsByMiniMeta(WithC, ScoredPolicy):
    """Batches by the mini-META rule."""

    @cached_property
    def repeats(self) -> RepeatRule:
        return MiniMeta(self.C)


@dataclass(frozen=True)
class RepeatsRarely(ScoredPolicy):
    """Batches by RS-OFUL's switching rule: at their end the determinant has grown by the factor 1 + C, C > 0."""

    C: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("C", self.C)

    @cached_property
    def repeats(self) -> RepeatRule:
        return RareSwitching(self.C)


@dataclass(frozen=True)
class MiniUCB(ScoresByUCB, RepeatsByMiniMeta):
    """mini-GP-UCB: upper confidence bounds, repeated by the mini-META rule."""


@dataclass(frozen=True)
class MiniEI(ScoresByEI, RepeatsByMiniMeta):
    """mini-GP-EI: expected improvement, repeated by the mini-META rule."""


@dataclass(frozen=True)
class MiniTS(ScoresByTS, RepeatsByMiniMeta):
    """mini-GP-TS: Thompson sampling, repeated by the mini-META rule."""


@dataclass(frozen=True)
class GPUCB(ScoresByUCB, RepeatsOnce):
    """GP-UCB: upper confidence bounds, one measurement a step."""


@dataclass(frozen=True)
class GPEI(ScoresByEI, RepeatsOnce):
    """GP-EI: expected improvement, one measurement a step."""


@dataclass(frozen=True)
class GPTS(ScoresByTS, RepeatsOnce):
    """GP-TS: Thompson sampling, one measurement a step."""


@dataclass(frozen=True)
class RareUCB(ScoresByUCB, RepeatsRarely):
    """RS-OFUL's switching rule with upper confidence bounds."""


@dataclass(frozen=True)
class RareEI(ScoresByEI, RepeatsRarely):
    """RS-OFUL's switching rule with expected improvement."""


@dataclass(frozen=True)
class RareTS(ScoresByTS, RepeatsRarely):
    """RS-OFUL's switching rule with Thompson sampling."""
