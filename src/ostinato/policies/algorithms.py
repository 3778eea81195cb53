"""The algorithms that are a scoring rule and a repeat rule: three of each, so nine."""

from dataclasses import dataclass

from ostinato.policies.ei import EI
from ostinato.policies.mini import Mini
from ostinato.policies.rare import Rare
from ostinato.policies.single import Single
from ostinato.policies.ts import TS
from ostinato.policies.ucb import UCB


@dataclass(frozen=True)
class MiniUCB(UCB, Mini):
    """mini-GP-UCB: upper confidence bounds, repeated by the mini-META rule. The default policy."""


@dataclass(frozen=True)
class MiniEI(EI, Mini):
    """mini-GP-EI: expected improvement, repeated by the mini-META rule."""


@dataclass(frozen=True)
class MiniTS(TS, Mini):
    """mini-GP-TS: Thompson sampling, repeated by the mini-META rule."""


@dataclass(frozen=True)
class GPUCB(UCB, Single):
    """GP-UCB: upper confidence bounds, one measurement a step."""


@dataclass(frozen=True)
class GPEI(EI, Single):
    """GP-EI: expected improvement, one measurement a step."""


@dataclass(frozen=True)
class GPTS(TS, Single):
    """GP-TS: Thompson sampling, one measurement a step."""


@dataclass(frozen=True)
class RareUCB(UCB, Rare):
    """RS-OFUL's switching rule with upper confidence bounds."""


@dataclass(frozen=True)
class RareEI(EI, Rare):
    """RS-OFUL's switching rule with expected improvement."""


@dataclass(frozen=True)
class RareTS(TS, Rare):
    """RS-OFUL's switching rule with Thompson sampling."""
