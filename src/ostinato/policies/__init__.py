"""Policies: from what is believed to what is measured next, and how often."""

from ostinato.policies.adaptive import AdaptiveUCB
from ostinato.policies.algorithms import GPEI, GPTS, GPUCB, MiniEI, MiniTS, MiniUCB, RareEI, RareTS, RareUCB
from ostinato.policies.base import Belief, Policy, Proposal, Scores
from ostinato.policies.bbkb import BBKB
from ostinato.policies.bkb import BKB
from ostinato.policies.bts import GPBTS
from ostinato.policies.bucb import GPBUCB
from ostinato.policies.cautious import Cautious
from ostinato.policies.earn import Earn
from ostinato.policies.ei import EI
from ostinato.policies.find import Find
from ostinato.policies.greedy import EpsilonGreedy
from ostinato.policies.mini import Mini
from ostinato.policies.rare import Rare
from ostinato.policies.single import Single
from ostinato.policies.stake import Stake
from ostinato.policies.ts import TS
from ostinato.policies.ucb import UCB
from ostinato.policies.uniform import Uniform

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
    "Belief",
    "Cautious",
    "Earn",
    "EpsilonGreedy",
    "Find",
    "Mini",
    "MiniEI",
    "MiniTS",
    "MiniUCB",
    "Policy",
    "Proposal",
    "Rare",
    "RareEI",
    "RareTS",
    "RareUCB",
    "Scores",
    "Single",
    "Stake",
    "Uniform",
]
