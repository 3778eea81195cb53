"""Runs of Ostinato in MLflow: every value, the running recommendation, and the answer at the end.

    with log_to_mlflow("reaction") as log:
        result = ostinato.optimize(measure, space, budget=100, **log)
        log.answer(result)

One run of MLflow stands for the whole optimisation. Below it, each candidate has a run of its own: its settings are the
parameters, and its repeats the values of one metric. So MLflow compares candidates as it compares other runs.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from math import isfinite, isnan
from typing import Any, cast

import numpy as np

from ostinato.errors import InvalidSetting, MissingSetting
from ostinato.optimizer import Optimizer
from ostinato.records import Best
from ostinato.running.result import Result
from ostinato.running.task import Task
from ostinato.study import Study

try:
    import mlflow
    from mlflow.entities import Metric, Param
    from mlflow.tracking import MlflowClient
    from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
except ImportError as error:
    raise MissingSetting("ostinato.integrations.mlflow needs MLflow: pip install mlflow.") from error

EXPERIMENT = "ostinato"
VALUE = "value"
SETTINGS = ("goal", "budget", "seed", "policy", "measurement_cost", "half_life")
LONGEST = 6_000  # characters of a parameter that MLflow takes
AT_ONCE = 1_000  # metrics of one call
PARAMETERS_PER_CALL = 100  # parameters of one call
REFUSED = re.compile(r"[^\w.\- :/]", re.ASCII)  # in names: what MLflow's do not have


def log_to_mlflow(
    name: str = "ostinato",
    *,
    experiment: str | None = None,
    tracking_uri: str | None = None,
    tags: Mapping[str, str] | None = None,
    candidates: bool = True,
) -> "MlflowLog":
    """A log of one optimisation: a context manager, and the callbacks of `optimize` and `Study.run` as **keywords.

    name: of the run.
    experiment: of MLflow, made where there is none; by default that of the active run, which then is the parent of this
        one, or "ostinato".
    tracking_uri: where MLflow keeps its runs; by default as MLflow is set.
    tags: of the run.
    candidates: whether each candidate gets a run of its own below this one.
    """
    client = MlflowClient(tracking_uri)
    return MlflowLog(client, _experiment(client, experiment), name, dict(tags or {}), candidates=candidates)


class MlflowLog(Mapping[str, Callable[..., None]]):
    """What is logged of one optimisation. `run_id` is its run in MLflow, of which MLflow has the rest."""

    def __init__(
        self, client: MlflowClient, experiment_id: str, name: str, tags: dict[str, str], *, candidates: bool
    ) -> None:
        self._client, self._experiment_id, self._each = client, experiment_id, candidates
        active = mlflow.active_run()
        above = {} if active is None else {MLFLOW_PARENT_RUN_ID: active.info.run_id}
        self.run_id: str = client.create_run(experiment_id, run_name=name, tags=above | tags).info.run_id
        self._runs: dict[int, str] = {}  # of candidates
        self._told: dict[int, list[float]] = {}
        self._count = self._failed = 0
        self._callbacks = {"on_tell": self.tell, "on_best": self.best, "on_stop": self.stop}

    def __getitem__(self, name: str) -> Callable[..., None]:
        return self._callbacks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._callbacks)

    def __len__(self) -> int:
        return len(self._callbacks)

    def __enter__(self) -> "MlflowLog":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.close("FINISHED" if kind is None else "FAILED")

    # Callbacks

    def tell(self, task: Task, values: list[float]) -> None:
        """Values of a candidate; where some failed, how many did so far."""
        good = [value for value in values if not isnan(value)]
        self._failed += len(values) - len(good)
        first = self._count + 1
        self._count += len(good)
        self._log(self.run_id, {VALUE: good}, first)
        if len(good) < len(values):
            self._log(self.run_id, {"failed": [float(self._failed)]}, self._count)
        if self._each:
            so_far = self._told.setdefault(task.index, [])
            self._log(self._run_of(task), {VALUE: good, "mean": _means(so_far, good)}, len(so_far) + 1)
            so_far += good

    def best(self, best: Best) -> None:
        """Another candidate is recommended than before: its estimate, its interval, and how sure that is."""
        low, high = best.interval
        numbers = {
            "mean": best.mean,
            "low": low,
            "high": high,
            "n": best.n,
            "chance": best.chance,
            "within": best.within,
        }
        self._log(self.run_id, {f"best.{name}": [float(each)] for name, each in numbers.items()}, self._count)

    def stop(self, why: str) -> None:
        """Why the run ended."""
        self._client.set_tag(self.run_id, "ostinato.ended", why)

    # The end

    def answer(self, source: Result | Study | Optimizer) -> None:
        """The answer and the settings of a result, a study or an optimiser: parameters, tags, and a table of values."""
        optimizer = _optimizer(source)
        best = optimizer.best()
        self.best(best)
        parameters = {name: getattr(optimizer, name, None) for name in SETTINGS}
        parameters |= {
            "direction": "maximize" if optimizer.maximizes else "minimize",
            "value": optimizer.quantity.label,
        }
        self._keep(self.run_id, {name: value for name, value in parameters.items() if value is not None})
        # A parameter of MLflow cannot be changed, and what is recommended may: so it is in tags.
        tags = {f"best.{name}": value for name, value in _columns(best.candidate).items()}
        tags |= {"ostinato.best": best, "ostinato.learned": optimizer.learned}
        for name, value in tags.items():
            self._client.set_tag(self.run_id, name, str(value)[:LONGEST])
        numbers = {"switches": optimizer.switches, "candidates": optimizer.unique, "measurements": optimizer.steps}
        self._log(self.run_id, {name: [float(each)] for name, each in numbers.items()}, self._count)
        self._client.log_text(self.run_id, str(source.status() if isinstance(source, Study) else source), "answer.txt")
        self._client.log_text(self.run_id, _table(source), "measurements.csv")

    def close(self, status: str = "FINISHED") -> None:
        """Nothing more will come: the runs in MLflow are over."""
        for run in (*self._runs.values(), self.run_id):
            self._client.set_terminated(run, status)

    def _run_of(self, task: Task) -> str:
        """The run of a candidate, made when it is first measured."""
        if task.index not in self._runs:
            columns = _columns(task.candidate)
            name = ", ".join(f"{column} {value}" for column, value in columns.items())[:250]
            run = self._client.create_run(self._experiment_id, run_name=name, tags={MLFLOW_PARENT_RUN_ID: self.run_id})
            self._runs[task.index] = run.info.run_id
            self._keep(run.info.run_id, {**columns, "ostinato.candidate": task.index})
        return self._runs[task.index]

    def _keep(self, run: str, parameters: Mapping[str, Any]) -> None:
        """Parameters, as many at once as MLflow takes."""
        listed = [Param(name, str(value)[:LONGEST]) for name, value in parameters.items()]
        for start in range(0, len(listed), PARAMETERS_PER_CALL):
            self._client.log_batch(run, params=listed[start : start + PARAMETERS_PER_CALL])

    def _log(self, run: str, metrics: Mapping[str, list[float]], first: int) -> None:
        """Numbers, one a step from the first on."""
        now = int(time.time() * 1000)
        listed = [
            Metric(name, value, now, first + place)
            for name, values in metrics.items()
            for place, value in enumerate(values)
            if isfinite(value)
        ]
        for start in range(0, len(listed), AT_ONCE):
            self._client.log_batch(run, metrics=listed[start : start + AT_ONCE])


def _experiment(client: MlflowClient, name: str | None) -> str:
    """The number of an experiment."""
    active = mlflow.active_run()
    if name is None and active is not None:
        return cast("str", active.info.experiment_id)
    found = client.get_experiment_by_name(name or EXPERIMENT)
    return cast("str", client.create_experiment(name or EXPERIMENT) if found is None else found.experiment_id)


def _columns(candidate: Any) -> dict[str, Any]:
    """A candidate's settings by names that MLflow takes; by number where columns have none."""
    if isinstance(candidate, Mapping):
        return {REFUSED.sub("_", str(name)): value for name, value in cast("Mapping[Any, Any]", candidate).items()}
    return {f"x{place}": value for place, value in enumerate(np.atleast_1d(candidate).tolist())}


def _means(before: list[float], values: list[float]) -> list[float]:
    """The average after each of some values."""
    sums = sum(before) + np.cumsum(values)
    return (sums / (len(before) + np.arange(1, len(values) + 1))).tolist()


def _optimizer(source: Any) -> Optimizer:
    if isinstance(source, Study):
        return source.optimizer
    found = source.optimizer if isinstance(source, Result) else source
    if not isinstance(found, Optimizer):
        raise InvalidSetting(f"answer({source!r}): give a result, a study or an optimiser.")
    return found


def _table(source: Any) -> str:
    """All measurements as CSV."""
    import narwhals as nw

    return cast("str", nw.from_native(source.to_frame()).write_csv())
