"""A generation node for Ax that repeats trials, and the answer of an experiment that is no fluke.

    node = OstinatoNode(seed=0, budget=100)
    client.set_generation_strategy(GenerationStrategy(name="Ostinato", nodes=[node]))
    …
    print(node.best())

Repeats are consecutive trials with the same parameters.
"""

from math import isfinite, nan
from typing import Any, NamedTuple

import msgspec

from ostinato.errors import InvalidSetting, MissingSetting
from ostinato.integrations.early_checks import check_settings
from ostinato.optimizer import Optimizer
from ostinato.records import Best

try:
    from ax.core.data import Data
    from ax.core.experiment import Experiment
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode
except ImportError as error:
    raise MissingSetting("ostinato.integrations.ax needs Ax: pip install ax-platform.") from error

from ostinato.integrations.ax_space import Translation, same

OWN = ("candidates", "direction")  # settings that come from the experiment


class Reading(NamedTuple):
    """What came of an arm in a trial: a value, NaN where it failed, and its standard error where one is known."""

    value: float
    stderr: float

    def differs(self, other: "Reading | None") -> bool:
        return other is None or repr(self) != repr(other)  # NaN is not equal to itself


class OstinatoNode(ExternalGenerationNode):
    """Trials of an experiment with one noisy objective, the ones that matter again and again.

    settings: of `ostinato.Optimizer`, such as seed, budget, goal, noise_std, outcome, max_repeats or switch_cost.
    transition_criteria: when another node takes over, as of every node of Ax.

    Trials that failed, were abandoned or stopped early count as failed measurements; trials of other nodes, and
    attached ones, count as measurements. Arms outside of the search space are left out. Keep the experiment, and
    nothing else: a new node that is shown an old experiment takes in all trials that are over.
    """

    def __init__(self, name: str = "Ostinato", *, transition_criteria: Any = None, **settings: Any) -> None:
        check_settings(settings, own=OWN, owner="experiment")
        super().__init__(name=name, should_deduplicate=False, transition_criteria=transition_criteria)
        self._settings = settings
        self._experiment: Experiment | None = None
        self._optimizer: Optimizer | None = None

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Take in what is new; all of it anew where the problem, or a value that was told, is another one now."""
        problem, found = _problem(experiment), _readings(experiment, data)
        if self._optimizer is None or problem != self._problem or self._revised(found):
            self._begin(experiment, problem)
        self._experiment = experiment
        for (index, arm), reading in found.items():
            if (index, arm) not in self._told:
                self._tell(experiment.trials[index].arms_by_name[arm].parameters, reading)
                self._told[index, arm] = reading

    def get_next_candidate(self, pending_parameters: list[dict[str, Any]]) -> dict[str, Any]:
        """The next repeat of a batch, or the first one of the next batch."""
        if self._left == 0:
            self._batch = self.optimizer.ask()
            self._left = self._batch.repeats
        self._left -= 1
        return self._translation.parameters(self._batch.candidate)

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser behind it, for further questions: predict, top, explain, diagnose, …"""
        if self._optimizer is None:
            raise InvalidSetting("This node has not seen an experiment yet: ask for a trial first.")
        return self._optimizer

    def best(self, level: float = 0.95) -> Best:
        """The recommended parameters, with an interval for their true value; all trials so far count."""
        optimizer = self.optimizer
        if self._experiment is not None:
            self.update_generator_state(self._experiment, self._experiment.lookup_data())
            optimizer = self.optimizer
        best = optimizer.best(level)
        return msgspec.structs.replace(best, candidate=self._translation.parameters(best.candidate))

    def _begin(self, experiment: Experiment, problem: tuple[Any, str, bool]) -> None:
        self._problem, self._translation = problem, Translation(experiment.search_space)
        direction = "minimize" if problem[2] else "maximize"
        settings: dict[str, Any] = {"value": problem[1], **self._settings, "direction": direction}
        self._optimizer = Optimizer(self._translation.space, **settings)
        self._told: dict[tuple[int, str], Reading] = {}
        self._left = 0  # repeats of the last batch that are not trials yet

    def _revised(self, found: dict[tuple[int, str], Reading]) -> bool:
        return any(reading.differs(found.get(key)) for key, reading in self._told.items())

    def _tell(self, parameters: dict[str, Any], reading: Reading) -> None:
        """A value of a batch that waits for one; or one that nobody asked for."""
        candidate = self._translation.candidate(parameters)
        given = {"stderr": [reading.stderr]} if reading.stderr > 0 and isfinite(reading.value) else {}
        waiting = [batch for batch in self.optimizer.in_flight if same(batch.candidate, candidate)]
        if waiting:
            self.optimizer.tell(waiting[0], [reading.value], **given)
        else:
            self.optimizer.observe(candidate, [reading.value], **given)


def _problem(experiment: Experiment) -> tuple[Any, str, bool]:
    """Search space, metric, and whether lower is better."""
    config = experiment.optimization_config
    if config is None or not config.objective.is_single_objective or config.outcome_constraints:
        raise InvalidSetting(
            "Ostinato optimises one metric, without constraints on others: give the experiment one objective, and no "
            "outcome constraints."
        )
    return experiment.search_space.clone(), config.objective.metric_names[0], config.objective.minimize


def _readings(experiment: Experiment, data: Data) -> dict[tuple[int, str], Reading]:
    """What is known of every arm of every trial that is over."""
    metric, frame = _problem(experiment)[1], data.df
    rows = frame[frame["metric_name"] == metric][["trial_index", "arm_name", "mean", "sem"]]
    values = {
        (int(index), arm): Reading(float(mean), float(sem)) if isfinite(mean) else Reading(nan, nan)
        for index, arm, mean, sem in rows.itertuples(index=False)
    }
    found: dict[tuple[int, str], Reading] = {}
    for index, trial in experiment.trials.items():
        failed = trial.status.is_failed or trial.status.is_abandoned or trial.status.is_early_stopped
        for arm in trial.arms:
            if not experiment.search_space.check_membership(arm.parameters):
                continue
            if failed:
                found[index, arm.name] = Reading(nan, nan)
            elif (index, arm.name) in values and trial.status.is_terminal:
                found[index, arm.name] = values[index, arm.name]
    return found
