# pyright: basic
"""Splits of the data for measurements: fresh ones where the splitter shuffles, else its own in turn."""

from collections.abc import Hashable, Iterator, Mapping
from copy import copy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

Split = tuple[Any, Any]


class Splits:
    """The splits of one search.

    Folds by number (`cv=5`, or None) are shuffled anew whenever they are used up, and so is a splitter that shuffles.
    Any other splitter has its own splits: a candidate gets them one after the other, from a random one on.
    """

    def __init__(self, cv: Any, data: tuple[Any, Any], params: Mapping[str, Any], draws: np.random.RandomState) -> None:
        self._cv, self._data, self._params, self._draws = copy(cv), data, params, draws
        self.count: int = cv.get_n_splits(*data, **params)
        self.fresh: bool = hasattr(cv, "random_state") and getattr(cv, "shuffle", True)
        self._stream = self._shuffled()
        self._own = [] if self.fresh else list(cv.split(*data, **params))
        self._turn: dict[Hashable, int] = {}

    @classmethod
    def of(
        cls, cv: Any, data: tuple[Any, Any], params: Mapping[str, Any], draws: np.random.RandomState, classifier: bool
    ) -> "Splits":
        """As scikit-learn reads `cv`, but that folds by number are shuffled."""
        splitter: Any = check_cv(cv, data[1], classifier=classifier)
        if cv is None or isinstance(cv, Integral):
            splitter.shuffle = True
        return cls(splitter, data, params, draws)

    def next(self, candidate: Hashable) -> Split:
        if self.fresh:
            return next(self._stream)
        turn = self._turn.setdefault(candidate, int(self._draws.randint(len(self._own))))
        self._turn[candidate] = turn + 1
        return self._own[turn % len(self._own)]

    def _shuffled(self) -> Iterator[Split]:
        while True:
            self._cv.random_state = int(self._draws.randint(2**31 - 1))
            yield from self._cv.split(*self._data, **self._params)
