"""`ostinato`: the commands."""

import json
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ostinato import __version__
from ostinato.cli.commands import COMMANDS, function_of, listed
from ostinato.cli.option_names import in_options
from ostinato.errors import OstinatoError
from ostinato.running.interrupts import INTERRUPTED

MOST_STUDIES = 10  # that are named


class Commands(TyperGroup):
    """All commands; their errors show the value that was typed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for command in listed():
            self.add_command(command)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if error.param is not None and error.param.metavar == "STUDY" and not error.message:
                error.message = _studies_here()  # it is missing
            typed = _typed(error.__cause__)
            if typed is not None and typed not in error.message:
                error.message = f"{typed}. {error.message}"
            raise


def _typed(cause: Any) -> str | None:
    """The value that was refused, where the error of pydantic behind it says so."""
    return repr(cause.errors()[0]["input"]) if hasattr(cause, "errors") else None


def _studies_here() -> str:
    """Which studies may be meant."""
    here = sorted(each.name for each in Path().glob("*.db"))
    found = (
        f"here {'is' if len(here) == 1 else 'are'} {', '.join(here[:MOST_STUDIES])}"
        if here
        else "there is no *.db here"
    )
    return f"Give the file of the study: {found}{', …' if len(here) > MOST_STUDIES else ''}."


app = typer.Typer(
    cls=Commands,
    help="Optimise what can only be measured with noise, by repeating the few candidates that matter.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="With --version: also those of Python, the system and all libraries, to report a bug."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --version: all of it as JSON.")] = False,
) -> None:
    """Ostinato answers: measure THIS candidate THIS many times."""
    if version:
        _show_version(verbose=verbose, as_json=as_json)
    elif verbose or as_json:
        raise typer.BadParameter("--verbose and --json go with --version here; those of a command come after its name.")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _show_version(*, verbose: bool, as_json: bool) -> None:
    """The version; to report a bug, all that it rests on."""
    if not (verbose or as_json):
        typer.echo(f"ostinato {__version__}")
        raise typer.Exit
    from ostinato.cli.about import installation, lines

    found = installation()
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)))
    raise typer.Exit


def run() -> None:
    """Run a command; errors made on purpose are printed without a traceback, and warnings without a line of code."""
    warnings.showwarning = _remark
    try:
        app()
    except OstinatoError as error:
        _say("red", "error", in_options(str(error), _command()))
        sys.exit(error.exit_code)
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
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    return function_of(name) if name in COMMANDS else None


def _end_at_once(code: object) -> None:
    """After a second Ctrl-C, measurements that nobody waits for any more may still be under way in threads."""
    if code != INTERRUPTED:
        return
    from ostinato.running.executors import THREADS

    if any(thread.name.startswith(THREADS) for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def _remark(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    _say("yellow", "note", in_options(str(message), _command()))


def _say(colour: str, what: str, words: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    console.print(f"[{colour}]{what}:[/{colour}] {escape(words)}", highlight=False, soft_wrap=not console.is_terminal)
