"""Where the search of a space can be certified: each condition, and what to do where it is not met."""

from collections.abc import Iterator
from math import prod
from typing import Any, Literal, TypeAlias

from ostinato.candidates import Candidates, Sampled
from ostinato.checks import brief
from ostinato.errors import InvalidSetting
from ostinato.kernels.boxes import bounded_over_boxes
from ostinato.learning import LearningSettings
from ostinato.policies import UCB
from ostinato.policies.base import BasePolicy
from ostinato.policies.scored import ScoredPolicy
from ostinato.posterior import Posterior

Search: TypeAlias = Literal["sampled", "certified"]
COLUMNS = 4  # from five on, too many boxes are left
COMBINATIONS = 512  # of categories


def check_search(search: Any, table: Candidates, settings: LearningSettings, policy: BasePolicy) -> None:
    """Whether a search is known, and possible here."""
    if search not in ("sampled", "certified"):
        raise InvalidSetting(f"search={search!r} is unknown: give 'sampled' or 'certified'.")
    if search == "certified":
        for obstacle in (*_in_candidates(table), *_in_model(settings), *_in_policy(policy)):
            raise InvalidSetting(f"search='certified' {obstacle}, or leave out search.")


def _in_candidates(table: Candidates) -> Iterator[str]:
    if not isinstance(table, Sampled):
        yield "is for spaces that cannot be listed, and here all candidates are scored: give a continuous range"
        return
    columns, parameters = table.columns, table.space.parameters
    if len(columns) > COLUMNS:
        yield f"takes at most {COLUMNS} columns, and the space has {len(columns)}: give fewer"
    for name in table.space.depends:
        yield f"takes no parameter that depends on others, as {name!r} does: give one space for each case"
    categories = [p for p, column in zip(parameters.values(), columns, strict=True) if column.kind == "category"]
    if (combinations := prod(int(each.size) for each in categories)) > COMBINATIONS:
        yield f"takes at most {COMBINATIONS} combinations of categories, and there are {combinations:,}: give fewer"


def _in_model(settings: LearningSettings) -> Iterator[str]:
    if not settings.outcome.real:
        name = settings.outcome.name
        yield f"needs a noise that is given, and with outcome={name!r} it is learned: leave out outcome"
    if learned := [name for name in settings.learned if name != "mean"]:
        yield (
            f"needs a model of which nothing is learned, and {' and '.join(learned)} would be: "
            f"give {' and '.join(name + '=' for name in learned)}"
        )
    if settings.kernel is not None and not bounded_over_boxes(settings.kernel):
        yield (
            f"needs a stationary kernel, and kernel={brief(settings.kernel)} is not known to be one: give one made of "
            "RBF, Matern12, Matern32, Matern52, RationalQuadratic, Hamming and Constant"
        )


def _in_policy(policy: BasePolicy) -> Iterator[str]:
    scores_by_ucb = isinstance(policy, ScoredPolicy) and type(policy.score) is UCB
    if not scores_by_ucb or policy.model is not Posterior:
        yield (
            f"is for upper confidence bounds, and the policy is {brief(policy)}: "
            "give policy=MiniUCB(C=1.2, beta=2.0) or another that scores by them"
        )
