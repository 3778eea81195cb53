"""What the user sets, checked against the candidates: the kernel, the noise, the direction."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from ostinato.arrays import Vector, constant
from ostinato.candidates import Candidates, Sampled
from ostinato.checks import brief, counted, finite, is_whole, not_negative, positive
from ostinato.errors import InvalidKernel, InvalidSetting
from ostinato.kernels import Kernel, as_kernel
from ostinato.learning import Learner, LearningSettings, Prior, ShrinkingLengthscale
from ostinato.measurements.outcomes import Outcome
from ostinato.policies import Earn, Find, MiniEI, Policy, Proposal
from ostinato.policies.base import BasePolicy, Custom

Goal: TypeAlias = Literal["find", "earn"]
LEARNING: dict[str, BasePolicy] = {"find": Find(), "earn": Earn()}
SEARCHED: dict[str, BasePolicy] = {**LEARNING, "find": Find(worth=0.0)}  # in spaces that cannot be listed
GIVEN: dict[str, BasePolicy] = {"find": Find(beta=2.0), "earn": MiniEI(C=1.2, beta=1.0)}
PARALLEL = ("workers", "n_jobs", "executor")  # settings that are looked for here, and are those of a study's run
KERNEL_TRIED_ON = 64  # candidates on which a kernel is tried before it is used


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
        raise InvalidSetting(
            f"seed={seed!r} is not a seed ({error}): give a whole number, 0 or more, or None."
        ) from None


def generator_in(state: dict[str, Any]) -> np.random.Generator:
    """A generator that goes on from the state of another."""
    made = np.random.Generator(getattr(np.random, state["bit_generator"])())
    made.bit_generator.state = state
    return made


def checked_policy(policy: Any) -> BasePolicy:
    """An object that can propose, such as MiniUCB()."""
    if isinstance(policy, type) or not hasattr(policy, "propose"):
        raise InvalidSetting(
            f"policy={policy!r} is not a policy: give an object such as MiniUCB(), MiniEI() or MiniTS(), or one of "
            "your "
            "own that has the methods of ostinato.policies.Policy."
        )
    return policy if isinstance(policy, BasePolicy) else Custom(policy)


def checked_round(policy: Policy, proposals: Any, candidates: int) -> list[Proposal]:
    """What a policy proposed: at least one batch, each of a candidate that exists, measured at least once."""
    listed: list[Any] = list(cast("list[Any]", proposals)) if isinstance(proposals, (list, tuple)) else []
    sound = all(
        isinstance(each, Proposal)
        and is_whole(each.candidate)
        and is_whole(each.repeats)
        and 0 <= each.candidate < candidates
        and each.repeats >= 1
        for each in listed
    )
    if not (listed and sound):
        raise InvalidSetting(
            f"The policy {policy!r} proposed {brief(proposals)}: it must propose a list of at least one "
            f"Proposal(candidate, repeats), with a candidate from 0 to {candidates - 1} and 1 repeat or more."
        )
    return listed


def policy_for(goal: str, *, learned: bool, listed: bool) -> BasePolicy:
    """The policy that serves a goal best, by the evidence in docs/results.md.

    Where kernel and noise are given it repeats by the paper's rule, so that within a batch no standard deviation
    shrinks by more than the factor C. Its β is a number that works well, and not a schedule of the paper's bounds.
    """
    if goal not in LEARNING:
        raise InvalidSetting(
            f"goal={goal!r} is unknown: give 'find' to know the best candidate at the end, or 'earn' to have every "
            "measurement pay."
        )
    return (GIVEN if not learned else LEARNING if listed else SEARCHED)[goal]


def what_to_learn(
    table: Candidates, kernel: Any, noise_std: Any, mean: Any, setup_std: Any, sign: int, outcome: Outcome
) -> LearningSettings:
    """What the user gave, checked; what is missing is to be learned."""
    if noise_std is not None and not outcome.real:
        raise InvalidSetting(
            f"noise_std={brief(noise_std)} was given with outcome={outcome.name!r}, whose noise follows the mean: "
            "leave out one of them."
        )
    if isinstance(table, Sampled) and (
        isinstance(noise_std, str) or (noise_std is not None and np.ndim(noise_std) > 0)
    ):
        raise InvalidSetting(
            f"noise_std={brief(noise_std)} is of candidates that can be listed, and this space cannot be: give one "
            "number, or nothing to learn it."
        )
    setup = None if setup_std == "learn" else _setup(setup_std)
    if mean is not None:
        mean = sign * finite("mean", mean)
    varying = isinstance(noise_std, str)
    if varying and noise_std != "varying":
        raise InvalidSetting(
            f"noise_std={noise_std!r} is unknown: give a number, one a candidate, 'varying' to learn a noise that "
            "differs between candidates, or nothing to learn one for all."
        )
    return LearningSettings(
        kernel=None if kernel is None else checked_kernel(kernel, table),
        noise=None if noise_std is None or varying else noise_variances(noise_std, table),
        mean=0.0 if mean is None and kernel is not None else mean,
        setup=setup,
        varying=varying,
        outcome=outcome,
        sign=sign,
    )


def _setup(setup_std: Any) -> float:
    """τ², where it was given."""
    if isinstance(setup_std, str):
        raise InvalidSetting(
            f"setup_std={setup_std!r} is unknown: give the standard deviation of the set-ups' error, 'learn' to learn "
            "it, or nothing where repeats share none."
        )
    return 0.0 if setup_std is None else not_negative("setup_std", setup_std) ** 2


def learner_for(
    policy: BasePolicy, table: Candidates, wanted: LearningSettings, half_life: int | None = None
) -> Learner | ShrinkingLengthscale | None:
    """What changes the prior as measurements come: learning, an adaptive policy, or nothing."""
    if policy.shrinking is None:
        return Learner(table, wanted, half_life) if wanted.learned else None
    if wanted.learned:
        raise InvalidSetting(
            f"{policy!r} starts from a kernel and a noise that are given: give kernel= and noise_std=."
        )
    shrinking, columns = policy.shrinking, len(table.columns)
    return ShrinkingLengthscale(given(wanted), partial(_shrinks, shrinking, columns))


def _shrinks(shrinking: Callable[[int, int], float], columns: int, steps: int) -> float:
    return shrinking(steps, columns)


def given(wanted: LearningSettings) -> Prior:
    """All that a model needs, where the user gave it."""
    kernel, noise = cast("Kernel", wanted.kernel), cast("Vector", wanted.noise)
    return Prior(kernel, noise, wanted.mean or 0.0, wanted.setup or 0.0)


def checked_kernel(kernel: Any, table: Candidates) -> Kernel:
    """The kernel made ready for these candidates, after a trial on some of them."""
    bound = as_kernel(kernel).bind(table.columns)
    some = table.features[np.linspace(0, len(table) - 1, min(len(table), KERNEL_TRIED_ON)).astype(int)]
    K = bound(some, some)
    if not _is_positive(K) or not np.allclose(np.diagonal(K), bound.diag(some), rtol=1e-6):
        raise InvalidKernel(
            f"The kernel {kernel!r} is not positive on these candidates: its matrix for {len(K)} of them is not a "
            "covariance. Check that k(x, y) is finite, that k(x, y) = k(y, x), and that no variance is negative."
        )
    return bound


def noise_variances(noise_std: Any, table: Candidates) -> Vector:
    """λ for every distinct candidate, from one standard deviation or one a row."""
    if np.ndim(noise_std) == 0:
        return constant(_noise(noise_std) ** 2, len(table))
    if np.shape(noise_std) != (table.rows,):
        raise InvalidSetting(
            f"noise_std has shape {np.shape(noise_std)} for {table.rows:,} candidates: give one number, or one a row."
        )
    std = np.asarray([_noise(each) for each in noise_std])
    each = std[table.indices]
    if not np.array_equal(each[table.numbers], std):
        raise InvalidSetting("noise_std differs between identical candidate rows, which are one candidate.")
    return np.square(each)


def more_noise(given: Any, more: Any, rows: int) -> Any:
    """`noise_std` for a table with so many rows more: longer where it was given one a row."""
    if given is None or np.ndim(given) == 0:
        if more is not None:
            raise InvalidSetting(f"noise_std={brief(more)} is for noise that was given one a row: leave it out.")
        return given
    if more is None:
        raise InvalidSetting("noise_std was given one a row: give noise_std= for the new rows too.")
    if np.ndim(more) != 0 and np.shape(more) != (rows,):
        raise InvalidSetting(
            f"noise_std has shape {np.shape(more)} for {counted(rows, 'new row')}: give one number, or one for each."
        )
    return [*given, *(more if np.ndim(more) else [more] * rows)]


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


def check_names(given: Iterable[str], taker: Callable[..., Any], besides: Sequence[str] = ("budget",)) -> None:
    """A misspelt setting is refused, with the name that may have been meant.

    besides: settings of whoever passes the others on to the taker.
    """
    own = [name for name in signature(taker).parameters if name not in ("candidates", *besides)]
    known = [*besides, *own]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.6)
            hint = f"Did you mean {near[0]}? " if near else ""
            if name in PARALLEL:
                hint = "Several workers measure with ostinato.Study(…).run(f, budget, workers=…). "
            raise InvalidSetting(f"There is no setting {name!r}. {hint}The settings are {', '.join(known)}.")
