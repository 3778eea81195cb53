"""Whatever happened, in whatever order: in the end all is as for a fresh optimiser that was told what counts.

Asked, told in parts, observed, failed, closed, taken back, corrected; candidates added, retired and restored.
"""

import os
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from facts import STEPS, InMemory, Life, Stored, fresh
from inside import next_batch, pending
from ostinato import MiniUCB
from ostinato.kernels import RBF
from ostinato.study import verify
from sizes import size

GIVEN = {"kernel": RBF(0.3, std=10.0), "noise_std": 8.0, "mean": 20.0}
CHOSEN = st.sampled_from([GIVEN | {"policy": MiniUCB(C=3.0)}, {}, GIVEN, {"goal": "earn"}])
MORE = int(os.environ.get("OSTINATO_EXAMPLES", size(4, 8)))
QUICK = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),
    "phases": [Phase.explicit, Phase.generate],  # a failure is shown as it came: shrinking it would take a minute
}
NAMES = (f"study {number}" for number in count())
pytestmark = [
    pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement"),
    pytest.mark.filterwarnings("ignore::ostinato.errors.SurprisingMeasurements"),
]


def check(life, options):
    """Counts, answers, the certificate and the next decision."""
    one = life.subject.optimizer
    other = fresh(life, one.core.state.decision_state.random, **options)
    assert one.core.state.decision_state.began == life.began
    for name in ("steps", "failures", "unique", "epochs", "switches", "candidates", "retired"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.counts() == other.counts()
    assert [(b.id, b.index, b.repeats) for b in one.in_flight] == [(b.id, b.index, b.repeats) for b in other.in_flight]
    assert pending(one) == pending(other)
    assert str(one.certificate) == str(other.certificate)
    assert one.has_best == other.has_best
    if one.steps:
        assert one.predict().mean == pytest.approx(other.predict().mean, rel=1e-6, abs=1e-6)
        assert one.predict().std == pytest.approx(other.predict().std, rel=1e-6, abs=1e-6)
    if one.has_best:
        mine, its = one.best(), other.best()
        assert (mine.index, mine.n, mine.interval) == (its.index, its.n, pytest.approx(its.interval, rel=1e-6))
    a, b = next_batch(one, 50), next_batch(other, 50)
    assert (a.id, a.index, a.repeats, a.wanted) == (b.id, b.index, b.repeats, b.wanted)


@settings(max_examples=size(4, 4) * MORE, **QUICK)
@given(steps=STEPS, seed=st.integers(0, 9), chosen=CHOSEN)
def test_an_optimiser(steps, seed, chosen):
    options = chosen | {"seed": seed}
    life = Life(InMemory(**options), seed)
    life.live(steps)
    check(life, options)


def test_a_study(address):
    @settings(max_examples=size(4, 2) * MORE if address.startswith("sqlite") else MORE, **QUICK)
    @given(steps=STEPS, seed=st.integers(0, 9), chosen=CHOSEN)
    def lives(steps, seed, chosen):
        options = chosen | {"seed": seed}
        life = Life(Stored(next(NAMES), address, **options), seed)
        life.live(steps)
        study = life.subject.study
        assert verify(study.storage, study.name) == []
        kept = [each.value for each in study.measurements() if each.count == 1]
        assert np.array_equal(kept, [each.now for each in life.told if each.counts and each.single], equal_nan=True)
        check(life, options)

    lives()
