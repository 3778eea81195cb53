"""The exact posterior over candidates that are on workers: the q-sized half is here, the other one there.

Every question to the workers comes with the facts, which are q-sized: whoever answers it needs nothing else but the
candidates' own files (`worker_posterior.py`).
"""

import pickle
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np

from ostinato.arrays import Namespace, Vector, to_numpy
from ostinato.candidates.sharded import ShardedFeatures
from ostinato.errors import InvalidSetting
from ostinato.kernels.form import has_product_form
from ostinato.posterior.blocks import Blocks, prior_variance_of
from ostinato.posterior.cache import Indices
from ostinato.posterior.exact import Posterior
from ostinato.posterior.grid import Grid
from ostinato.posterior.screen import Screen
from ostinato.posterior.screening import Screening
from ostinato.posterior.worker_posterior import (
    Facts,
    Settings,
    highest_mean_but,
    largest_variance,
    means_range,
    most_hopeful,
)

EVERYWHERE = (
    "This looks at all candidates at once, and those of a ShardedTable are on their workers: goal='find', UCB and "
    "expected improvement (MiniUCB, MiniEI, GP-UCB, …) work with it; draws (MiniTS), rounds (GP-BUCB, BBKB), a learned "
    "goal='earn' and numbers for every candidate do not."
)


class RemoteScreening(Screening):
    """A screening that stores no terms: workers make their screens from the facts."""

    def defer(self, p: Vector, z: float) -> None:
        return


class ShardedPosterior(Posterior):
    """What is believed of f, exactly at the few candidates that are looked at here; the others are asked for."""

    def _find_grid(self) -> Grid | None:
        return None

    def _is_screened(self, xp: Namespace) -> bool:
        return True

    def _new_screening(self) -> Screening:
        return RemoteScreening()

    @property
    def _shards(self) -> ShardedFeatures:
        return cast("ShardedFeatures", cast("Any", self.features))

    def _largest_variance(self, xp: Namespace) -> float:
        shards, kernel = self._shards, self.kernel
        if has_product_form(kernel, shards.shape[1]):
            return prior_variance_of(kernel, shards[:1], xp)
        return max(shards.ask(largest_variance, (kernel, shards.logs)))

    @property
    def facts(self) -> Facts:
        """All that workers have to know."""
        X = self.features[self.measured]
        return Facts(self._as_bytes, self.measured, X, to_numpy(self.unique.w).copy(), to_numpy(self.unique.m).copy())

    @property
    def _as_bytes(self) -> bytes:
        if "_settings" not in self.__dict__:
            shards = self._shards
            how = self.kernel, self.prior_mean, self.kappa2, shards.extent, shards.logs, self.device
            self._settings = pickle.dumps(Settings(*how))
        return self._settings

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest mean; asked for once until more is measured."""
        facts = self.facts
        kept = self.__dict__.get("_range")
        if kept is None or not _same(kept[0], facts):
            lows, highs = zip(*self._shards.ask(means_range, facts), strict=True)
            kept = self._range = facts, (min(lows), max(highs))
        return kept[1]

    def highest_but(self, out: Indices) -> float:
        """The highest mean of all candidates but some."""
        return max(self._shards.ask(highest_mean_but, (self.facts, out)))

    def most_hopeful(self, slope: float, count: int, error: float) -> Indices:
        """The candidates of the highest mean + slope · standard deviation, by a sketch."""
        found = self._shards.ask(most_hopeful, (self.facts, slope, count, error))
        numbers, reach = (np.concatenate(each) for each in zip(*found, strict=True))
        return numbers[np.argpartition(-reach, count)[:count]] if count < len(numbers) else numbers

    @property
    def screen(self) -> Screen | None:
        return None

    @property
    def rough_screen(self) -> Screen | None:
        return None

    def _build_blocks(self) -> NoReturn:
        raise InvalidSetting(EVERYWHERE)

    blocks = cast("Blocks", cached_property(_build_blocks))

    def over_candidates(self) -> NoReturn:
        raise InvalidSetting(EVERYWHERE)


def _same(one: Facts, two: Facts) -> bool:
    return one.settings == two.settings and all(np.array_equal(a, b) for a, b in zip(one[1:], two[1:], strict=True))
