"""What a study answers: status, best, top, explain, diagnose."""

from typing import Annotated

import typer
from rich.console import Console

from ostinato.checks import short
from ostinato.cli.opening import Name, Where, viewed
from ostinato.cli.terminal import Json, in_words, plain, print_answer, print_status, table_of
from ostinato.running.tables import show


def status(where: Where, name: Name = None, json: Json = False) -> None:
    """Where a study stands: measurements, candidates, switches, and the best so far."""
    print_status(viewed(where, name), json)


def best(where: Where, name: Name = None, json: Json = False) -> None:
    """The recommended candidate, with its estimate, its interval, and how sure that is."""
    found = viewed(where, name).best()
    print_answer(found if not json else plain(found), json)


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
    found = viewed(where, name).top(k)
    if json:
        print_answer([plain(each) for each in found], json)
        return
    table = table_of("candidate", "estimate", "95% interval*", "measured", "below the best by at most (90%)")
    for each in found:
        low, high = each.interval
        interval, words = f"{low:.5g} to {high:.5g}", in_words(each.candidate)
        table.add_row(words, f"{each.mean:.5g}", interval, f"{each.n:,}", short(each.within))
    console = Console()
    show(console, table)
    if len(found) > 1:
        console.print(
            f"* All {len(found)} intervals hold at once with 95% probability: so they are wider than the one that "
            "`ostinato best` gives for a candidate by itself.",
            highlight=False,
            soft_wrap=not console.is_terminal,
        )


def explain(
    where: Where,
    batch: Annotated[int, typer.Argument(help="The batch's number, as `ostinato history` shows it.")],
    name: Name = None,
    json: Json = False,
) -> None:
    """Why a batch was asked for: this candidate, and this many repeats."""
    found = viewed(where, name).explain(batch)
    print_answer(found if not json else plain(found), json)


def diagnose(where: Where, name: Name = None, json: Json = False) -> None:
    """Does the model fit what was measured? What residuals, repeats and returns say, and which values do not fit."""
    found = viewed(where, name).diagnose()
    print_answer(found if not json else plain(found), json)
