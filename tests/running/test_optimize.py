"""The whole loop in one call: it spends the budget, shows progress, and loses nothing when stopped."""

import signal
import subprocess
import time

import numpy as np
import pytest

import ostinato
from ostinato.errors import InvalidFeedback, InvalidSetting
from ostinato.kernels import RBF
from terminal import PATIENCE, start

X = np.linspace(-2, 2, 41)[:, None]
SETTINGS = {"kernel": RBF(0.7), "noise_std": 0.3, "seed": 0}


def make_f(seed=0):
    rng = np.random.default_rng(seed)
    return lambda x: float(-((x[0] - 0.5) ** 2) + 0.3 * rng.standard_normal())


def test_finds_the_optimum_within_the_budget():
    result = ostinato.optimize(make_f(), X, budget=400, **SETTINGS)
    assert result.steps == 400
    assert abs(result.best.candidate[0] - 0.5) <= 0.2
    assert result.switches < 60
    assert not result.interrupted
    assert result.certificate.holds
    assert "400 measurements" in str(result)


def test_vectorised_and_single_evaluations_are_the_same_run():
    rng = np.random.default_rng(0)

    def f(x, repeats):
        return -((x[0] - 0.5) ** 2) + 0.3 * rng.standard_normal(repeats)

    together = ostinato.optimize(f, X, budget=200, vectorized=True, **SETTINGS)
    singly = ostinato.optimize(make_f(), X, budget=200, **SETTINGS)
    assert together.best.index == singly.best.index
    assert together.best.mean == pytest.approx(singly.best.mean, abs=1e-12)
    assert together.epochs == singly.epochs


def test_minimises():
    result = ostinato.optimize(lambda x: (x[0] - 0.5) ** 2, X, budget=200, direction="minimize", **SETTINGS)
    assert abs(result.best.candidate[0] - 0.5) <= 0.2


@pytest.mark.parametrize("vectorized", [False, True])
def test_ctrl_c_ends_with_the_result_so_far(vectorized):
    measured = []

    def f(x, repeats=1):
        if len(measured) >= 50:
            raise KeyboardInterrupt
        values = [-((x[0] - 0.5) ** 2)] * repeats
        measured.extend(values)
        return np.array(values) if vectorized else values[0]

    result = ostinato.optimize(f, X, budget=1000, vectorized=vectorized, **SETTINGS)
    assert result.interrupted
    assert result.steps == len(measured)
    assert "interrupted" in str(result)


def test_ctrl_c_before_the_first_measurement_has_no_result():
    def f(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ostinato.optimize(f, X, budget=10, **SETTINGS)


@pytest.mark.parametrize("delay", [0.6, 0.9, 1.2])
def test_real_ctrl_c_at_any_moment_loses_nothing(delay, tmp_path):
    """A run in a process of its own, interrupted twice, with ask and tell taking most of its time."""
    script = """
import numpy as np, ostinato
from ostinato.kernels import Matern52
X = np.random.default_rng(0).uniform(-2, 2, (3000, 2))
calls = []
def f(x, n):
    calls.append(n)
    if len(calls) == 1:
        print("ready", flush=True)
    return np.zeros(n) + 0.1
r = ostinato.optimize(f, X, budget=10**7, vectorized=True, kernel=Matern52(1.0), noise_std=0.3, seed=0,
                      policy=ostinato.MiniUCB(1.05, 6.0))
opt = r.optimizer
told = (sum(calls), sum(calls) - calls[-1])  # the last call may be what was interrupted, before it returned
assert r.interrupted and r.steps in told, (r.ended, r.steps, told)
fresh = opt.predict(X)
assert np.allclose(opt.predict().mean, fresh.mean, atol=1e-9)
opt.tell(opt.ask(limit=1), [0.1])
print("fine", r.steps)
"""
    process = start("-c", script, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    out, err = process.communicate(timeout=600)
    assert out.startswith("fine"), err


def test_caps_that_are_reached_end_the_run_with_its_result():
    policy = ostinato.MiniUCB(cap_per_candidate=2)
    result = ostinato.optimize(make_f(), X, budget=1000, policy=policy, **SETTINGS)
    assert (result.ended, result.steps) == ("exhausted", 82)
    assert "cap" in str(result)


def test_an_error_of_f_is_passed_on_with_all_that_was_measured():
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == 30:
            raise OSError("the pump is stuck")
        return 0.0

    with pytest.raises(OSError, match="the pump is stuck") as caught:
        ostinato.optimize(f, X, budget=100, **SETTINGS)
    assert caught.value.optimizer.steps == 29
    assert "29 measurements" in caught.value.__notes__[-1]


@pytest.mark.parametrize(
    ("f", "vectorized", "message"),
    [
        (lambda x: np.inf, False, "gave inf"),
        (lambda x: [1.0, 2.0], False, "one finite number"),
        (lambda x: "high", False, "gave 'high'"),
        (lambda x, n: np.zeros(n + 1), True, "shape"),
        (lambda x, n: 3.0, True, "shape"),
        (lambda x, n: np.full(n, np.inf), True, "inf"),
    ],
)
def test_values_that_cannot_be_used_are_named(f, vectorized, message):
    with pytest.raises(InvalidFeedback, match=message):
        ostinato.optimize(f, X, budget=10, vectorized=vectorized, **SETTINGS)


@pytest.mark.parametrize("budget", [0, -5, 2.5, True, "many"])
def test_the_budget_is_a_whole_number(budget):
    with pytest.raises(InvalidSetting, match="budget="):
        ostinato.optimize(make_f(), X, budget=budget, **SETTINGS)


def test_progress_goes_to_the_terminal_where_asked_for(capsys):
    ostinato.optimize(make_f(), X, budget=100, progress=True, **SETTINGS)
    shown = capsys.readouterr()
    assert "100/100" in shown.err
    assert "switches" in shown.err
    assert "100/100" in shown.err
    assert "best" in shown.err
    assert shown.out == ""
    ostinato.optimize(make_f(), X, budget=100, **SETTINGS)
    assert capsys.readouterr().err == ""


def test_a_users_seed_of_pythons_random_is_left_alone():
    """The first call in a process and the second see the same numbers."""
    script = """
import random, numpy as np, ostinato
from ostinato.kernels import RBF
def run():
    random.seed(0)
    f = lambda x: random.random()
    return ostinato.optimize(f, np.arange(5.0), budget=20, kernel=RBF(1.0), noise_std=0.3, seed=0)
assert run().best.mean == run().best.mean
"""
    assert start("-c", script).wait(PATIENCE) == 0


def test_f_is_called_where_optimize_is_called():
    import threading

    seen = set()

    def f(x):
        seen.add(threading.current_thread())
        return 0.0

    ostinato.optimize(f, X, budget=20, **SETTINGS)
    assert seen == {threading.current_thread()}


@pytest.mark.parametrize("error", [OSError("the pump is stuck"), KeyboardInterrupt()])
def test_what_was_not_measured_is_not_waited_for(error):
    """Whoever goes on decides anew, and not as if the rest of the batch were still to come."""
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == 30:
            raise error
        return 0.0

    try:
        optimizer = ostinato.optimize(f, X, budget=100, **SETTINGS).optimizer
    except OSError as caught:
        optimizer = caught.optimizer
    assert (optimizer.steps, optimizer.in_flight) == (29, [])
    optimizer.tell(optimizer.ask(limit=1), [0.0])
