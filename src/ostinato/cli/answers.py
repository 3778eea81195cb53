"""What a study answers in words: status, best, explain, diagnose."""

from typing import Annotated

import typer

from ostinato.cli.opening import Name, Where, viewed
from ostinato.cli.terminal import Json, plain, print_answer, print_status, remedy
from ostinato.errors import NothingMeasured


def status(where: Where, name: Name = None, json: Json = False) -> None:
    """Where a study stands: measurements, candidates, switches, and the best so far."""
    print_status(viewed(where, name), json)


def best(where: Where, name: Name = None, json: Json = False) -> None:
    """The recommended candidate, with its estimate, its interval, and how sure that is."""
    found = viewed(where, name).best()
    print_answer(found if not json else plain(found), json)


def explain(
    where: Where,
    batch: Annotated[
        int | None, typer.Argument(help="The batch's number, as `ostinato history` shows it. By default the last one.")
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Why a batch was asked for: this candidate, and this many repeats."""
    study = viewed(where, name)
    if batch is None:
        asked = [each.facts.id for each in study.history() if each.facts.id >= 0]
        if not asked:
            raise NothingMeasured("Nothing was asked for yet: there is no batch to explain.")
        batch = asked[-1]
    found = study.explain(batch)
    print_answer(found if not json else plain(found), json)


def diagnose(where: Where, name: Name = None, json: Json = False) -> None:
    """Does the model fit what was measured? What residuals, repeats and returns say, and which values do not fit."""
    found = viewed(where, name).diagnose()
    print_answer(f"{found}{remedy(found.outliers)}" if not json else plain(found), json)
