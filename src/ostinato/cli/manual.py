"""A person measures: what to measure is shown, and the values are typed."""

from math import isinf
from typing import Any, cast

from rich.console import Console
from rich.markup import escape

from ostinato.checks import counted
from ostinato.errors import OstinatoError
from ostinato.study import Study, Task

STOP = "q"
MANY = 1_000_000  # trials typed at once


def by_hand(study: Study, console: Console) -> str:
    """Ask, wait for a person's values, tell. Returns why it ended."""
    trials = "3/20 for 3 yes of 20; " if study.outcome.binary else ""
    console.print(
        f"Type the values of each measurement, separated by spaces; {trials}nan for one that failed; {STOP} to stop.",
        highlight=False,
    )
    while (task := study.ask()) is not None:
        times = "once" if task.repeats == 1 else f"{task.repeats:,} times"
        console.print(f"\nmeasure [bold]{escape(in_words(task.candidate))}[/bold] {times}", highlight=False)
        if not _typed(study, task, console):
            study.release(task)
            return "interrupted"
    return "budget"


def in_words(candidate: Any) -> str:
    """A row as a person reads it."""
    if isinstance(candidate, dict):
        return ", ".join(f"{name} {value}" for name, value in cast("dict[str, Any]", candidate).items())
    return str(candidate)


def _typed(study: Study, task: Task, console: Console) -> bool:
    """All values of a task, line by line; False where the person stops."""
    done = 0
    while done < task.repeats:
        try:
            line = input(f"  {done + 1:,} of {task.repeats:,}: ").split()
        except (KeyboardInterrupt, EOFError):
            console.print()
            return False
        if line == [STOP]:
            return False
        try:
            values = _read(_spelt_out(line) if study.outcome.binary else line, task.repeats - done)
            study.tell(task, values, start=task.start + done)
            done += len(values)
        except (ValueError, OstinatoError) as error:
            console.print(
                f"  [red]{escape(str(error))}[/red] Nothing of it was taken in: type it again.", soft_wrap=True
            )
    return True


def _read(words: list[str], most: int) -> list[float]:
    if not words:
        raise ValueError("That is no value.")
    if len(words) > most:
        raise ValueError(f"These are {len(words)} values, and {counted(most, 'measurement')} is to come here.")
    return [_number(word) for word in words]


def _spelt_out(words: list[str]) -> list[str]:
    """3/20 as three ones and seventeen zeros."""
    spelt: list[str] = []
    for word in words:
        yes, slash, of = word.partition("/")
        if not (slash and yes.isdigit() and of.isdigit() and int(yes) <= int(of) <= MANY):
            spelt.append(word)
            continue
        spelt += ["1"] * int(yes) + ["0"] * (int(of) - int(yes))
    return spelt


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        hint = " Write decimals with a point, and spaces between values." if "," in word else ""
        raise ValueError(f"{word!r} is no number.{hint}") from None
    if isinf(value):
        raise ValueError(f"{word} is not finite: type nan for a measurement that failed.")
    return value
