"""The algorithms that are compared, by the names they have in the literature, and the settings that are tried for them.

One β for all of them, as the paper has it: 2. A kernel's length-scale is searched for every algorithm that has a model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import product
from typing import Any

from ostinato.errors import InvalidSetting
from ostinato.policies import (
    BBKB,
    BKB,
    GPBTS,
    GPBUCB,
    GPEI,
    GPTS,
    GPUCB,
    EpsilonGreedy,
    MiniEI,
    MiniTS,
    MiniUCB,
    Policy,
    RareUCB,
    Uniform,
)

BETA = 2.0
LENGTHSCALE = "lengthscale"
C = (1.1, 1.2)
DETERMINANT = tuple(round(c**2 - 1, 4) for c in C)  # RS-OFUL's C, for about the same lengths of batches


@dataclass(frozen=True)
class Algorithm:
    """A policy whose settings are still open.

    policy: called with settings by name, as in policy(C=1.1); a policy class will do. grid: the values to try for each.
    modelled: whether the kernel matters, so that length-scales are tried too. shorter: the part of the horizon that it
    gets in `reproduce`, below 1 for a costly one.
    """

    name: str
    policy: Callable[..., Policy]
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    modelled: bool = True
    shorter: float = 1.0

    def make(self, settings: Mapping[str, float]) -> Policy:
        """The policy with these settings; the length-scale is the kernel's and not the policy's."""
        return self.policy(**{name: value for name, value in settings.items() if name != LENGTHSCALE})

    def settings(self, lengthscales: tuple[float, ...]) -> list[dict[str, float]]:
        """Every combination to try."""
        grid = ({LENGTHSCALE: lengthscales} if self.modelled else {}) | dict(self.grid)
        return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _known() -> dict[str, Algorithm]:
    ucb: dict[str, Any] = {"beta": BETA}
    algorithms = [
        Algorithm("mini-GP-UCB", partial(MiniUCB, **ucb), {"C": C}),
        Algorithm("mini-GP-EI", partial(MiniEI, **ucb), {"C": C}),
        Algorithm("mini-GP-TS", MiniTS, {"C": C}),
        Algorithm("GP-UCB", partial(GPUCB, **ucb)),
        Algorithm("GP-EI", partial(GPEI, **ucb)),
        Algorithm("GP-TS", GPTS),
        Algorithm("GP-BUCB", partial(GPBUCB, **ucb), {"C": C}),
        Algorithm("GP-BTS", GPBTS, {"C": C}),
        Algorithm("BKB", partial(BKB, **ucb), shorter=0.2),
        Algorithm("BBKB", partial(BBKB, **ucb), {"C": C}),
        Algorithm("RS-OFUL", partial(RareUCB, **ucb), {"C": DETERMINANT}),
        Algorithm("ε-greedy", EpsilonGreedy, {"a": (0.1, 1.0, 10.0), "b": (1 / 3, 1 / 2, 1.0, 2.0)}, modelled=False),
        Algorithm("uniform", Uniform, modelled=False),
    ]
    return {algorithm.name: algorithm for algorithm in algorithms}


ALGORITHMS = _known()
OTHERS: dict[str, Algorithm] = {}  # not in the paper: `compare` finds them by name, and `reproduce` does not run them


def find(name: str) -> Algorithm:
    """An algorithm by its name or that of its policy's class, in capitals or not, "e-greedy" included."""
    known = ALGORITHMS | OTHERS
    plain = {_plain(key): algorithm for key, algorithm in known.items()}
    classes = {_plain(type(a.make(a.settings((1.0,))[0])).__name__): a for a in known.values()}
    found = (classes | plain).get(_plain(name))
    if found is None:
        near = get_close_matches(_plain(name), plain, n=1)
        hint = f" Did you mean {plain[near[0]].name}?" if near else ""
        raise InvalidSetting(f"There is no algorithm {name!r}.{hint} Known are {', '.join(known)}.")
    return found


def _plain(name: str) -> str:
    return name.strip().lower().replace("epsilon", "e").replace("ε", "e").replace("-", "")
