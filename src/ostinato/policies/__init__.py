"""Policies: from what is believed to what is measured next, and how often."""

from ostinato.policies.adaptive import AdaptiveUCB
from ostinato.policies.algorithms import GPEI, GPTS, GPUCB, MiniEI, MiniTS, MiniUCB, RareEI, RareTS, RareUCB
from ostinato.policies.base import BasePolicy, Policy, Proposal
from ostinato.policies.bbkb import BBKB
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.bkb import BKB
from ostinato.policies.bts import GPBTS
from ostinato.policies.bucb import GPBUCB
from ostinato.policies.earn import Earn
from ostinato.policies.ei import EI
from ostinato.policies.find import Find
from ostinato.policies.greedy import EpsilonGreedy
from ostinato.policies.limits import Cautious
from ostinato.policies.mini import MiniMeta
from ostinato.policies.rare import RareSwitching
from ostinato.policies.repeat_value import RepeatValue
from ostinato.policies.scored import Combined, RepeatRule, Score, ScoredPolicy
from ostinato.policies.single import Once
from ostinato.policies.ts import TS
from ostinato.policies.ucb import UCB
from ostinato.policies.uniform import Uniform
from ostinato.posterior import BlockedVector

__all__ = [
    "BBKB",
    "BKB",
    "EI",
    "GPBTS",
    "GPBUCB",
    "GPEI",
    "GPTS",
    "GPUCB",
    "TS",
    "UCB",
    "AdaptiveUCB",
    "BasePolicy",
    "Belief",
    "BlockedVector",
    "Cautious",
    "Combined",
    "Earn",
    "EpsilonGreedy",
    "Find",
    "MiniEI",
    "MiniMeta",
    "MiniTS",
    "MiniUCB",
    "Once",
    "Policy",
    "Proposal",
    "RareEI",
    "RareSwitching",
    "RareTS",
    "RareUCB",
    "RepeatRule",
    "RepeatValue",
    "Score",
    "ScoredPolicy",
    "Scores",
    "Uniform",
]
