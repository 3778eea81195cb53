"""Optuna's own tests of samplers."""

import pytest

optuna = pytest.importorskip("optuna")
suite = pytest.importorskip("optuna.testing.pytest_samplers", reason="older Optunas have no such tests")

from ostinato.integrations import OstinatoSampler  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.ConditionalParameters")


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestOstinatoSampler(suite.BasicSamplerTestCase, suite.RelativeSamplerTestCase, suite.SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: OstinatoSampler(seed=0)
