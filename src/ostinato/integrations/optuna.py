"""A sampler for Optuna that repeats trials, and the answer of a study that is no fluke.

    study = optuna.create_study(direction="maximize", sampler=OstinatoSampler(seed=0))
    study.optimize(objective, n_trials=200)
    print(recommend(study))

Repeats are consecutive trials with the same parameters. `optuna_trials.py` is how an optimiser follows a study.
"""

from collections.abc import Sequence
from threading import RLock
from typing import Any

from ostinato.errors import (
    ConditionalParameters,
    InvalidCandidates,
    InvalidSetting,
    NothingMeasured,
    NothingToAsk,
    PrunedTrials,
    notify,
)
from ostinato.integrations.early_checks import check_settings
from ostinato.integrations.missing import missing
from ostinato.optimizer.settings import Goal
from ostinato.records import Best

try:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import intersection_search_space
    from optuna.study import Study
    from optuna.trial import FrozenTrial, TrialState
except ModuleNotFoundError as error:
    raise missing("Optuna", "optuna", error) from error

from ostinato.integrations.optuna_trials import ATTRIBUTE, Follower, asked_of, outside

__all__ = ["OstinatoSampler", "recommend"]

MANY_PRUNED = 0.1  # of the trials that ended: from there on a recommendation comes with a warning
KEPT = 4  # studies whose optimisers are kept
OWN = ("candidates", "direction")  # settings that come from the study


class OstinatoSampler(BaseSampler):
    """A sampler for studies with one noisy objective: it repeats the trials that matter.

    seed: makes decisions reproducible. budget: how many trials there will be, where that is known: the last tenth then
    tells the best ones apart. goal: "find" to know the best parameters at the end, "earn" to have every trial pay.
    independent_sampler: for the first trial, and for parameters that not all trials have; at random by default.
    settings: of `ostinato.Optimizer`, such as noise_std, outcome, max_repeats or switch_cost.

    Trials that fail, are pruned or break a constraint (`trial.set_constraint`) count as failed measurements. Trials
    that run are in flight. Nothing has to be kept but the study itself.

    Parameters that not all complete trials have are not modelled. The warning `ConditionalParameters` names them once
    for each study, unless there is an independent_sampler.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        budget: int | None = None,
        goal: Goal = "find",
        independent_sampler: BaseSampler | None = None,
        **settings: Any,
    ) -> None:
        if "constraints_func" in settings:
            raise InvalidSetting(
                f"constraints_func={settings['constraints_func']!r} is not a setting of OstinatoSampler: constraints "
                "are part of the trial. Call trial.set_constraint(name, value) in the objective (Optuna 5): a trial "
                "with a value above 0 counts as failed."
            )
        self._settings: dict[str, Any] = {"seed": seed, "budget": budget, "goal": goal, **settings}
        check_settings(self._settings, own=OWN, owner="study")
        self._independent = independent_sampler or RandomSampler(seed=seed)
        self._warns = independent_sampler is None  # whoever chose one knows of what it samples
        self._warned: set[str] = set()  # studies
        self._followers: dict[str, Follower] = {}
        self._lock = RLock()

    @property
    def settings(self) -> dict[str, Any]:
        """Of the optimiser."""
        return dict(self._settings)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: optimisers are made anew from the study."""
        return {**vars(self), "_followers": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def reseed_rng(self) -> None:
        """Threads of a study share what is in flight, and need no seeds of their own here."""
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that all complete trials have, with the same distributions."""
        _check_single(study)
        space = _space_of(study)
        if self._warns and study.study_name not in self._warned and (missed := _not_modelled(study, space)):
            self._warned.add(study.study_name)
            _warn(missed, "They are sampled at random, and recommend() leaves them out.")
        return space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """One more repeat of what was asked for last, or what is asked for next."""
        _check_single(study)
        fixed: dict[str, Any] = trial.system_attrs.get("fixed_params", {})
        if not search_space or fixed.keys() >= search_space.keys():
            return {}
        with self._lock:
            try:
                return self._sample(study, trial, search_space, tied=bool(fixed))
            except NothingToAsk:  # all candidates fail
                return {}

    def _sample(
        self, study: Study, trial: FrozenTrial, space: dict[str, BaseDistribution], *, tied: bool
    ) -> dict[str, Any]:
        """tied: some parameters were enqueued, so that the trial is no repeat and opens no batch."""
        others = [each for each in study.get_trials(deepcopy=False) if each.number != trial.number]
        follower = self._followers.pop(study.study_name, None)  # put back when all went well
        if follower is None or not follower.matches(space, others):
            follower = Follower(space, study.directions[0].name.lower(), self._settings, study.study_name)
        follower.take_in(others)
        follower.resume(others)
        if tied:
            point = follower.preview()
        else:
            asked = follower.next_repeat(others) or follower.ask(trial.number)
            study._storage.set_trial_system_attr(trial._trial_id, ATTRIBUTE, asked)
            point = asked["params"]
        self._followers = dict([*self._followers.items()][1 - KEPT :])
        self._followers[study.study_name] = follower
        return outside(space, point)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """What the trial that is repeated has; else the independent sampler's."""
        _check_single(study)
        asked = asked_of(trial)
        if asked is not None and asked["opener"] != trial.number:
            for each in study.get_trials(deepcopy=False):
                if each.number == asked["opener"] and each.distributions.get(param_name) == param_distribution:
                    return each.params[param_name]
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Here a study is refused before its objective runs. Optuna has made the trial already: it is a failed one."""
        try:
            _check_single(study)
        except InvalidSetting:
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)  # else it would run forever
            raise
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._independent.after_trial(study, trial, state, values)


def recommend(study: Study, *, level: float = 0.95, **settings: Any) -> Best:
    """The parameters that are best after all, with an interval for their true value.

    They are those of the best lower bound (the model's mean less a standard deviation) of all that were tried: not of
    the highest value, which is often a lucky one. Sometimes they are the same.

    For any study with one objective, whichever sampler it had, with repeats or without. level: of the interval.
    settings: of `ostinato.Optimizer`, such as noise_std or outcome; by default those of the study's `OstinatoSampler`,
    where it has one.

    The answer has the parameters that all complete trials have, with the same range. Others are left out, and the
    warning `ConditionalParameters` names them: the mean is over the values that they had. For the parameters of one
    branch, ask a study of its trials:

        branch = optuna.create_study(direction="maximize")
        branch.add_trials([trial for trial in study.trials if trial.params.get("model") == "forest"])
        recommend(branch)

    Trials that were pruned have no value: the last one they reported is not what they would have ended with. So of
    noisy trials only the luckier ones count. The warning `PrunedTrials` says so where they are many.
    """
    _check_single(study)
    check_settings(settings, own=OWN, owner="study")
    own = study.sampler.settings if isinstance(study.sampler, OstinatoSampler) else {"seed": 0}
    trials = study.get_trials(deepcopy=False)
    if not any(each.state == TrialState.COMPLETE for each in trials):
        raise NothingMeasured(f"Study {study.study_name!r} has no complete trial: run some first.")
    space = _space_of(study)
    if not space:
        raise InvalidCandidates(
            f"The trials of study {study.study_name!r} have no parameter in common that varies: suggest at least one "
            "in every trial, with the same range."
        )
    if missed := _not_modelled(study, space):
        _warn(missed, f"The answer speaks of {', '.join(map(repr, space))} only.")
    _warn_of_pruned(trials)
    follower = Follower(space, study.directions[0].name.lower(), {**own, **settings})
    follower.take_in(trials)
    return follower.best(level)


def _check_single(study: Study) -> None:
    if len(study.directions) > 1:
        raise InvalidSetting(
            f"Study {study.study_name!r} has {len(study.directions)} objectives, and Ostinato optimises one: combine "
            "them into one number, or use another sampler."
        )


def _space_of(study: Study) -> dict[str, BaseDistribution]:
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return {name: each for name, each in intersection_search_space(trials).items() if not each.single()}


def _not_modelled(study: Study, space: dict[str, BaseDistribution]) -> list[str]:
    """Parameters that vary, and that not all complete trials have with the same distribution."""
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    varied = {name for trial in trials for name, each in trial.distributions.items() if not each.single()}
    return sorted(varied - space.keys())


def _warn(missed: list[str], what_follows: str) -> None:
    names = ", ".join(map(repr, missed))
    notify(
        f"Parameters that are not modelled: {names}. Not all complete trials have them with the same range. "
        f"{what_follows} Suggest every parameter in every trial, or sample these with "
        "OstinatoSampler(independent_sampler=optuna.samplers.TPESampler()), or use ostinato.Space without Optuna, "
        'where parameters may have a condition: Integer(1, 20).when(model="forest").',
        ConditionalParameters,
    )


def _warn_of_pruned(trials: Sequence[FrozenTrial]) -> None:
    ended = [each.state for each in trials if each.state.is_finished()]
    pruned = ended.count(TrialState.PRUNED)
    if pruned >= MANY_PRUNED * len(ended):
        notify(
            f"{pruned} of {len(ended)} trials were pruned and have no value. Pruning lets the luckier trials through, "
            "so the estimate is probably too good. Run noisy studies with "
            "optuna.create_study(pruner=optuna.pruners.NopPruner()), or run more trials of these parameters that way.",
            PrunedTrials,
        )
