"""A study as tables and files: top, history, export; verify, delete."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ostinato.checks import counted, short, within_heading
from ostinato.cli.measurements import UNREVISED, ranges, revisions, show_measurements, write_csv
from ostinato.cli.opening import PATIENCE, Name, Where, named, viewed
from ostinato.cli.terminal import Json, in_words, plain, print_answer
from ostinato.errors import Damaged, InvalidSetting, Unavailable
from ostinato.running.tables import show, table_of
from ostinato.storage import BatchRecord, open_storage
from ostinato.study import Rescued
from ostinato.study import verify as verified
from ostinato.study.view import StudyView


def top(
    where: Where,
    k: Annotated[int, typer.Option("-k", "--count", min=1, help="How many.")] = 5,
    name: Name = None,
    json: Json = False,
) -> None:
    """The best measured candidates, each with what it is within of the best of all, with 90% probability.

    Their intervals hold all at once with 95% probability: they are wider than that of [bold]ostinato best[/bold], which
    speaks of one candidate by itself.
    """
    study = viewed(where, name)
    found = study.top(k)
    if json:
        print_answer([plain(each) for each in found], json)
        return
    within = within_heading(maximizes=study.looked(lambda optimizer: optimizer.maximizes))
    table = table_of("candidate", "estimate", "95% interval*", "measured", within)
    for each in found:
        low, high = each.interval
        interval, words = f"{low:.5g} to {high:.5g}", in_words(each.candidate)
        table.add_row(words, f"{each.mean:.5g}", interval, f"{each.n:,}", short(each.within))
    console = Console()
    show(console, table)
    if len(found) > 1:
        console.print(
            f"* All {len(found)} intervals hold at once with 95% probability: so they are wider than the one that "
            "`ostinato best` gives for a candidate by itself. The last column is estimated by random draws of all "
            "these candidates together, so it may differ a little from what `ostinato best` says.",
            highlight=False,
            soft_wrap=not console.is_terminal,
        )


def history(
    where: Where,
    values: Annotated[
        bool, typer.Option("--values", help="One line a measurement, with the number by which it can be corrected.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="The same, with what was taken back or corrected, when and why.")
    ] = False,
    origin: Annotated[
        bool, typer.Option("--origin", help="The same as --values, with who measured each with what, and since when.")
    ] = False,
    name: Name = None,
    json: Json = False,
) -> None:
    """All batches in the order they were asked for: when, what, how often, and what came of it.

    Every measurement has a number, in the order told; a batch shows those of its own. By these numbers
    [bold]ostinato retract[/bold] and [bold]ostinato correct[/bold] take a measurement back or put it right. Batches of
    which measurements were taken back or corrected are marked; --all shows each of them. With --json, --values and
    --all also say where each measurement comes from, as --origin does.
    """
    study = viewed(where, name)
    if values or everything or origin:
        show_measurements(study, json, everything=everything, origin=origin)
        return
    numbers, revised = ranges(study.measurements()), revisions(study.measurements(everything=True))
    rows: list[dict[str, Any]] = [
        _told(study, row) | {"numbers": numbers.get(row.facts.id, "")} | revised.get(row.facts.id, UNREVISED)
        for row in study.history()
    ]
    if json:
        print_answer([plain(row) for row in rows], json)
        return
    columns = ["batch", "numbers", "when", "candidate", "repeats", "measured", "failed", "average", "std"]
    table = table_of(*columns, *(["revised"] if revised else []))
    for row in rows:
        table.add_row(
            "observed" if row["observed"] else str(row["batch"]),
            row["numbers"],
            f"{datetime.fromisoformat(row['when']):%Y-%m-%d %H:%M:%S}",
            in_words(row["candidate"]),
            f"{row['repeats']:,}",
            f"{row['measured']:,}",
            f"{row['failed']:,}" if row["failed"] else "",
            "" if row["average"] is None else f"{row['average']:.5g}",
            "" if row["std"] is None else f"{row['std']:.3g}",
            *([_revised(row)] if revised else []),
        )
    show(Console(), table)


def _revised(row: dict[str, Any]) -> str:
    words = [f"{row[what]:,} {said}" for what, said in (("withdrawn", "taken back"), ("corrected",) * 2) if row[what]]
    return ", ".join(words)


def _told(study: StudyView, row: BatchRecord) -> dict[str, Any]:
    facts, statistics = row.facts, row.facts.statistics
    return {
        "batch": facts.id,
        "observed": facts.id < 0,
        "when": datetime.fromtimestamp(row.made).astimezone().isoformat(),
        "row": facts.index,
        "candidate": study.candidate(facts.index),
        "repeats": facts.repeats,
        "measured": int(statistics.n),
        "failed": facts.failed,
        "closed": facts.closed,
        "average": statistics.mean if statistics.n else None,
        "std": (statistics.squares / (statistics.n - 1)) ** 0.5 if statistics.n > 1 and not statistics.known else None,
    }


def export(
    where: Where,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The CSV file. By default standard output.")] = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="Rescue what can be read of a damaged study.")] = False,
    origin: Annotated[
        bool, typer.Option("--origin", help="With who measured each, where and with what, begun and told when.")
    ] = False,
    name: Name = None,
) -> None:
    """All measurements as CSV: one line each, with the candidate's columns and its row number.

    With --damaged it leaves out what does not fit its checksum, says how much that is, and ends with 1 if it is
    anything. What it wrote can be taken into a new study with [bold]ostinato import[/bold], which leaves out where
    values come from (--origin).
    """
    console = Console(stderr=True)
    out = None if out == Path("-") else out
    if out is not None and out.suffix.lower() not in (".csv", ".txt", ""):
        raise InvalidSetting(f"{out.name} would hold CSV: call it {out.stem}.csv.")
    if damaged:
        try:
            storage = open_storage(where, create=False, patience=PATIENCE)
            rescued = Rescued(storage, named(storage, where, name))
            write_csv(out, rescued.table, rescued, origin=origin)
        except (Damaged, Unavailable) as error:
            cause = str(error).partition(": nothing was changed")[0].partition(". Nothing was changed")[0]
            console.print(f"[red]Nothing can be rescued:[/red] {escape(cause)}. Restore a copy.", highlight=False)
            raise typer.Exit(1) from None
        console.print(f"{counted(rescued.lost, 'row')} of the log could not be read", highlight=False)
        raise typer.Exit(1 if rescued.lost else 0)
    study = viewed(where, name)
    told = study.measurements()
    write_csv(out, study.table, told, origin=origin)
    if out:
        console.print(f"wrote {out}", highlight=False)


def verify(where: Where, name: Name = None, json: Json = False) -> None:
    """Read everything that is stored, and check it: checksums, and that aggregates are what the log says.

    Ends with 0 where all is well, and with 1 where something is damaged.
    """
    problems: dict[str, list[str]] = {}
    try:
        storage = open_storage(where, create=False, patience=PATIENCE)
        for each in [name] if name else storage.names():
            problems[each] = verified(storage, each)
    except Damaged as error:
        problems[where] = [str(error)]
    if json:
        print_answer(problems, json)
    for each, found in problems.items() if not json else ():
        for words in found:
            Console().print(f"[red]damaged[/red] {escape(each)}: {escape(words)}", highlight=False)
        if not found:
            Console().print(f"[green]well[/green]    {escape(each)}", highlight=False)
    if any(problems.values()):
        raise typer.Exit(1)


def delete(
    where: Where,
    name: Name = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask first.")] = False,
) -> None:
    """Delete a study and all its measurements, for ever."""
    storage = open_storage(where, create=False, patience=PATIENCE)
    which = named(storage, where, name)
    if not yes:
        typer.confirm(f"Delete the study {which!r} of {where}, for ever?", abort=True)
    storage.patiently(lambda: storage.delete(which))
    Console(stderr=True).print(f"deleted {which}", highlight=False)
