"""The BoTorch model: the same numbers as the optimiser's own, and real acquisition functions that use it."""

import numpy as np
import pytest

from libraries import needed
from ostinato import Category, Float, Optimizer, Space, kernels
from ostinato.errors import InvalidSetting

needed("botorch")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:A not p.d."),
    pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning"),
]

import torch  # noqa: E402
from botorch.acquisition import LogExpectedImprovement  # noqa: E402
from botorch.acquisition.logei import qLogNoisyExpectedImprovement  # noqa: E402
from botorch.acquisition.objective import ScalarizedPosteriorTransform  # noqa: E402
from botorch.optim import optimize_acqf, optimize_acqf_discrete  # noqa: E402

from ostinato.integrations.botorch import OstinatoModel  # noqa: E402

GRID = Space(temp=Float(20, 80, step=5), ph=Float(4, 9, step=0.5))
RANGES = Space(temp=Float(20, 80), ph=Float(4, 9))
MIXED = Space(temp=Float(20, 80, count=7, log=True), solvent=Category("water", "ethanol", "none"))


def truth(candidate):
    ph = candidate.get("ph", 6.5)
    return 70 - (candidate["temp"] - 55) ** 2 / 20 - 4 * (ph - 6.5) ** 2 + 3 * (candidate.get("solvent") == "none")


def measured(space, budget=60, **settings):
    rng = np.random.default_rng(0)
    opt = Optimizer(space, budget=budget, seed=0, **settings)
    while opt.steps < budget:
        batch = opt.ask()
        opt.tell(batch, truth(batch.candidate) + rng.normal(0, 3, batch.repeats))
    return opt


@pytest.fixture(scope="module")
def on_grid():
    return measured(GRID)


@pytest.fixture(scope="module")
def in_ranges():
    return measured(RANGES)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("space", [GRID, MIXED], ids=["grid", "mixed"])
def test_mean_and_variance_are_those_of_predict(space, direction):
    opt = measured(space, 30, direction=direction)
    model, predicted = OstinatoModel(opt), opt.predict()
    single = model.posterior(model.choices[:, None, :])
    assert single.mean.shape == (len(predicted), 1, 1)
    np.testing.assert_allclose(single.mean.numpy().ravel(), predicted.mean)
    np.testing.assert_allclose(single.variance.numpy().ravel(), predicted.std**2, rtol=1e-6)
    joint = model.posterior(model.choices)
    np.testing.assert_allclose(joint.mean.numpy().ravel(), predicted.mean, rtol=1e-6)
    scale = np.max(predicted.std) ** 2
    np.testing.assert_allclose(joint.distribution.covariance_matrix.numpy(), opt.covariance(), atol=1e-6 * scale)


def test_it_follows_the_optimiser():
    opt = Optimizer(GRID, seed=0, kernel=kernels.Matern52((10.0, 1.0), std=10.0), noise_std=3.0, mean=50.0)
    model = OstinatoModel(opt)
    x = model.encode({"temp": 55, "ph": 6.5})
    assert model.posterior(x).mean.item() == pytest.approx(50)
    assert model.posterior(x).variance.item() == pytest.approx(100)
    opt.observe({"temp": 55, "ph": 6.5}, [70.0] * 9)
    assert model.posterior(x).mean.item() == pytest.approx(50 + 20 * 100 / 101)
    assert model.posterior(x).variance.item() == pytest.approx(100 / 101)


def test_batches_of_points(on_grid):
    model = OstinatoModel(on_grid)
    X = model.choices[:24].reshape(2, 4, 3, 2)
    law = model.posterior(X)
    assert law.mean.shape == (2, 4, 3, 1)
    assert law.distribution.covariance_matrix.shape == (2, 4, 3, 3)
    alone = model.posterior(X[1, 2])
    torch.testing.assert_close(law.distribution.covariance_matrix[1, 2], alone.distribution.covariance_matrix)
    assert law.rsample(torch.Size([5])).shape == (5, 2, 4, 3, 1)
    assert (model.num_outputs, model.batch_shape) == (1, torch.Size([]))
    assert model.posterior(X.float()).mean.dtype == torch.float32


def test_noise_of_a_measurement(on_grid):
    model, x = OstinatoModel(on_grid), OstinatoModel(on_grid).choices[:2]
    plain, noisy = model.posterior(x).variance, model.posterior(x, observation_noise=True).variance
    torch.testing.assert_close(noisy - plain, torch.full((2, 1), on_grid.learned.noise_std[0] ** 2).double())
    own = model.posterior(x, observation_noise=torch.tensor([1.0, 4.0])).variance
    torch.testing.assert_close(own - plain, torch.tensor([[1.0], [4.0]]).double())


def test_noise_that_differs_is_not_guessed():
    opt = Optimizer(GRID, noise_std=np.linspace(1, 3, len(GRID)), seed=0)
    opt.observe(0, [60.0, 61.0])
    with pytest.raises(InvalidSetting, match="Give a tensor of variances"):
        OstinatoModel(opt).posterior(OstinatoModel(opt).choices[:2], observation_noise=True)


def test_an_acquisition_function_over_all_candidates(on_grid):
    model = OstinatoModel(on_grid)
    acquisition = LogExpectedImprovement(model, best_f=on_grid.best().mean)
    x, value = optimize_acqf_discrete(acquisition, q=1, choices=model.choices)
    assert value == acquisition(model.choices[:, None, :]).max()
    assert model.candidate(x) in list(GRID.enumerate())


def test_minimizing_by_a_posterior_transform():
    opt = measured(GRID, 30, direction="minimize")
    model, negated = OstinatoModel(opt), ScalarizedPosteriorTransform(torch.tensor([-1.0], dtype=torch.float64))
    best = opt.best().mean
    direct = LogExpectedImprovement(model, best_f=best, maximize=False)(model.choices[:, None, :])
    by_transform = LogExpectedImprovement(model, best_f=-best, posterior_transform=negated)(model.choices[:, None, :])
    torch.testing.assert_close(direct, by_transform)


def test_a_batch_of_candidates_by_noisy_expected_improvement(on_grid):
    model = OstinatoModel(on_grid)
    torch.manual_seed(0)
    baseline = model.choices[list(on_grid.counts())]
    acquisition = qLogNoisyExpectedImprovement(model, X_baseline=baseline, prune_baseline=True)
    x, _ = optimize_acqf_discrete(acquisition, q=2, choices=model.choices)
    chosen = [model.candidate(each) for each in x]
    assert chosen[0] != chosen[1]


def test_gradients_are_those_of_the_posterior(in_ranges):
    model = OstinatoModel(in_ranges)
    low, high = model.bounds
    X = (low + (high - low) * torch.rand(5, 2, 2, dtype=torch.float64, generator=torch.manual_seed(0))).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: model.posterior(x).mean, X, eps=1e-5, atol=1e-4)
    assert torch.autograd.gradcheck(lambda x: model.posterior(x).variance, X, eps=1e-5, atol=1e-3)
    predicted = in_ranges.predict([model.candidate(x) for x in X.detach().reshape(-1, 2)])
    np.testing.assert_allclose(model.posterior(X).mean.detach().numpy().ravel(), predicted.mean, rtol=1e-5)


def test_a_continuous_space_is_searched_with_gradients(in_ranges):
    model = OstinatoModel(in_ranges)
    torch.manual_seed(0)
    acquisition = LogExpectedImprovement(model, best_f=in_ranges.best().mean)
    x, value = optimize_acqf(acquisition, bounds=model.bounds, q=1, num_restarts=4, raw_samples=64)
    low, high = model.bounds
    others = low + (high - low) * torch.rand(500, 1, 2, dtype=torch.float64)
    assert value >= acquisition(others).max()
    in_ranges.ask()
    assert GRID.parameters.keys() == model.candidate(x).keys()


def test_every_kernel_that_says_so_has_gradients():
    rng, width = np.random.default_rng(0), 3
    X, Y = rng.random((4, width)), rng.random((5, width))
    stationary = kernels.RBF((0.5, 1.0, 2.0)) + kernels.Matern32(0.7) * kernels.Matern12(1.5) + kernels.Constant(2.0)
    for kernel in (
        stationary,
        0.5 * kernels.RationalQuadratic(0.8, alpha=2.0),
        kernels.ProductMatern52(0.6, std=2.0),
        kernels.Matern52(1.0).on(0) * kernels.RBF(1.0).on(2),
    ):
        bound = kernel.bind([kernels.Column(j) for j in range(width)])
        from ostinato.integrations.botorch import covariances, has_gradients

        assert has_gradients(bound)
        tensors = (torch.from_numpy(each).requires_grad_() for each in (X, Y))
        x, y = tensors
        np.testing.assert_allclose(covariances(bound, x, y).detach().numpy(), bound(X, Y))
        assert torch.autograd.gradcheck(lambda a, b, k=bound: covariances(k, a, b), (x, y))


def test_a_kernel_without_gradients_says_so():
    opt = Optimizer(GRID, kernel=lambda X, Y: np.exp(-np.abs(X[:, :1] - Y[:, :1].T)), noise_std=1.0, seed=0)
    opt.observe(0, [1.0, 2.0])
    model = OstinatoModel(opt)
    np.testing.assert_allclose(
        model.posterior(model.choices[:5]).distribution.covariance_matrix.numpy(), opt.covariance()[:5, :5]
    )
    with pytest.raises(InvalidSetting, match="no gradients"):
        model.posterior(model.choices[:5].requires_grad_())


def test_what_it_is_not_for_is_refused(in_ranges):
    with pytest.raises(InvalidSetting, match="give an Optimizer"):
        OstinatoModel(GRID)
    with pytest.raises(InvalidSetting, match="cannot be listed"):
        _ = OstinatoModel(in_ranges).choices
    with pytest.raises(InvalidSetting, match="one output"):
        OstinatoModel(in_ranges).posterior(torch.zeros(1, 2), output_indices=[1])
