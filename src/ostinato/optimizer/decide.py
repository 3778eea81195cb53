"""What to ask next: from the problem, what happened and what is known to batches, with the reasons for them.

`decide` changes nothing. What it learned for the decision, and the randomness it drew on, come with its answer, for
whoever commits it; thrown away, it leaves nothing behind.
"""

from ostinato.candidates import Sampled
from ostinato.optimizer.exploring import Exploring
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.plan import Wish, plan
from ostinato.optimizer.thinking import Decision, Thinking


def decide(known: Knowledge, limit: int | None = None, wish: Wish | None = None) -> Decision:
    """The next batch, or a plan of several; of at most `limit` measurements, or what is left of the budget.

    Beyond the budget, whoever asks may go on.
    """
    state = known.state
    left = None if state.budget is None else state.left
    most = min(left, limit or left) if left else limit
    thinking = (Exploring if isinstance(known.problem.table, Sampled) else Thinking)(known)
    if wish is None:
        return thinking.decision([thinking.next(most)])
    return thinking.decision(*plan(thinking, wish, most))
