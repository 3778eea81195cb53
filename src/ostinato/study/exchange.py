"""Tasks and answers as JSON: what the command line prints and reads, and what the service sends and is sent."""

from math import isclose
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec.structs import replace

from ostinato.errors import InvalidFeedback
from ostinato.running.task import Task

if TYPE_CHECKING:
    from ostinato.study.study import Study

ROUNDED = 1e-6  # of a number that another program wrote again


def plain(record: Any) -> Any:
    """For JSON: NumPy's rows as lists."""
    return msgspec.json.decode(msgspec.json.encode(record, enc_hook=lambda each: each.tolist()))


def in_words(candidate: Any) -> str:
    """A row as a person reads it."""
    if isinstance(candidate, dict):
        return ", ".join(f"{name} {value}" for name, value in cast("dict[str, Any]", candidate).items())
    return str(candidate)


class Answer(msgspec.Struct, forbid_unknown_fields=False):
    """What is told in a line: the values of a task, in the order of its repeats; null for one that failed.

    Where study, row or candidate are given, they must be those of the batch. Who measured it, and with what, is kept
    where a line says so in words.
    """

    batch: int
    study: str | None = None
    row: int | None = None
    candidate: dict[str, Any] | list[Any] | None = None
    values: list[float | bool | None] | None = None
    value: float | bool | None = None
    start: int | None = None
    stderr: list[float] | float | None = None
    successes: int | None = None
    trials: int | None = None
    worker: Any = None
    program: Any = None
    version: Any = None
    host: Any = None


def task_as_json(task: Task) -> dict[str, Any]:
    """What whoever measures has to know."""
    return {
        "study": task.study,
        "batch": task.batch,
        "start": task.start,
        "repeats": task.repeats,
        "row": task.index,
        "candidate": plain(task.candidate),
        "until": task.until,
        "worker": task.worker,
    }


def task_of(study: "Study", answer: Answer) -> Task:
    """What an answer is of."""
    if answer.study not in (None, study.name):
        raise InvalidFeedback(f"Batch {answer.batch} is of the study {answer.study!r}, and this is {study.name!r}.")
    values: Any = answer.values if answer.value is None else [answer.value]
    count = answer.trials if values is None else len(values)
    if not count:
        raise InvalidFeedback(
            f"Batch {answer.batch} came without values: give values, null for a measurement that failed; or successes "
            "and trials."
        )
    task = study.task(answer.batch, answer.start, count)
    check_candidate(task.index, task.candidate, answer)
    who = {"worker": answer.worker, "host": answer.host}
    origin = {**who, "program": answer.program, "version": answer.version}
    return replace(task, **{name: said for name, said in origin.items() if isinstance(said, str)})


def check_candidate(row: int, candidate: Any, answer: Answer) -> None:
    """Whether an answer speaks of the candidate that its batch is of."""
    own = plain(candidate)
    if answer.row not in (None, row):
        said = f"row {answer.row}"
    elif answer.candidate is not None and not _is_of(answer.candidate, own):
        said = in_words(answer.candidate) + _difference(answer.candidate, own)
    else:
        return
    raise InvalidFeedback(
        f"Batch {answer.batch} is of row {row}, {in_words(own)}, and the line says {said}: nothing was taken "
        "in. Give the batch that was measured, or leave row and candidate out."
    )


def _difference(said: Any, own: Any) -> str:
    """In which columns what is said is another candidate, in words; nothing where it has other columns altogether."""
    if isinstance(said, dict) and isinstance(own, dict):
        columns = cast("dict[str, Any]", said)
        names = [name for name, value in columns.items() if name not in own or not _alike(value, own[name])]
    elif (
        isinstance(said, list) and isinstance(own, list) and len(cast("list[Any]", said)) == len(cast("list[Any]", own))
    ):
        pairs = zip(cast("list[Any]", said), cast("list[Any]", own), strict=True)
        names = [f"column {place}" for place, pair in enumerate(pairs) if not _alike(*pair)]
    else:
        return ""
    return f" ({', '.join(names)} {'differs' if len(names) == 1 else 'differ'})"


def _is_of(said: Any, own: Any) -> bool:
    """Whether what is said of a candidate is true, as far as it goes; numbers may be rounded."""
    if isinstance(said, dict) and isinstance(own, dict):
        columns = cast("dict[str, Any]", said)
        return all(name in own and _alike(value, own[name]) for name, value in columns.items())
    if isinstance(said, list) and isinstance(own, list):
        first, second = cast("list[Any]", said), cast("list[Any]", own)
        return len(first) == len(second) and all(map(_alike, first, second))
    return False


def _alike(said: Any, own: Any) -> bool:
    numbers = isinstance(said, (int, float)) and isinstance(own, (int, float))
    try:
        return isclose(said, own, rel_tol=ROUNDED) if numbers else said == own
    except OverflowError:  # a whole number that is beyond every float
        return False


def told(study: "Study", answer: Answer) -> int:
    """Tell a study what an answer says; returns how many measurements are new."""
    values: Any = answer.values if answer.value is None else [answer.value]
    if values is None:
        return study.tell(task_of(study, answer), successes=answer.successes, trials=answer.trials)
    return study.tell(task_of(study, answer), values, stderr=cast("Any", answer.stderr))
