"""What is to be optimised, and how: everything that is settled before the first measurement, and never changes."""

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from ostinato.arrays import Matrix, Namespace
from ostinato.candidates import Candidates, GridTable, Sampled, ShardedTable, grid_of, read_candidates
from ostinato.checks import flag, positive, whole
from ostinato.errors import InvalidSetting
from ostinato.kernels import Kernel
from ostinato.learning import Learner, LearningSettings, Prior, ShrinkingLengthscale
from ostinato.measurements.outcomes import Outcome, outcome_of
from ostinato.measurements.quantity import quantity_of
from ostinato.optimizer.certifiable import check_search
from ostinato.optimizer.costs import SwitchCost, cost_between, read_costs
from ostinato.optimizer.order import DRAWN_UP_TO, Order, added, drawn
from ostinato.optimizer.settings import (
    checked_policy,
    given,
    learner_for,
    noise_variances,
    policy_for,
    sign_of,
    what_to_learn,
)
from ostinato.policies import EI, UCB
from ostinato.policies.base import BasePolicy
from ostinato.policies.earn import Earn
from ostinato.policies.scored import ScoredPolicy
from ostinato.posterior import Model, Posterior, ShardedPosterior
from ostinato.posterior.device import Device
from ostinato.posterior.grid import find_grid
from ostinato.posterior.sharded import EVERYWHERE
from ostinato.records import Quantity

SCALAR_TYPES = (int, float, np.number, type(None))  # what a setting is that is the same for all candidates


class Portable:
    """Can be pickled and copied: its namespace `xp` is a module, which goes by its name."""

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"xp": vars(self)["xp"].__name__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"xp": import_module(state["xp"])})


@dataclass(frozen=True)
class Settings(Portable):
    """What the user set, as it was given: from it and the candidates a problem is made."""

    kernel: Any = None
    noise_std: Any = None
    mean: Any = None
    setup_std: Any = None
    outcome: str = "real"
    value: str | None = None
    unit: str | None = None
    goal: str = "find"
    policy: Any = None
    direction: str = "maximize"
    switch_cost: Any = None
    measurement_cost: float = 1.0
    half_life: int | None = None
    max_repeats: int | None = None
    robust: bool = False
    search: str = "sampled"
    block_size: int | None = None
    memory_limit: int | None = None
    device: Device | None = None
    xp: Namespace = np

    def problem(self, candidates: Candidates, priority: Any) -> "Problem":
        """The problem of these candidates, all settings checked."""
        outcome = outcome_of(self.outcome)
        self._check()
        sign, table = sign_of(self.direction), candidates.on_logs() if self.kernel is None else candidates
        wanted = what_to_learn(table, self.kernel, self.noise_std, self.mean, self.setup_std, sign, outcome)
        by_goal = policy_for(self.goal, learned=bool(wanted.learned), listed=not isinstance(table, Sampled))
        policy = by_goal if self.policy is None else checked_policy(self.policy)
        check_sharded(self, table, policy)
        check_gridded(table, wanted.kernel, policy)
        self._check_room(table)
        self._try_kernel(table, wanted.kernel, policy)
        check_search(self.search, table, wanted, policy)
        return Problem(self, table, priority, sign, policy, wanted, read_costs(self.switch_cost, table))

    def _check_room(self, table: Candidates) -> None:
        """Whether candidates fit on a card that is here; workers find out for themselves."""
        if self.device is not None and not isinstance(table, ShardedTable | Sampled):
            from ostinato.posterior.card_features import check_room  # which imports PyTorch

            check_room(self.device, len(table), len(table.columns), grid=isinstance(table, GridTable))

    def _try_kernel(self, table: Candidates, kernel: Kernel | None, policy: BasePolicy) -> None:
        """Say where a card has to wait for a kernel of the user's own; workers try it for themselves."""
        here = policy.model is Posterior and not isinstance(table, ShardedTable | GridTable)
        if self.device is not None and kernel is not None and here:
            from ostinato.posterior.card_kernel import say_what_waits  # which imports PyTorch

            say_what_waits(kernel, table.features, self.device)

    def _check(self) -> None:
        quantity_of(self.value, self.unit, self.outcome)
        positive("measurement_cost", self.measurement_cost)
        flag("robust", self.robust)
        given = {"half_life": self.half_life, "max_repeats": self.max_repeats, "block_size": self.block_size}
        for name, number in given.items():
            if number is not None:
                whole(name, number)
        if self.half_life is not None and self.robust:
            raise InvalidSetting("robust=True and half_life= do not go together: give one of them.")


@dataclass(frozen=True, eq=False)
class Problem:
    """The settings and the candidates, and what follows from both: what is given and what is to be learned, the policy,
    costs, and the order that settles ties.

    sign: −1 where lower is better; inside, higher always is.
    """

    settings: Settings
    table: Candidates
    priority: Any  # an array or an `Order`
    sign: int
    policy: BasePolicy
    learning_settings: LearningSettings
    switch_cost: SwitchCost | None = None
    outcome: Outcome = field(init=False)
    learned: tuple[str, ...] = field(init=False)  # the names of what is
    by_setup: bool = field(init=False)  # whether repeats share the error of a set-up
    sets_outliers_aside: bool = field(init=False)
    policy_name: str = field(init=False)
    keeps_within: float | None = field(init=False)  # what the policy says of itself
    seeks: str = field(init=False)

    def __post_init__(self) -> None:
        wanted = self.learning_settings
        aside = bool(wanted.learned) and wanted.noise is None and wanted.outcome.real and not self.settings.robust
        made = {"outcome": wanted.outcome, "learned": wanted.learned, "by_setup": wanted.setup != 0}
        said = {name: getattr(self.policy, name) for name in ("keeps_within", "seeks")}
        vars(self).update(made | said, sets_outliers_aside=aside, policy_name=repr(self.policy))

    def for_table(self, table: Candidates) -> "Problem":
        """The same, with more candidates after those that there were."""
        if table is self.table:
            return self
        settings = self.settings
        priority = table.priority if isinstance(table, Sampled) else grown_priority(self.priority, len(table))
        noise = None if self.learning_settings.noise is None else noise_variances(settings.noise_std, table)
        costs = read_costs(settings.switch_cost, table)
        learning = replace(self.learning_settings, noise=noise)
        return replace(self, table=table, priority=priority, learning_settings=learning, switch_cost=costs)

    @property
    def features(self) -> Matrix:
        return self.table.features

    @property
    def quantity(self) -> Quantity:
        """What the measured number is called, and its unit."""
        return quantity_of(self.settings.value, self.settings.unit, self.settings.outcome)

    def learner(self) -> Learner | ShrinkingLengthscale | None:
        """What changes the prior as measurements come, if anything does; nothing learned yet."""
        return learner_for(self.policy, self.table, self.learning_settings, self.settings.half_life)

    def first_prior(self, learner: Learner | ShrinkingLengthscale | None) -> Prior:
        """Before anything is measured."""
        return given(self.learning_settings) if learner is None else learner.first()

    def model(self, prior: Prior) -> Model:
        """The model that the policy sees, nothing measured."""
        settings = self.settings
        how: dict[str, Any] = {"xp": settings.xp, "block_size": settings.block_size, "memory": settings.memory_limit}
        made = self.policy.model
        if made is Posterior:  # of all models, the one that can be elsewhere
            how["device"] = settings.device
            made = ShardedPosterior if isinstance(self.table, ShardedTable) else Posterior
        return made(self.features, prior.kernel, prior.noise, mean=prior.mean, **how)

    def cost(self, start: int, end: int) -> float:
        """Of going from one candidate to another."""
        return 0.0 if self.switch_cost is None else cost_between(self.switch_cost, start, end)


def priority_of(table: Candidates, rng: np.random.Generator) -> Any:
    """The order that settles ties: random, and the same however many candidates were added since."""
    if isinstance(table, Sampled):
        return table.priority
    first, *later = table.grown
    if isinstance(table, ShardedTable) or first > DRAWN_UP_TO:
        return drawn(rng, table.grown)
    priority = rng.permutation(first)
    for size in later:
        priority = grown_priority(priority, size)
    return priority


def grown_priority(priority: Any, size: int) -> Any:
    """The order that settles ties, for more candidates: the new ones come last, in a random order of their own."""
    if isinstance(priority, Order):
        return priority.grown(size)
    return np.concatenate([priority, added(int(priority[0]), len(priority), size)])


def table_for(candidates: Any, device: Any) -> Candidates:
    """Candidates as a table; of a large space, all of its points where a card looks at them."""
    grid = None if device is None or device == "cpu" else grid_of(candidates)
    return read_candidates(candidates) if grid is None else grid


def check_gridded(table: Candidates, kernel: Kernel | None, policy: BasePolicy) -> None:
    """What a grid does not allow for of which no features are stored."""
    if not isinstance(table, GridTable):
        return
    scored = isinstance(policy, ScoredPolicy) and isinstance(policy.score, UCB | EI) and policy.model is Posterior
    if not (scored or isinstance(policy, Earn)):
        raise InvalidSetting(
            f"{policy!r} does not work with all {len(table):,} points of a space on a card: goal='find', goal='earn', "
            "UCB and expected improvement do. Leave device out to sample from the space."
        )
    if kernel is not None and find_grid(kernel, table.features) is None:
        raise InvalidSetting(
            f"{kernel!r} is not a product over columns, which all {len(table):,} points of a space on a card need: "
            "give RBF or ProductMatern52, or leave kernel out to learn one. Leave device out to sample from the space."
        )


def check_sharded(settings: Settings, table: Candidates, policy: BasePolicy) -> None:
    """What candidates on workers do not allow for is refused at once."""
    if not isinstance(table, ShardedTable):
        return
    scored = isinstance(policy, ScoredPolicy) and isinstance(policy.score, UCB | EI) and policy.model is Posterior
    if not scored:
        raise InvalidSetting(f"{policy!r} does not work with a ShardedTable. {EVERYWHERE}")
    if not isinstance(settings.switch_cost, SCALAR_TYPES):
        raise InvalidSetting(
            "switch_cost= differs between candidates, and those of a ShardedTable are on workers: give one number."
        )
    if not isinstance(settings.noise_std, SCALAR_TYPES):
        raise InvalidSetting(
            "noise_std= differs between candidates, and those of a ShardedTable are on workers: give one number, "
            "or nothing to learn it."
        )
    if settings.xp is not np:
        raise InvalidSetting("xp= is for candidates in memory: leave it out with a ShardedTable.")
