"""What tests look at that no user can see."""

from ostinato.optimizer.decide import Thinking


def shown(opt):
    """What the policy would be shown now."""
    thinking = Thinking(opt._problem, opt._state, opt.core.known.fork())
    thinking.known.model = thinking.known.model.refreshed(thinking._rng)
    return thinking.belief()


def pending(opt):
    """Repeats that are still to come, by candidate."""
    return opt._state.ledger.pending


def next_batch(opt, limit=None):
    """What would be asked for next; nothing is changed."""
    return opt.core.decision(limit).asked[0].batch
