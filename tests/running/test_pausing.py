"""An instrument that is down does not ruin a run: it pauses, and goes on. In memory."""

import logging
import os
import signal

import numpy as np
import pytest

import ostinato
from ostinato.errors import Failed, InvalidFeedback, InvalidSetting, Outage, Paused
from ostinato.kernels import RBF
from ostinato.stopping import NoImprovement

X = np.stack(np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 8)), axis=-1).reshape(-1, 2)
QUICK = {"seed": 0, "retry_every": 0.001, "give_up_after": 600}


class Bench:
    """A measurement that is down for some of its calls; how, is the caller's choice."""

    def __init__(self, down=range(0), how=Failed, flaky=0.0, failing=lambda x: False):
        self.calls, self.failed = 0, list[tuple[float, ...]]()
        self._down, self._how, self._flaky, self._failing = down, how, flaky, failing
        self._rng = np.random.default_rng(0)

    def __call__(self, x):
        self.calls += 1
        if self.calls in self._down:
            self.failed.append(tuple(x))
            raise self._how("the pump is off")
        if self._rng.random() < self._flaky or self._failing(x):
            raise Failed("no value")
        return float(-((x[0] - 0.3) ** 2) - (x[1] - 0.6) ** 2 + 0.2 * self._rng.standard_normal())


@pytest.mark.parametrize(("how", "calls"), [(Failed, 12), (Outage, 6)])
@pytest.mark.parametrize("first", [10, 60])
def test_an_outage_counts_neither_against_the_budget_nor_against_candidates(capsys, how, calls, first):
    bench = Bench(range(first, first + calls), how)
    with pytest.warns(Paused, match="the pump is off"):
        result = ostinato.optimize(bench, X, budget=120, **QUICK)
    assert (result.ended, result.steps, result.failures) == ("budget", 120, 0)
    assert bench.calls == 120 + calls
    assert not result.optimizer.core.state.failures
    assert "measuring again" in capsys.readouterr().err


@pytest.mark.parametrize("where", [ostinato.Space(a=ostinato.Float(0, 1), b=ostinato.Float(1, 9)), [[0.0], [1.0]]])
def test_in_spaces_and_with_two_candidates(where):
    bench = Bench()
    bench._failing = lambda x: 20 < bench.calls < 34
    f = lambda x: bench([x["a"], 0.5] if isinstance(x, dict) else [x[0], 0.5])  # noqa: E731
    with pytest.warns(Paused, match="no value"):
        result = ostinato.optimize(f, where, budget=40, **QUICK)
    assert (result.steps, result.failures) == (40, 0)


def test_what_is_recommended_is_as_good_as_without_an_outage():
    """Few seeds; `python -m benchmarks.reliability outage` has the figures."""

    def regret(seed, down, **how):
        bench = Bench(down)
        bench._rng = np.random.default_rng(seed)
        result = ostinato.optimize(bench, X, budget=80, **QUICK | {"seed": seed} | how)
        assert result.steps == 80 or how
        return (result.best.candidate[0] - 0.3) ** 2 + (result.best.candidate[1] - 0.6) ** 2

    def mean(down, **how):
        return np.mean([regret(seed, down, **how) for seed in range(12)])

    calm, ruined = mean(range(0)), mean(range(20, 10**6), on_failure="count")
    with pytest.warns(Paused):
        paused = mean(range(20, 34))
    assert paused < 1.5 * calm < ruined  # single runs differ much: a dozen say no more


def test_a_run_that_gives_up_keeps_everything():
    bench = Bench(range(50, 10**6))
    with pytest.warns(Paused):
        result = ostinato.optimize(bench, X, budget=120, seed=0, retry_every=0.001, give_up_after=0.05)
    assert (result.ended, result.failures) == ("outage", 0)
    assert result.steps == 49
    assert "given up" in str(result)
    result.optimizer.tell(result.optimizer.ask(limit=1), [0.0])  # it can go on


def test_every_failure_counts_where_that_is_chosen():
    bench = Bench(range(50, 10**6))
    result = ostinato.optimize(bench, X, budget=120, on_failure="count", **QUICK)
    assert (result.ended, result.steps, result.failures, bench.calls) == ("budget", 49, 71, 120)
    result = ostinato.optimize(Bench(range(50, 60), Outage), X, budget=80, on_failure="count", **QUICK)
    assert (result.steps, result.failures) == (70, 10)


@pytest.mark.parametrize("how", [Failed, Outage])
def test_the_first_failure_ends_a_run_where_that_is_chosen(how):
    bench = Bench(range(50, 10**6), how)
    result = ostinato.optimize(bench, X, budget=120, on_failure="stop", **QUICK)
    assert (result.ended, result.steps, result.failures, bench.calls) == ("failure", 49, 1, 50)
    assert "failed" in str(result)


def test_a_program_that_fails_often_is_no_outage():
    result = ostinato.optimize(Bench(flaky=0.3), X, budget=300, **QUICK)  # a warning would be an error
    assert result.ended == "budget"
    assert result.steps + result.failures == 300
    assert result.failures > 60


def test_candidates_that_fail_are_learned_as_such():
    bench = Bench(failing=lambda x: x[0] > 0.55)
    result = ostinato.optimize(bench, X, budget=200, **QUICK)
    assert (result.ended, result.steps + result.failures) == ("budget", 200)
    failed = result.optimizer.core.state.failures
    assert failed
    assert all(X[index, 0] > 0.55 for index in failed)
    assert result.failures < 60


def test_candidates_that_stop_working_are_news_while_others_work():
    """All that has worked near the optimum fails from now on; what is tried again lies elsewhere."""
    bench = Bench()
    bench._failing = lambda x: bench.calls > 100 and np.hypot(x[0] - 0.3, x[1] - 0.6) < 0.25
    result = ostinato.optimize(bench, X, budget=200, **QUICK)
    assert result.ended == "budget"
    assert result.failures > 0


def test_where_nothing_ever_worked_somebody_should_look():
    with pytest.raises(InvalidFeedback, match=r"first 20 measurements all failed.*do not count") as caught:
        ostinato.optimize(lambda x: None, X, budget=100, **QUICK)
    assert (caught.value.optimizer.steps, caught.value.optimizer.failures) == (0, 0)
    with pytest.warns(Paused), pytest.raises(Outage, match="no power"):
        ostinato.optimize(
            Bench(range(10**6), lambda _: Outage("no power")), X, budget=9, **QUICK | {"give_up_after": 0.01}
        )


def test_a_function_that_says_that_it_is_down_is_waited_for_from_the_first_call_on():
    bench = Bench(range(1, 6), Outage)
    with pytest.warns(Paused):
        result = ostinato.optimize(bench, X, budget=30, **QUICK)
    assert (result.steps, result.failures) == (30, 0)


def test_an_error_while_it_is_tried_again_is_passed_on():
    bench = Bench(range(50, 10**6))
    bench._how = lambda words: Failed(words) if bench.calls < 60 else OSError(words)
    with pytest.warns(Paused), pytest.raises(OSError, match="the pump is off") as caught:
        ostinato.optimize(bench, X, budget=120, **QUICK)
    assert (caught.value.optimizer.steps, caught.value.optimizer.failures) == (49, 0)


@pytest.mark.parametrize("vectorized", [False, True])
def test_an_outage_within_a_long_batch(caplog, vectorized):
    """Repeats of one candidate, which worked before: they are not measured to the end while they fail."""
    calls, failed = [], []

    def down(x, repeats=1):
        calls.append(repeats)
        fails = sum(calls) > 300 and not caplog.records  # until the run pauses
        failed.extend([1] * repeats if fails else [])
        return np.full(repeats, np.nan if fails else 1.0) if vectorized else None if fails else 1.0

    settings = {"noise_std": 3.0, "kernel": RBF(0.5), "policy": ostinato.MiniUCB(C=3.0), "vectorized": vectorized}
    with pytest.warns(Paused):
        result = ostinato.optimize(down, X, budget=500, **settings, **QUICK)
    assert (result.steps, result.failures) == (500, 0)
    assert len(failed) < (200 if vectorized else 30)
    assert "the run pauses" in caplog.text


class Interrupting(logging.Handler):
    """Ctrl-C, as soon as a run says that it pauses."""

    def emit(self, record):
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_a_pause_at_once():
    handler = Interrupting()
    logging.getLogger("ostinato").addHandler(handler)
    try:
        with pytest.warns(Paused):
            result = ostinato.optimize(Bench(range(50, 10**6)), X, budget=120, seed=0, retry_every=100_000)
    finally:
        logging.getLogger("ostinato").removeHandler(handler)
    assert (result.ended, result.steps, result.failures) == ("interrupted", 49, 0)


def test_rules_hold_during_an_outage_too():
    with pytest.warns(Paused):
        result = ostinato.optimize(Bench(range(50, 60)), X, budget=1_000, stop=NoImprovement(80), **QUICK)
    assert "NoImprovement" in result.ended


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"on_failure": "ignore"}, "on_failure='ignore'"),
        ({"retry_every": 0}, "retry_every=0"),
        ({"give_up_after": -1.0}, "give_up_after=-1.0"),
        ({"give_up_after": "soon"}, "give_up_after='soon'"),
    ],
)
def test_bad_settings_are_named(setting, words):
    with pytest.raises(InvalidSetting, match=words):
        ostinato.optimize(Bench(), X, budget=10, **setting)


@pytest.mark.parametrize("failures", [2, 4])
def test_the_last_failures_of_a_run_are_judged_few_as_they_are(failures):
    """Fewer than five failures would go unnoticed; at the end of the budget nothing comes after them."""
    bench = Bench(range(121 - failures, 130))
    with pytest.warns(Paused):
        result = ostinato.optimize(bench, X, budget=120, **QUICK)
    assert (result.steps, result.failures) == (120, 0)


def test_the_last_failures_of_a_run_stay_where_others_work():
    bench, failing = Bench(), set()

    def fails(x):
        if bench.calls in (119, 120):
            failing.add(tuple(x))
        return tuple(x) in failing  # for good

    bench._failing = fails
    result = ostinato.optimize(bench, X, budget=120, **QUICK)
    assert (result.steps, result.failures) == (118, 2)
    assert bench.calls == 122  # one that had worked, and one that had failed


@pytest.mark.parametrize("calls", [range(60, 65), range(119, 121)], ids=["in the middle", "at the end"])
def test_an_outage_that_is_over_before_it_is_noticed_does_not_count(calls):
    """Everything works when it is tried again, what had failed too: that was no news about candidates."""
    bench = Bench()
    bench._failing = lambda x: bench.calls in calls
    result = ostinato.optimize(bench, X, budget=120, **QUICK)  # a warning would be an error: nobody had to wait
    assert (result.steps, result.failures) == (120, 0)


def test_failures_of_an_outage_leave_no_trace():
    """What is asked next, again and again, is what it would be if they had never been told."""
    first = X[::8]
    optimizers = [ostinato.Optimizer(first, seed=0, policy=ostinato.MiniUCB(), noise_std=0.1) for _ in range(2)]
    calm, disturbed = optimizers
    lost = [disturbed.ask(limit=1) for _ in range(3)]
    for batch in lost:
        disturbed.tell(batch, [None])
    assert disturbed.ask().index not in {batch.index for batch in lost}  # while they count, others come first
    disturbed.close(disturbed.in_flight[0])
    disturbed.core.retract_failures({(batch.id, 0) for batch in lost})
    assert disturbed.failures == 0
    for _ in range(12):
        one, two = calm.ask(limit=2), disturbed.ask(limit=2)
        assert (one.index, one.repeats) == (two.index, two.repeats)
        for optimizer, batch in ((calm, one), (disturbed, two)):
            optimizer.tell(batch, [float(first[batch.index, 0])] * batch.repeats)
