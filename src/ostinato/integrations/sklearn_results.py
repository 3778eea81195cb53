# pyright: basic
"""What the fits of a search come to, as scikit-learn's `cv_results_`: one row for every candidate."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata

Fit = dict[str, float]  # test_…, train_… and times of one fit


class Results:
    """Candidates in the order they were first fitted, by their index in the optimiser."""

    def __init__(self) -> None:
        self.params: dict[int, dict[str, Any]] = {}
        self.fits: dict[int, list[Fit]] = {}

    def add(self, index: int, params: dict[str, Any], fit: Fit) -> None:
        self.params.setdefault(index, params)
        self.fits.setdefault(index, []).append(fit)

    def table(self, chosen: str, estimates: Mapping[int, tuple[float, float]], best: int) -> dict[str, Any]:
        """chosen: the measure that was optimised. estimates: of it, mean and standard deviation by candidate."""
        found = [estimates.get(index, (np.nan, np.nan)) for index in self.params]
        table: dict[str, Any] = {"n_fits": np.array([len(fits) for fits in self.fits.values()])}
        for name in ("fit_time", "score_time"):
            table |= self._summary(name)
        table |= {f"param_{name}": self._column(name) for name in self._names()}
        table["params"] = list(self.params.values())
        measures = sorted({name for fits in self.fits.values() for fit in fits for name in fit} - {*table, *TIMES})
        for name in measures:
            table |= self._scores(name)
            if name.startswith("test_"):
                table[f"rank_{name}"] = _ranks(table[f"mean_{name}"])
        table[f"estimate_{chosen}"], table[f"estimate_std_{chosen}"] = np.array(found).T
        lower = table[f"estimate_{chosen}"] - table[f"estimate_std_{chosen}"]
        lower[list(self.params).index(best)] = np.inf  # ties aside, it is the highest already
        table[f"rank_{chosen}"] = _ranks(lower)
        return table

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for params in self.params.values() for name in params))

    def _column(self, name: str) -> "np.ma.MaskedArray[Any, Any]":
        """A parameter of all candidates; masked where there is none."""
        column = np.ma.MaskedArray(np.empty(len(self.params)), mask=True, dtype=object)
        for place, params in enumerate(self.params.values()):
            if name in params:
                column[place] = params[name]
        return column

    def _summary(self, name: str) -> dict[str, Any]:
        values = [np.array([fit.get(name, np.nan) for fit in fits]) for fits in self.fits.values()]
        ended = [each[~np.isnan(each)] for each in values]
        means = [each.mean() if len(each) else np.nan for each in ended]
        with np.errstate(invalid="ignore"):  # infinite scores have no standard deviation
            stds = [each.std() if len(each) else np.nan for each in ended]
        return {f"mean_{name}": np.array(means), f"std_{name}": np.array(stds)}

    def _scores(self, name: str) -> dict[str, Any]:
        """Every fit by its place among those of its candidate; NaN where there was none, or it failed."""
        most = max(map(len, self.fits.values()))
        rows = np.full((len(self.fits), most), np.nan)
        for row, fits in zip(rows, self.fits.values(), strict=True):
            row[: len(fits)] = [fit.get(name, np.nan) for fit in fits]
        return {f"split{j}_{name}": rows[:, j] for j in range(most)} | self._summary(name)


TIMES = ("fit_time", "score_time")


def _ranks(scores: Any) -> Any:
    """From 1 on; NaN is last."""
    return rankdata(-np.where(np.isnan(scores), -np.inf, scores), method="min").astype(np.int32)
