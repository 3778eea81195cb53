"""Runs over candidates on real Dask workers choose as runs over the same table in memory."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

from clusters import written
from ostinato import MiniEI, MiniTS, MiniUCB, Optimizer, ShardedTable, kernels
from ostinato.errors import InvalidSetting
from ostinato.optimizer.order import Order, drawn
from ostinato.policies import GPUCB
from sizes import size

pytestmark = pytest.mark.filterwarnings("default")  # Dask has some of its own
MANY = 50_000  # candidates from which each of two shards is screened in single precision
EPOCHS = size(15, 40)
GIVEN = {"kernel": kernels.RBF((0.2, 2.0)), "noise_std": 0.1}
SETTINGS = {
    "mini-UCB": {**GIVEN, "policy": MiniUCB(C=1.2, beta=2.0)},
    "mini-EI": {**GIVEN, "policy": MiniEI(C=1.2, beta=1.0)},
    "GP-UCB on ties": {"kernel": kernels.Matern32((0.001, 0.01)), "noise_std": 0.1, "policy": GPUCB(beta=2.0)},
    "find, given": GIVEN,
    "find, learned": {},
    "mini-UCB, learned": {"policy": MiniUCB(C=1.2, beta=2.0), "direction": "minimize"},
    "switching": {**GIVEN, "switch_cost": 5.0},
}


def candidates(count):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.random(count), "b": 10 * rng.random(count)})


def value(candidate):
    return -((candidate["a"] - 0.3) ** 2) - (candidate["b"] / 10 - 0.6) ** 2


def run(table, settings, epochs, at=None):
    """Candidates and repeats that are asked for, and the answer. at: what is done before some epochs."""
    optimizer, rng = Optimizer(table, seed=1, budget=120, **settings), np.random.default_rng(2)
    picks = []
    for epoch in range(epochs):
        if at and epoch in at:
            picks.append(at[epoch](optimizer))
        batch = optimizer.ask()
        picks.append((batch.index, batch.repeats))
        optimizer.tell(batch, value(batch.candidate) + 0.1 * rng.standard_normal(batch.repeats))
    best = optimizer.best()
    return picks, (best.index, best.candidate), [best.mean, best.std, best.within]


def test_workers_may_compute_on_cards(frame, files, two_workers):
    """Here PyTorch on their processors."""
    pytest.importorskip("torch")
    for settings in (SETTINGS["mini-UCB"], SETTINGS["find, learned"]):
        sharded = run(ShardedTable(two_workers, files), {**settings, "device": "torch"}, 10)
        assert_alike(sharded, run(frame, settings, 10))


def assert_alike(one, two):
    assert one[:2] == two[:2]
    assert one[2][:2] == pytest.approx(two[2][:2], rel=1e-6)
    assert one[2][2] == pytest.approx(two[2][2], rel=5e-3)  # by draws, in which equal candidates may change places


@pytest.fixture(scope="module")
def frame():
    return candidates(600)


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    return written(frame, tmp_path_factory.mktemp("files"), 3)


@pytest.fixture(scope="module")
def in_memory(frame):
    return {name: run(frame, settings, EPOCHS) for name, settings in SETTINGS.items()}


@pytest.mark.parametrize("name", size(["mini-UCB", "mini-EI", "GP-UCB on ties", "find, learned"], list(SETTINGS)))
def test_two_workers_choose_as_one_process(name, files, in_memory, two_workers):
    assert_alike(run(ShardedTable(two_workers, files), SETTINGS[name], EPOCHS), in_memory[name])


def test_four_workers_choose_as_one_process(files, in_memory, two_workers):
    two_workers.cluster.scale(4)
    two_workers.wait_for_workers(4)
    for name in size(["find, learned"], list(SETTINGS)):
        assert_alike(run(ShardedTable(two_workers, files), SETTINGS[name], EPOCHS), in_memory[name])
    two_workers.cluster.scale(2)


@pytest.mark.parametrize("name", size(["find, learned"], list(SETTINGS)))
def test_many_candidates_are_screened_on_their_workers(name, two_workers, tmp_path):
    frame = candidates(MANY)
    found = run(ShardedTable(two_workers, written(frame, tmp_path, 2)), SETTINGS[name], 15)
    assert_alike(found, run(frame, SETTINGS[name], 15))


@pytest.mark.parametrize("name", size(["find, learned"], ["mini-UCB", "find, learned"]))
def test_a_killed_worker_changes_nothing(name, files, in_memory, two_workers):
    two_workers.wait_for_workers(2)
    killed = []

    def kill(_):
        killed.append(next(iter(two_workers.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    found = run(ShardedTable(two_workers, files), SETTINGS[name], EPOCHS, {EPOCHS // 2: kill})
    found[0].remove(None)
    assert_alike(found, in_memory[name])
    two_workers.wait_for_workers(2)
    assert len(killed) == 1
    assert killed[0] not in two_workers.run(os.getpid).values()


@pytest.mark.parametrize("name", size(["mini-EI", "find, learned"], ["mini-UCB", "mini-EI", "find, learned"]))
def test_plans_additions_and_retired_candidates(name, frame, files, two_workers):
    def plan(optimizer):
        batches = optimizer.ask(slots=4)
        waiting = [optimizer.ask(), optimizer.ask()]
        for batch in waiting:
            optimizer.tell(batch, [value(batch.candidate)] * batch.repeats)
        return [(batch.index, batch.repeats) for batch in (*batches, *waiting)], pytest.approx(batches.ratio, rel=1e-6)

    at = {
        6: lambda optimizer: optimizer.add([{"a": 0.3, "b": 6.0}, {"a": 0.31, "b": 6.1}]),
        9: lambda optimizer: optimizer.retire([optimizer.best().index, 601]),
        12: plan,
        14: lambda optimizer: optimizer.restore(601),
    }
    assert_alike(run(ShardedTable(two_workers, files), SETTINGS[name], 16, at), run(frame, SETTINGS[name], 16, at))


def test_bytes_sent_do_not_grow_with_the_candidates(two_workers, tmp_path):
    def sent(count):
        table = ShardedTable(two_workers, written(candidates(count), tmp_path / str(count), 2))
        optimizer, told = Optimizer(table, seed=1, **GIVEN, policy=MiniUCB(C=1.2, beta=2.0)), []
        for _ in range(10):
            before = table.traffic.sent, table.traffic.received
            batch = optimizer.ask()
            told.append((table.traffic.sent - before[0], table.traffic.received - before[1]))
            optimizer.tell(batch, [value(batch.candidate)] * batch.repeats)
        return np.array(told)

    few, many = sent(500), sent(MANY)
    assert few.min() > 0
    assert (many[:, 0] <= few[:, 0] + 200).all()  # pickled numbers differ by some bytes
    assert (many[:, 1] <= few[:, 1] + 64 * 16).all()  # a worker's list is longer by log(n) candidates
    assert many.sum() < 10 * 20_000


def test_thompson_sampling_is_refused(files, two_workers):
    with pytest.raises(InvalidSetting, match="MiniTS"):
        Optimizer(ShardedTable(two_workers, files), policy=MiniTS())


@pytest.mark.parametrize("count", [1, 2, 1_000, 2**20 + 1, 3_000_001])
def test_the_order_that_settles_ties_is_one_to_one(count):
    order = drawn(np.random.default_rng(3), [count])
    places = order[np.arange(count)]
    assert np.array_equal(np.sort(places), np.arange(count))
    assert np.array_equal(order[order.lowest(min(50, count))], np.arange(min(50, count)))
    assert count < 1_000 or abs(np.corrcoef(places, np.arange(count))[0, 1]) < 0.1


def test_an_order_grows_at_its_end():
    order = drawn(np.random.default_rng(3), [2**20 + 1])
    more = order.grown(2**20 + 4)
    some = np.array([0, 5, 2**20])
    assert np.array_equal(more[some], order[some])
    assert sorted(more[2**20 + 1 + np.arange(3)]) == [2**20 + 1, 2**20 + 2, 2**20 + 3]
    assert more == Order(order.state, (2**20 + 1, 2**20 + 4))
