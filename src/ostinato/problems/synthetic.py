"""Synthetic problems: a BBOB function on a grid over [−5, 5]^d, with added Gaussian noise or with COCO's own.

The reward is minus the loss, standardised over the grid. Under noise "gaussian" measurements have one standard
deviation, in units of the rewards' own. Under "coco" losses are multiplied by a log-normal factor
(`noise.Multiplicative`): β = 0.01 for Rosenbrock (COCO's f104) and 1 for the ellipsoid (f116) and Schaffer's function
(f122). COCO has no noisy Rastrigin function; here it gets β = 1 too. The ellipsoid has f116's condition, 10⁴, under
both.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.checks import whole
from ostinato.errors import InvalidSetting
from ostinato.problems import bbob
from ostinato.problems.base import Problem, standardised
from ostinato.problems.noise import Gaussian, Multiplicative, Noise

DIMENSION, SIDE, STD = 3, 22, 0.5
LARGEST = 10_000_000
LENGTHSCALES = (1.0, 2.0, 3.0, 4.5, 6.5, 10.0)  # the grid is 10 wide in every direction


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
    noise: Literal["gaussian", "coco"] = "gaussian",
    std: float | None = None,
    instance: int = 1,
) -> Problem:
    """A BBOB function on side^dimension points; `std` is that of Gaussian noise, 0.5 where it is not given."""
    if function not in RECIPES:
        raise InvalidSetting(f"function={function!r} is unknown: give one of {', '.join(RECIPES)}.")
    if noise not in ("gaussian", "coco"):
        raise InvalidSetting(f"noise={noise!r} is unknown: give 'gaussian' or 'coco'.")
    if noise == "coco" and std is not None:
        raise InvalidSetting(f"std={std!r} is for Gaussian noise, and COCO's law has its own: leave it out.")
    recipe, points = RECIPES[function], grid(dimension, side)
    losses = recipe.function(points, instance)
    law: Noise = Gaussian(STD if std is None else std)
    if noise == "coco":
        law = Multiplicative(recipe.beta, centre=float(np.mean(losses)), scale=float(np.std(losses)))
    name = function if noise == "gaussian" else f"{function}-coco"
    return Problem(name, points, standardised(-losses), law, lengthscales=LENGTHSCALES, about=recipe.about)


def grid(dimension: int, side: int) -> Matrix:
    """side^dimension points, evenly spaced over [−5, 5]^dimension; the last coordinate varies fastest."""
    count = whole("side", side, 2) ** whole("dimension", dimension, 2)
    if count > LARGEST:
        raise InvalidSetting(
            f"side={side} in dimension={dimension} makes {count:,} candidates, above {LARGEST:,}: use a smaller side."
        )
    axis = np.linspace(-5, 5, side)
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
