"""A study on a server, with the verbs of `Study`."""

from collections.abc import Iterator, Sequence
from math import isinf, isnan, nan
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
from msgspec import UNSET, UnsetType

from ostinato.errors import FewerSlots, InvalidFeedback, notify
from ostinato.service.client.transport import Transport, path_of
from ostinato.service.schemas import (
    Add,
    Added,
    Ask,
    BestOut,
    Budget,
    CandidatesOut,
    Changed,
    Close,
    Correct,
    DiagnosisOut,
    ExplanationOut,
    HistoryOut,
    LeaseOut,
    LeasesOut,
    MeasurementOut,
    New,
    Observation,
    Observe,
    Predict,
    PredictionOut,
    Release,
    Renew,
    Retract,
    Rows,
    StatusOut,
    TaskOut,
    TasksOut,
    Told,
    ToldAll,
    TopOut,
)
from ostinato.service.schemas.common import Candidate

T = TypeVar("T")
PAGE = 1_000  # measurements that are read at once


class RemoteStudy:
    """What `Study` does, over HTTP: ask, tell, look, put right. Every call can be repeated, and counts once."""

    def __init__(self, name: str, transport: Transport) -> None:
        self.name, self._transport = name, transport

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r})"

    # The loop

    def ask(
        self,
        limit: int | None = None,
        *,
        worker: str | None = None,
        lease: float = 600.0,
        key: str | None = None,
        beyond: bool = False,
    ) -> TaskOut | None:
        """The next repeats to measure; None where there are none at the moment."""
        wanted = Ask(limit=limit, worker=worker, lease=lease, key=key or uuid4().hex, beyond=beyond)
        tasks = self._post("ask", TasksOut, wanted).tasks
        return tasks[0] if tasks else None

    def plan(
        self,
        *,
        slots: int | None = None,
        workers: int | None = None,
        distinct: bool = False,
        shared: Sequence[str] = (),
        worker: str | None = None,
        lease: float = 600.0,
        key: str | None = None,
    ) -> list[TaskOut]:
        """Tasks to be measured at the same time, as `Study.ask` with slots or workers. A warning says why any miss."""
        wanted = Ask(
            slots=slots,
            workers=workers,
            distinct=distinct,
            shared=list(shared),
            worker=worker,
            lease=lease,
            key=key or uuid4().hex,
        )
        found = self._post("ask", TasksOut, wanted)
        if found.tasks and found.why:
            notify(f"{found.why}.", FewerSlots)
        return found.tasks

    def tell(
        self,
        task: TaskOut,
        values: Any = None,
        *,
        stderr: Any = None,
        start: int | None = None,
        successes: int | None = None,
        trials: int | None = None,
        worker: str | None = None,
    ) -> int:
        """The values of a task, in the order of its repeats; NaN and None are measurements that failed.

        worker: who measured them, where it is not who the task was for.
        """
        return self._post("tell", New, _told(task, values, stderr, start, successes, trials, worker)).new

    def tell_all(self, told: Sequence[tuple[TaskOut, Any]], *, worker: str | None = None) -> int:
        """The values of several tasks: all of them or none."""
        answers = [_told(task, values, worker=worker) for task, values in told]
        return self._post("tell-all", New, ToldAll(answers=answers)).new

    def fail(self, task: TaskOut, repeats: int | None = None) -> int:
        """All repeats of a task failed, or its first ones."""
        return self.tell(task, [None] * (task.repeats if repeats is None else repeats))

    def observe(
        self,
        candidate: Candidate | int,
        value: float | UnsetType | None = UNSET,
        *,
        key: str | None = None,
        worker: str | None = None,
        **what: Any,
    ) -> int:
        """A measurement that was not asked for: a value, None for one that failed.

        Or what `Observation` has besides (count, std, trials, …).
        """
        said = what if value is UNSET else {"value": value, **what}
        return self.observe_all([(candidate, said)], key=key, worker=worker)

    def observe_all(
        self,
        given: Sequence[tuple[Candidate | int, dict[str, Any]]],
        *,
        key: str | None = None,
        worker: str | None = None,
    ) -> int:
        """Measurements of many candidates, all of them or none. worker: who measured; by default the token's name."""
        observations = [_observation(candidate, what) for candidate, what in given]
        return self._post("observe", New, Observe(observations=observations, key=key or uuid4().hex, worker=worker)).new

    def renew(self, what: TaskOut | str, lease: float | None = None) -> int:
        """A task, or all that a worker holds, is held anew from now on; 0 where others have got it by now."""
        task = what if isinstance(what, TaskOut) else None
        wanted = Renew(key=task and task.key, worker=None if task else str(what), lease=lease)
        return self._post("heartbeat", Changed, wanted).changed

    def release(self, *, worker: str | None = None, batch: int | None = None) -> int:
        """Hand back what a worker holds, or what is assigned of a batch."""
        return self._post("release", Changed, Release(worker=worker, batch=batch)).changed

    def close(self, batch: TaskOut | int) -> None:
        """Give up the repeats of a batch that did not come."""
        number = batch.batch if isinstance(batch, TaskOut) else batch
        self._post("close", Changed, Close(batch=number))

    # Putting right

    def retract(self, *numbers: int, batch: int | None = None, failures: bool = False, why: str = "") -> int:
        """Take measurements back, by their numbers, all of a batch, or all that failed; returns how many."""
        wanted = Retract(numbers=list(numbers) or None, batch=batch, failures=failures, why=why)
        return self._post("retract", Changed, wanted).changed

    def correct(self, number: int, value: float | None, *, why: str = "") -> None:
        """Another value for a measurement; NaN or None says that it failed."""
        self._post("correct", Changed, Correct(number=number, value=_plain(value), why=why))

    # Candidates

    def add(self, rows: list[dict[str, Any]] | None = None, *, csv: str | None = None) -> list[int]:
        """More candidates from now on; returns the rows that are new."""
        return self._post("candidates", Added, Add(rows=rows, csv=csv)).rows

    def retire(self, rows: Sequence[int]) -> int:
        """Candidates that are not to be measured or recommended any more."""
        return self._post("candidates/retire", Changed, Rows(rows=list(rows))).changed

    def restore(self, rows: Sequence[int]) -> int:
        """Retired candidates may be measured again."""
        return self._post("candidates/restore", Changed, Rows(rows=list(rows))).changed

    def candidates(
        self,
        *,
        offset: int = 0,
        limit: int = 100,
        sort: str = "row",
        descending: bool = False,
        where: Sequence[str] = (),
    ) -> CandidatesOut:
        """Some candidates, with what the model says of them."""
        order = {"sort": sort, "descending": "true" if descending else None}
        return self._get("candidates", CandidatesOut, offset=offset, limit=limit, **order, where=list(where) or None)

    # Answers

    def status(self) -> StatusOut:
        """Where the study stands."""
        return self._transport.send("GET", path_of(self.name), StatusOut)

    def allow(self, budget: int) -> StatusOut:
        """Another budget; not less than was measured already."""
        return self._transport.send("PUT", f"{path_of(self.name)}/budget", StatusOut, Budget(budget=budget))

    def best(self, level: float = 0.95) -> BestOut:
        """The recommended candidate."""
        return self._get("best", BestOut, level=level)

    def top(self, k: int = 5, level: float = 0.95) -> list[BestOut]:
        """The k best measured candidates."""
        return self._get("top", TopOut, k=k, level=level).top

    def predict(
        self, points: list[Any] | None = None, *, rows: list[int] | None = None, level: float = 0.95
    ) -> PredictionOut:
        """What the model says of points, or of rows of the table."""
        return self._post("predict", PredictionOut, Predict(points=points, rows=rows, level=level))

    def explain(self, batch: int) -> str:
        """Why a batch was asked for, in words."""
        return self._get(f"batches/{batch}/explanation", ExplanationOut).words

    def diagnose(self) -> DiagnosisOut:
        """Whether the model fits what was measured."""
        return self._get("diagnosis", DiagnosisOut)

    def leases(self) -> list[LeaseOut]:
        """What is assigned to whom."""
        return self._get("leases", LeasesOut).leases

    def history(self, start: int = 1) -> Iterator[MeasurementOut]:
        """All measurements from a number on, in the order told, read as they are needed."""
        place: int | None = start
        while place is not None:
            page = self._get("history", HistoryOut, start=place, limit=PAGE)
            yield from page.measurements
            place = page.next

    def _post(self, verb: str, kind: type[T], body: msgspec.Struct) -> T:
        return self._transport.send("POST", f"{path_of(self.name)}/{verb}", kind, body)

    def _get(self, what: str, kind: type[T], **query: Any) -> T:
        return self._transport.send("GET", f"{path_of(self.name)}/{what}", kind, **query)


def _told(
    task: TaskOut,
    values: Any,
    stderr: Any = None,
    start: int | None = None,
    successes: int | None = None,
    trials: int | None = None,
    worker: str | None = None,
) -> Told:
    """Of which repeats is always said: so that telling again changes nothing."""
    first = task.start if start is None else start
    listed = None if values is None else [_plain(each) for each in (values if hasattr(values, "__len__") else [values])]
    if listed is None and trials is None:
        raise InvalidFeedback(
            "No values were given: give values, with None or nan for a measurement that failed; or successes and "
            "trials."
        )
    errors = stderr if stderr is None or not hasattr(stderr, "__len__") else [float(each) for each in stderr]
    said: dict[str, Any] = {
        "values": listed,
        "stderr": errors,
        "successes": successes,
        "trials": trials,
        "worker": worker,
    }
    return Told(batch=task.batch, start=first, **said)


def _observation(candidate: Candidate | int, what: dict[str, Any]) -> Observation:
    if what.get("value", UNSET) is UNSET and what.get("trials") is None:
        raise InvalidFeedback(
            "An observation came without a value: give a value, None for a measurement that failed; or successes and "
            "trials."
        )
    said: dict[str, Any] = {name: _plain(value) if name == "value" else value for name, value in what.items()}
    if isinstance(candidate, int):
        return Observation(row=candidate, **said)
    return Observation(candidate=candidate, **said)


def _plain(value: Any) -> float | None:
    """A number; None for one that failed."""
    try:
        number = nan if value is None else float(value)
    except (TypeError, ValueError):
        raise InvalidFeedback(f"{value!r} is not a number: tell numbers, or None for what failed.") from None
    if isinf(number):
        raise InvalidFeedback(f"{value!r} was told, and only finite numbers can be: tell None for what failed.")
    return None if isnan(number) else number
