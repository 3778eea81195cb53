"""The sampler for Optuna: repeats as consecutive trials in any storage, and a recommendation that is no fluke."""

import copy
import pickle
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from itertools import groupby

import pytest

optuna = pytest.importorskip("optuna")

import ostinato  # noqa: E402
from ostinato.errors import (  # noqa: E402
    ConditionalParameters,
    InvalidCandidates,
    InvalidSetting,
    NothingMeasured,
    PrunedTrials,
)
from ostinato.integrations.optuna import OstinatoSampler, recommend  # noqa: E402
from ostinato.kernels import Matern52  # noqa: E402
from ostinato.policies import MiniTS, MiniUCB  # noqa: E402


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def noisy(seed=0, std=1.0, sign=1):
    """An objective with a hill at (1, 3): a number, and a level that hardly matters."""
    draws = random.Random(seed)

    def objective(trial):
        x = trial.suggest_float("x", -5, 5)
        k = trial.suggest_int("k", 0, 6)
        return sign * (-((x - 1) ** 2) - (k - 3) ** 2) + draws.gauss(0, std)

    return objective


def params_of(study):
    return [tuple(sorted(trial.params.items())) for trial in study.trials]


def runs_of(study):
    return [(params, len(list(group))) for params, group in groupby(params_of(study))]


def storage_of(kind, folder):
    if kind == "memory":
        return optuna.storages.InMemoryStorage()
    if kind == "rdb":
        return f"sqlite:///{folder}/study.db"
    journal = optuna.storages.journal.JournalFileBackend(str(folder / "study.log"))
    return optuna.storages.JournalStorage(journal)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_noisy_study_finds_the_hill_and_repeats_trials(direction):
    sign = 1 if direction == "maximize" else -1
    study = optuna.create_study(direction=direction, sampler=OstinatoSampler(seed=0))
    study.optimize(noisy(sign=sign), n_trials=60)
    repeats = Counter(params_of(study))
    assert max(repeats.values()) > 1
    best = recommend(study)
    assert abs(best.candidate["x"] - 1) < 1
    assert abs(best.candidate["k"] - 3) <= 1
    assert best.n == repeats[tuple(sorted(best.candidate.items()))]
    low, high = best.interval
    assert low <= best.mean <= high
    assert sign * study.best_value > sign * best.mean  # the luckiest trial promises too much


def test_repeats_are_consecutive_trials():
    study = optuna.create_study(sampler=OstinatoSampler(seed=1, max_repeats=4, noise_std=3.0))
    study.optimize(noisy(std=3.0, sign=-1), n_trials=60)
    asked = [trial.system_attrs["ostinato:asked"] for trial in study.trials[1:]]
    by_opener = [
        (opener, [each["repeats"] for each in group]) for opener, group in groupby(asked, lambda a: a["opener"])
    ]
    assert len({opener for opener, _ in by_opener}) == len(by_opener)
    assert all(len(group) == group[0] for _, group in by_opener[:-1])
    assert max(len(group) for _, group in by_opener) in (2, 3, 4)


def test_the_same_seed_gives_the_same_study():
    made = []
    for _ in range(2):
        study = optuna.create_study(sampler=OstinatoSampler(seed=5))
        study.optimize(noisy(sign=-1), n_trials=15)
        made.append(params_of(study))
    assert made[0] == made[1]


@pytest.mark.parametrize("kind", ["memory", "rdb", "journal"])
def test_every_kind_of_parameter_in_every_storage(kind, tmp_path):
    def objective(trial):
        x = trial.suggest_float("x", -0.3, 0.5, step=0.1)
        rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
        width = trial.suggest_int("width", 4, 512, log=True)
        depth = trial.suggest_int("depth", 2, 10, step=4)
        kind = trial.suggest_categorical("kind", [None, True, 1.5, "one"])
        fixed = trial.suggest_int("fixed", 3, 3)
        assert fixed == 3
        return x + rate + width / 512 + depth + (kind is None)

    study = optuna.create_study(storage=storage_of(kind, tmp_path), sampler=OstinatoSampler(seed=0), study_name="s")
    study.optimize(objective, n_trials=15)
    candidate = recommend(study).candidate
    assert candidate.keys() == {"x", "rate", "width", "depth", "kind"}
    assert candidate in [{name: trial.params[name] for name in candidate} for trial in study.trials]
    study.enqueue_trial(candidate)
    study.optimize(objective, n_trials=1)
    assert study.trials[-1].params == candidate | {"fixed": 3}


@pytest.mark.parametrize("kind", ["rdb", "journal"])
def test_a_study_goes_on_in_another_process_in_the_middle_of_a_batch(kind, tmp_path):
    sampler = OstinatoSampler(seed=0, noise_std=3.0)
    storage = storage_of(kind, tmp_path)
    study = optuna.create_study(storage=storage, sampler=sampler, study_name="s", direction="maximize")
    objective = noisy(std=3.0)
    while True:  # until a batch is handed out in part
        study.optimize(objective, n_trials=1)
        asked = study.trials[-1].system_attrs.get("ostinato:asked")
        if asked and asked["repeats"] > 1 and asked["opener"] == len(study.trials) - 1:
            break
    code = f"""
import optuna
from pathlib import Path
from test_optuna import OstinatoSampler, noisy, storage_of
study = optuna.load_study(study_name="s", storage=storage_of({kind!r}, Path({str(tmp_path)!r})),
                          sampler=OstinatoSampler(seed=7, noise_std=3.0))
study.optimize(noisy(seed=1, std=3.0), n_trials={asked["repeats"]})
"""
    folders = [*sys.path, str(__import__("pathlib").Path(__file__).parent)]
    subprocess.run([sys.executable, "-c", f"import sys; sys.path[:] = {folders!r}\n{code}"], check=True, timeout=120)
    later = [trial.system_attrs["ostinato:asked"]["opener"] for trial in study.trials[-asked["repeats"] :]]
    assert later[:-1] == [asked["opener"]] * (asked["repeats"] - 1)
    assert later[-1] == len(study.trials) - 1
    assert recommend(study).n >= 1


def test_the_optimiser_that_is_kept_knows_what_one_made_anew_knows():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(noisy(), n_trials=25)
    fresh = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    for trial in study.trials:
        fresh.add_trial(trial)
    study.optimize(noisy(seed=9), n_trials=3)
    fresh.optimize(noisy(seed=9), n_trials=3)
    kept, made = ([trial.params["x"] for trial in each.trials[-3:]] for each in (study, fresh))
    assert kept[0] == pytest.approx(made[0], abs=1.5)
    assert recommend(study).mean == pytest.approx(recommend(fresh).mean, abs=0.5)


def by_number(trial):
    """An objective with a list of candidates, and noise that depends on nothing but the trial's number."""
    x, k = trial.suggest_int("x", -20, 20), trial.suggest_categorical("k", ["a", "b", "c"])
    return -((x - 4) ** 2) / 50 - (k == "a") + random.Random(trial.number).gauss(0, 1)


@pytest.mark.parametrize("settings", [{}, {"noise_std": "varying"}, {"budget": 30}, {"policy": MiniTS(C=1.2)}], ids=str)
def test_a_study_that_stops_decides_as_one_that_goes_on(settings, tmp_path):
    whole = optuna.create_study(sampler=OstinatoSampler(seed=0, **settings), direction="maximize")
    whole.optimize(by_number, n_trials=30)
    storage = storage_of("rdb", tmp_path)
    optuna.create_study(storage=storage, study_name="s", direction="maximize")
    for trials in (9, 4, 10, 7):
        study = optuna.load_study(storage=storage, study_name="s", sampler=OstinatoSampler(seed=0, **settings))
        study.optimize(by_number, n_trials=trials)
    assert params_of(study) == params_of(whole)


def test_samplers_in_turn_decide_as_one():
    whole = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    whole.optimize(by_number, n_trials=30)
    study = optuna.create_study(direction="maximize")
    samplers = [OstinatoSampler(seed=0) for _ in range(2)]
    for place in range(30):
        study.sampler = samplers[place // 3 % 2]
        study.optimize(by_number, n_trials=1)
    assert params_of(study) == params_of(whole)


def test_a_fit_with_other_settings_is_not_used_again():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(lambda trial: float(by_number(trial) > -3), n_trials=20)
    settings = [trial.system_attrs["ostinato:asked"].get("settings") for trial in study.trials[1:]]
    study.sampler = OstinatoSampler(seed=0, outcome="binary")
    study.optimize(lambda trial: float(by_number(trial) > -3), n_trials=10)
    later = [trial.system_attrs["ostinato:asked"].get("settings") for trial in study.trials[20:]]
    assert not {*settings} & {*later} - {None}
    assert 0 <= recommend(study).mean <= 1


def test_trials_that_run_are_in_flight():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(noisy(), n_trials=12)
    distributions = study.trials[0].distributions
    trials = [study.ask(distributions) for _ in range(8)]
    asked = [trial.system_attrs["ostinato:asked"] for trial in study.trials[-8:]]
    given = Counter(each["opener"] for each in asked)
    assert all(given[each["opener"]] <= each["repeats"] for each in asked)
    assert len({tuple(trial.params.values()) for trial in trials}) > 2  # not eight times the same
    for trial in reversed(trials):
        study.tell(trial, -1.0)
    assert recommend(study).n >= 1


def test_many_threads():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(noisy(), n_trials=40, n_jobs=4)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 40
    handed_out = Counter()
    for trial in study.trials:
        asked = trial.system_attrs.get("ostinato:asked")
        if asked:
            handed_out[asked["opener"]] += 1
            assert handed_out[asked["opener"]] <= asked["repeats"]


def test_trials_that_fail_or_are_pruned_are_avoided():
    outcomes = []

    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if x > 0.7:
            raise RuntimeError("it broke")
        if x > 0.5:
            raise optuna.TrialPruned
        outcomes.append(x)
        return x

    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(objective, n_trials=40, catch=(RuntimeError,))
    assert len(outcomes) >= 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrunedTrials)
        assert recommend(study).candidate["x"] <= 0.5


def test_where_everything_fails_the_study_goes_on():
    def objective(trial):
        trial.suggest_categorical("x", ["a", "b"])
        return 0.0 if trial.number == 0 else float("nan")

    study = optuna.create_study(sampler=OstinatoSampler(seed=0))
    study.optimize(objective, n_trials=15)
    assert len(study.trials) == 15


def test_infinite_values_and_broken_constraints_count_as_failed():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        if hasattr(trial, "set_constraint"):
            trial.set_constraint("least", 0.2 - x)
        return float("inf") if x > 0.8 else -abs(x - 0.3)

    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(objective, n_trials=25)
    assert 0.15 < recommend(study).candidate["x"] < 0.8


def test_enqueued_trials_are_used_and_learned_from():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(noisy(), n_trials=8)
    study.enqueue_trial({"x": 1.0, "k": 3})
    study.enqueue_trial({"k": 3})  # the sampler chooses the rest
    study.optimize(noisy(std=0.1), n_trials=2)
    whole, part = study.trials[-2:]
    assert whole.params == {"x": 1.0, "k": 3}
    assert part.params["k"] == 3
    assert "ostinato:asked" not in whole.system_attrs | part.system_attrs
    study.optimize(noisy(), n_trials=20)
    assert abs(recommend(study).candidate["x"] - 1) < 1


@pytest.mark.filterwarnings("ignore::ostinato.errors.ConditionalParameters")
def test_parameters_that_not_all_trials_have_are_repeated_too():
    def objective(trial):
        x = trial.suggest_float("x", -1, 1)
        if x > 0:
            return -abs(x - trial.suggest_float("y", 0, 1)) + draws.gauss(0, 0.5)
        return -abs(x) - 1 + draws.gauss(0, 0.5)

    draws = random.Random(0)
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(objective, n_trials=40)
    repeated = [(params, n) for params, n in runs_of(study) if n > 1]
    assert any("y" in dict(params) for params, _ in repeated)
    assert recommend(study).candidate.keys() == {"x"}


def test_ranges_that_change_are_left_to_the_independent_sampler():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0, independent_sampler=optuna.samplers.TPESampler(seed=0)))
    for high in (1, 2):
        study.optimize(lambda t, h=high: t.suggest_float("x", 0, h) + t.suggest_float("y", 0, 1), n_trials=6)
    with pytest.warns(ConditionalParameters, match="not modelled: 'x'"):
        assert recommend(study).candidate.keys() == {"y"}


def model_or_other(seed=0):
    """An objective whose parameters depend on another one."""
    draws = random.Random(seed)

    def objective(trial):
        if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
            return 0.5 - abs(trial.suggest_float("C", 0, 1) - 0.5) + draws.gauss(0, 0.1)
        return 0.8 - 0.05 * abs(trial.suggest_int("depth", 1, 9) - 6) + draws.gauss(0, 0.1)

    return objective


def test_parameters_that_are_not_modelled_are_named_once():
    sampler = OstinatoSampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    with pytest.warns(ConditionalParameters) as said:
        study.optimize(model_or_other(), n_trials=30)
    (text,) = (str(each.message) for each in said)
    assert text.startswith("Parameters that are not modelled: 'C', 'depth'. Not all complete trials have them")
    for remedy in (
        "Suggest every parameter in every trial",
        "independent_sampler=optuna.samplers.TPESampler()",
        ".when(",
    ):
        assert remedy in text
    study.sampler = copy.deepcopy(sampler)
    study.optimize(model_or_other(), n_trials=2)  # nothing is said again
    with pytest.warns(ConditionalParameters, match="modelled: 'C', 'depth'.* The answer speaks of 'model' only"):
        best = recommend(study)
    assert best.candidate == {"model": "forest"}
    branch = optuna.create_study(direction="maximize")
    branch.add_trials([trial for trial in study.trials if trial.params["model"] == "forest"])
    assert recommend(branch).candidate.keys() == {"model", "depth"}
    assert recommend(branch).candidate["model"] == "forest"


def test_a_sampler_for_parameters_that_are_not_modelled_is_a_remedy():
    other = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", sampler=OstinatoSampler(seed=0, independent_sampler=other))
    study.optimize(model_or_other(), n_trials=20)  # no warning, which would be an error here
    assert {"C", "depth"} <= {name for trial in study.trials for name in trial.params}


@pytest.mark.parametrize(("every", "said"), [(20, False), (4, True)])
def test_many_pruned_trials_come_with_a_warning(every, said):
    def objective(trial):
        value = noisy()(trial)
        if trial.number % every == every - 1:
            raise optuna.TrialPruned
        return value

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), direction="maximize")
    study.optimize(objective, n_trials=20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recommend(study)
    texts = [str(each.message) for each in caught if each.category is PrunedTrials]
    assert bool(texts) == said
    assert not said or texts[0].startswith("5 of 20 trials were pruned and have no value.")
    assert not said or "NopPruner()" in texts[0]
    assert [each.filename for each in caught] == [__file__] * said


def test_settings_of_a_recommendation_are_checked_too():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0))
    study.optimize(noisy(), n_trials=3)
    with pytest.raises(InvalidSetting, match=r"There is no setting 'noise'\. Did you mean noise_std"):
        recommend(study, noise=0.1)
    with pytest.raises(InvalidSetting, match="direction='maximize' comes from the study"):
        recommend(study, direction="maximize")


def test_several_studies_share_a_sampler():
    sampler = OstinatoSampler(seed=0)
    studies = [optuna.create_study(sampler=sampler, direction="maximize") for _ in range(2)]
    for _ in range(10):
        for study in studies:
            study.optimize(noisy(), n_trials=1)
    alone = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    alone.optimize(noisy(), n_trials=3)
    assert all(len(study.trials) == 10 for study in studies)
    for copied in (copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler))):
        studies[0].sampler = copied
        studies[0].optimize(noisy(), n_trials=1)


def test_a_study_under_hyperband():
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), pruner=optuna.pruners.HyperbandPruner(1, 9, 3))

    def objective(trial):
        x = trial.suggest_float("x", -1, 1)
        for step in range(9):
            trial.report(x**2, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return x**2

    study.optimize(objective, n_trials=20)
    assert len(study.trials) == 20


@pytest.mark.parametrize("sampler", ["RandomSampler", "TPESampler"])
def test_any_study_can_be_asked_for_a_recommendation(sampler):
    study = optuna.create_study(direction="maximize", sampler=getattr(optuna.samplers, sampler)(seed=0))
    study.optimize(noisy(std=2.0), n_trials=60)
    best = recommend(study, level=0.9)
    assert best.level == 0.9
    truth = -((best.candidate["x"] - 1) ** 2) - (best.candidate["k"] - 3) ** 2
    assert truth > -6
    assert best.mean - truth < study.best_value - truth


def test_values_that_do_not_fit_are_logged_in_the_words_of_the_study(caplog):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(noisy(std=0.5), n_trials=30)
    study.enqueue_trial({"x": 4.0, "k": 0})
    study.optimize(lambda trial: 1000 + 0 * noisy()(trial), n_trials=1)
    optuna.logging.enable_propagation()
    with caplog.at_level("WARNING"):
        study.optimize(noisy(std=0.5), n_trials=5)
    optuna.logging.disable_propagation()
    assert "does not fit what all else says of {'k': 0, 'x': 4.0}" in caplog.text


@pytest.mark.filterwarnings("ignore:Fixed parameter:UserWarning")
@pytest.mark.parametrize(
    ("suggest", "odd"),
    [
        (lambda trial: trial.suggest_float("x", 0, 10), 20.0),
        (lambda trial: trial.suggest_float("x", 0, 1, step=0.1), 0.25),
        (lambda trial: trial.suggest_int("x", 0, 10), 20),
        (lambda trial: trial.suggest_int("x", 0, 10, step=2), 3),
        (lambda trial: trial.suggest_int("x", 0, 10**7), 10**8),
    ],
)
def test_a_trial_that_was_enqueued_outside_of_its_range_does_not_count(suggest, odd, caplog):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optuna.logging.enable_propagation()
    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(suggest, n_trials=3)
    study.enqueue_trial({"x": odd})
    study.optimize(lambda trial: 100.0 + suggest(trial), n_trials=1)
    with caplog.at_level("WARNING"):
        study.optimize(suggest, n_trials=5)
    optuna.logging.disable_propagation()
    said = {id(each): each.getMessage() for each in caplog.records}  # a record may reach pytest by two handlers
    assert [text.startswith("Trial 3 does not count") for text in said.values()] == [True]
    assert len(study.trials) == 9
    assert recommend(study).candidate["x"] != odd
    assert recommend(study).mean < 10**8


@pytest.mark.parametrize("huge", [1e308, -1e308, 1.01e100])
def test_a_value_too_large_to_compute_with_is_a_failure(huge):
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        return huge if trial.number == 3 else x

    study = optuna.create_study(sampler=OstinatoSampler(seed=0), direction="maximize")
    study.optimize(objective, n_trials=10)
    assert len(study.trials) == 10
    assert abs(recommend(study).mean) < 10


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_several_objectives_are_refused_before_the_objective_runs(n_jobs, capfd):
    calls = []
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=OstinatoSampler(seed=0))
    with pytest.raises(InvalidSetting, match="has 2 objectives, and Ostinato optimises one"):
        study.optimize(calls.append, n_trials=2 * n_jobs, catch=(Exception,), n_jobs=n_jobs)
    assert calls == []
    assert {trial.state.name for trial in study.trials} == {"FAIL"}  # made by Optuna before; it does not run forever
    assert len(study.trials) < 2 * n_jobs or n_jobs > 1
    assert "Trial 0 failed" not in capfd.readouterr().err
    with pytest.raises(InvalidSetting, match="has 2 objectives"):
        study.ask()
    with pytest.raises(InvalidSetting, match="combine them into one number"):
        recommend(study)


def test_what_cannot_be_recommended():
    study = optuna.create_study(sampler=OstinatoSampler())
    with pytest.raises(NothingMeasured, match="has no complete trial: run some first"):
        recommend(study)
    study.optimize(lambda trial: trial.suggest_float(f"x{trial.number}", 0, 1), n_trials=2)
    with pytest.raises(InvalidCandidates, match="no parameter in common that varies"):
        recommend(study)


def test_settings_are_those_of_an_optimiser_but_for_what_the_study_says():
    with pytest.raises(InvalidSetting, match="direction='minimize' comes from the study"):
        OstinatoSampler(direction="minimize")
    sampler = OstinatoSampler(seed=0, budget=30, outcome="binary")
    study = optuna.create_study(sampler=sampler, direction="maximize")
    draws = random.Random(0)
    study.optimize(lambda t: float(draws.random() < t.suggest_float("x", 0, 1)), n_trials=30)
    low, high = recommend(study).interval
    assert low >= 0
    assert high <= 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_repeat": 3}, "There is no setting 'max_repeat'. Did you mean max_repeats?"),
        ({"constraints_func": None}, "Call trial.set_constraint(name, value) in the objective"),
        ({"max_repeats": 0}, "max_repeats=0 is out of range"),
        ({"goal": "win"}, "goal='win' is unknown"),
        ({"noise_std": -1.0}, "noise_std=-1.0 is out of range"),
        ({"outcome": "yes"}, "outcome='yes' is unknown"),
        ({"budget": 0}, "budget=0 is out of range"),
        ({"seed": -1}, "seed=-1 is not a seed"),
        ({"policy": "ucb"}, "policy='ucb' is not a policy"),
        ({"noise_std": 1.0, "outcome": "binary"}, "leave out one of them"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_before_the_first_trial(settings, words):
    with pytest.raises(InvalidSetting, match=re.escape(words)):
        OstinatoSampler(**settings)


def test_settings_that_speak_of_the_parameters_wait_for_them():
    kernel = Matern52(lengthscale=0.3, std=2.0).on("rate")
    settings = {"kernel": kernel, "noise_std": 0.1, "policy": MiniUCB(C=1.2, beta=2.0), "switch_cost": lambda a, b: 1.0}
    study = optuna.create_study(sampler=OstinatoSampler(seed=0, **settings))
    study.optimize(lambda trial: trial.suggest_float("rate", 0, 1), n_trials=4)
    assert len(study.trials) == 4


def test_it_is_imported_when_it_is_used():
    code = """
import sys, ostinato, ostinato.integrations
assert not {"optuna", "sklearn", "numpy"} & set(sys.modules)
sys.modules["optuna"] = None
try:
    ostinato.integrations.OstinatoSampler
except ostinato.errors.MissingSetting as error:
    assert str(error).startswith("ostinato.integrations.optuna needs Optuna: pip install '.[optuna]' in"), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert ostinato.integrations.OstinatoSampler is OstinatoSampler
