"""One search over the parameters of an estimator: how good what it chose is on data that it never saw."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import msgspec
import numpy as np
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.experimental import enable_halving_search_cv as _enable
from sklearn.model_selection import HalvingRandomSearchCV, RandomizedSearchCV, train_test_split
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from ostinato.integrations import OstinatoSearchCV

assert _enable is not None  # importing it is what makes HalvingRandomSearchCV importable
FITS, FOLDS = 100, 5
REFITS = 10  # with other seeds, where the estimator has any


@dataclass(frozen=True)
class Task:
    """Data, of which so many rows are for searching; an estimator, and what is searched.

    halving: candidates and rows of the first rung, so that all rungs together make FITS fits, the last on all rows.
    """

    load: Callable[..., Any]
    rows: int
    estimator: Any
    space: dict[str, Any]
    halving: dict[str, Any] = field(default_factory=dict)


TASKS = {
    "digits, SVC": Task(
        load_digits,
        300,
        SVC(),
        {
            "C": loguniform(1e-2, 1e3),
            "gamma": loguniform(1e-6, 1e-1),
            "kernel": ["rbf", "poly", "sigmoid"],
            "coef0": uniform(0, 2),
        },
        {"n_candidates": 15, "min_resources": 100},
    ),
    "breast cancer, decision tree": Task(
        load_breast_cancer,
        150,
        DecisionTreeClassifier(),
        {
            "max_depth": randint(1, 20),
            "min_samples_leaf": randint(1, 30),
            "max_features": uniform(0.05, 0.95),
            "ccp_alpha": loguniform(1e-4, 1e-1),
            "criterion": ["gini", "entropy"],
        },
        {"n_candidates": 15, "min_resources": 50},
    ),
    "diabetes, gradient boosting": Task(
        load_diabetes,
        150,
        GradientBoostingRegressor(n_estimators=40),
        {
            "learning_rate": loguniform(1e-2, 1),
            "max_depth": randint(1, 8),
            "subsample": uniform(0.2, 0.8),
            "max_features": uniform(0.1, 0.9),
            "min_samples_leaf": randint(1, 30),
        },
        {"n_candidates": 15, "min_resources": 50},
    ),
}


def ours(task: Task, seed: int) -> Any:
    return OstinatoSearchCV(clone(task.estimator), task.space, n_fits=FITS, cv=FOLDS, random_state=seed)


def randomized(task: Task, seed: int) -> Any:
    return RandomizedSearchCV(
        clone(task.estimator), task.space, n_iter=FITS // FOLDS, cv=FOLDS, random_state=seed, error_score="raise"
    )


def halving(task: Task, seed: int) -> Any:
    return HalvingRandomSearchCV(clone(task.estimator), task.space, cv=FOLDS, random_state=seed, **task.halving)


SEARCHES = {"OstinatoSearchCV": ours, "RandomizedSearchCV": randomized, "HalvingRandomSearchCV": halving}


class Search(msgspec.Struct, frozen=True):
    """A finished search: the true score of what it chose, what it promised, how many fits it made."""

    contestant: str
    problem: str
    seed: int
    truth: float  # on the rows that were held out, over REFITS fits on all rows of the search
    promised: float  # best_score_
    fits: int
    seconds: float


def names() -> list[str]:
    return list(TASKS)


def run(contestant: str, name: str, seed: int) -> Search:
    task = TASKS[name]
    X, y = task.load(return_X_y=True)
    split = train_test_split(X, y, train_size=task.rows, random_state=seed, stratify=None if "diab" in name else y)
    X, held_out, y, expected = split
    search = SEARCHES[contestant](task, seed)
    if "random_state" in search.estimator.get_params():
        search.estimator.set_params(random_state=np.random.RandomState(seed))  # another seed for every fit
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    seconds = process_time() - start
    made = search.cv_results_.get("n_fits", np.full(len(search.cv_results_["params"]), FOLDS))
    best = clone(task.estimator).set_params(**search.best_params_)
    refits = REFITS if not isinstance(best, SVC) else 1
    seeds = [{} if refits == 1 else {"random_state": each} for each in range(refits)]
    scores = [clone(best).set_params(**each).fit(X, y).score(held_out, expected) for each in seeds]
    return Search(contestant, name, seed, float(np.mean(scores)), float(search.best_score_), int(np.sum(made)), seconds)
