"""What the user sets, checked against the candidates: the kernel, the noise, the direction."""

from typing import Any, cast

import numpy as np

from ostinato.arrays import Vector
from ostinato.candidates import Candidates
from ostinato.checks import is_whole, positive, shown
from ostinato.errors import InvalidKernel, InvalidSetting, MissingSetting
from ostinato.kernels import Kernel, as_kernel
from ostinato.policies import Policy, Proposal

SOME = 64  # candidates on which a kernel is tried before it is used


def sign_of(direction: str) -> int:
    """+1 to maximise, −1 to minimise."""
    if direction not in ("maximize", "minimize"):
        raise InvalidSetting(f"direction={direction!r} is unknown: give 'maximize' or 'minimize'.")
    return 1 if direction == "maximize" else -1


def generator(seed: Any) -> np.random.Generator:
    """The run's one source of randomness."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InvalidSetting(f"seed={seed!r} is no seed ({error}): give a whole number, 0 or more, or None.") from None


def checked_policy(policy: Any) -> Any:
    """An object that can propose, such as MiniUCB()."""
    if isinstance(policy, type) or not hasattr(policy, "propose"):
        raise InvalidSetting(
            f"policy={policy!r} is no policy: give an object such as MiniUCB(), MiniEI() or MiniTS(), or one of your "
            "own that has the methods of ostinato.policies.Policy."
        )
    return policy


def checked_round(policy: Policy, proposals: Any, candidates: int) -> list[Proposal]:
    """What a policy proposed: at least one batch, each of a candidate that exists, measured at least once."""
    listed: list[Any] = list(cast("list[Any]", proposals)) if isinstance(proposals, (list, tuple)) else []
    if not listed or not all(_is_sound(each, candidates) for each in listed):
        raise InvalidSetting(
            f"The policy {policy!r} proposed {shown(proposals)}: it must propose a list of at least one "
            f"Proposal(candidate, repeats), with a candidate from 0 to {candidates - 1} and 1 repeat or more."
        )
    return listed


def _is_sound(proposal: Any, candidates: int) -> bool:
    if not (isinstance(proposal, Proposal) and is_whole(proposal.candidate) and is_whole(proposal.repeats)):
        return False
    return 0 <= proposal.candidate < candidates and proposal.repeats >= 1


def checked_kernel(kernel: Any, table: Candidates) -> Kernel:
    """The kernel made ready for these candidates, after a trial on some of them."""
    if kernel is None:
        raise MissingSetting(
            "No kernel was given: say how alike candidates are, for instance "
            "kernel=ostinato.kernels.Matern52(lengthscale=L, std=S), where S is how much the true values vary and L "
            "how far apart (in the columns' units; one number, or one a column) two candidates can be and still be "
            "alike."
        )
    bound = as_kernel(kernel).bind(table.columns)
    some = table.features[np.linspace(0, len(table) - 1, min(len(table), SOME)).astype(int)]
    K = bound(some, some)
    if not _is_positive(K) or not np.allclose(np.diagonal(K), bound.diag(some), rtol=1e-6):
        raise InvalidKernel(
            f"The kernel {kernel!r} is not positive on these candidates: its matrix for {len(K)} of them is not a "
            "covariance. Check that k(x, y) is finite, that k(x, y) = k(y, x), and that no variance is negative."
        )
    return bound


def noise_variances(noise_std: Any, table: Candidates) -> Vector:
    """λ for every distinct candidate, from one standard deviation or one a row."""
    if noise_std is None:
        raise MissingSetting(
            "No noise_std was given: say how much two measurements of the same candidate differ, as the standard "
            "deviation of one measurement (one number, or one a candidate). Measuring one candidate ten times and "
            "taking the standard deviation is enough."
        )
    if np.ndim(noise_std) == 0:
        return np.full(len(table), _noise(noise_std) ** 2)
    if np.shape(noise_std) != (table.rows,):
        raise InvalidSetting(
            f"noise_std has shape {np.shape(noise_std)} for {table.rows:,} candidates: give one number, or one a row."
        )
    std = np.asarray([_noise(each) for each in noise_std])
    each = std[table.indices]
    if not np.array_equal(each[table.numbers], std):
        raise InvalidSetting("noise_std differs between identical candidate rows, which are one candidate.")
    return np.square(each)


def _noise(value: Any) -> float:
    try:
        return positive("noise_std", value)
    except InvalidSetting as error:
        raise InvalidSetting(
            f"{error} For measurements without noise give a small one, such as a thousandth of how much values vary."
        ) from None


def _is_positive(K: Any) -> bool:
    if not np.isfinite(K).all():
        return False
    scale = float(np.max(np.abs(K)))
    symmetric = bool(np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * scale))
    return symmetric and float(np.linalg.eigvalsh(K)[0]) >= -1e-8 * scale * len(K)
