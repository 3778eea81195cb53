"""When a screen is made and brought up to date: when somebody looks, and not before."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel
from ostinato.kernels.single import Single, single_form
from ostinato.posterior.cache import Indices
from ostinato.posterior.factor import Factor
from ostinato.posterior.screen import Screen

HELD = 32  # terms, at most, that are taken up by a screen one by one


class Screening:
    """A screen, made when it is first looked at, and the terms that it has not seen yet."""

    def __init__(self, memory: Sequence[list[Single]] = ()) -> None:
        self.screen: Screen | None = None
        self._memory = memory
        self._held: list[tuple[Vector, float]] = []
        self._outdated = True

    def hold(self, p: Vector, z: float) -> None:
        """A term for when somebody looks."""
        self._held.append((p, z))

    def outdate(self) -> None:
        """What was measured is another thing now."""
        self._held, self._outdated = [], True

    def released(self) -> "Screening":
        """Another one with this one's memory, which starts again."""
        memory = self._memory if self.screen is None else self.screen.memory
        self.screen, self._memory = None, ()
        self.outdate()
        return Screening(memory)

    def brought_up(self, kernel: Kernel, features: Matrix, measured: Indices, kappa2: float, factor: Factor) -> bool:
        """Whether a screen that knows all that was measured is of any use."""
        if self.screen is None:
            form = single_form(kernel, features)
            if form is None:
                return False
            self.screen = Screen(form, features, sqrt(kappa2), self._memory)
            self._memory, self._outdated = (), True
        screen, held, outdated = self.screen, self._held, self._outdated
        self._held, self._outdated = [], True  # until all is done: what is stopped half-way is made anew
        screen.add(features[measured[screen.filled :]])
        if not outdated and len(held) <= HELD:
            screen.condition(held)
        if outdated or len(held) > HELD or screen.rough:
            screen.refresh(factor.alpha, factor.whitener)
        else:
            screen.whitened_by(factor.whitener)
        self._outdated = False
        return not screen.rough

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: the screen is made again when it is needed."""
        return vars(Screening())
