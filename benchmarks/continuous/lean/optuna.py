"""Optuna's Gaussian process with a lean arithmetic: the same decisions up to rounding, in less than half the time.

The sampler is Optuna's, with its random numbers, candidates, restarts and limits. While it is asked, its loss of the
hyperparameters and its LogEI are those of optuna_loss.py and optuna_score.py.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from benchmarks.continuous.contestants import OptunaGP
from ostinato.arrays import Vector


class LeanOptunaGP(OptunaGP):
    """Makes the decisions of `OptunaGP`."""

    def chosen(self) -> Vector:
        with lean():
            return super().chosen()


@contextmanager
def lean() -> Iterator[None]:
    """Within, Optuna computes in NumPy.

    Names are replaced where Optuna looks them up: its lazy imports are copies of modules, made when first used.
    """
    from optuna._gp import gp, optim_mixed
    from optuna.samplers._gp import sampler

    from benchmarks.continuous.lean.optuna_loss import lean_fit
    from benchmarks.continuous.lean.optuna_score import LeanLogEI, lean_ascent

    with ExitStack() as stack:
        stack.enter_context(patch.object(gp.GPRegressor, "_fit_kernel_params", lean_fit))
        stack.enter_context(patch.object(sampler.acqf_module, "LogEI", LeanLogEI))
        stack.enter_context(patch.object(optim_mixed, "_gradient_ascent_batched", lean_ascent))
        yield
