"""The settings of a study, as options of the commands that make one."""

from collections.abc import Callable
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from ostinato.errors import InvalidSetting
from ostinato.stopping import rule_of
from ostinato.study.expressions import kernel_of, policy_of


class GoalName(StrEnum):
    FIND = "find"
    EARN = "earn"


class OutcomeName(StrEnum):
    REAL = "real"
    BINARY = "binary"
    COUNT = "count"
    POSITIVE = "positive"


class SearchName(StrEnum):
    SAMPLED = "sampled"
    CERTIFIED = "certified"


class OnFailureName(StrEnum):
    PAUSE = "pause"
    COUNT = "count"
    STOP = "stop"


class PrecisionName(StrEnum):
    SINGLE = "single"
    DOUBLE = "double"


class DirectionName(StrEnum):
    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


Ignore = Annotated[
    list[str] | None,
    typer.Option(help="A column of the table that is left out, as it only names rows: sample. May be given again."),
]
Budget = Annotated[int | None, typer.Option(min=1, help="How many measurements in all; more can be added later.")]
Goal = Annotated[
    GoalName | None, typer.Option(help="Know the best at the end (the default), or have every measurement pay.")
]
Direction = Annotated[DirectionName | None, typer.Option(help="Whether higher (the default) or lower is better.")]
Outcome = Annotated[
    OutcomeName | None,
    typer.Option(help="What is measured: any number, yes or no (1 or 0), a count, or an amount of 0 or more."),
]
ValueName = Annotated[
    str | None, typer.Option("--value", help="What the measured number is called, in answers and figures: yield.")
]
Unit = Annotated[str | None, typer.Option(help="Its unit: %, mg/l.")]
HalfLife = Annotated[
    int | None,
    typer.Option(min=1, help="Where what is measured changes: in how many measurements one counts for half."),
]
SwitchCost = Annotated[float | None, typer.Option(min=0, help="What a switch costs, in measurements.")]
MaxRepeats = Annotated[int | None, typer.Option(min=1, help="The most repeats that are asked for at once.")]
NoiseStd = Annotated[
    float | None, typer.Option(min=0, help="Standard deviation of a measurement's noise. By default learned.")
]
SetupStd = Annotated[
    str | None, typer.Option(help="Standard deviation of the error that a set-up's repeats share, or learn.")
]
Robust = Annotated[
    bool, typer.Option("--robust", help="Single measurements that are far off count less, as of an unreliable sensor.")
]
KernelText = Annotated[
    str | None,
    typer.Option(help="How alike candidates are, as in Python: Matern52(lengthscale=0.3, std=2). By default learned."),
]
PolicyText = Annotated[
    str | None,
    typer.Option(help="How candidates are picked, in place of --goal, as in Python: MiniUCB(C=1.2, beta=2)."),
]
Search = Annotated[
    SearchName | None,
    typer.Option(
        help="In a space that cannot be listed: certified proves how near to the highest score the asked point is. For "
        "MiniUCB, at most 4 columns, with --kernel and --noise-std."
    ),
]
Stop = Annotated[
    list[str] | None,
    typer.Option(
        help="When to stop before the budget is spent: width=0.5, within=0.1, no-improvement=500 or spent=2000."
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(help="How much memory candidates may take, such as 4GB. By default half of what is free."),
]
Device = Annotated[
    str | None,
    typer.Option(help="Where to compute: cuda for a GPU, which needs ostinato\\[gpu]. The choices are the same."),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        envvar="OSTINATO_DASK",
        help="A Dask scheduler, tcp://…: its workers read the Parquet files and hold them. Needs ostinato\\[dask].",
    ),
]
Precision = Annotated[
    PrecisionName | None,
    typer.Option(help="double: compute all in double precision on the GPU, which takes longer."),
]
OnFailure = Annotated[
    OnFailureName | None,
    typer.Option(
        help="Pause while nothing can be measured (the default), count every failure, or stop at the first one."
    ),
]
RetryEvery = Annotated[
    str | None, typer.Option(help="When a run that pauses first tries again: 10s (the default), 5min. Pauses double.")
]
GiveUpAfter = Annotated[
    str | None, typer.Option(help="When a run that pauses gives up: 3d (the default), 12h, or never.")
]
Notify = Annotated[
    str | None,
    typer.Option(
        help="A program to start when something happens, with {event}, {message} and {study}: "
        "'mail -s {message} me@lab.org'."
    ),
]
NotifyOn = Annotated[
    list[str] | None, typer.Option(help="For which events: outage, resumed, best, stop. By default all of them.")
]
Log = Annotated[Path | None, typer.Option(help="Append what happens to this file, one JSON object a line.")]
Seed = Annotated[int | None, typer.Option(min=0, help="The same seed, the same decisions. By default random.")]


READERS: dict[str, Callable[[str], Any]] = {
    "setup_std": lambda text: _number_or_text(text),
    "kernel": kernel_of,
    "policy": policy_of,
    "retry_every": lambda text: seconds_of("retry_every", text),
    "give_up_after": lambda text: seconds_of("give_up_after", text),
}
UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}  # in seconds


def settings_of(**options: Any) -> dict[str, Any]:
    """The settings that were given, as `Study` takes them."""
    given = {name: _plain(name, value) for name, value in options.items()}
    return {name: value for name, value in given.items() if value is not None}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    if name == "stop":
        return tuple(map(rule_of, value)) if value else None
    read = READERS.get(name)
    return read(value) if read and value else value


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def seconds_of(name: str, text: str) -> float:
    """A time as it is typed: 90, 90s, 5min, 12h, 3d, or never."""
    typed = text.strip().lower()
    unit = typed.lstrip("0123456789. ")
    if typed == "never":
        return inf
    try:
        return float(typed.removesuffix(unit)) * UNITS[unit]
    except (KeyError, ValueError):
        raise InvalidSetting(f"{name}={text} is not a time: write 90s, 5min, 12h or 3d.") from None
