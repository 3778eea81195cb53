# pyright: basic
"""A search over the parameters of a scikit-learn estimator that repeats fits on other folds and with other seeds.

    search = OstinatoSearchCV(SVC(), {"C": loguniform(1e-2, 1e3), "kernel": ["rbf", "linear"]}, n_fits=100)
    search.fit(X, y).best_params_

scikit-learn's own searches fit every candidate on every fold. Here a measurement is one fit on one split, and
promising candidates get more of them.
"""

import dataclasses
from collections.abc import Mapping
from time import perf_counter
from typing import Any, cast
from warnings import warn

import numpy as np
from msgspec.structs import replace

from ostinato.checks import counted, whole
from ostinato.errors import InvalidSetting, NothingToAsk
from ostinato.integrations.choices import candidates_of
from ostinato.integrations.missing import missing
from ostinato.measurements.tally import LARGEST
from ostinato.optimizer import Optimizer
from ostinato.optimizer.decide import decide
from ostinato.optimizer.plan import Wish
from ostinato.records import Batch

try:
    from joblib import effective_n_jobs
    from sklearn import get_config
    from sklearn.base import clone, is_classifier
    from sklearn.exceptions import FitFailedWarning
    from sklearn.metrics import check_scoring
    from sklearn.model_selection import cross_validate
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state, indexable
    from sklearn.utils.metadata_routing import process_routing
    from sklearn.utils.parallel import Parallel, delayed
except ModuleNotFoundError as error:
    raise missing("scikit-learn", "sklearn", error) from error

from ostinato.integrations.sklearn_results import Fit, Results
from ostinato.integrations.sklearn_space import ParamSpace
from ostinato.integrations.sklearn_splits import Splits

__all__ = ["OstinatoSearchCV"]

SEEDS = 2**31 - 1


class OstinatoSearchCV(BaseSearchCV):
    """Search the parameters of an estimator, one fit on one split at a time; fits of promising parameters are repeated.

    param_space: an ostinato `Space`, or a dict from names to lists of levels, ostinato's parameters (`Float`, …) or
        distributions of SciPy that have two ends (uniform, loguniform, randint).
    n_fits: how many fits there are in all; RandomizedSearchCV makes n_iter times the number of folds.
    cv: as everywhere in scikit-learn. Folds by number are shuffled, and shuffled anew when they are used up; so is a
        splitter that shuffles. Other splitters keep their splits, and a candidate gets each once; more often only
        where a fit that was made again with another `random_state` gave another score.
    random_state: of the search, its splits and the fits: a fit has another `random_state` than the last, wherever the
        estimator has one. The refit has the estimator's own.
    scoring, n_jobs, refit, verbose, error_score, return_train_score: as in RandomizedSearchCV. With several scores,
        refit names the one to optimise; refit=False has to do without a name, and is refused.

    Fitted, it has what RandomizedSearchCV has. `best_score_` is the model's estimate of the true mean score,
    below the luckiest mean, and `recommendation_` that with its interval. In `cv_results_` a row is a candidate, with
    `n_fits`, the mean and standard deviation of its fits, and what is believed of it (`estimate_test_score`).
    """

    def __init__(
        self,
        estimator: Any,
        param_space: Any,
        *,
        n_fits: int = 50,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_space = param_space
        self.n_fits = n_fits
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> "OstinatoSearchCV":
        """Search, and fit the best parameters on all data. params: for estimator, scorer and splitter."""
        self._validate_params()
        X, y = indexable(X, y)
        fit_params, split_params, shared = self._routed(params)
        self.scorer_ = check_scoring(self.estimator, self.scoring)
        search = _Search(self, (X, y), split_params, shared)
        search.run()
        self.n_splits_, self.multimetric_ = search.splits.count, search.several
        self.cv_results_, self.recommendation_ = search.results_, search.recommendation
        self._choose(f"test_{search.score}", search.row)
        if self.refit:
            self._refit(X, y, fit_params)
        return self

    def _routed(self, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """What goes to the estimator, to the splitter, and to estimator and scorer of each fit."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            names = {*routed.estimator.fit, *routed.scorer.score}
            return routed.estimator.fit, routed.splitter.split, {name: params[name] for name in names}
        others = {name: each for name, each in params.items() if name != "groups"}
        return others, {"groups": params.get("groups")}, others

    def _choose(self, measure: str, row: int) -> None:
        if callable(self.refit):
            self.best_index_ = self.refit(self.cv_results_)
        else:
            self.best_index_ = row
            self.best_score_ = self.cv_results_[f"estimate_{measure}"][row]
        self.best_params_ = self.cv_results_["params"][self.best_index_]

    def _refit(self, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        start = perf_counter()
        self.best_estimator_ = _with_params(self.estimator, self.best_params_)
        self.best_estimator_.fit(*((X,) if y is None else (X, y)), **params)
        self.refit_time_ = perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


class _Search:
    """One search, from the first fit to the recommendation."""

    def __init__(
        self, settings: OstinatoSearchCV, data: tuple[Any, Any], split_params: Mapping[str, Any], params: dict[str, Any]
    ) -> None:
        self._settings, self._data, self._params = settings, data, params
        self._draws = check_random_state(settings.random_state)
        classifier = is_classifier(settings.estimator)
        self.splits = Splits.of(settings.cv, data, split_params, self._draws, classifier)
        self._space = ParamSpace(settings.param_space)
        self._optimizer = Optimizer(
            candidates_of(self._space.space),
            seed=int(self._draws.randint(SEEDS)),
            budget=whole("n_fits", settings.n_fits),
            robust=True,  # bad parameters may give scores such as an R² of −20,000
        )
        self._limit_to(None if self.splits.fresh else self.splits.count)
        jobs: Any = settings.n_jobs
        self._jobs = int(cast("Any", effective_n_jobs(jobs)))
        self._results, self._errors, self._first = Results(), list[Exception](), True
        self._points: dict[int, Any] = {}  # candidates by index, as the optimiser knows them
        self.score, self.several = "score", False

    def run(self) -> None:
        left = self._settings.n_fits
        with Parallel(n_jobs=self._settings.n_jobs) as parallel:
            while left > 0 and (batches := self._asked(left)):
                left -= sum(batch.repeats for batch in batches)
                self._measure(batches, parallel)
        self._conclude()

    def _limit_to(self, cap: int | None) -> None:
        """The optimiser goes on with its own policy, and no more fits of a candidate than these."""
        core = self._optimizer.core
        policy: Any = core.problem.policy
        problem = dataclasses.replace(core.problem, policy=dataclasses.replace(policy, cap_per_candidate=cap))
        core.rewrite(core.state.facts, core.state.decision_state, problem=problem)
        self._cap = cap

    def _asked(self, left: int) -> list[Batch]:
        """The next fits. Odd scores are measured again without a warning: bad parameters do give bad scores."""
        core, wish = self._optimizer.core, Wish.of(min(self._jobs, left), None, False, ())
        try:
            return core.commit(decide(core.known, left, wish if self._jobs > 1 else None))
        except NothingToAsk:  # every candidate had all the splits that there are
            return []

    def _measure(self, batches: list[Batch], parallel: Parallel) -> None:
        each = [(batch, self._space.params(batch.candidate)) for batch in batches for _ in range(batch.repeats)]
        made: Any = parallel(
            delayed(_fitted)(
                self._with(params),
                self._data,
                self.splits.next(batch.index),
                {
                    "error_score": "raise",
                    "scoring": self._settings.scoring,
                    "params": self._params,
                    "return_train_score": self._settings.return_train_score,
                },
            )
            for batch, params in each
        )
        for (batch, params), fit in zip(each, made, strict=True):
            fit = self._survived(fit)
            self._points[batch.index] = batch.candidate
            self._results.add(batch.index, params, fit)
            score = self._score_of(fit)
            self._optimizer.tell(batch, [score])
            self._compare(batch.index, score)
        if self._settings.verbose:
            done = self._optimizer.steps + self._optimizer.failures
            print(f"[OstinatoSearchCV] {done} of {counted(self._settings.n_fits, 'fit')}")

    def _score_of(self, fit: Fit) -> float:
        """What the optimiser is told: NaN where there is no score that one can compute with."""
        score = fit.get(f"test_{self.score}", np.nan)
        return score if abs(score) <= LARGEST else np.nan

    def _compare(self, index: int, score: float) -> None:
        """Where a fit on the same split as an earlier one gave another score, fits are random and worth repeating."""
        fits = self._results.fits[index]
        if self._cap is not None and len(fits) > self.splits.count:
            before = self._score_of(fits[-1 - self.splits.count])
            if abs(score - before) > 0:  # not where one of them failed
                self._limit_to(None)

    def _with(self, params: Mapping[str, Any]) -> Any:
        """The estimator with some parameters, and with seeds that it never had."""
        made = _with_params(self._settings.estimator, params)
        names = [name for name in made.get_params() if name.split("__")[-1] == "random_state" and name not in params]
        if names and self._cap == self.splits.count:
            self._limit_to(
                self.splits.count + 1
            )  # many estimators have a seed and make no use of it: one more fit will tell
        return made.set_params(**{name: int(self._draws.randint(SEEDS)) for name in names})

    def _survived(self, fit: Fit | Exception) -> Fit:
        """What a fit gave; where it failed, the score that stands for that."""
        if isinstance(fit, Exception):
            if self._settings.error_score == "raise":
                raise fit
            self._errors.append(fit)
            lost = self._settings.error_score
            return {} if np.isnan(lost) else {f"test_{self.score}": lost}
        if self._first:
            self._first = False
            self._know_scores([name.removeprefix("test_") for name in fit if name.startswith("test_")])
        return fit

    def _know_scores(self, names: list[str]) -> None:
        """Which score is optimised, once it is known which there are: a callable says so with its first answer."""
        if names == ["score"]:
            return
        self.several = True
        if self._settings.refit not in names:
            raise InvalidSetting(
                f"refit={self._settings.refit!r} is none of the scores {', '.join(map(repr, names))}: name the one to "
                "optimise. The search needs it for every choice, also where nothing is to be refitted."
            )
        self.score = self._settings.refit

    def _conclude(self) -> None:
        made = sum(map(len, self._results.fits.values()))
        if len(self._errors) == made:  # whatever error_score is
            self._errors[0].add_note(f"All the {made} fits failed. This is the error of the first.")
            raise self._errors[0]
        if not self._optimizer.has_best:
            failed = f" {len(self._errors)} failed, the first with {self._errors[0]!r}." if self._errors else ""
            raise ValueError(f"None of the {made} fits has a finite score: check scoring= and the data.{failed}")
        if self._errors:
            warn(
                f"{len(self._errors)} of {made} fits failed, and their parameters are avoided. The first of them: "
                f"{self._errors[0]!r}. Set error_score='raise' to see where.",
                FitFailedWarning,
                stacklevel=4,
            )
        best = self._optimizer.best()
        known = self._optimizer.predict(list(self._points.values()))
        estimates = dict(zip(self._points, zip(known.mean, known.std, strict=True), strict=True))
        self.results_ = self._results.table(f"test_{self.score}", estimates, best.index)
        self.row = list(self._results.params).index(best.index)
        self.recommendation = replace(best, candidate=self._results.params[best.index])


def _with_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """A copy of an estimator; of the parameters too, which may be estimators themselves."""
    fresh: Any = clone(estimator)
    given: Any = clone(dict(params), safe=False)
    return fresh.set_params(**given)


def _fitted(estimator: Any, data: tuple[Any, Any], split: Any, how: dict[str, Any]) -> Fit | Exception:
    """One fit on one split: its scores and times; or what went wrong."""
    try:
        found = cross_validate(estimator, *data, cv=[split], **how)
    except Exception as error:
        return error
    return {name: float(values[0]) for name, values in found.items()}
