"""`ostinato optimize`, and what can be asked of a study: status, best, top, history, explain, export, verify, …"""

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from math import nan
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ostinato.candidates import Candidates, read_file
from ostinato.checks import counted
from ostinato.cli.manual import by_hand, in_words
from ostinato.errors import InvalidFeedback, InvalidSetting, MissingSetting, UnknownStudy
from ostinato.objectives import Command, function
from ostinato.storage import Storage, open_storage
from ostinato.study import LEASE, Measurement, Rescued, Study
from ostinato.study import verify as verified
from ostinato.tables import show

INTERRUPTED = 130
DAY = 86_400.0  # seconds for which repeats are in a person's hands

Where = Annotated[str, typer.Argument(metavar="STUDY", help="A file (lab.db) or an address (postgresql://…).")]
Name = Annotated[str | None, typer.Option("--name", help="Which study, where the storage holds several.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


class Goal(StrEnum):
    FIND = "find"
    EARN = "earn"


class Direction(StrEnum):
    maximize = "maximize"
    minimize = "minimize"


def optimize(
    candidates: Annotated[Path, typer.Argument(help="A table (.csv, .tsv, .parquet), or a space (.toml).")],
    command: Annotated[str | None, typer.Option(help="The program to run, with {column} where values go.")] = None,
    python: Annotated[
        str | None, typer.Option("--function", help="A Python function instead, as module:function.")
    ] = None,
    manual: Annotated[
        bool, typer.Option("--manual", help="You measure: it says what, and waits for the values.")
    ] = False,
    budget: Annotated[
        int | None, typer.Option(min=1, help="How many measurements in all; more can be added later.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="How many measurements at once.")] = 1,
    storage: Annotated[
        str | None, typer.Option(help="Where the study is kept. [the candidates' name, with .db]")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The study's name. [the candidates' name]")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Go on with a study that exists, or refuse to.")
    ] = True,
    goal: Annotated[Goal, typer.Option(help="Know the best at the end, or have every measurement pay.")] = Goal.FIND,
    direction: Annotated[Direction, typer.Option(help="Whether higher or lower is better.")] = Direction.maximize,
    switch_cost: Annotated[float | None, typer.Option(min=0, help="What a switch costs, in measurements.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed, the same decisions. [random]")] = None,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds after which a program is stopped.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often a program that failed is run again.")] = 0,
    lease: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds after which a measurement is taken for lost. [600; a day for --manual]"),
    ] = None,
    json: Json = False,
) -> None:
    """Optimise any program, function or experiment over a table of candidates.

    It runs the program for one candidate after another, some of them many times, and keeps the values in a study as
    they come: Ctrl-C, a crash or a power cut lose only what is under way, and the same command goes on. Several of
    these commands, also on several machines (with PostgreSQL), can work on one study.

    The program's last line is the value: a number, or JSON such as {"value": 1.5}. A program that fails, takes too long
    or prints no number is a failed measurement, and the study goes on.

    Examples:

      [bold]ostinato optimize catalogue.csv --command "./measure {temp} {ph}" --budget 5000 --workers 8[/bold]

      [bold]ostinato optimize space.toml --function lab:measure --budget 500[/bold]

      [bold]ostinato optimize recipes.csv --manual[/bold]

    Ends with 0 when the budget is spent, 130 after Ctrl-C (what was measured is kept), 2 for bad input, 1 for errors.
    """
    if sum(bool(each) for each in (command, python, manual)) != 1:
        raise MissingSetting("Say what is measured, with one of --command, --function and --manual.")
    table = read_file(candidates)
    where = storage or str(candidates.with_suffix(".db"))
    lease = lease or (DAY if manual else LEASE)
    study = _study(where, name or candidates.stem, table, budget, resume, lease, {
        "goal": goal.value, "direction": direction.value, "switch_cost": switch_cost, "seed": seed,
    })  # fmt: skip
    console = Console(stderr=True)
    if study.status().budget is None and not manual:
        raise MissingSetting("Say how many measurements may be made: --budget 1000.")
    if manual:
        ended = by_hand(study, console)
    else:
        objective = Command(command, _columns(table), timeout, retries) if command else function(cast("str", python))
        result = study.run(objective, workers=workers)
        ended = result.ended
        if isinstance(objective, Command) and objective.failures.count:
            failed = counted(objective.failures.count, "measurement")
            console.print(
                f"[yellow]{failed} failed.[/yellow] The last: {escape(objective.failures.last)}", highlight=False
            )
    _print_status(study, json)
    if ended == "interrupted":
        console.print("interrupted: what was measured is kept, and the same command goes on", highlight=False)
        raise typer.Exit(INTERRUPTED)


def status(where: Where, name: Name = None, json: Json = False) -> None:
    """Where a study stands: measurements, candidates, switches, and the best so far."""
    _print_status(_opened(where, name), json)


def best(where: Where, name: Name = None, json: Json = False) -> None:
    """The recommended candidate, with its estimate, its interval, and how sure that is."""
    found = _opened(where, name).best()
    _print(found if not json else _plain(found), json)


def top(
    where: Where,
    k: Annotated[int, typer.Option("-k", "--count", min=1, help="How many.")] = 5,
    name: Name = None,
    json: Json = False,
) -> None:
    """The best measured candidates, each with its chance of being the best of all."""
    found = _opened(where, name).top(k)
    if json:
        _print([_plain(each) for each in found], json)
        return
    table = _table("candidate", "estimate", "95% interval", "measured", "chance of being best")
    for each in found:
        low, high = each.interval
        table.add_row(
            in_words(each.candidate),
            f"{each.mean:.5g}",
            f"{low:.5g} to {high:.5g}",
            f"{each.n:,}",
            f"{each.chance:.0%}",
        )
    show(Console(), table)


def history(where: Where, name: Name = None, json: Json = False) -> None:
    """All batches in the order they were asked for: when, what, how often, and what came of it."""
    study = _opened(where, name)
    rows = study.history()
    if json:
        _print([_plain(row) for row in rows], json)
        return
    table = _table("batch", "when", "candidate", "repeats", "measured", "failed", "average", "std")
    for row in rows:
        facts, statistics = row.facts, row.facts.statistics
        std = (statistics.squares / (statistics.n - 1)) ** 0.5 if statistics.n > 1 else nan
        table.add_row(
            str(facts.id) if facts.id >= 0 else "observed",
            f"{datetime.fromtimestamp(row.made):%Y-%m-%d %H:%M:%S}",
            in_words(study.candidate(facts.index)),
            f"{facts.repeats:,}",
            f"{int(statistics.n):,}",
            f"{facts.failed:,}" if facts.failed else "",
            f"{statistics.mean:.5g}" if statistics.n else "",
            f"{std:.3g}" if statistics.n > 1 else "",
        )
    show(Console(), table)


def explain(
    where: Where,
    batch: Annotated[int, typer.Argument(help="The batch's number.")],
    name: Name = None,
    json: Json = False,
) -> None:
    """Why a batch was asked for: this candidate, and this many repeats."""
    found = _opened(where, name).explain(batch)
    _print(found if not json else _plain(found), json)


def export(
    where: Where,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The CSV file. [standard output]")] = None,
    damaged: Annotated[bool, typer.Option("--damaged", help="Rescue what can be read of a damaged study.")] = False,
    name: Name = None,
) -> None:
    """All measurements as CSV: one line each, with the candidate's columns and its row number.

    With --damaged it leaves out what does not fit its checksum, says how much that is, and ends with 1 if it is
    anything. What it wrote can be taken into a new study with [bold]ostinato import[/bold].
    """
    if damaged:
        storage = open_storage(where, create=False)
        rescued = Rescued(storage, _named(storage, where, name))
        _write_csv(out, rescued.table, rescued)
        Console(stderr=True).print(f"{counted(rescued.lost, 'row')} of the log could not be read", highlight=False)
        raise typer.Exit(1 if rescued.lost else 0)
    study = _opened(where, name)
    _write_csv(out, study.table, study.measurements())


def _write_csv(out: Path | None, table: Candidates, measurements: Iterable[Measurement]) -> None:
    file = out.open("w", newline="", encoding="utf-8") if out else sys.stdout
    writer = csv.writer(file)
    writer.writerow(["batch", "repeat", "row", *_columns(table), "value", "stderr", "count", "std"])
    for each in measurements:
        candidate = table[each.index]
        values = list(cast("Any", candidate).values()) if isinstance(candidate, dict) else list(candidate)
        writer.writerow([each.batch, each.repeat, each.index, *values, each.value, each.stderr, each.count, each.std])
    if out:
        file.close()
        Console(stderr=True).print(f"wrote {out}")


def import_(
    where: Where,
    source: Annotated[
        Path, typer.Argument(help="CSV with the candidates' columns (or row) and value; stderr, or count and std.")
    ],
    name: Name = None,
) -> None:
    """Measurements that were made elsewhere, taken into a study as observations. All of the file, or none of it."""
    study = _opened(where, name)
    with source.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    told = study.observe_all([_observation(line, row, _columns(study.table)) for line, row in enumerate(rows, start=2)])
    Console(stderr=True).print(f"took in {counted(told, 'measurement')} of {source}", highlight=False)


def verify(where: Where, name: Name = None, json: Json = False) -> None:
    """Read everything that is stored, and check it: checksums, and that aggregates are what the log says.

    Ends with 0 where all is well, and with 1 where something is damaged.
    """
    study_names = [name] if name else open_storage(where, create=False).names()
    problems = {each: verified(open_storage(where, create=False), each) for each in study_names}
    if json:
        _print(problems, json)
    for each, found in problems.items() if not json else ():
        for words in found:
            Console().print(f"[red]damaged[/red] {escape(each)}: {escape(words)}", highlight=False)
        if not found:
            Console().print(f"[green]well[/green]    {escape(each)}", highlight=False)
    if any(problems.values()):
        raise typer.Exit(1)


def _study(
    where: str, name: str, table: Candidates, budget: int | None, resume: bool, lease: float, given: dict[str, Any]
) -> Study:
    exists = False
    with suppress(UnknownStudy):
        exists = name in open_storage(where, create=False).names()
    if exists and not resume:
        raise InvalidSetting(
            f"The study {name!r} exists in {where}: leave --fresh out to go on, or give another --name."
        )
    settings = {key: value for key, value in given.items() if value is not None}
    return Study(name, where, table, budget=budget, lease=lease, **settings)


def _opened(where: str, name: str | None) -> Study:
    """The study that was meant."""
    storage = open_storage(where, create=False)
    return Study(_named(storage, where, name), storage)


def _named(storage: Storage, where: str, name: str | None) -> str:
    """The only study there is, or that of the name."""
    names = [name] if name else storage.names()
    if len(names) != 1:
        listed = f"it holds {', '.join(names)}: say which with --name" if names else "it holds none"
        raise UnknownStudy(f"{where} does not hold one study, {listed}.")
    return names[0]


def _columns(table: Candidates) -> tuple[str, ...]:
    return tuple(str(column.name) for column in table.columns)


def _observation(line: int, row: dict[str, Any], columns: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """A line of CSV as candidate and what was measured."""
    try:
        candidate: Any = int(row["row"]) if row.get("row") else {name: _cell(row[name]) for name in columns}
        given: dict[str, Any] = {"value": float(row["value"])}
        given |= {key: float(row[key]) for key in ("stderr", "count", "std") if row.get(key)}
    except (KeyError, ValueError, TypeError) as error:
        raise InvalidFeedback(
            f"Line {line} has no {error}: each line needs the columns {', '.join(columns)} (or row), and value. "
            "Nothing was taken in."
        ) from None
    return candidate, given


def _cell(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def _print_status(study: Study, json: bool) -> None:
    found = study.status()
    _print(found if not json else _plain(found) | {"finished": found.finished}, json)


def _print(what: Any, json: bool) -> None:
    if json:
        print(msgspec.json.encode(what).decode())
        return
    console = Console()
    console.print(escape(str(what)), highlight=False, soft_wrap=not console.is_terminal)


def _plain(record: Any) -> Any:
    """For JSON: NumPy's rows as lists."""
    return msgspec.json.decode(msgspec.json.encode(record, enc_hook=lambda each: each.tolist()))


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in ("candidate", "when", "batch") else "right", no_wrap=True)
    return table


COMMANDS: dict[str, Callable[..., None]] = {
    "optimize": optimize,
    "status": status,
    "best": best,
    "top": top,
    "history": history,
    "explain": explain,
    "export": export,
    "import": import_,
    "verify": verify,
}
