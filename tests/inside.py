"""What tests look at that no user can see, and what they do that no user would."""

from contextlib import contextmanager

from sqlalchemy import text

from ostinato.errors import Unavailable
from ostinato.optimizer.decide import decide
from ostinato.optimizer.decision import DecisionInProgress
from ostinato.posterior import Nystrom


def shown(opt):
    """What the policy would be shown now."""
    decision = DecisionInProgress(opt.core.known.fork())
    if isinstance(decision.known.model, Nystrom):
        model = decision.known.model.refreshed(decision.randomness())
        decision.known.model = decision.known.honest = model
    return decision.belief()


def pending(opt):
    """Repeats that are still to come, by candidate."""
    return opt._state.ledger.pending


def next_batch(opt, limit=None):
    """What would be asked for next; nothing is changed."""
    return decide(opt.core.known, limit).asked[0].batch


def unheard(storage, monkeypatch, meanwhile=int):
    """The next write is kept, and its answer gets lost on the way."""
    original, left = storage.write, [1]

    @contextmanager
    def write(name, **how):
        with original(name, **how) as writer:
            yield writer
        if left[0]:
            left[0] -= 1
            meanwhile()
            raise cut()

    monkeypatch.setattr(storage, "write", write)


def cut():
    """The error of a line that is cut for a while."""
    return Unavailable("the line is cut", passing=True)


def execute(study, statement):
    """Something that no study does to its storage."""
    with study.storage.backend.engine.connect() as connection:
        connection.execute(text(statement))
        connection.commit()
