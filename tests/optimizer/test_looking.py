"""Looking changes nothing: neither what happened, nor what is known, nor what is decided next."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest

from ostinato import MiniUCB, Optimizer
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF, Linear, as_kernel
from ostinato.learning import Learner
from ostinato.optimizer.core import Core
from ostinato.optimizer.decide import decide
from ostinato.optimizer.knowledge import Knowledge
from ostinato.plots import FIGURES
from ostinato.policies import BBKB, BKB, GPBUCB, GPTS, EpsilonGreedy, MiniTS, RareUCB
from ostinato.posterior import Posterior

X = np.random.default_rng(0).random((60, 2))
TRUTH = np.sin(4 * X[:, 0]) + X[:, 1]
GIVEN = {"kernel": RBF(0.4), "noise_std": 0.3, "mean": 0.0}
SETTINGS = [
    {},
    {"goal": "earn", "half_life": 40},
    {"robust": True},
    {"outcome": "positive"},
    *(
        GIVEN | {"policy": policy}
        for policy in (MiniUCB(), GPTS(), GPBUCB(), BKB(), BBKB(), RareUCB(), EpsilonGreedy())
    ),
]
QUESTIONS = {
    "best": lambda opt: opt.best(),
    "top": lambda opt: opt.top(4),
    "leader": lambda opt: opt.leader(),
    "predict": lambda opt: opt.predict().interval(0.9),
    "predict elsewhere": lambda opt: opt.predict(X[:3] + 0.01),
    "covariance": lambda opt: opt.covariance(X[:5]),
    "chance_within": lambda opt: opt.chance_within(0.1),
    "learned": lambda opt: opt.learned,
    "diagnose": lambda opt: str(opt.diagnose()),
    "outliers": lambda opt: opt.outliers,
    "certificate": lambda opt: str(opt.certificate),
    "costs": lambda opt: opt.costs,
    "log_det": lambda opt: opt.log_det,
    "in_flight": lambda opt: opt.in_flight,
    "repr": repr,
    "a decision that is thrown away": lambda opt: decide(opt.core.known, 5),
    "explain": lambda opt: str(opt.explain(opt.in_flight[0])),
    "sample": lambda opt: opt.sample(2, X[:4]),
    "counts": lambda opt: opt.counts(),
    "cost_of": lambda opt: opt.cost_of({opt.in_flight[0].id: 2}),
    "to_frame": lambda opt: opt.to_frame("pandas"),
    "shown in a notebook": lambda opt: opt._repr_html_(),
}
CHANGES = {"add", "ask", "budget", "close", "correct", "lend", "observe", "restore", "retire", "retract", "tell"}


def running(settings, steps=40):
    opt, rng = Optimizer(X, seed=1, budget=100, **settings), np.random.default_rng(2)
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        opt.tell(batch, 2 + TRUTH[batch.index] + 0.3 * rng.standard_normal(batch.repeats))
    opt.observe(3, [np.nan])
    opt.ask(limit=4)
    return opt


CACHES = {  # what looking fills: it follows from the rest, and is made again where it is missing
    Optimizer: {"_draws": "every sample is another one; decisions draw from the mind's randomness"},
    Core: {"_answers": "made when something is asked"},
    Knowledge: {
        "_cache": "what answers rest on: their prior and posterior, what they leave out, the next decision's prior",
        "_draws": "how the prior is drawn under the last kernel",
    },
    Posterior: {
        "_factor": "the same posterior from scratch",
        "_direction": "what a measurement of the candidate that was looked at last would change",
        "_foreseen": "covariances with a candidate that may be measured next",
    },
    Learner: {"evaluations": "how often a likelihood was computed, for tests and benchmarks"},
}


class WithoutCaches(pickle.Pickler):
    def reducer_override(self, thing):
        if type(thing) not in CACHES:
            return NotImplemented
        return dict, ({name: each for name, each in thing.__getstate__().items() if name not in CACHES[type(thing)]},)


def seen(opt):
    """All that an optimiser is, part by part and bit by bit: what happened, what is known, what was warned of."""
    owners = (opt, opt.core, opt.core.known)
    parts = {(type(owner).__name__, name): part for owner in owners for name, part in bare(owner).items()}
    return {name: pickled(part) for name, part in parts.items()}


def bare(owner):
    return {name: part for name, part in vars(owner).items() if name not in CACHES.get(type(owner), ())}


def pickled(part):
    file = io.BytesIO()
    WithoutCaches(file).dump(part)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_no_question_changes_anything(settings):
    opt, untouched = running(settings), running(settings)
    before = seen(opt)
    for name, ask in QUESTIONS.items():
        ask(opt)
        now = seen(opt)
        assert now.keys() == before.keys(), name
        assert [part for part in now if now[part] != before[part]] == [], name
    a, b = opt.ask(limit=20), untouched.ask(limit=20)
    assert (a.index, a.repeats) == (b.index, b.repeats)


@pytest.mark.parametrize("settings", [{}, GIVEN | {"policy": MiniUCB()}], ids=str)
def test_neither_figures_nor_properties_change_anything(settings):
    opt = running(settings)
    before = seen(opt)
    for name in FIGURES:
        opt.plot(name, columns=[0] if name == "posterior" else ())
        assert [part for part, now in seen(opt).items() if now != before[part]] == [], name
    for name in set(dir(Optimizer)) - CHANGES:
        if isinstance(getattr(Optimizer, name), property):
            getattr(opt, name)
            assert [part for part, now in seen(opt).items() if now != before[part]] == [], name


def test_all_that_can_be_asked_is_asked_here():
    public = {name for name in dir(Optimizer) if not name.startswith("_")}
    methods = {name for name in public - CHANGES if not isinstance(getattr(Optimizer, name), property)}
    assert methods - QUESTIONS.keys() == {"plot"}


def test_a_variance_of_a_candidate_never_measured_leaves_the_posterior_alone():
    opt = running(GIVEN | {"policy": MiniUCB()})
    posterior = opt.core.known.model
    never = next(number for number in range(60) if number not in posterior.measured)
    size = posterior.unique.size
    posterior.ghost().variance(never)
    posterior.covariance_with(never)
    assert posterior.unique.size == size == len(opt.core.known.tally) + (3 not in opt.core.known.tally)


def test_a_kernel_of_the_users_own_keeps_its_arrays():
    kept = RBF(0.4)(X, X)
    before = kept.copy()
    number = {row.tobytes(): place for place, row in enumerate(X)}

    def stored(A, B):  # a view of the user's own array, where all is asked for at once
        whole = len(A) == len(B) == len(X)
        return kept if whole else kept[np.ix_([number[a.tobytes()] for a in A], [number[b.tobytes()] for b in B])]

    kernel = as_kernel(stored) + Linear()
    kernel(X, X)
    assert np.array_equal(kept, before)


def test_showing_an_optimiser_fits_nothing(monkeypatch):
    opt = running({})
    for name in ("for_answers", "peek", "learn"):
        monkeypatch.setattr(Learner, name, lambda *_: pytest.fail("fitted"))
    assert "40 measurements" in repr(opt)


@pytest.mark.parametrize("C", [1.1, 1.5])
def test_failures_neither_lengthen_batches_nor_break_the_certificate(C):
    opt = Optimizer(X, seed=0, policy=MiniUCB(C=C), **GIVEN)
    rng = np.random.default_rng(0)
    for step in range(80):
        batch = opt.ask(limit=200)
        before = np.concatenate([np.asarray(v) for v in opt.core.known.honest.variances])
        if step % 3 == 0:
            opt.tell(batch, [np.nan] * batch.repeats)
            continue
        opt.tell(batch, TRUTH[batch.index] + 0.3 * rng.standard_normal(batch.repeats))
        after = np.concatenate([np.asarray(v) for v in opt.core.known.honest.variances])
        assert batch.repeats == 1 or np.sqrt(np.max(before / after)) <= C * (1 + 1e-9)
    assert opt.certificate.holds


def test_observations_before_the_first_batch_are_no_gain_of_it():
    opt = Optimizer(X, seed=0, policy=MiniUCB(), **GIVEN)
    opt.observe([1, 2, 3], [0.5, np.nan, 0.7])
    opt.ask()
    assert opt.certificate.gain == pytest.approx(0.0, abs=1e-12)


def test_a_round_of_bbkb_keeps_its_inducing_set():
    opt, rng = Optimizer(X, seed=0, policy=BBKB(C=1.5), **GIVEN), np.random.default_rng(0)
    for _ in range(12):
        batches, inducing = [opt.ask()], opt.core.known.model.inducing
        while opt.core.state.decision_state.round:
            batches.append(opt.ask())
            assert opt.core.known.model.inducing is inducing
        for batch in batches:
            opt.tell(batch, TRUTH[batch.index] + 0.3 * rng.standard_normal(batch.repeats))
            assert opt.core.known.model.inducing is inducing


def test_a_tell_that_is_stopped_half_way_and_told_again_counts_once(monkeypatch):
    opt = Optimizer(X, seed=0, **GIVEN | {"noise_std": 3.0})
    opt.observe(3, 1.0)
    batch = opt.ask(limit=10)
    assert batch.repeats >= 4
    from ostinato.optimizer.ledger import Ledger

    told, calls = Ledger.told, []

    def stopped(self, *args):
        told(self, *args)
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "told", stopped)
    with pytest.raises(KeyboardInterrupt):
        opt.tell(batch, [1.0, 2.0])
    monkeypatch.setattr(Ledger, "told", told)
    opt.tell(batch, [1.0, 2.0])
    assert (opt.steps, opt.epochs, opt.failures) == (3, 1, 0)
    assert opt.predict().mean == pytest.approx(_fresh(batch).predict().mean)


def _fresh(batch):
    fresh = Optimizer(X, seed=0, **GIVEN | {"noise_std": 3.0})
    fresh.observe(3, 1.0)
    fresh.observe(batch.index, [1.0, 2.0])
    return fresh


def test_another_budget_is_another_budget():
    opt = Optimizer(X, seed=0, budget=10)
    opt.budget = 30
    while opt.steps < 30:
        batch = opt.ask()
        opt.tell(batch, [1.0 + TRUTH[batch.index]] * batch.repeats)
    assert opt.steps == 30
    with pytest.raises(InvalidSetting, match="budget"):
        opt.budget = 0


def test_rs_oful_promises_no_ratio():
    opt = Optimizer(X, seed=0, policy=RareUCB(C=0.5), **GIVEN)
    plan = opt.ask(slots=6)
    assert plan.C is None
    assert "by over" not in str(opt.explain(plan[0]))


@pytest.mark.filterwarnings("ignore::ostinato.errors.ApproximateDraws")
def test_draws_of_a_learned_kernel_on_thousands_of_candidates_with_categories():
    """MiniTS with everything learned on a table of texts."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{j}": rng.choice(list("abcde"), 2_500) for j in range(8)}).drop_duplicates()
    opt = Optimizer(table, policy=MiniTS(), seed=0)
    while opt.steps < 12:
        batch = opt.ask(limit=3)
        opt.tell(batch, rng.standard_normal(batch.repeats))
    assert opt.best().n >= 1
