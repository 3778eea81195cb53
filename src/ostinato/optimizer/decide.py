"""What to ask next: from the problem, what happened and what is known to batches, with the reasons for them.

`decide` changes nothing. What it learned for the decision, and the randomness it drew on, come with its answer, for
whoever commits it; thrown away, it leaves nothing behind.
"""

from ostinato.candidates import Sampled
from ostinato.optimizer.decision import Decision, DecisionInProgress
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.plan import Wish, plan
from ostinato.optimizer.space_decision import SpaceDecision


def decide(known: Knowledge, limit: int | None = None, wish: Wish | None = None) -> Decision:
    """The next batch, or a plan of several; of at most `limit` measurements, or what is left of the budget.

    Beyond the budget, whoever asks may go on.
    """
    state = known.state
    left = None if state.budget is None else state.left
    most = min(left, limit or left) if left else limit
    decision = (SpaceDecision if isinstance(known.problem.table, Sampled) else DecisionInProgress)(known)
    if wish is None:
        return decision.conclude([decision.next(most)])
    return decision.conclude(*plan(decision, wish, most))
