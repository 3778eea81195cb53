"""Answers as they would have been earlier: from the first of the facts alone, with nothing of what came later.

Hyperparameters are learned anew from these facts, as a fresh optimiser would that was told them; values are judged
anew too. What was corrected, taken back, retired or restored since counts as it does now: a study stores which
candidates are retired, and not since when.
"""

from collections.abc import Sequence
from dataclasses import replace

from ostinato.learning import Learner
from ostinato.optimizer.answers import Answers
from ostinato.optimizer.core import Core
from ostinato.optimizer.facts import DecisionState, Fact, Restored, Retired
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.state import State
from ostinato.policies import Uniform


def answers_after(problem: Problem, now: State, facts: Sequence[Fact]) -> Answers:
    """The answers of an optimiser of this problem that knows these facts of the present state only."""
    decision_state = DecisionState(now.decision_state.random)
    state = State(problem.sign, problem.switch_cost, decision_state)
    state.gaps = now.gaps
    kept = [fact for fact in facts if not isinstance(fact, Retired | Restored)]
    state.rewrite([Retired(now.retired), *kept] if now.retired else kept, decision_state)
    return Core(problem, state).answers


def without_choosing(problem: Problem) -> Problem:
    """The same without a model of all candidates, which only choosing needs; where answers do not need the policy."""
    learner = problem.learner()
    return replace(problem, policy=Uniform()) if learner is None or isinstance(learner, Learner) else problem
