"""A BoTorch model that answers with Ostinato's posterior, so that BoTorch's acquisition functions can look at it.

Points are rows of numbers as kernels see them: numbers as they are, or their logarithms, and codes of categories.
`OstinatoModel.encode` makes them from candidates, and `candidate` goes the other way.
"""

from functools import reduce
from typing import Any, cast

import numpy as np

from ostinato.candidates import Sampled
from ostinato.errors import InvalidSetting, MissingSetting
from ostinato.kernels import Constant, Kernel, On, Product, ProductMatern52, Scaled, Stationary, Sum
from ostinato.optimizer import Optimizer

try:
    import torch
    from botorch.models.model import Model
    from botorch.posteriors.gpytorch import GPyTorchPosterior
    from gpytorch.distributions import MultivariateNormal
    from linear_operator import to_linear_operator
    from torch import Tensor
except ImportError as error:
    raise MissingSetting("ostinato.integrations.botorch needs BoTorch: pip install botorch.") from error

TINY = 1e-30  # keeps the slope of a rough kernel finite at a point's own place


class OstinatoModel(Model):
    """What an optimiser believes now, as a BoTorch model with one output.

    Mean and variance are those of `optimizer.predict`, in the user's own sign: for direction="minimize" pass
    maximize=False, or a posterior transform, to acquisition functions. It is a view: after `optimizer.tell` it answers
    with what was told. Where outcomes have bounds (click rates, counts) it is the normal law before it is cut off.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        super().__init__()
        if not isinstance(optimizer, Optimizer):
            raise InvalidSetting(
                f"OstinatoModel({optimizer!r}) is no view of an optimiser: give an Optimizer, or result.optimizer."
            )
        self._optimizer = optimizer

    @property
    def num_outputs(self) -> int:
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        return torch.Size([])

    # Points

    def encode(self, points: Any) -> Tensor:
        """Candidates, or other points given like them, as rows of numbers."""
        return torch.from_numpy(np.array(self._table.points(points)))

    @property
    def choices(self) -> Tensor:
        """All rows of the table of candidates: those for `optimize_acqf_discrete`."""
        if isinstance(self._table, Sampled):
            raise InvalidSetting(
                "The points of this space cannot be listed: use optimize_acqf within `bounds` instead."
            )
        return torch.from_numpy(self._table.features[self._table.numbers])

    @property
    def bounds(self) -> Tensor:
        """The lowest and the highest number of every column: those for `optimize_acqf`."""
        return torch.from_numpy(np.stack(self._table.span))

    def candidate(self, x: Tensor) -> Any:
        """The candidate that a row of numbers stands for; in a space, the point that is nearest."""
        return self._table.row_at(_numpy(x).reshape(-1))

    # The posterior

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: Any = None,
        **_: Any,
    ) -> Any:
        """The joint posterior of f at points X (… × q × d).

        observation_noise: True adds that of one measurement; a tensor, variances of one's own.
        """
        if output_indices not in (None, [0]):
            raise InvalidSetting(f"output_indices={output_indices} are not there: the model has one output, 0.")
        mean, covariance = self._law(X)
        if observation_noise is not False:
            covariance = covariance + torch.diag_embed(self._noise(mean, observation_noise))
        law = GPyTorchPosterior(MultivariateNormal(mean.to(X), to_linear_operator(covariance.to(X))))
        return law if posterior_transform is None else posterior_transform(law)

    def _law(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Single points as `predict` answers; joint ones, and those with gradients, by formulas for many at once."""
        known = has_gradients(self._optimizer.core.known.posterior.kernel)
        if X.requires_grad and not known:
            raise InvalidSetting(
                "This kernel has no gradients here: they are for stationary kernels, their sums and products. Use "
                "optimize_acqf_discrete over `choices`, which needs none."
            )
        if X.requires_grad or (known and X.shape[-2] > 1):
            return self._by_formulas(X)
        rows, shape = _numpy(X), X.shape[:-1]
        if shape[-1] == 1:
            mean, covariance = self._answers.belief(rows.reshape(-1, X.shape[-1]))
        else:
            batches = rows.reshape(-1, *X.shape[-2:])
            mean, covariance = (np.stack(each) for each in zip(*map(self._answers.joint, batches), strict=True))
        return torch.from_numpy(mean).reshape(shape), torch.from_numpy(covariance).reshape(*shape, shape[-1])

    def _by_formulas(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """The formulas of posterior/factor.py, which PyTorch differentiates."""
        posterior, points = self._optimizer.core.known.posterior, X.double()
        factor, measured = posterior.factor, torch.from_numpy(posterior.features[posterior.measured])
        k_x = covariances(posterior.kernel, measured, points)
        T = torch.from_numpy(factor.whitener) @ k_x
        mean = self._sign * (torch.from_numpy(factor.alpha) @ k_x + posterior.prior_mean)
        wider = torch.from_numpy(self._answers.widening(_numpy(X).reshape(-1, X.shape[-1]))).reshape(X.shape[:-1])
        covariance = covariances(posterior.kernel, points, points) - T.transpose(-1, -2) @ T
        return mean, wider[..., :, None] * covariance * wider[..., None, :]

    def _noise(self, mean: Tensor, given: bool | Tensor) -> Tensor:
        if isinstance(given, Tensor):
            return given.to(mean).expand_as(mean)
        learned = self._optimizer.learned
        low, high = learned.noise_std
        if low != high:
            raise InvalidSetting(
                f"observation_noise=True: noise is {low:.3g} to {high:.3g} here, different for each candidate. Give a "
                "tensor of variances."
            )
        return torch.full_like(mean, high**2 + learned.setup_std**2)

    @property
    def _table(self) -> Any:
        return self._optimizer.core.problem.table

    @property
    def _answers(self) -> Any:
        return self._optimizer.core.answers

    @property
    def _sign(self) -> float:
        return self._optimizer.core.problem.sign


def has_gradients(kernel: Kernel) -> bool:
    """Whether `covariances` knows a kernel."""
    match kernel:
        case Sum() | Product():
            return has_gradients(kernel.first) and has_gradients(kernel.second)
        case Scaled() | On():
            return has_gradients(kernel.kernel)
        case Stationary():
            return kernel.slope(np.ones(1)) is not None
        case _:
            return isinstance(kernel, (Constant, ProductMatern52))


def covariances(kernel: Kernel, X: Tensor, Y: Tensor) -> Tensor:
    """k(X, Y) (… × n × m) of points X (… × n × d) and Y (… × m × d), with gradients."""
    match kernel:
        case Sum():
            return covariances(kernel.first, X, Y) + covariances(kernel.second, X, Y)
        case Product():
            return covariances(kernel.first, X, Y) * covariances(kernel.second, X, Y)
        case Scaled():
            return kernel.factor * covariances(kernel.kernel, X, Y)
        case On():
            places = [int(name) for name in kernel.names]
            return covariances(kernel.kernel, X[..., places], Y[..., places])
        case ProductMatern52():
            columns = enumerate(kernel.factors(X.shape[-1]))
            return reduce(torch.mul, [covariances(each, X[..., [j]], Y[..., [j]]) for j, each in columns])
        case Stationary():
            scaled = _squared_gaps(X, Y, kernel.categories) / torch.tensor(kernel.scales, dtype=torch.float64) ** 2
            return kernel.std**2 * _Correlation.apply(scaled.sum(-1), kernel)
        case _:
            return torch.full_like(_squared_gaps(X, Y)[..., 0], cast("Constant", kernel).std ** 2)


def _squared_gaps(X: Tensor, Y: Tensor, categories: tuple[int, ...] = ()) -> Tensor:
    """By column; 1 between categories that differ."""
    gaps = X[..., :, None, :] - Y[..., None, :, :]
    differ = torch.tensor([column in categories for column in range(X.shape[-1])])
    return torch.where(differ, (gaps != 0).double(), gaps**2)


class _Correlation(torch.autograd.Function):
    """ρ(r²) of a stationary kernel, whose derivative it knows itself."""

    @staticmethod
    def forward(ctx: Any, r2: Tensor, kernel: Stationary) -> Tensor:
        ctx.save_for_backward(r2)
        ctx.kernel = kernel
        return torch.from_numpy(kernel.correlation(r2.detach().numpy().copy()))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (r2,) = ctx.saved_tensors
        return grad * torch.from_numpy(ctx.kernel.slope(np.maximum(r2.numpy(), TINY))), None


def _numpy(X: Tensor) -> Any:
    return np.ascontiguousarray(X.detach().double().cpu().numpy())
