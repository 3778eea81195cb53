"""All commands by name. The module of one is imported when it is called, or its own help is asked for.

So a command takes no longer to start than what it needs takes to import. The lines that `ostinato --help` shows are
here, and are the first of each command's own words: tests/cli/test_app.py sees to that.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from keyword import iskeyword
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand
from typer.main import get_command

from ostinato.cli.startup import on_one_thread, uncollected

NEGATIVE = {"ignore_unknown_options": True}  # -3 is a value


class Entry(NamedTuple):
    """A command: the module that has it, what it does, and whether its arguments may be negative numbers."""

    module: str
    line: str
    negative: bool = False


COMMANDS = {
    "demo": Entry(
        "demo", "Optimise a noisy function over a grid of 10,648 candidates, and compare the answer with the truth."
    ),
    "optimize": Entry("optimize", "Optimise any program, function or experiment over a table of candidates."),
    "create": Entry(
        "create",
        "Make a study without measuring anything yet: for [bold]ostinato ask[/bold] and [bold]ostinato tell[/bold].",
    ),
    "budget": Entry(
        "create", "Another budget: how many measurements there will be in all; not fewer than were made already."
    ),
    "ask": Entry("tasks", "What to measure next: one JSON object a line, for scripts in any language."),
    "tell": Entry(
        "tasks",
        "The values of what was asked for: JSON lines as [bold]ostinato ask[/bold] prints them, each with its "
        '"values".',
        negative=True,
    ),
    "leases": Entry("leases", "What is assigned to workers: which measurements, to whom, since when and until when."),
    "release": Entry(
        "leases",
        "Free measurements that are assigned to workers who will not make them: others are given them at once.",
    ),
    "renew": Entry(
        "leases",
        "Prolong what a worker holds: it is still at work. Call it from time to time while measurements take long.",
    ),
    "status": Entry("answers", "Where a study stands: measurements, candidates, switches, and the best so far."),
    "best": Entry("answers", "The recommended candidate, with its estimate, its interval, and how sure that is."),
    "top": Entry(
        "studies", "The best measured candidates, each with what it is within of the best of all, with 90% probability."
    ),
    "history": Entry(
        "studies", "All batches in the order they were asked for: when, what, how often, and what came of it."
    ),
    "retract": Entry("revise", "Take measurements back, as if they had never been told."),
    "correct": Entry(
        "revise", "Another value for a measurement, as if it had been told in the first place.", negative=True
    ),
    "candidates": Entry(
        "revise",
        "The candidates of a study: list them, add some, or retire some that are not to be measured any more.",
    ),
    "explain": Entry("answers", "Why a batch was asked for: this candidate, and this many repeats."),
    "diagnose": Entry(
        "answers",
        "Does the model fit what was measured? What residuals, repeats and returns say, and which values do not fit.",
    ),
    "export": Entry(
        "studies", "All measurements as CSV: one line each, with the candidate's columns and its row number."
    ),
    "import": Entry(
        "importing",
        "Measurements that were made elsewhere, taken into a study as observations. All of the file, or none of it.",
    ),
    "serve": Entry(
        "serving",
        "Serve all studies of a storage over HTTP: a dashboard for people, and ask and tell for programs.",
    ),
    "token": Entry(
        "serving", "Tokens, by which programs and people reach studies over HTTP: create, list or revoke them."
    ),
    "plot": Entry(
        "figures",
        "Draw a figure of a study: measurements, progress, posterior, parallel, batches, noise or calibration.",
    ),
    "report": Entry(
        "figures",
        "Write a report of a study: one HTML page with the answer, figures, tables, settings and where values come "
        "from.",
    ),
    "watch": Entry(
        "watch_and_backup",
        "Look on while others measure: where a study stands, the best so far, and the last values. Ctrl-C ends it.",
    ),
    "backup": Entry(
        "watch_and_backup",
        "A copy of a study at one moment, while others go on with it. Every row is checked on the way.",
    ),
    "verify": Entry(
        "studies", "Read everything that is stored, and check it: checksums, and that aggregates are what the log says."
    ),
    "delete": Entry("studies", "Delete a study and all its measurements, for ever."),
    "problems": Entry(
        "experiments",
        "List the ready problems: how many candidates they have, of how many columns, and how measurements scatter.",
    ),
    "reproduce": Entry(
        "experiments",
        "Rerun the paper's experiments: every algorithm, its settings chosen on seeds of their own, then fresh seeds.",
    ),
    "compare": Entry("experiments", "Compare chosen algorithms on chosen problems."),
}


class LazyCommand(TyperCommand):
    """What stands for a command until it is called."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        if self.name != "optimize":  # which runs the user's own programs and functions
            on_one_thread()
        with uncollected():
            return loaded(self.name or "").make_context(info_name, args, parent=parent, **extra)


def listed() -> list[LazyCommand]:
    """All commands, as `ostinato --help` lists them."""
    return [LazyCommand(name, help=entry.line) for name, entry in COMMANDS.items()]


def loaded(name: str) -> Any:
    """A command as it is called, with all its options."""
    alone, function = typer.Typer(add_completion=False, rich_markup_mode="rich"), function_of(name)
    settings = NEGATIVE if COMMANDS[name].negative else {}
    alone.command(name, help=_unwrapped(function), context_settings=settings)(function)
    return get_command(alone)


def function_of(name: str) -> Callable[..., None]:
    """The function behind a command."""
    module = import_module(f"ostinato.cli.{COMMANDS[name].module}")
    return getattr(module, f"{name}_" if iskeyword(name) else name)


def _unwrapped(command: Callable[..., object]) -> str:
    """A command's own words, each paragraph in one line: the terminal's width breaks it. Indented lines stay."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(each if each.startswith(" ") else " ".join(each.split("\n")) for each in paragraphs)
