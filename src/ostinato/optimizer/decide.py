"""What to ask next: from the problem, what happened and what is known to batches, with the reasons for them.

`decide` changes nothing. What it learned for the decision, and the randomness it drew on, come with its answer, for
whoever commits it; thrown away, it leaves nothing behind.
"""

import msgspec

from ostinato.candidates import Sampled
from ostinato.optimizer.exploring import Exploring
from ostinato.optimizer.facts import Asked, Mind
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.plan import Wish, plan
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.state import State
from ostinato.optimizer.thinking import Thinking


class Decision(msgspec.Struct, frozen=True, eq=False):
    """Batches; what the next decision rests on if this one is taken, the problem with all that was asked for, and what
    is known then.

    ratio: by how much, within the batches, some standard deviation shrinks.
    """

    asked: list[Asked]
    mind: Mind
    problem: Problem
    known: Knowledge
    ratio: float = 1.0


def decide(problem: Problem, state: State, known: Knowledge, limit: int | None, wish: Wish | None = None) -> Decision:
    """The next batch, or a plan of several; of at most `limit` measurements, or what is left of the budget.

    Beyond the budget, whoever asks may go on.
    """
    left = None if state.budget is None else state.left
    most = min(left, limit or left) if left else limit
    thinking = (Exploring if isinstance(problem.table, Sampled) else Thinking)(problem, state, known.fork())
    if wish is None:
        decided, ratio = [thinking.next(most)], 1.0
    else:
        decided, ratio = plan(thinking, wish, most)
    asked = thinking.asked(decided)
    return Decision(asked, thinking.mind(), thinking.problem, thinking.known, ratio)
