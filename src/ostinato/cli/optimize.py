"""`ostinato optimize`: any program, function or person, over a table of candidates."""

import traceback
from collections.abc import Callable
from concurrent import futures
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ostinato.checks import counted
from ostinato.cli.ending import EndingGuard, ended_gently
from ostinato.cli.event_listeners import check_log, logged, notified, notifier_of
from ostinato.cli.manual import LEFT, by_hand
from ostinato.cli.opening import exists
from ostinato.cli.options import (
    Budget,
    Dask,
    Device,
    Direction,
    GiveUpAfter,
    Goal,
    HalfLife,
    Ignore,
    KernelText,
    Log,
    MaxRepeats,
    MemoryLimit,
    NoiseStd,
    Notify,
    NotifyOn,
    OnFailure,
    Outcome,
    PolicyText,
    Precision,
    RetryEvery,
    Robust,
    Search,
    Seed,
    SetupStd,
    Stop,
    SwitchCost,
    Unit,
    ValueName,
    settings_of,
)
from ostinato.cli.reading import made, place_beside, read_table, said_meanwhile
from ostinato.cli.terminal import Json, print_status
from ostinato.errors import (
    InvalidFeedback,
    InvalidSetting,
    MissingSetting,
    NothingMeasured,
    OstinatoError,
    Outage,
    Unavailable,
)
from ostinato.optimizer import Optimizer
from ostinato.optimizer.memory import forecast, forecast_on_card
from ostinato.running.interrupts import INTERRUPTED
from ostinato.running.objectives import Command, function
from ostinato.running.program import program_of
from ostinato.study import LEASE, RUN_LEASE, Study
from ostinato.study.lines import columns_of

OUTAGE = 75  # a failure that may be over later (sysexits.h)
ENDINGS = {  # why a run ended, in words, and the exit code
    "budget": ("", 0),
    "exhausted": ("", 0),
    LEFT: ("stopped: what was typed is kept, and the same command goes on", 0),
    "interrupted": ("interrupted: what was measured is kept, and the same command goes on", INTERRUPTED),
    "outage": ("[red]Given up:[/red] nothing could be measured any more. The same command goes on.", OUTAGE),
    "failure": ("stopped at a measurement that failed: the same command goes on", 1),
    "failed": ("[red]Every measurement failed.[/red] Mend that, and go on with a larger --budget.", 1),
}
PATIENCE = 60.0  # seconds for which a storage is waited for
DAY = 86_400.0  # seconds for which repeats are assigned to a person


def optimize(
    candidates: Annotated[
        str,
        typer.Argument(help="A table (.csv, .tsv, .parquet), a space (.toml), or with --dask 'many/*.parquet'."),
    ],
    command: Annotated[str | None, typer.Option(help="The program to run, with {column} where values go.")] = None,
    python: Annotated[
        str | None, typer.Option("--function", help="A Python function instead, as module:function.")
    ] = None,
    manual: Annotated[
        bool, typer.Option("--manual", help="You measure: it says what, and waits for the values.")
    ] = False,
    ignore: Ignore = None,
    budget: Budget = None,
    workers: Annotated[int, typer.Option(min=1, help="How many measurements at once.")] = 1,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Where the study is kept: a file, or postgresql://…; by default beside the candidates, with .db."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The study's name. By default that of the candidates' file.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Go on with a study that exists, or refuse to.")
    ] = True,
    add: Annotated[
        bool, typer.Option("--add", help="Add rows that the file has after all those that the study has.")
    ] = False,
    goal: Goal = None,
    direction: Direction = None,
    outcome: Outcome = None,
    value: ValueName = None,
    unit: Unit = None,
    half_life: HalfLife = None,
    switch_cost: SwitchCost = None,
    max_repeats: MaxRepeats = None,
    noise_std: NoiseStd = None,
    setup_std: SetupStd = None,
    robust: Robust = False,
    kernel: KernelText = None,
    policy: PolicyText = None,
    search: Search = None,
    stop: Stop = None,
    memory_limit: MemoryLimit = None,
    device: Device = None,
    precision: Precision = None,
    dask: Dask = None,
    seed: Seed = None,
    timeout: Annotated[float | None, typer.Option(min=0.001, help="Seconds after which a program is stopped.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often a program that failed is run again.")] = 0,
    on_failure: OnFailure = None,
    retry_every: RetryEvery = None,
    give_up_after: GiveUpAfter = None,
    lease: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Seconds after a crash at which what was under way is for others, by default 10; "
            "with --manual, how long you have for a measurement, by default a day.",
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0.001, help="Seconds for which a storage that does not answer is waited for, in all.")
    ] = PATIENCE,
    notify: Notify = None,
    notify_on: NotifyOn = None,
    log: Log = None,
    json: Json = False,
) -> None:
    """Optimise any program, function or experiment over a table of candidates.

    It runs the program for one candidate after another, some of them many times, and keeps the values in a study as
    they come: a crash or a power cut lose only what is under way, and the same command goes on. Ctrl-C waits for what
    is under way; a second one stops it. Several of these commands, also on several machines (with PostgreSQL), can work
    on one study.

    The program's last line is the value: a number, or JSON such as {"value": 1.5} (with --outcome binary also true or
    false). A program that fails, takes too long, prints no number, or one that --outcome does not allow, is a failed
    measurement, and the study goes on. It is started without a shell: for pipes write
    --command "sh -c './measure {temp} | tail -1'". The candidate is in its environment too, as JSON in
    OSTINATO_CANDIDATE. A value that does not fit is named, and measured again.

    Where nothing can be measured any more, whatever the candidate (an instrument is off, the program is gone), the run
    pauses and tries again: after 10 seconds, then less and less often, for three days. These failures do not count.
    [bold]--on-failure count[/bold] counts every failure instead, and [bold]--on-failure stop[/bold] ends at the first.

    A space is described by a TOML file with a section a column: [bold]\\[temp][/bold] with low = 20 and high = 80,
    for any number in between (or with step = 2.5, count = 11 or digits = 1; log = true; integer = true), or
    [bold]\\[solvent][/bold] with levels = \\["water", "ethanol"] (and ordered = true).

    Examples:

      [bold]ostinato optimize lab.csv --command "./measure {temp}" --budget 500[/bold]

      [bold]ostinato optimize space.toml --function lab:measure --budget 500[/bold]

      [bold]ostinato optimize recipes.csv --manual[/bold]

      [bold]ostinato optimize 'data/*.parquet' --dask tcp://head:8786 --command "./measure {temp}" --budget 500[/bold]

    Ends with 0 when the budget is spent or a rule of --stop holds, 130 after Ctrl-C, 143 or 129 when it was asked to
    end (kill, a closed terminal), 75 when nothing could be measured for so long that it gave up, 2 for bad input, 1 for
    errors, where every measurement failed, and with --on-failure stop. What was measured is always kept.
    """
    if sum(bool(each) for each in (command, python, manual)) != 1:
        raise MissingSetting("Say what is measured, with one of --command, --function and --manual.")
    if not command and (timeout is not None or retries):
        raise InvalidSetting("--timeout and --retries are for programs: leave them out, or give --command.")
    failing = settings_of(on_failure=on_failure, retry_every=retry_every, give_up_after=give_up_after)
    if manual and failing:
        raise InvalidSetting("--on-failure, --retry-every and --give-up-after are for programs and functions.")
    notifier = notifier_of(notify, notify_on)
    check_log(log)
    table = read_table(candidates, dask, ignore)
    objective = function(python) if python else None
    if command:
        objective = Command(command, columns_of(table), timeout, retries)
    settings = settings_of(
        goal=goal, direction=direction, outcome=outcome, value=value, unit=unit, half_life=half_life,
        switch_cost=switch_cost, max_repeats=max_repeats, noise_std=noise_std, setup_std=setup_std,
        robust=robust or None, kernel=kernel,
        policy=policy, search=search, stop=stop, seed=seed, memory_limit=memory_limit,
        device=device, precision=precision,
    )  # fmt: skip
    beside, stem = place_beside(candidates)
    where, called = storage or beside, name or stem
    if where is None:
        raise MissingSetting("Say where the study is kept: --storage lab.db.")
    _check_begin(where, called, resume=resume, endless=budget is None and not manual and not stop)
    until = (lease or DAY) if manual else LEASE
    study = made(called, where, table, budget=budget, lease=until, patience=patience, extend=add, **settings)
    console = Console(stderr=True)
    if isinstance(objective, Command):
        objective = replace(objective, outcome=study.outcome)
        _remark_left_out(objective.left_out, console)
    if not manual:
        _remark_program(study, command or f"the function {python}", objective, console)
    _say_memory(study, console)
    _say_spent(study, console)
    with logged(log), notified(notifier) as listeners:
        how = {"workers": workers, "lease": lease or RUN_LEASE, "listeners": listeners, **failing}
        ended = by_hand(study, console) if objective is None else _run(study, objective, console, **how)
    if ended == "interrupted":
        study.storage.hurry()
    with suppress(Unavailable) if ended == "interrupted" else nullcontext():
        print_status(study, json)
    code = _say_ending(ended, console)
    if code:
        raise typer.Exit(code)


def _say_ending(ended: str, console: Console) -> int:
    """Why it ended, in words; returns the exit code."""
    words, code = ENDINGS.get(ended, (f"stopped by {escape(ended)}: give another --stop to go on", 0))
    if words:
        console.print(words, highlight=False, soft_wrap=not console.is_terminal)
    return code


def _check_begin(where: str, name: str, *, resume: bool, endless: bool) -> None:
    """Before anything is made: whether a study may go on, and when a new one would end."""
    there = exists(where, name)
    if there and not resume:
        raise InvalidSetting(
            f"The study {name!r} exists in {where}: leave --fresh out to go on, or give another --name."
        )
    if endless and not (there and Study(name, where).has_end):
        raise MissingSetting("Say how many measurements may be made: --budget 1000.")


def _say_spent(study: Study, console: Console) -> None:
    """Where the budget is spent already: that nothing is going to be measured, and how to go on."""
    if not study.finished:
        return
    status = study.status()
    words = f"nothing to measure: {status.spent}; to go on, allow more in all: --budget {2 * (status.budget or 0)}"
    console.print(words, highlight=False, soft_wrap=not console.is_terminal)


def _say_memory(study: Study, console: Console) -> None:
    """What a run will need, where that is much."""
    with said_meanwhile("looking at the candidates"):
        needs = study.looked(_needs)
    if needs:
        console.print(needs, highlight=False, soft_wrap=not console.is_terminal)


def _needs(known: Optimizer) -> str:
    device = known.core.problem.settings.device
    if device is not None:
        return forecast_on_card(known.candidates, len(known.core.problem.table.columns), device)
    return forecast(known.candidates, known.budget, known.memory_limit)


def _remark_program(study: Study, program: str, objective: Any, console: Console) -> None:
    """Values of two programs, or versions of one, need not be the same quantity: that is for the user to know."""
    version = program_of(objective).version
    before = study.note_program(program, version)
    if before is not None:
        now = f"{program} (version {version})" if before.startswith(f"{program} (version ") else program
        console.print(
            f"[yellow]note:[/yellow] this study was measured with {escape(before)} before, and now with "
            f"{escape(now)}: values of both count alike. If they should not, begin another study (--name).",
            highlight=False,
            soft_wrap=not console.is_terminal,
        )


def _remark_left_out(columns: tuple[str, ...], console: Console) -> None:
    """A program that is not given a column may have been meant to be."""
    if columns:
        them, verb = ("it", "is") if len(columns) == 1 else ("them", "are")
        console.print(
            f"[yellow]note:[/yellow] {escape(', '.join(columns))} {verb} not in --command. (The program may read "
            f"{them} from the environment variable OSTINATO_CANDIDATE.)",
            highlight=False,
            soft_wrap=not console.is_terminal,
        )


def _run(study: Study, objective: Callable[..., Any], console: Console, **options: Any) -> str:
    """Measure; returns why it ended."""
    ending = EndingGuard(objective)
    try:
        with ended_gently(ending):
            return study.run(ending, progress=True, **options).ended
    except KeyboardInterrupt:
        return "interrupted"
    except Outage:
        return "outage"
    except NothingMeasured:
        return "failed"
    except OstinatoError as error:
        codes: dict[type[OstinatoError], int] = {Unavailable: OUTAGE, InvalidFeedback: 1}
        error.exit_code = codes.get(type(error), error.exit_code)
        raise
    except Exception as error:
        _show_error(error, console)
        raise typer.Exit(1) from None
    finally:
        if isinstance(objective, Command) and objective.failures.count:
            failed = counted(objective.failures.count, "try", "tries")  # those of an outage too, which do not count
            console.print(
                f"[yellow]{failed} failed.[/yellow] The last: {escape(objective.failures.last)}",
                highlight=False,
                soft_wrap=not console.is_terminal,
            )


def _show_error(error: Exception, console: Console) -> None:
    """An error of the user's function, without our own lines around it."""
    ours = (str(Path(__file__).parents[1]), str(Path(futures.__file__).parent))
    lines = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(ours)]
    words = [*traceback.format_list(lines), *traceback.format_exception_only(error)]
    console.print("[red]error:[/red] the function failed", highlight=False)
    console.print(escape("".join(words)).rstrip(), highlight=False, soft_wrap=True)
