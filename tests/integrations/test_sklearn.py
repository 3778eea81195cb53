"""The search over parameters of scikit-learn's estimators: fits are repeated on other folds and with other seeds."""

import pickle
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ostinato import Category, Float, Integer, Optimizer, Space
from ostinato.errors import InvalidSetting
from ostinato.integrations import OstinatoSearchCV

X, y = make_classification(200, 8, n_informative=4, flip_y=0.1, random_state=0)
TREE = {"max_depth": stats.randint(1, 12), "criterion": ["gini", "entropy"]}

STUMPS = {"max_depth": [1], "criterion": ["gini", "entropy"]}


def search(estimator=None, space=TREE, **settings):
    return OstinatoSearchCV(
        estimator or DecisionTreeClassifier(), space, **{"n_fits": 25, "random_state": 0, **settings}
    )


# scikit-learn's own checks: as a search comes, and with errors in fits passed on, as in its own tests of searches.
CHECKED = [
    OstinatoSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    OstinatoSearchCV(Ridge(), {"alpha": Float(0.1, 10, log=True)}, n_fits=4, cv=2),
    OstinatoSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, n_fits=4, cv=2, error_score="raise"),
    OstinatoSearchCV(Ridge(), {"alpha": Float(0.1, 10, log=True)}, n_fits=4, cv=2, error_score="raise"),
]


def expected_to_fail(search):
    """Whether several targets are fine the estimator says, and searches do not ask it: GridSearchCV fails this too."""
    return {"check_supervised_y_2d": "no DataConversionWarning"} if isinstance(search.estimator, Ridge) else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_to_fail)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_a_search_has_what_searches_of_scikit_learn_have():
    found = search(n_fits=40).fit(X, y)
    results = found.cv_results_
    assert results["n_fits"].sum() == 40
    assert results["n_fits"].max() > 1
    assert results["params"][found.best_index_] == found.best_params_
    assert results["rank_test_score"][found.best_index_] == 1
    assert sorted(results["rank_test_score"])[0] == 1
    assert found.best_score_ == found.recommendation_.mean == results["estimate_test_score"][found.best_index_]
    assert found.recommendation_.candidate == found.best_params_
    low, high = found.recommendation_.interval
    assert low < found.best_score_ < high
    assert found.best_estimator_.max_depth == found.best_params_["max_depth"]
    assert found.n_splits_ == 5
    assert not found.multimetric_
    assert found.refit_time_ > 0
    assert list(found.classes_) == [0, 1]
    assert found.n_features_in_ == 8
    assert found.predict(X).shape == y.shape
    assert found.predict_proba(X).shape == (len(y), 2)
    assert found.score(X, y) == found.best_estimator_.score(X, y)
    row = np.array([results[f"split{j}_test_score"][0] for j in range(results["n_fits"].max())])
    assert np.nanmean(row) == pytest.approx(results["mean_test_score"][0])
    assert np.count_nonzero(~np.isnan(row)) == results["n_fits"][0]
    assert pickle.loads(pickle.dumps(found)).predict(X).tolist() == found.predict(X).tolist()


def test_the_same_random_state_gives_the_same_search():
    one, two = (search().fit(X, y).cv_results_ for _ in range(2))
    assert one["params"] == two["params"]
    assert one["mean_test_score"].tolist() == two["mean_test_score"].tolist()


class Recording(ClassifierMixin, BaseEstimator):
    """An estimator that remembers what it was fitted with."""

    seen: list = []  # noqa: RUF012

    def __init__(self, strength=1, random_state=None):
        self.strength, self.random_state = strength, random_state

    def fit(self, X, y):
        self.seen.append((self.strength, self.random_state, tuple(map(float, X[:3, 0]))))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_repeats_are_other_folds_and_other_seeds():
    Recording.seen.clear()
    search(Recording(random_state=7), {"strength": [1, 2]}, n_fits=12, cv=3).fit(X, y)
    *measured, refitted = Recording.seen
    assert len({seed for _, seed, _ in measured}) == 12
    assert len({rows for _, _, rows in measured}) > 3  # folds are shuffled anew
    assert refitted[1] == 7


@pytest.mark.parametrize("cv", [KFold(3), TimeSeriesSplit(3), [(np.arange(150), np.arange(150, 200))] * 3])
def test_splits_that_are_fixed_are_used_once_for_each_candidate(cv):
    found = search(KNeighborsClassifier(), {"n_neighbors": [1, 3, 9, 27]}, n_fits=30, cv=cv).fit(X, y)
    assert found.cv_results_["n_fits"].tolist() == [3, 3, 3, 3]  # there is no more to learn


@pytest.mark.parametrize(("estimator", "name"), [(LogisticRegression(), "C"), (SVC(), "C")])
def test_a_random_state_that_is_not_used_does_not_repeat_fits(estimator, name):
    found = search(estimator, {name: [0.01, 0.1, 1.0]}, n_fits=40, cv=KFold(3)).fit(X, y)
    assert found.cv_results_["n_fits"].max() <= 4  # one fit more than there are splits shows that nothing changes


@pytest.mark.parametrize("cv", [KFold(3), [(np.arange(150), np.arange(150, 200))]])
def test_random_fits_are_repeated_on_splits_that_are_fixed(cv):
    found = search(DecisionTreeClassifier(splitter="random"), {"max_depth": [2, 3]}, n_fits=30, cv=cv).fit(X, y)
    assert found.cv_results_["n_fits"].sum() == 30


def test_splitters_that_shuffle_go_on_shuffling():
    found = search(LogisticRegression(), {"C": [0.1, 1.0]}, n_fits=20, cv=ShuffleSplit(2, random_state=0)).fit(X, y)
    assert found.cv_results_["n_fits"].sum() == 20
    values = [found.cv_results_[f"split{j}_test_score"][0] for j in range(found.cv_results_["n_fits"][0])]
    assert len(set(values)) > 2


@pytest.mark.parametrize(
    "space",
    [
        Space(max_depth=Integer(1, 5), min_impurity_decrease=Float(0, 0.1)),
        {"max_depth": Integer(1, 5), "criterion": Category("gini", "log_loss")},
        {"max_depth": [None, 2, 3], "max_features": ["sqrt", None, 0.5], "class_weight": [None, {0: 1, 1: 2}]},
        {"max_depth": np.array([1, 2, 3]), "min_impurity_decrease": stats.uniform(0, 0.1)},
        {"ccp_alpha": stats.loguniform(1e-5, 1e-1), "min_samples_leaf": stats.randint(1, 20)},
    ],
)
def test_spaces_as_users_have_them(space):
    found = search(space=space, n_fits=12).fit(X, y)
    names = space.parameters if isinstance(space, Space) else space
    assert found.best_params_.keys() == set(names)
    assert all(f"param_{name}" in found.cv_results_ for name in names)


@pytest.mark.parametrize(("cv", "cap"), [(5, None), (KFold(4), 4)])
@pytest.mark.parametrize("space", [{"alpha": [0.1, 1.0]}, {"alpha": Float(0.1, 10, log=True)}])
def test_the_policy_is_that_of_an_optimiser_of_the_space(space, cv, cap, monkeypatch):
    made = []

    class Watched(Optimizer):
        def __init__(self, candidates, **settings):
            super().__init__(candidates, **settings)
            made.append((self, Optimizer(candidates, budget=5).policy))

    monkeypatch.setattr("ostinato.integrations.sklearn.Optimizer", Watched)
    search(Ridge(solver="svd"), space, n_fits=5, cv=cv).fit(X, y)
    policy, usual = made[0][0].policy, made[0][1]
    assert replace(policy, cap_per_candidate=None) == usual
    assert (policy.cap_per_candidate is None) == (cap is None)


def test_parameters_that_depend_on_others():
    space = Space(splitter=Category("best", "random"), max_depth=Integer(1, 4).when(splitter="best"))
    found = search(space=space, n_fits=15).fit(X, y)
    for params in found.cv_results_["params"]:
        assert ("max_depth" in params) == (params["splitter"] == "best")
    assert found.cv_results_["param_max_depth"].mask.tolist() == [
        params["splitter"] == "random" for params in found.cv_results_["params"]
    ]


def test_a_pipeline_whose_steps_are_searched():
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    space = {
        "standardscaler": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "decisiontreeclassifier__max_depth": [1, 2, 3],
    }
    found = search(pipe, space, n_fits=12).fit(X, y)
    assert found.predict(X).shape == y.shape
    assert clone(found).fit(X, y).best_params_.keys() == space.keys()


@pytest.mark.parametrize(
    "space",
    [
        {"clf": [DecisionTreeClassifier(), KNeighborsClassifier()]},
        {"pca": ["passthrough", PCA()]},
        {"clf": [DecisionTreeClassifier(), LogisticRegression()], "clf__random_state": [1, 2]},
    ],
)
def test_steps_may_have_seeds_or_none(space):
    pipe = Pipeline([("pca", PCA()), ("clf", DecisionTreeClassifier())])
    found = search(pipe, space, n_fits=12).fit(X, y)
    assert found.cv_results_["n_fits"].sum() == 12
    assert found.predict(X).shape == y.shape


def test_seeds_of_steps_that_are_searched_differ_too():
    Recording.seen.clear()
    pipe = Pipeline([("clf", KNeighborsClassifier())])
    search(pipe, {"clf": [Recording(), Recording(strength=2)]}, n_fits=8, refit=False).fit(X, y)
    assert len({seed for _, seed, _ in Recording.seen}) == 8


def test_many_jobs():
    with parallel_config("threading"):
        found = search(n_jobs=2, n_fits=21).fit(X, y)
    assert found.cv_results_["n_fits"].sum() == 21


def test_a_score_of_its_own_or_several():
    found = search(scoring="roc_auc").fit(X, y)
    assert found.score(X, y) > found.best_estimator_.score(X, y) - 0.1
    found = search(scoring=["accuracy", "roc_auc"], refit="roc_auc", return_train_score=True).fit(X, y)
    assert found.multimetric_
    assert {"mean_test_accuracy", "rank_test_roc_auc", "mean_train_roc_auc"} <= found.cv_results_.keys()
    assert found.best_score_ == found.recommendation_.mean
    assert 0 <= found.score(X, y) <= 1

    def both(estimator, X, y):
        return {"a": estimator.score(X, y), "b": 1.0}

    assert search(scoring=both, refit="a").fit(X, y).multimetric_
    for refit in (True, False):
        said = f"refit={refit} is none of the scores 'a', 'b': name the one to optimise. The search needs it for every"
        with pytest.raises(InvalidSetting, match=said):
            search(scoring=both, refit=refit).fit(X, y)


def test_without_a_refit_or_with_one_of_the_users_own():
    found = search(refit=False).fit(X, y)
    assert found.best_params_
    assert not hasattr(found, "predict")
    found = search(refit=lambda results: int(np.argmax(results["n_fits"]))).fit(X, y)
    assert found.cv_results_["n_fits"][found.best_index_] == found.cv_results_["n_fits"].max()


class Fragile(DecisionTreeClassifier):
    """Fails where trees are deep."""

    def fit(self, X, y, sample_weight=None):
        if self.max_depth > 4:
            raise RuntimeError("too deep")
        return super().fit(X, y, sample_weight=sample_weight)


def test_fits_that_fail_are_avoided_and_named():
    with pytest.warns(FitFailedWarning, match=r"of 25 fits failed, .* RuntimeError\('too deep'\)"):
        found = search(Fragile(), {"max_depth": Integer(1, 8)}).fit(X, y)
    assert found.best_params_["max_depth"] <= 4
    with pytest.raises(RuntimeError, match="too deep"):
        search(Fragile(), {"max_depth": Integer(1, 8)}, error_score="raise").fit(X, y)


@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_where_all_fits_fail_the_error_of_the_first_is_raised(error_score):
    with pytest.raises(RuntimeError, match="too deep") as raised:
        search(Fragile(), {"max_depth": Integer(5, 8)}, error_score=error_score, refit=False).fit(X, y)
    (note,) = raised.value.__notes__
    assert re.fullmatch(r"All the \d+ fits failed\. This is the error of the first\.", note)


def test_where_some_fits_fail_and_none_has_a_score_both_are_said():
    def lost(estimator, X, y):
        return np.nan

    with pytest.raises(
        ValueError, match=r"None of the .* fits has a finite score.* \d+ failed, the first with Runtime"
    ):
        search(Fragile(), {"max_depth": Integer(1, 8)}, scoring=lost).fit(X, y)


def test_infinite_scores_are_failures():
    with pytest.warns(FitFailedWarning, match="of 25 fits failed"):
        found = search(Fragile(), {"max_depth": Integer(1, 8)}, error_score=-np.inf).fit(X, y)
    assert found.best_params_["max_depth"] <= 4
    assert np.isfinite(found.best_score_)

    def loss(estimator, X, y):
        return -np.inf if estimator.max_depth > 4 else estimator.score(X, y)

    found = search(space={"max_depth": Integer(1, 8)}, scoring=loss).fit(X, y)
    assert found.best_params_["max_depth"] <= 4
    assert found.cv_results_["n_fits"].sum() == 25
    with pytest.raises(ValueError, match=r"None of the .* fits has a finite score"):
        search(space={"max_depth": Integer(5, 8)}, scoring=loss).fit(X, y)


def test_groups_and_weights():
    groups = np.arange(len(y)) % 5
    found = search(cv=GroupKFold(5), n_fits=15).fit(X, y, groups=groups)
    assert found.n_splits_ == 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the default scorer of a tree takes no weights
        assert search(space=STUMPS).fit(X, y, sample_weight=np.where(y, 100.0, 1e-3)).predict(X).mean() > 0.9


def test_metadata_are_routed_where_that_is_asked_for():
    with config_context(enable_metadata_routing=True):
        tree = DecisionTreeClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = search(tree, STUMPS, cv=GroupKFold(5), n_fits=12)
        found.fit(X, y, sample_weight=np.where(y, 100.0, 1e-3), groups=np.arange(len(y)) % 5)
        assert found.predict(X).mean() > 0.9


def test_a_regression_on_real_data_finds_a_good_strength():
    data, target = make_regression(120, 30, n_informative=5, noise=30, random_state=0)
    found = search(Ridge(), {"alpha": Float(1e-3, 1e4, log=True)}, n_fits=60).fit(data, target)
    assert found.best_params_["alpha"] < 100  # below, all are about as good


def test_the_best_score_is_below_the_luckiest():
    data, target = load_breast_cancer(return_X_y=True)
    found = search(n_fits=60, cv=10).fit(data, target)
    assert found.best_score_ <= np.nanmax(found.cv_results_["mean_test_score"])


def test_what_cannot_be_searched():
    for space, said in [
        ([{"max_depth": [1]}], "is not a space: give an ostinato.Space, or a dict"),
        ({"max_depth": 3}, r"param_space\['max_depth'\]=3 is not a parameter: give a list of levels"),
        ({"max_depth": stats.poisson(3)}, "goes from 0.0 to inf: give a distribution that ends"),
    ]:
        with pytest.raises(InvalidSetting, match=said):
            search(space=space).fit(X, y)
    with pytest.raises(InvalidSetting, match="n_fits"):
        search(n_fits=0).fit(X, y)
    with pytest.raises(NotFittedError):
        search().predict(X)


def test_it_is_imported_when_it_is_used():
    code = """
import sys, ostinato.integrations
sys.modules["sklearn"] = None
try:
    ostinato.integrations.OstinatoSearchCV
except ostinato.errors.MissingSetting as error:
    assert str(error).startswith("ostinato.integrations.sklearn needs scikit-learn: pip install '.[sklearn]' in"), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
