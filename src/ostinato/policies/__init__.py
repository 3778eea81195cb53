"""Policies: from what is believed to what is measured next, and how often."""

from ostinato.policies.base import Belief, Policy, Proposal, Scores
from ostinato.policies.ei import MiniEI
from ostinato.policies.mini import Mini
from ostinato.policies.ts import MiniTS
from ostinato.policies.ucb import MiniUCB

__all__ = ["Belief", "Mini", "MiniEI", "MiniTS", "MiniUCB", "Policy", "Proposal", "Scores"]
