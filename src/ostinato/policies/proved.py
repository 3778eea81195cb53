"""For which policies regret is bounded by a proof: a score with the schedule of its proof, and mini-META's repeats."""

from ostinato.confidence import Bayesian, Fixed, Frequentist, Improvement
from ostinato.policies.adaptive import AdaptiveUCB
from ostinato.policies.algorithms import MiniEI, MiniUCB
from ostinato.policies.base import BasePolicy
from ostinato.policies.ei import EI
from ostinato.policies.mini import MiniMeta
from ostinato.policies.scored import Combined, ScoredPolicy
from ostinato.policies.ucb import UCB

PROVED = AdaptiveUCB, Combined, MiniEI, MiniUCB  # themselves: what derives from them may propose anything


def unproved(policy: BasePolicy) -> str:
    """Why no regret bound is proved for a policy, in words; empty where one is."""
    other = (
        f"regret is bounded for MiniUCB and MiniEI with a schedule for beta, and for AdaptiveUCB; not for {policy!r}"
    )
    if not isinstance(policy, ScoredPolicy) or type(policy) not in PROVED or type(policy.repeats) is not MiniMeta:
        return other
    if policy.cap_per_candidate is not None:
        return "cap_per_candidate= may keep the best candidate from being measured"
    if isinstance(policy, AdaptiveUCB):
        return "" if policy.scale == 1 else f"scale={policy.scale:g} of AdaptiveUCB is not 1"
    score = policy.score
    if type(score) is UCB:
        schedules = "Bayesian(…) or Frequentist(…)"
        return "" if isinstance(score.beta, Bayesian | Frequentist) else _needs(score, schedules)
    if type(score) is EI:
        return "" if isinstance(score.beta, Improvement) else _needs(score, "Improvement(…)")
    return other


def _needs(score: UCB | EI, schedules: str) -> str:
    beta = score.beta.value if isinstance(score.beta, Fixed) else score.beta
    return f"beta={beta!r} is not {schedules} of ostinato.confidence"
