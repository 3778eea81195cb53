"""The proof that a run switched rarely: how many full batches there were, and how many there can be at most.

And what else is proved: where bounds on regret do not cover a run, and why.

Both sides speak of what was measured and of nothing else: a candidate whose measurements failed counts for nothing.
"""

import numpy as np

from ostinato.candidates import Sampled
from ostinato.confidence import Bayesian
from ostinato.measurements.tally import Tally
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.state import State
from ostinato.policies.proved import unproved
from ostinato.posterior import Posterior
from ostinato.records import Certificate


def certificate(problem: Problem, state: State, known: Knowledge) -> Certificate | None:
    """None where none is promised, or where anything is learned or fades."""
    per_batch = problem.policy.gain_of_full_batch
    changing = known.learner is not None or problem.settings.half_life is not None
    if per_batch is None or changing or known.prior.setup > 0 or known.tally.has_errors:
        return None
    ledger = state.ledger
    gain = known.honest.log_det - _log_det_before(problem, state, known)
    counts = ledger.full, ledger.capped, ledger.truncated, ledger.partial
    gaps = ledger.certified, ledger.gap, ledger.total_gap
    return Certificate(*counts, gain, per_batch, isinstance(problem.table, Sampled), *gaps)


def uncovered(known: Knowledge) -> str:
    """Why no proof bounds the regret of a run with given kernel and noise, in words; empty where one does."""
    problem, state = known.problem, known.state
    settings, table = problem.settings, problem.table
    bayesian = isinstance(getattr(getattr(problem.policy, "score", None), "beta", None), Bayesian)
    reasons = [
        (unproved(problem.policy), True),
        ("half_life= lets measurements fade", settings.half_life is not None),
        ("repeats share the error of a set-up (setup_std=)", known.prior.setup > 0),
        ("robust=True limits values that are far off", settings.robust),
        ("switch_cost= also chooses by what a switch costs", problem.switch_cost is not None),
        ("noise_std= differs between candidates", np.ndim(settings.noise_std) > 0),
        ("values came with standard errors of their own", known.tally.has_errors),
        ("the best point of a space is looked for by a search", _is_searched(problem)),
        ("Bayesian(…) is proved for listed candidates, not for a space", isinstance(table, Sampled) and bayesian),
        ("measurements failed", bool(state.failures)),
        ("candidates were retired", bool(state.retired)),
        ("candidates were added", not isinstance(table, Sampled) and len(table.grown) > 1),
    ]
    return next((why for why, holds in reasons if why and holds), "")


def _is_searched(problem: Problem) -> bool:
    return isinstance(problem.table, Sampled) and problem.settings.search != "certified"


def _log_det_before(problem: Problem, state: State, known: Knowledge) -> float:
    """The log-determinant of what was observed before the first decision."""
    tally, seen = Tally(), 0
    for part, measured in state.history:
        seen += int(measured.statistics.n)
        if part.batch < 0 and (measured.at or seen) <= (state.decision_state.began or 0):
            tally.add(part.candidate, measured.statistics)
    if not len(tally):
        return 0.0
    numbers = tally.numbers
    place = {int(number): place for place, number in enumerate(numbers)}
    among = Posterior(problem.features[numbers], known.prior.kernel, known.prior.noise[numbers], mean=known.prior.mean)
    few = Tally()
    for candidate, statistics in tally:
        few.add(place[candidate], statistics)
    among.rebuild(few)
    return among.log_det
