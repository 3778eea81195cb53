"""`ostinato ask` and `ostinato tell`: one JSON object a line, so that any language can hand out work."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from math import isclose, isinf
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import typer
from msgspec.structs import replace
from rich.console import Console

from ostinato.checks import counted
from ostinato.cli.opening import Name, Where, opened
from ostinato.cli.terminal import in_words, plain
from ostinato.errors import Conflict, InvalidFeedback
from ostinato.study import Study, Task

DAY = 86_400.0  # seconds for which repeats are handed out
WORKER = "command line"
ROUNDED = 1e-6  # of a number that another program wrote again


class Answer(msgspec.Struct, forbid_unknown_fields=False):
    """What is told in a line: the values of a task, in the order of its repeats; null for one that failed.

    Where study, row or candidate are given, they must be those of the batch. Who measured it, and with what, is kept
    where a line says so in words.
    """

    batch: int
    study: str | None = None
    row: int | None = None
    candidate: dict[str, Any] | list[Any] | None = None
    values: list[float | None] | None = None
    value: float | None = None
    start: int | None = None
    stderr: list[float] | float | None = None
    successes: int | None = None
    trials: int | None = None
    worker: Any = None
    program: Any = None
    version: Any = None


def ask(
    where: Where,
    slots: Annotated[int | None, typer.Option(min=1, help="So many measurements in all, such as a plate's.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="So many that there is work for that many workers.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Of one batch, at most so many repeats.")] = None,
    distinct: Annotated[bool, typer.Option("--distinct", help="Every measurement of another candidate.")] = False,
    shared: Annotated[
        list[str] | None, typer.Option(help="A column in which all candidates of the plan are alike.")
    ] = None,
    worker: Annotated[str, typer.Option(help="A name for whoever measures.")] = WORKER,
    lease: Annotated[float, typer.Option(min=0.001, help="Seconds after which it is handed to others.")] = DAY,
    beyond: Annotated[bool, typer.Option("--beyond", help="Go on where a rule of --stop is met.")] = False,
    name: Name = None,
) -> None:
    """What to measure next: one JSON object a line, for scripts in any language.

    Without --slots or --workers it is one task. Measure its candidate as often as `repeats` says, and tell the values:
    add them to the object as "values" and give the line to [bold]ostinato tell[/bold]. No line is printed where there
    is nothing to measure at the moment, or where a rule is met by which the study stops (--stop; go on --beyond it):
    which of them, it says on standard error. Not told within --lease, a task is handed to others;
    [bold]ostinato renew[/bold] prolongs it, and [bold]ostinato leases[/bold] lists who has what.

    Examples:

      [bold]ostinato ask lab.db[/bold]

      [bold]ostinato ask lab.db --slots 24 --shared temperature[/bold]

      [bold]ostinato ask lab.db --slots 20 --distinct[/bold]
    """
    study = opened(where, name, lease=lease)
    rule = None if beyond else study.stopped
    if rule is not None:
        _say(f"nothing to measure: stopped by {rule}; give --beyond to go on")
        return
    if slots is None and workers is None and not distinct and not shared:
        task = study.ask(limit, worker=worker)
        tasks = [] if task is None else [task]
    else:
        wish: dict[str, Any] = {"slots": slots, "workers": workers, "distinct": distinct, "shared": shared or ()}
        tasks = cast("list[Task]", study.ask(limit, **wish, worker=worker))
    if not tasks:
        status = study.status()
        others = "what is left is assigned to other workers (`ostinato leases` lists them), or everything is retired"
        if workers is not None and status.in_flight >= workers:
            others = f"{counted(status.in_flight, 'measurement')} assigned already, enough for {workers:,} workers"
        _say(f"nothing to measure at the moment: {'the budget is spent' if status.finished else others}")
    for each in tasks:
        print(msgspec.json.encode(_as_json(each)).decode())


def tell(
    where: Where,
    what: Annotated[
        list[str] | None,
        typer.Argument(help="A batch's number and its values; or a file of JSON lines. By default standard input."),
    ] = None,
    name: Name = None,
) -> None:
    """The values of what was asked for: JSON lines as [bold]ostinato ask[/bold] prints them, each with its "values".

    A line needs "batch", "start" and "values" (null for a measurement that failed); or "successes" and "trials" in
    place of values. Without "start" they are the next values of the batch. The same line told again counts once. A line
    with another "row" or "candidate" than its batch has is refused, and nothing of the file is taken in. "worker",
    "program" and "version", where a line has them, are kept with its values ([bold]ostinato history --origin[/bold]).

    Examples:

      [bold]echo '{"batch": 3, "start": 0, "values": \\[12.5, 12.1]}' | ostinato tell lab.db[/bold]

      [bold]ostinato tell lab.db 3 12.5 12.1[/bold]

      [bold]ostinato tell lab.db measured.jsonl[/bold]
    """
    study = opened(where, name)
    answers = [_answer(line, place) for place, line in enumerate(_lines(what or []), 1)]
    for answer in answers:
        _task(study, answer)  # all of them can be told, before any is
    new, refused = 0, list[Conflict]()
    for answer in answers:
        try:
            new += _told(study, answer)
        except Conflict as error:  # others were first: that is no reason to lose the rest
            refused.append(error)
    Console(stderr=True).print(f"took in {counted(new, 'measurement')}", highlight=False)
    if refused:
        raise refused[0]


def _as_json(task: Task) -> dict[str, Any]:
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


def _say(words: str) -> None:
    console = Console(stderr=True)
    console.print(words, highlight=False, soft_wrap=not console.is_terminal)


def _lines(words: list[str]) -> Iterator[str | bytes]:
    if len(words) > 1 or (words and words[0].lstrip("-").isdigit()):
        yield msgspec.json.encode({"batch": _whole(words[0]), "values": [_number(word) for word in words[1:]]})
        return
    text = Path(words[0]).read_text(encoding="utf-8") if words and words[0] != "-" else sys.stdin.read()
    yield from (line for line in text.splitlines() if line.strip())


def _answer(line: str | bytes, place: int) -> Answer:
    try:
        return msgspec.json.decode(line, type=Answer)
    except msgspec.DecodeError as error:
        cause = _not_finite(line) or f"({error})"
        raise InvalidFeedback(f"Line {place} is not an answer {cause}: nothing was taken in.") from None


def _not_finite(line: str | bytes) -> str | None:
    """What other languages write where JSON has no number, if a line has any of it."""
    found: list[str] = []
    with suppress(ValueError):
        json.loads(line, parse_constant=found.append)
    return f"({found[0]} is not JSON; write null for a measurement that failed)" if found else None


def _task(study: Study, answer: Answer) -> Task:
    """What an answer is of."""
    if answer.study not in (None, study.name):
        raise InvalidFeedback(f"Batch {answer.batch} is of the study {answer.study!r}, and this is {study.name!r}.")
    values: Any = answer.values if answer.value is None else [answer.value]
    count = answer.trials if values is None else len(values)
    if not count:
        raise InvalidFeedback(f"Batch {answer.batch} came without values: give values, or successes and trials.")
    task = study.task(answer.batch, answer.start, count)
    _check_candidate(task, answer)
    origin = {"worker": answer.worker, "program": answer.program, "version": answer.version}
    return replace(task, **{name: said for name, said in origin.items() if isinstance(said, str)})


def _check_candidate(task: Task, answer: Answer) -> None:
    """Whether a line speaks of the candidate that its batch is of."""
    own = plain(task.candidate)
    if answer.row not in (None, task.index):
        said = f"row {answer.row}"
    elif answer.candidate is not None and not _is_of(answer.candidate, own):
        said = in_words(answer.candidate)
    else:
        return
    raise InvalidFeedback(
        f"Batch {answer.batch} is of row {task.index}, {in_words(own)}, and the line says {said}: nothing was taken "
        "in. Give the batch that was measured, or leave row and candidate out."
    )


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
    return isclose(said, own, rel_tol=ROUNDED) if numbers else said == own


def _told(study: Study, answer: Answer) -> int:
    values: Any = answer.values if answer.value is None else [answer.value]
    if values is None:
        return study.tell(_task(study, answer), successes=answer.successes, trials=answer.trials)
    return study.tell(_task(study, answer), values, stderr=cast("Any", answer.stderr))


def _whole(word: str) -> int:
    if not word.isdigit():
        raise InvalidFeedback(
            f"{word!r} is not the number of a batch: give a whole number, as `ostinato ask` prints it."
        )
    return int(word)


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        raise InvalidFeedback(
            f"{word!r} is not a number: give values, and nan for a measurement that failed."
        ) from None
    if isinf(value):
        raise InvalidFeedback(f"{word} is not finite: give nan for a measurement that failed.")
    return None if value != value else value
