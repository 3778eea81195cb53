"""When a screen is made and brought up to date: when somebody looks, and not before."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, sqrt
from typing import Any

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel
from ostinato.kernels.single import Extent, SingleForm, extent_of, single_form
from ostinato.posterior.cache import Indices
from ostinato.posterior.device import Device
from ostinato.posterior.factor import Factor
from ostinato.posterior.host_block import HostBlock
from ostinato.posterior.screen import Screen
from ostinato.posterior.screen_block import ScreenBlock

BLOCK = 125_000  # candidates of a block
MAX_DEFERRED = 32  # terms, at most, that are taken up by a screen one by one


class Screening:
    """A screen, made when it is first looked at, and the terms that it has not seen yet."""

    def __init__(self, memory: Sequence[Any] = (), extent: Extent | None = None, device: Device | None = None) -> None:
        """memory, extent: of the same candidates, where they are known. device: a GPU."""
        self.screen: Screen | None = None
        self._memory, self._extent, self._device = memory, extent, device
        self._deferred: list[tuple[Vector, float]] = []
        self._outdated = True

    def defer(self, p: Vector, z: float) -> None:
        """A term for when somebody looks."""
        self._deferred.append((p, z))

    def invalidate(self) -> None:
        """What was measured is another thing now."""
        self._deferred, self._outdated = [], True

    def released(self) -> "Screening":
        """Another one with this one's memory, which starts again."""
        memory = self._memory if self.screen is None else () if self.lazy else self.screen.memory
        self.screen, self._memory = None, ()
        self.invalidate()
        return Screening(memory, self._extent, self._device)

    @property
    def lazy(self) -> bool:
        return self.screen is not None and self.screen.lazy

    def start_with(self, screen: Screen) -> None:
        """A screen that knows all that was measured."""
        self.screen, self._outdated = screen, False

    def bring_up_to_date(
        self, kernel: Kernel, features: Matrix, measured: Indices, kappa2: float, factor: Factor
    ) -> bool:
        """Whether there is a screen that knows all that was measured; some kernels have none."""
        if self.screen is None:
            blocks = self._blocks(kernel, features, kappa2)
            if blocks is None:
                return False
            self.screen = Screen(blocks, sqrt(kappa2))
            self._memory, self._outdated = (), True
        screen, held, outdated = self.screen, self._deferred, self._outdated
        self._deferred, self._outdated = [], True  # until all is done: what is stopped half-way is made anew
        screen.add(features[measured[screen.filled :]])
        if not outdated and len(held) <= MAX_DEFERRED:
            screen.condition(held)
        if outdated or len(held) > MAX_DEFERRED or screen.needs_repair:
            screen.refresh(factor)
        else:
            screen.refined_by(factor)
        self._outdated = False
        if screen.needs_repair and self._device and not self._device.double:  # a card has double precision, too
            self._device, self.screen = replace(self._device, double=True), None
            del screen  # and all that is on the card
            return self.bring_up_to_date(kernel, features, measured, kappa2, factor)
        return True

    def _blocks(self, kernel: Kernel, features: Matrix, kappa2: float) -> Sequence[ScreenBlock] | None:
        """All candidates, nothing measured; None where the kernel has no form for this."""
        if self._device:
            from ostinato.posterior.card import card_block

            (memory,) = self._memory or (None,)
            points = features if hasattr(features, "lattice") else np.asarray(features)
            return [card_block(kernel, points, kappa2, self._device, memory)]
        self._extent = self._extent or extent_of(features)
        form = single_form(kernel, features, self._extent)
        return None if form is None else _host_blocks(form, features, self._memory)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: the screen is made again when it is needed."""
        return vars(Screening(device=self._device))


def _host_blocks(form: SingleForm, features: Matrix, memory: Sequence[Any]) -> list[HostBlock]:
    """memory: that of a screen of the same candidates which is not needed any more."""
    edges = np.linspace(0, len(features), ceil(len(features) / BLOCK) + 1).astype(int).tolist()
    blocks: list[HostBlock] = []
    for number, (start, stop) in enumerate(pairwise(edges)):
        room, candidates = memory[number] if memory else (None, None)
        blocks.append(HostBlock(start, form(features[start:stop], candidates), stop - start, room))
    return blocks
