"""`ostinato ask` and `ostinato tell`: one JSON object a line, so that any language can hand out work."""

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from ostinato.candidates.files import CSV
from ostinato.checks import counted, spans
from ostinato.cli.opening import Name, Where, opened
from ostinato.cli.sheets import print_sheet, read_sheet
from ostinato.cli.typed import commas_read, typed_values
from ostinato.errors import Conflict, InvalidFeedback
from ostinato.optimizer.plan import Wish
from ostinato.study import Study
from ostinato.study.asking import key_of
from ostinato.study.exchange import Answer, task_as_json, task_of, told
from ostinato.study.request import Request

DAY = 86_400.0  # seconds for which repeats are handed out
WORKER = "command line"


def ask(
    where: Where,
    slots: Annotated[int | None, typer.Option(min=1, help="So many measurements in all, such as a plate's.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="So many that there is work for that many workers.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many measurements.")] = None,
    distinct: Annotated[bool, typer.Option("--distinct", help="Every measurement of another candidate.")] = False,
    shared: Annotated[
        list[str] | None, typer.Option(help="A column in which all candidates of the plan are alike.")
    ] = None,
    worker: Annotated[str, typer.Option(help="A name for whoever measures.")] = WORKER,
    lease: Annotated[float, typer.Option(min=0.001, help="Seconds after which it is handed to others.")] = DAY,
    sheet: Annotated[
        bool, typer.Option("--csv", help="As a table to fill in, one line a measurement, and not as JSON.")
    ] = False,
    beyond: Annotated[bool, typer.Option("--beyond", help="Go on where a rule of --stop is met.")] = False,
    name: Name = None,
) -> None:
    """What to measure next: one JSON object a line, for scripts in any language.

    Without --slots or --workers it is one task. Measure its candidate as often as `repeats` says, and tell the values:
    add them to the object as "values" and give the line to [bold]ostinato tell[/bold]. With --csv it is a table: fill
    in its last column, and tell the file. No line is printed where there is nothing to measure at the moment, or where
    a rule is met by which the study stops (--stop; go on --beyond it): which of them, and why a plan has fewer
    measurements than --slots, it says on standard error. Not told within --lease, a task is handed to others;
    [bold]ostinato renew[/bold] prolongs it, and [bold]ostinato leases[/bold] lists who has what.

    Examples:

      [bold]ostinato ask lab.db[/bold]

      [bold]ostinato ask lab.db --slots 24 --shared temperature[/bold]

      [bold]ostinato ask lab.db --slots 20 --distinct[/bold]

      [bold]ostinato ask lab.db --slots 96 --csv > plate.csv[/bold]
    """
    study = opened(where, name, lease=lease)
    rule = None if beyond else study.stopped
    if rule is not None:
        _say(f"nothing to measure: stopped by {rule}; give --beyond to go on")
        return
    left = None if beyond else study.affordable
    if left == 0:
        _say("nothing to measure: --stop spent=… leaves nothing beyond what is assigned; give --beyond to go on")
        return
    limit = min((each for each in (limit, left) if each is not None), default=None)
    request = Request(key_of(worker), lease, limit, wish=Wish.of(slots, workers, distinct, shared or (), limit))
    tasks = study.hand_out(request)
    if why := study.shortage(request, tasks):
        _say(why if tasks else _nothing(study, where, why))
    if sheet and tasks:
        print_sheet(study, tasks)
        return
    for each in tasks:
        print(msgspec.json.encode(task_as_json(each)).decode())


def _nothing(study: Study, where: str, why: str) -> str:
    """Why there is nothing to measure, and what can be done about it."""
    status = study.status()
    if not status.finished:
        return f"nothing to measure at the moment: {why} (`ostinato leases` lists who has what)"
    best = f"best        {status.best}\n" if status.best else ""
    more = f"`ostinato budget {where} {2 * (status.budget or 0)}`"
    return f"nothing to measure: {status.spent}\n{best}to go on, allow more measurements in all: {more}"


def tell(
    where: Where,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="A batch's number and its values (7/100 for 7 yes of 100); or a file, of JSON lines or a table "
            "(.csv). By default standard input, JSON lines."
        ),
    ] = None,
    name: Name = None,
) -> None:
    """The values of what was asked for: JSON lines as [bold]ostinato ask[/bold] prints them, each with its "values".

    A line needs "batch", "start" and "values" (null for a measurement that failed); or "successes" and "trials" in
    place of values. Without "start" they are the next values of the batch. The same line told again counts once. A line
    with another "row" or "candidate" than its batch has is refused, and nothing of the file is taken in. "worker",
    "host", "program" and "version", where a line has them, are kept with its values ([bold]ostinato history
    --origin[/bold]).

    A table is what [bold]ostinato ask --csv[/bold] printed, with values: nan or - for one that failed, and nothing for
    one that is still to come. Commas, semicolons with decimal commas, and columns of your own are fine.

    Examples:

      [bold]echo '{"batch": 3, "start": 0, "values": \\[12.5, 12.1]}' | ostinato tell lab.db[/bold]

      [bold]ostinato tell lab.db 3 12.5 12.1[/bold]

      [bold]ostinato tell shop.db 3 7/100[/bold]

      [bold]ostinato tell lab.db measured.jsonl[/bold]

      [bold]ostinato tell lab.db plate.csv[/bold]
    """
    study = opened(where, name)
    if what and len(what) == 1 and Path(what[0]).suffix.lower() in CSV:
        answers = list(read_sheet(Path(what[0]), study))
    else:
        lines = _lines(what or [], binary=study.outcome.binary)
        answers = [(place, _answer(line, place)) for place, line in enumerate(lines, 1)]
    for _, answer in answers:
        task_of(study, answer)  # all of them can be told, before any is
    new, refused = 0, dict[int, Conflict]()
    for line, answer in answers:
        try:
            new += told(study, answer)
        except Conflict as error:  # others were first: that is no reason to lose the rest
            refused[line] = error
    before = sum(_told_in(answer) for _, answer in answers) - new if not refused else 0
    known = f"; {before:,} had been told before, and nothing changed" if before else ""
    Console(stderr=True).print(f"took in {counted(new, 'measurement')}{known}", highlight=False)
    if refused:
        raise _all_refused(refused)


def _all_refused(refused: dict[int, Conflict]) -> Conflict:
    """One error for all lines that were refused; the remedy for one of them would be tedious for many."""
    first, *others = refused.items()
    if not others:
        return first[1]
    return Conflict(
        f"{len(refused):,} lines were not taken in ({spans(refused)}), since other values were told for their repeats "
        "before, or taken back. If these are measurements of their own, made again, give a table with these lines "
        "alone to `ostinato import STUDY again.csv`, which counts them in addition; one value is put right with "
        f"`ostinato correct`. Line {first[0]}: {first[1]}"
    )


def _told_in(answer: Answer) -> int:
    if answer.value is not None:
        return 1
    return answer.trials or 0 if answer.values is None else len(answer.values)


def _say(words: str) -> None:
    console = Console(stderr=True)
    console.print(words, highlight=False, soft_wrap=not console.is_terminal)


def _lines(words: list[str], *, binary: bool) -> Iterator[str | bytes]:
    if len(words) > 1 or (words and words[0].lstrip("-").isdigit()):
        values = typed_values(words[1:], binary=binary)
        if said := commas_read(words[1:]):
            _say(said)
        yield msgspec.json.encode({"batch": _whole(words[0]), "values": values})
        return
    text = Path(words[0]).read_text(encoding="utf-8") if words and words[0] != "-" else sys.stdin.read()
    text = text.removeprefix("\ufeff")  # as Windows writes it
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


def _whole(word: str) -> int:
    if not word.isdigit():
        raise InvalidFeedback(
            f"{word!r} is not the number of a batch: give a whole number, as `ostinato ask` prints it."
        )
    return int(word)
