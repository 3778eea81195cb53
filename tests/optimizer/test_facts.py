"""An optimiser made again from facts goes on exactly as the one that gathered them."""

import msgspec
import numpy as np
import pytest

from ostinato import MiniEI, MiniTS, MiniUCB, Optimizer
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.facts import BatchFacts, DecisionState
from ostinato.policies import GPBUCB, AdaptiveUCB, EpsilonGreedy, Uniform

X = np.stack(np.meshgrid(np.linspace(0, 1, 8), np.linspace(0, 5, 8)), axis=-1).reshape(-1, 2)
TRUTH = np.sin(4 * X[:, 0]) + np.cos(X[:, 1])
GIVEN = {"kernel": RBF((0.3, 2.0)), "noise_std": 0.5}
SETTINGS = {
    "learned": {},
    "earn, minimised": {"goal": "earn", "direction": "minimize"},
    "varying noise": {"noise_std": "varying"},
    "set-ups": {"setup_std": "learn"},
    "switching costs": {"switch_cost": {0: 3.0, 1: 1.0}},
    "given": {**GIVEN, "policy": MiniUCB(C=1.5)},
    "Thompson": {**GIVEN, "policy": MiniTS()},
    "learned, EI": {"policy": MiniEI(C=2.0)},
    "rounds": {**GIVEN, "policy": GPBUCB(C=1.5)},
    "adaptive": {**GIVEN, "policy": AdaptiveUCB()},
    "greedy": {**GIVEN, "policy": EpsilonGreedy(0.3)},
    "uniform": {**GIVEN, "policy": Uniform()},
}


class Recorded:
    """An optimiser, and the facts about it as a store would keep them."""

    def __init__(self, seed, **settings):
        self.settings = settings
        self.opt, self.rng = Optimizer(X, seed=seed, budget=500, **settings), np.random.default_rng(seed)
        self.facts, self.values, self.open, self.came = {}, {}, {}, 0

    def ask(self):
        batch = self.opt.ask(limit=20)
        self.open[batch.id] = batch
        self.facts[batch.id] = BatchFacts(msgspec.structs.replace(batch, candidate=None, reason=None))

    def tell(self):
        batch = self.open[self.rng.choice(sorted(self.open))]
        fact = self.facts[batch.id]
        values = TRUTH[batch.index] + 0.5 * self.rng.standard_normal(
            self.rng.integers(1, batch.repeats - fact.answered + 1)
        )
        values[self.rng.random(len(values)) < 0.1] = np.nan
        self.opt.tell(batch, values)
        self._took(batch.id, values)
        if self.facts[batch.id].answered == batch.repeats:
            del self.open[batch.id]

    def close(self):
        batch = self.open.pop(self.rng.choice(sorted(self.open)))
        self.opt.close(batch)
        self.facts[batch.id] = msgspec.structs.replace(self.facts[batch.id], closed=True)

    def observe(self):
        row, key = int(self.rng.integers(len(X))), -1 - sum(key < 0 for key in self.facts)
        values = TRUTH[row] + 0.5 * self.rng.standard_normal(2)
        self.opt.observe(row, values)
        self.facts[key] = BatchFacts.observed(key, row, 2)
        self._took(key, values)

    def _took(self, key, values):
        fact, fine = self.facts[key], values[~np.isnan(values)]
        self.came += 1
        more = Statistics.of_values(fine) if len(fine) else Statistics()
        self.facts[key] = msgspec.structs.replace(
            fact,
            failed=fact.failed + len(values) - len(fine),
            told=msgspec.structs.replace(fact.told, statistics=fact.statistics + more),
            first=fact.first or self.came,
        )

    def again(self):
        """Through JSON, as a store would."""
        state = msgspec.json.decode(msgspec.json.encode(self.opt.core.state.decision_state), type=DecisionState)
        facts = msgspec.json.decode(msgspec.json.encode(list(self.facts.values())), type=list[BatchFacts])
        other = Optimizer(X, seed=12345, budget=500, **self.settings)
        other._problem.priority[:] = self.opt._problem.priority  # a store keeps the seed, which gives these
        other.core.recall(facts, state)
        return other


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_goes_on_as_before(settings, seed):
    run = Recorded(seed, **settings)
    for step in range(60):
        action = run.rng.choice(
            ["ask", "tell", "tell", "tell", "close", "observe"], p=[0.4, 0.2, 0.15, 0.15, 0.05, 0.05]
        )
        getattr(run, action if run.open or action == "observe" else "ask")()
        if step % 12 == 11 and run.opt.steps:
            other = run.again()
            for name in ("steps", "unique", "epochs", "switches", "failures", "rounds"):
                assert getattr(other, name) == getattr(run.opt, name), name
            assert other.costs.total == pytest.approx(run.opt.costs.total)
            assert [batch.id for batch in other.in_flight] == [batch.id for batch in run.opt.in_flight]
            assert other.predict().mean == pytest.approx(run.opt.predict().mean, abs=1e-6)
            a, b = other.ask(limit=20), run.opt.ask(limit=20)
            assert (a.id, a.index, a.repeats, a.wanted) == (b.id, b.index, b.repeats, b.wanted)
            run.open[b.id] = b
            run.facts[b.id] = BatchFacts(msgspec.structs.replace(b, candidate=None, reason=None))


def test_facts_are_for_new_optimisers():
    opt = Optimizer(X, seed=0)
    opt.observe(0, [1.0])
    with pytest.raises(InvalidSetting, match="new optimiser"):
        opt.core.recall([], None)
