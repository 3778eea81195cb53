"""`ostinato`: the commands."""

import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from ostinato import __version__
from ostinato.cli import experiments, studies
from ostinato.cli.optimize import INTERRUPTED
from ostinato.cli.words import in_options
from ostinato.demo import BUDGET, report, run
from ostinato.errors import OstinatoError
from ostinato.running.executors import THREADS


class Commands(TyperGroup):
    """Commands whose errors show the value that was typed."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            typed = _typed(error.__cause__)
            if typed is not None and typed not in error.message:
                error.message = f"{typed}. {error.message}"
            raise


def _typed(cause: Any) -> str | None:
    """The value that was refused, where the error of pydantic behind it says so."""
    return repr(cause.errors()[0]["input"]) if hasattr(cause, "errors") else None


app = typer.Typer(
    cls=Commands,
    help="Optimise what can only be measured with noise, by repeating the few candidates that matter.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class PolicyName(StrEnum):
    """The policies that the demonstration knows."""

    ucb = "ucb"
    ei = "ei"
    ts = "ts"


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"ostinato {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Ostinato answers: measure THIS candidate THIS many times."""


def unwrapped(command: Callable[..., object]) -> str:
    """A command's own words, each paragraph in one line: the terminal's width breaks it. Indented lines stay."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(each if each.startswith(" ") else " ".join(each.split("\n")) for each in paragraphs)


def demo(
    budget: Annotated[int, typer.Option(min=1, help="How many measurements may be made.")] = BUDGET,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the noise and of the run: the same seed, the same run.")
    ] = 0,
    policy: Annotated[
        PolicyName, typer.Option(case_sensitive=False, help="How candidates are picked.")
    ] = PolicyName.ucb,
) -> None:
    """Optimise a noisy function over a grid of 10,648 candidates, and compare the answer with the truth.

    Each measurement carries noise as large as the function itself varies. The run prints the candidate it
    recommends beside the true optimum, how often it had to switch candidates, and the certificate that bounds
    that number.

    Example: [bold]ostinato demo --budget 5000 --policy ei[/bold]
    """
    report(run(budget, seed, policy.value), Console())


app.command(help=unwrapped(demo))(demo)


NEGATIVE = {"ignore_unknown_options": True}  # -3 is a value


COMMANDS = studies.COMMANDS | experiments.COMMANDS
for name, command in COMMANDS.items():
    taken = NEGATIVE if name in studies.WITH_VALUES else {}
    app.command(name, help=unwrapped(command), context_settings=taken)(command)


def main() -> None:
    """Run a command; errors made on purpose are printed without a traceback, and warnings without a line of code."""
    warnings.showwarning = _remark
    try:
        app()
    except OstinatoError as error:
        _say("red", "error", in_options(str(error), _command()))
        sys.exit(2)
    except BrokenPipeError:  # whoever read what was printed has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a file that is not there, or cannot be written
        _say("red", "error", f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "))
        sys.exit(2)
    except SystemExit as end:
        _end_at_once(end.code)
        raise


def _command() -> Callable[..., object] | None:
    """The command that was typed."""
    return COMMANDS.get(sys.argv[1]) if len(sys.argv) > 1 else None


def _end_at_once(code: object) -> None:
    """After a second Ctrl-C, measurements that nobody waits for any more may still be under way in threads."""
    if code == INTERRUPTED and any(thread.name.startswith(THREADS) for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def _remark(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    _say("yellow", "note", str(message))


def _say(colour: str, what: str, words: str) -> None:
    console = Console(stderr=True)
    console.print(f"[{colour}]{what}:[/{colour}] {escape(words)}", highlight=False, soft_wrap=not console.is_terminal)
