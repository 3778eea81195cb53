"""Synthetic problems: a BBOB function on a grid over [−5, 5]^d, with a noise law of choice.

The reward is minus the loss, standardised over the grid. Under noise "gaussian" measurements have one standard
deviation, in units of the rewards' own. Under "coco" losses are multiplied by a log-normal factor
(`noise.Multiplicative`): β = 0.01 for Rosenbrock (COCO's f104) and 1 for the ellipsoid (f116) and Schaffer's function
(f122). COCO has no noisy Rastrigin function; here it gets β = 1 too. The ellipsoid has f116's condition, 10⁴, under
all. Under "uneven" Gaussian noise grows with the first coordinate, from 0.4 to 2.5 times its level. Under "setups" four
fifths of the level are an error of the set-up, which repeats asked for together share.
"""

from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Literal, Protocol

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.checks import not_negative, whole
from ostinato.errors import InvalidSetting
from ostinato.problems import bbob
from ostinato.problems.base import Problem, standardised
from ostinato.problems.noise import Gaussian, Multiplicative, Noise, Setups

DIMENSION, SIDE, STD = 3, 22, 0.5
NOISES = ("gaussian", "coco", "uneven", "setups")
UNEVEN = 2.5  # times the level, and below it, at the two ends
SETUP = 0.8  # of the level
LARGEST = 10_000_000
LENGTHSCALES = (1.0, 2.0, 3.0, 4.5, 6.5, 10.0, 15.0)  # the grid is 10 wide in every direction


class Function(Protocol):
    def __call__(self, X: Matrix, instance: int = 1) -> Vector: ...


@dataclass(frozen=True)
class Recipe:
    """A function, the β of its noisy form, and what it looks like."""

    function: Function
    beta: float
    about: str


RECIPES = {
    "rosenbrock": Recipe(bbob.rosenbrock, 0.01, "a long, bent, flat valley (BBOB f8)"),
    "ellipsoid": Recipe(partial(bbob.ellipsoid, conditioning=1e4), 1.0, "a rotated bowl of condition 10⁴ (BBOB f10)"),
    "schaffer": Recipe(bbob.schaffer, 1.0, "rings of ripples, ever finer towards the optimum (BBOB f17)"),
    "rastrigin": Recipe(bbob.rastrigin, 1.0, "a bowl full of local optima (BBOB f3)"),
}


def synthetic(
    function: str,
    dimension: int = DIMENSION,
    side: int = SIDE,
    noise: Literal["gaussian", "coco", "uneven", "setups"] = "gaussian",
    std: float | None = None,
    instance: int = 1,
) -> Problem:
    """A BBOB function on side^dimension points; `std` is the level of the noise, 0.5 where it is not given."""
    if function not in RECIPES:
        raise InvalidSetting(f"function={function!r} is unknown: give one of {', '.join(RECIPES)}.")
    if noise not in NOISES:
        raise InvalidSetting(f"noise={noise!r} is unknown: give one of {', '.join(NOISES)}.")
    if noise == "coco" and std is not None:
        raise InvalidSetting(f"std={std!r} is for the other laws, and COCO's has its own: leave it out.")
    recipe, points = RECIPES[function], grid(dimension, side)
    losses = recipe.function(points, instance)
    law = _law(noise, STD if std is None else not_negative("std", std), points, losses, recipe.beta)
    name = function if noise == "gaussian" else f"{function}-{noise}"
    return Problem(name, points, standardised(-losses), law, lengthscales=LENGTHSCALES, about=recipe.about)


def _law(noise: str, level: float, points: Matrix, losses: Vector, beta: float) -> Noise:
    if noise == "coco":
        return Multiplicative(beta, centre=float(np.mean(losses)), scale=float(np.std(losses)))
    if noise == "uneven":
        return Gaussian(level * UNEVEN ** (points[:, 0] / 5))
    if noise == "setups":
        return Setups(level=level * sqrt(1 - SETUP**2), setup=level * SETUP)
    return Gaussian(level)


def grid(dimension: int, side: int) -> Matrix:
    """side^dimension points, evenly spaced over [−5, 5]^dimension; the last coordinate varies fastest."""
    count = whole("side", side, 2) ** whole("dimension", dimension, 2)
    if count > LARGEST:
        raise InvalidSetting(
            f"side={side} in dimension={dimension} makes {count:,} candidates, above {LARGEST:,}: use a smaller side."
        )
    axis = np.linspace(-5, 5, side)
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
