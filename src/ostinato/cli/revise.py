"""`ostinato retract`, `correct` and `candidates`: what puts a study right."""

from datetime import datetime
from enum import StrEnum
from math import isnan
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ostinato.candidates.filtering import CONDITION, meeting
from ostinato.checks import counted
from ostinato.cli.measurements import show_candidates
from ostinato.cli.opening import Name, Where, opened
from ostinato.cli.options import Ignore
from ostinato.cli.reading import read_table
from ostinato.cli.terminal import Json
from ostinato.cli.typed import typed_values
from ostinato.errors import InvalidFeedback, InvalidSetting
from ostinato.study import Study
from ostinato.study.row_counts import counts_of

Why = Annotated[str, typer.Option("--why", help="Kept with it: why it was wrong.")]


def retract(
    where: Where,
    numbers: Annotated[
        list[int] | None, typer.Argument(help="Of measurements, as `ostinato history --values` shows them.")
    ] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="All measurements that failed, in place of numbers.")
    ] = False,
    since: Annotated[
        datetime | None,
        typer.Option(help="With --failures: only those told since, such as 2026-11-16 or 2026-11-16T08:30:00."),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(help="All that was told of a batch, by its number, in place of numbers; -3 for an observed one."),
    ] = None,
    why: Why = "",
    name: Name = None,
) -> None:
    """Take measurements back, as if they had never been told.

    The study keeps what they were ([bold]ostinato history --all[/bold]). Repeats of a batch that still waits for others
    are asked for again. After an instrument was down: [bold]ostinato retract STUDY --failures --since
    2026-11-16T08:30[/bold].
    """
    if sum((bool(numbers), failures, batch is not None)) != 1:
        raise InvalidFeedback("Say what is taken back: numbers of measurements, or --failures, or --batch.")
    if since is not None and not failures:
        raise InvalidFeedback("--since goes with --failures: give numbers alone, or --failures.")
    moment = since.timestamp() if since else 0.0
    which: dict[str, Any] = {"number": numbers or None, "batch": batch, "failures": failures, "since": moment}
    gone = opened(where, name).retract(**which, why=why)
    Console(stderr=True).print(f"took back {counted(gone, 'measurement')}", highlight=False)


def correct(
    where: Where,
    number: Annotated[int, typer.Argument(help="Of the measurement, as `ostinato history --values` shows it.")],
    value: Annotated[str, typer.Argument(help="What it should have been; nan for a measurement that failed.")],
    why: Why = "",
    name: Name = None,
) -> None:
    """Another value for a measurement, as if it had been told in the first place.

    The study keeps what it was ([bold]ostinato history --all[/bold]).
    """
    study = opened(where, name)
    (new,) = typed_values([value], binary=study.outcome.binary and "/" not in value)
    study.correct(number=number, new=new, why=why)
    words = "counts as failed" if isnan(new) else f"is {new:g}"
    Console(stderr=True).print(f"measurement {number} {words} now", highlight=False)


class Action(StrEnum):
    LIST = "list"
    ADD = "add"
    RETIRE = "retire"
    RESTORE = "restore"


def candidates(
    where: Where,
    action: Annotated[Action, typer.Argument(help="What to do.")] = Action.LIST,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="With add: a file of new rows, a table or a space (.toml). With list, retire and restore: which rows, "
            "3 17-20, or conditions, solvent=MeCN 'temp>=50'."
        ),
    ] = None,
    ignore: Ignore = None,
    noise_std: Annotated[
        float | None,
        typer.Option(min=0, help="With add: noise of the new rows, where every row was given a noise of its own."),
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """The candidates of a study: list them, add some, or retire some that are not to be measured any more.

    What was measured of a retired candidate stays, and informs its neighbours; it is neither asked for nor recommended.
    Rows are numbered from 0. In place of numbers you can give conditions that a row meets, all of them: a column, or
    measured or retired; one of = != < <= > >= and ~ (contains); and a value. Put quotes around < and >, which mean
    something else to a shell.

    Examples:

      [bold]ostinato candidates lab.db list[/bold]

      [bold]ostinato candidates lab.db add more.csv[/bold]

      [bold]ostinato candidates lab.db retire 3 17-20[/bold]

      [bold]ostinato candidates lab.db retire solvent=MeCN 'temp>=50'[/bold]

      [bold]ostinato candidates lab.db list retired=true[/bold]
    """
    if noise_std is not None and action != Action.ADD:
        raise InvalidSetting("--noise-std goes with add: leave it out.")
    if ignore and action != Action.ADD:
        raise InvalidSetting("--ignore goes with add: leave it out.")
    study, console = opened(where, name), Console(stderr=True)
    if action == Action.LIST:
        show_candidates(study, json, _rows(study, what) if what else None)
    elif action == Action.ADD:
        if not what or len(what) != 1:
            raise InvalidSetting("Give one table of new rows: ostinato candidates STUDY add more.csv.")
        table = read_table(Path(what[0]), ignore=ignore)
        new = study.add(table, noise_std=noise_std)
        rows = f", {new[0]} to {new[-1]}" if new else ""
        known = table.rows - len(new)
        there = f"; {known:,} of the file {'is' if known == 1 else 'are'} there already" if known else ""
        console.print(f"added {counted(len(new), 'row')}{rows}{there}", highlight=False)
    else:
        rows = _rows(study, what or [])
        changed = study.retire(rows) if action == Action.RETIRE else study.restore(rows)
        console.print(f"{action.value}d {counted(changed, 'candidate')}", highlight=False)


def _rows(study: Study, words: list[str]) -> list[int]:
    """The rows that are meant: by numbers and ranges of them, or by conditions."""
    if not words:
        raise InvalidSetting("Say which rows: give numbers, such as 3 17-20, or conditions, such as solvent=water.")
    if any(CONDITION.fullmatch(word) for word in words):
        return _meeting(study, words)
    rows: list[int] = []
    for word in words:
        first, dash, last = word.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or (dash and int(last) < int(first)):
            raise InvalidSetting(
                f"{word!r} is neither a row nor a range of rows, nor a condition: give numbers, such as 3 17-20, or "
                "conditions, in quotes where they have < or >, such as solvent=water 'temp>=50'."
            )
        rows += range(int(first), int(last or first) + 1)
    return rows


def _meeting(study: Study, conditions: list[str]) -> list[int]:
    """The rows that meet all conditions; there is one at least."""
    found: list[int] = np.flatnonzero(meeting(study.table, conditions, counts_of(study).own)).tolist()
    if not found:
        raise InvalidSetting(
            f"No candidate meets {' and '.join(conditions)}: `ostinato candidates STUDY list` shows all. Separate "
            "conditions by spaces; all of them must hold."
        )
    return found
