"""Ask, tell, tell again, in any order and in parts, expire, close, crash, reopen: against a small model in memory."""

import os
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from msgspec.structs import replace

from ostinato import MiniUCB
from ostinato.errors import Conflict
from ostinato.kernels import RBF
from ostinato.study import Study, verify
from sizes import size

X = np.linspace(0, 1, 30)[:, None]
SETTINGS = {"kernel": RBF(0.2), "noise_std": 0.5, "policy": MiniUCB(C=1.5), "seed": 0}
BUDGET = 60
EXAMPLES = int(os.environ.get("OSTINATO_EXAMPLES", size(4, 8)))


def value(batch, repeat):
    """What a repeat measures, whoever measures it; some fail."""
    rng = np.random.default_rng((batch, repeat))
    return float("nan") if rng.random() < 0.1 else float(rng.standard_normal())


class Studies(RuleBasedStateMachine):
    def __init__(self, name, address):
        super().__init__()
        self.name, self.address = name, address
        self.studies = [Study(name, address, X, budget=BUDGET, **SETTINGS), Study(name, address)]
        self.tasks, self.kept, self.held, self.closed = [], {}, set(), set()

    def teardown(self):
        assert verify(self.studies[0].storage, self.name) == []
        for study in self.studies:
            study.storage.close()

    @rule(which=st.integers(0, 1), limit=st.integers(1, 5), share=st.integers(1, 3))
    def ask(self, which, limit, share):
        task = self.studies[which].ask(limit, share=share)
        if task is None:
            return
        keys = {(task.batch, task.start + i) for i in range(task.repeats)}
        assert 1 <= task.repeats <= limit
        assert not keys & self.held, "a repeat is in two hands"
        assert not keys & self.kept.keys(), "a repeat that has a value was handed out"
        assert task.batch not in self.closed
        self.held |= keys
        self.tasks.append(task)

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), which=st.integers(0, 1))
    def tell(self, data, which):
        task = data.draw(st.sampled_from(self.tasks))
        start = data.draw(st.integers(0, task.repeats - 1))
        count = data.draw(st.integers(1, task.repeats - start))
        repeats = [task.start + start + i for i in range(count)]
        values = [value(task.batch, repeat) for repeat in repeats]
        new = [repeat for repeat in repeats if (task.batch, repeat) not in self.kept]
        assert self.studies[which].tell(task, values, start=task.start + start) == len(new)
        self.kept |= {(task.batch, repeat): value(task.batch, repeat) for repeat in repeats}
        self.held -= {(task.batch, repeat) for repeat in repeats}

    @precondition(lambda self: self.kept)
    @rule(data=st.data(), which=st.integers(0, 1))
    def tell_another_value(self, data, which):
        task = data.draw(st.sampled_from(self.tasks))
        told = [i for i in range(task.repeats) if (task.batch, task.start + i) in self.kept]
        if told:
            with pytest.raises(Conflict):
                self.studies[which].tell(task, [17.0], start=task.start + told[0])

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), which=st.integers(0, 1))
    def expire(self, data, which):
        """The time of a lease is over."""
        task = data.draw(st.sampled_from(self.tasks))
        with self.studies[which].storage.write(self.name) as writer:
            for lease in writer.leases(task.batch):
                writer.lease(replace(lease, until=0.0))
                self.held -= {(lease.batch, lease.start + i) for i in range(lease.count)}

    @rule(which=st.integers(0, 1))
    def release_all(self, which):
        assert self.studies[which].release_all() >= len(self.held)
        self.held = set()

    @precondition(lambda self: self.tasks)
    @rule(data=st.data(), which=st.integers(0, 1))
    def close(self, data, which):
        task = data.draw(st.sampled_from(self.tasks))
        self.studies[which].close(task)
        self.held = {key for key in self.held if key[0] != task.batch}
        batch = next(each for each in self.studies[which].history() if each.facts.id == task.batch)
        if batch.facts.closed:
            self.closed.add(task.batch)

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.studies[which].storage.close()
        self.studies[which] = Study(self.name, self.address)

    @rule(which=st.integers(0, 1))
    def crash_while_telling(self, which):
        """Whatever a transaction had done when its process died did not happen."""

        def die():
            with self.studies[which].storage.write(self.name) as writer:
                writer.change(replace(writer.record, answered=writer.record.answered + 5))
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            die()

    @invariant()
    def what_is_stored_is_what_was_told(self):
        stored = {(each.batch, each.repeat): each.value for each in self.studies[0].measurements()}
        assert stored.keys() == self.kept.keys()
        assert all(np.array_equal(stored[key], told, equal_nan=True) for key, told in self.kept.items())

    @invariant()
    def both_know_the_same(self):
        first, second = (study.optimizer for study in self.studies)
        fine = sum(not np.isnan(each) for each in self.kept.values())
        assert first.steps == second.steps == fine
        assert first.failures == second.failures == len(self.kept) - fine
        assert first.predict().mean == pytest.approx(second.predict().mean, abs=1e-8)
        assert (first.epochs, first.switches) == (second.epochs, second.switches)


def test_a_study_and_a_model_of_it(address):
    names = (f"lab {number}" for number in count())
    run_state_machine_as_test(
        lambda: Studies(next(names), address),
        settings=settings(
            max_examples=EXAMPLES if address.startswith("sqlite") else EXAMPLES // 2 + 1,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],  # a failure is shown as it came: shrinking it would take minutes
        ),
    )
