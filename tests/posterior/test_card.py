"""Candidates on a GPU. Here PyTorch computes on the processor, and Triton's interpreter runs our own kernels."""

import subprocess
import sys

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy.spatial.distance import cdist

from ostinato import Category, Float, MiniEI, MiniTS, MiniUCB, Optimizer, Space
from ostinato.candidates import space
from ostinato.errors import InvalidKernel, InvalidSetting, SlowKernel, UnknownCandidate
from ostinato.kernels import (
    RBF,
    Constant,
    Custom,
    Hamming,
    Kernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    ProductMatern52,
    RationalQuadratic,
)
from ostinato.kernels.base import Column
from ostinato.learning import scales
from ostinato.posterior import Posterior, draws
from ostinato.posterior.device import Device
from ostinato.study import Study
from terminal import environment

torch = pytest.importorskip("torch")
rng = np.random.default_rng(0)
X = rng.random((2_500, 3))
X[:, 2] = np.floor(4 * X[:, 2])
COLUMNS = [Column(0), Column(1), Column(2, "category")]
KERNELS = {
    "learned": Matern52((0.5, 0.3, 0.8), 1.3) + Constant(2.0),
    "smooth": RBF(0.4),
    "smooth and long": RBF(2.0).on(0, 1),
    "rough": Matern12(0.4),
    "rougher": Matern32(0.3),
    "mixed": RationalQuadratic(0.4, alpha=0.7),
    "product": 2.0 * RBF(0.5).on(0) * Hamming(1.0).on(2) * Matern32(0.4).on(1),
    "by column": ProductMatern52((0.5, 0.3, 0.8)),
    "constant": Constant(2.0),
    "sum": RBF(0.4) + Linear(1.0).on(0, 1),
}


def check(kernel, device, steps=12):
    """Means and variances are within the errors that the screen says; at most."""
    model = Posterior(X, kernel.bind(COLUMNS), np.full(len(X), 0.01), device=device)
    told = np.random.default_rng(1)
    everyone = np.arange(len(X))
    for step in range(steps):
        model.condition(int(told.integers(8)), 1 + step % 3, float(told.standard_normal()))
        if step in (3, 4, steps - 1):
            found, kappa = model.screen, np.sqrt(model.kappa2)
            mean, variance = model.predict(X)
            most_mean, most_variance = found.most(everyone)
            assert np.max(np.abs(most_mean - found.mean_error - mean / kappa)) <= found.mean_error
            least = np.maximum(variance / kappa**2 - 1e-15, 0)
            assert np.all(least <= most_variance)
            assert np.max(most_variance - variance / kappa**2) <= 2 * found.variance_error + 1e-15
    for block in found._blocks:
        check_choices(block)


def check_choices(block):
    """The highest, and those that reach a bar, are found as NumPy finds them."""
    mean, variance = block.at(np.arange(block.size))
    reach = mean + 2 * np.sqrt(np.maximum(variance, 0))
    for count in (1, 5, block.size):
        places, values = block.highest(2.0, count)
        assert values == pytest.approx(np.sort(reach)[::-1][:count])
        assert reach[places] == pytest.approx(values)
    for bar in np.quantile(reach, [0.0, 0.5, 0.99]) - 1e-4:
        assert np.array_equal(block.above(bar, 2.0), np.flatnonzero(reach >= bar))
    for margin in (0.0, 0.01, 10.0):
        listed, bar = block.nearly_highest(2.0, 0.0, margin)
        assert set(np.flatnonzero(reach >= bar + 1e-6)) <= set(listed) <= set(np.flatnonzero(reach >= bar - 1e-6))
    assert len(block.above(np.max(reach) + 1e-3, 2.0)) == 0
    assert len(block.above(np.max(mean) - 1e-5, 0.0)) >= 1


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_means_and_variances_are_within_their_errors(kernel):
    check(kernel, Device("cpu"))


INTERPRETED = """
import sys
sys.path[:0] = {path!r}
from ostinato.posterior import card, card_covariances
from ostinato.posterior.device import Device
import test_card
card.FUSE = True
card.TILE = card_covariances.TILE = 256
test_card.X = test_card.X[:400]
for name in ("learned", "smooth and long", "product"):
    test_card.check(test_card.KERNELS[name], Device("cpu", name == "product"), steps=5)
print("checked")
"""


def test_our_own_kernels_too():
    """In a process of their own: whether Triton interprets is settled when it is imported."""
    pytest.importorskip("triton")
    code = INTERPRETED.format(path=[*sys.path, __file__.rpartition("/")[0]])
    run = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(run, env=environment(TRITON_INTERPRET="1"), capture_output=True, text=True)
    assert done.stdout.startswith("checked"), done.stderr


SETTINGS = {
    "bounds": {"policy": MiniUCB(C=1.5), "kernel": Matern52(0.3), "noise_std": 0.2},
    "improvement": {"policy": MiniEI(C=1.5), "kernel": RBF(0.3), "noise_std": 0.2, "switch_cost": 2.0},
    "find, learned": {"goal": "find", "budget": 36},
    "earn, learned": {"goal": "earn", "budget": 36},
    "earn, noise of each": {"goal": "earn", "noise_std": 0.1 + 0.2 * X[:800, 0], "budget": 36, "switch_cost": 1.0},
    "bounds, noise of each": {"policy": MiniUCB(C=1.5), "kernel": RBF(0.05), "noise_std": 0.1 + 0.2 * X[:800, 0]},
    "draws": {"policy": MiniTS(C=1.5), "kernel": Matern52(0.3), "noise_std": 0.2},
}


def choices(settings, **more):
    opt, noise = Optimizer(X[:800], seed=3, **settings, **more), np.random.default_rng(3)
    truth, found = np.sin(7 * X[:, 0]) + X[:, 1] * np.cos(2 * X[:, 2]), []
    while opt.steps < 36:
        for batch in opt.ask(slots=3, limit=36 - opt.steps) if len(found) % 9 == 8 else [opt.ask(limit=36 - opt.steps)]:
            found.append((batch.index, batch.repeats))
            opt.tell(batch, truth[batch.index] + 0.2 * noise.standard_normal(batch.repeats))
    return found, opt.best().index


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_choices_are_those_of_the_processor(settings):
    assert choices(settings, device="torch") == choices(settings)


GRID = Space(x=Float(0, 1, step=0.05), y=Float(0, 1, step=0.05), z=Category("a", "b", "c"))
ON_A_GRID = {
    "bounds": {"policy": MiniUCB(C=1.5), "kernel": RBF(0.3), "noise_std": 0.2},
    "improvement": {"policy": MiniEI(C=1.5), "kernel": ProductMatern52(0.3) + Constant(0.5), "noise_std": 0.2},
    "draws": {"policy": MiniTS(C=1.5), "kernel": RBF(0.3), "noise_std": 0.2},
    "earn": {"goal": "earn", "budget": 40},
}


@pytest.mark.parametrize("settings", ON_A_GRID.values(), ids=ON_A_GRID)
def test_so_are_those_on_a_grid(settings):
    """Of which covariances are products of matrices, also where columns were never uploaded."""
    runs = [chosen_on_grid(settings, device) for device in ("torch", None)]
    assert runs[0] == runs[1]


def chosen_on_grid(settings, device):
    opt, noise, found = Optimizer(GRID, seed=5, device=device, **settings), np.random.default_rng(3), []
    while opt.steps < 36:
        for batch in opt.ask(slots=3, limit=36 - opt.steps) if len(found) % 9 == 8 else [opt.ask(limit=36 - opt.steps)]:
            found.append((batch.index, batch.repeats))
            x = batch.candidate
            truth = np.sin(7 * x["x"]) + x["y"] * (x["z"] == "b")
            opt.tell(batch, truth + 0.2 * noise.standard_normal(batch.repeats))
    return found, opt.best().index


WHOLE = {name: ON_A_GRID[name] for name in ("bounds", "improvement", "earn")} | {"learned": {"budget": 36}}


@pytest.mark.parametrize("settings", WHOLE.values(), ids=WHOLE)
def test_so_are_those_of_all_points_of_a_space_of_which_nothing_is_stored(settings, monkeypatch):
    monkeypatch.setattr(scales, "PRODUCT_KERNEL_FROM", 1_000)
    expected = chosen_on_grid(settings, None)
    monkeypatch.setattr(space, "LARGEST", 100)
    assert chosen_on_grid(settings, "torch") == expected


def test_what_all_points_of_a_space_do_not_allow_for_is_refused(monkeypatch):
    monkeypatch.setattr(space, "LARGEST", 100)
    with pytest.raises(InvalidSetting, match=r"MiniTS.* does not work with all 1,323 points"):
        Optimizer(GRID, device="torch", policy=MiniTS(C=1.5))
    with pytest.raises(InvalidSetting, match="not a product over columns"):
        Optimizer(GRID, device="torch", kernel=Matern52(0.3), noise_std=0.1)
    opt = Optimizer(GRID, device="torch")
    opt.observe({"x": 0.5, "y": 0.25, "z": "b"}, [1.0, 1.2])
    assert opt.best().candidate == {"x": 0.5, "y": 0.25, "z": "b"}
    with pytest.raises(InvalidSetting, match="all 1,323 points of a grid at once"):
        opt.predict()
    with pytest.raises(UnknownCandidate, match="points are 0 to 1,322"):
        opt.observe(1_323, [1.0])


DRAWN = {
    "numbers": {"kernel": Matern52(0.3).on(0, 1) + Constant(0.5)},
    "all columns": {"kernel": RBF(0.3, 1.5)},
    "costs": {"kernel": RBF(0.3), "switch_cost": 1.0},
}


@pytest.mark.parametrize("settings", DRAWN.values(), ids=DRAWN)
@pytest.mark.filterwarnings("ignore:Draws for")
def test_so_are_draws_by_random_features(settings, monkeypatch):
    monkeypatch.setattr(draws, "EXACT_UP_TO", 5)
    settings = {"policy": MiniTS(C=1.5), "noise_std": 0.2, **settings}
    assert choices(settings, device="torch") == choices(settings)


def test_a_study_may_be_opened_with_one_or_without(tmp_path):
    where = tmp_path / "lab.db"
    study = Study("lab", where, X[:300], seed=0, budget=20, device="torch")
    first = study.run(lambda x: float(x[0]), 10)
    again = Study("lab", where)  # nothing of it is stored
    assert (again.best().index, again.best().mean) == (first.best.index, first.best.mean)
    assert Study("lab", where, device="torch", precision="double").run(lambda x: float(x[0]), 20).steps == 20


given = set[type]()  # the kinds of arrays that the functions below were called with


def any_arrays(A, B):
    given.add(type(A))
    xp = array_namespace(A)
    near = xp.exp(-xp.sum(xp.abs(A[:, None, :2] - B[None, :, :2]), axis=-1))
    return near * (1 + 0.2 * xp.cos(3 * (A[:, :1] - B[None, :, 0])))


def numpy_alone(A, B):
    given.add(type(A))
    return np.exp(-np.abs(A[:, :1] - B[:, 0]) - np.abs(A[:, 1:2] - B[:, 1]))


def by_scipy(A, B):
    given.add(type(A))
    return np.exp(-cdist(A[:, :2], B[:, :2]))


def in_single_precision(A, B):
    given.add(type(A))
    return by_scipy(A, B) if type(A) is np.ndarray else any_arrays(A.float(), B.float()).double()


class Bridge(Kernel):
    """A kernel of one's own as a class, which knows NumPy alone."""

    def __call__(self, X, Y):
        given.add(type(X))
        return np.minimum(X[:, :1], Y[:, 0]) + np.full((len(X), len(Y)), 0.2)

    def diag(self, X):
        return X[:, 0] + 0.2


TENSORS = {
    "alone": Custom(any_arrays),
    "with its diagonal": Custom(any_arrays, lambda A: 1.2 * array_namespace(A).ones(len(A), dtype=A.dtype)),
    "in a sum": 0.5 * Matern52(0.3) + Custom(any_arrays),
    "on columns": Custom(any_arrays).on(1, 0) * Hamming(2.0).on(2),
}
ARRAYS = {
    "NumPy": Custom(numpy_alone),
    "SciPy": Custom(by_scipy),
    "rough tensors": Custom(in_single_precision),
    "a class": Bridge(),
    "in a sum": Custom(numpy_alone) * RBF(0.9) + Custom(any_arrays),
}
OWN = {
    "bounds": {"policy": MiniUCB(C=1.5), "noise_std": 0.2},
    "improvement": {"policy": MiniEI(C=1.5), "noise_std": 0.1 + 0.2 * X[:800, 0]},
    "draws": {"policy": MiniTS(C=1.5), "noise_std": 0.2},
    "earn": {"goal": "earn", "noise_std": 0.2, "budget": 36},
}


def each_kernel_and_each_policy(kernels):
    first, *others = kernels
    pairs = [(name, "bounds") for name in others] + [(first, policy) for policy in OWN]
    return pytest.mark.parametrize(
        "settings", [{**OWN[policy], "kernel": kernels[name]} for name, policy in pairs], ids=map(", ".join, pairs)
    )


@each_kernel_and_each_policy(TENSORS)
def test_kernels_of_the_user_compute_with_tensors(settings):
    """Those that take any arrays; nothing is warned of."""
    expected = choices(settings)
    given.clear()
    assert choices(settings, device="torch") == expected
    assert torch.Tensor in given


@each_kernel_and_each_policy(ARRAYS)
def test_kernels_of_the_user_that_know_numpy_alone_are_copied_to_the_card(settings):
    """Which is said; and so are those that compute something else with tensors."""
    expected = choices(settings)
    with pytest.warns(SlowKernel, match=r"takes NumPy arrays alone \(.*\)\. Its covariances are computed on the proc"):
        assert choices(settings, device="torch") == expected


def test_what_they_compute_is_copied_once(monkeypatch):
    """Where there is room for it; and else whenever it is needed, with the same choices."""
    rows = []

    def counted(A, B):
        rows.append(len(A) if len(A) < len(B) == 800 else 0)
        return numpy_alone(A, B)

    kernel = Custom(counted, lambda A: np.ones(len(A)))
    settings = {"kernel": kernel, "policy": MiniUCB(C=1.5), "noise_std": 0.2}
    found, computed = list[object](), list[int]()
    for room in (True, False):
        monkeypatch.setattr("ostinato.posterior.card_covariances.fits", lambda count, device, room=room: room)
        rows.clear()
        with pytest.warns(SlowKernel):
            found.append(choices(settings, device="torch"))
        computed.append(sum(rows))
    assert found[0] == found[1]
    unique = len({index for index, _ in found[0][0]})
    assert computed[0] <= 3 * unique < 5 * unique < computed[1]  # for choices, for plans, and for the answer


@pytest.mark.parametrize("kernel", [*TENSORS.values(), *ARRAYS.values()], ids=[*TENSORS, *ARRAYS])
def test_their_means_and_variances_are_within_their_errors(kernel):
    check(kernel, Device("cpu"))


def test_what_they_return_is_checked_with_tensors_too():
    def broken(A, B):
        return any_arrays(A, B) + (np.inf if len(B) > 500 and isinstance(B, torch.Tensor) else 0.0)

    with pytest.raises(InvalidKernel, match="NaN or infinity"):
        choices({"kernel": Custom(broken), "noise_std": 0.1, "policy": MiniUCB()}, device="torch")


def test_what_does_not_fit_is_said_before_anything_is_uploaded(monkeypatch):
    monkeypatch.setattr("ostinato.posterior.card_features.free_on", lambda device: 2**30 + 1_000)
    with pytest.raises(InvalidSetting, match=r"500 candidates take 0.0 GB on 'cpu', 40 bytes each.*precision='single'"):
        Optimizer(X[:500], device="torch", precision="double")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"device": "gpu"}, "device='gpu' is not a device: give 'cuda', 'cuda:1' or 'cpu'"),
        ({"device": "cuda:99"}, "device='cuda:99'"),
        ({"device": "torch", "precision": "half"}, "precision='half' is not one: give 'single' or 'double'"),
    ],
)
def test_bad_names_are_refused(settings, words):
    with pytest.raises(InvalidSetting, match=words):
        Optimizer(X[:10], **settings)
