"""The lean arithmetic of BoTorch's LogEI and Optuna's process: their values, slopes and decisions."""

from types import SimpleNamespace

import numpy as np
import pytest

from libraries import needed

needed("botorch")
pytestmark = [pytest.mark.filterwarnings("ignore")]

import torch  # noqa: E402
from benchmarks.continuous.lean.botorch_fit import flat, objective  # noqa: E402
from benchmarks.continuous.lean.botorch_score import Posterior, Score, log_improvement  # noqa: E402
from benchmarks.continuous.lean.optuna_loss import Loss  # noqa: E402
from benchmarks.continuous.lean.same import COMPARISONS, compared  # noqa: E402
from botorch.acquisition.analytic import LogExpectedImprovement, _log_ei_helper  # noqa: E402
from botorch.models import SingleTaskGP  # noqa: E402
from botorch.optim.closures import get_loss_closure_with_grads  # noqa: E402
from botorch.optim.utils import get_parameters  # noqa: E402
from gpytorch.mlls import ExactMarginalLogLikelihood  # noqa: E402

BEST = 45.0


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    return X, 40 + 7 * (np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(60))


def standard(y):
    return (y - y.mean()) / y.std(ddof=1)


def test_the_likelihood_and_its_slopes_are_botorchs(data):
    X, y = data
    model = SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None])
    mll = ExactMarginalLogLikelihood(model.likelihood, model).train()
    value, slopes = get_loss_closure_with_grads(mll, get_parameters(mll, requires_grad=True))()
    ours, own = objective(X, standard(y))(flat(model))
    assert ours == pytest.approx(value.item(), rel=1e-9)
    assert np.allclose(own, np.concatenate([slope.ravel() for slope in slopes]), rtol=1e-8, atol=1e-10)


def test_the_score_and_its_slopes_are_botorchs(data):
    X, y = data
    model = SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None]).eval()
    points = torch.rand(20, 1, 3, dtype=torch.float64, requires_grad=True)
    theirs = LogExpectedImprovement(model, best_f=BEST)(points)
    (slopes,) = torch.autograd.grad(theirs.sum(), points)
    score = Score(Posterior(X, standard(y), y.mean(), y.std(ddof=1), flat(model)), BEST)
    value, own = score.climb(points.detach()[:, 0].numpy())
    assert np.allclose(value, theirs.detach(), rtol=1e-9)
    assert np.allclose(own, slopes[:, 0], rtol=1e-7, atol=1e-7)


def test_the_log_of_an_improvement_is_botorchs_everywhere():
    u = torch.tensor([5, 1, 0, -0.99, -1, -1.01, -2, -10, -100, -1e3, -1e4, -1e6, -1e7, -1e20], dtype=torch.float64)
    theirs = _log_ei_helper(u.requires_grad_())
    (slopes,) = torch.autograd.grad(theirs.sum(), u)
    value, own = log_improvement(u.detach().numpy())
    assert np.allclose(value, theirs.detach(), rtol=1e-13)
    assert np.allclose(own, slopes, rtol=1e-6)


@pytest.mark.parametrize("optimizer", COMPARISONS)
def test_it_decides_as_the_library_does(optimizer):
    found = compared(optimizer, "goldstein 0.1", 1, 20, control=False)
    assert found["same_points"] == 1.0
    assert found["parameters_largest"] < 1e-6


def test_a_scale_that_comes_out_as_0_has_an_infinite_loss():
    """As with PyTorch: the climb then turns back, where a division by zero would end it."""
    regressor = SimpleNamespace(_X_train=torch.rand(5, 2).double(), _y_train=torch.rand(5, 1).double())
    value, _ = Loss(regressor, 1e-6)(np.array([0.0, 0.0, -800.0, 0.0]))
    assert value == np.inf
