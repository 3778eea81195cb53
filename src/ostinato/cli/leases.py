"""`ostinato leases`, `release` and `renew`: what is assigned to whom, and until when."""

from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console

from ostinato.checks import counted
from ostinato.cli.opening import Name, Where, opened
from ostinato.cli.tasks import WORKER
from ostinato.cli.terminal import Json, in_words, plain, print_answer
from ostinato.running.tables import show, table_of
from ostinato.study import Assigned

STATES = {"held": "held", "over": "time is over", "gone": "process has ended"}


def leases(where: Where, name: Name = None, json: Json = False) -> None:
    """What is assigned to workers: which measurements, to whom, since when and until when.

    When that time is over, or when a worker's process is known to have ended, its measurements are handed to whoever
    asks next. Runs ([bold]ostinato optimize[/bold]) renew theirs every few seconds, so that they end soon after a
    crash. [bold]ostinato release[/bold] frees measurements at once, and [bold]ostinato renew[/bold] prolongs them.
    """
    found = opened(where, name).leases()
    if json:
        print_answer([_as_json(each) for each in found], json)
        return
    if not found:
        Console(stderr=True).print("nothing is assigned to a worker", highlight=False)
        return
    table = table_of("batch", "repeats", "candidate", "worker", "since", "until", "state")
    for each in found:
        table.add_row(*_cells(each))
    show(Console(), table)


def release(
    where: Where,
    worker: Annotated[
        str | None, typer.Option(help="Only what this worker holds, as `ostinato leases` names it.")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=0, help="Only measurements of this batch.")] = None,
    name: Name = None,
) -> None:
    """Free measurements that are assigned to workers who will not make them: others are given them at once.

    Nothing is lost by it: a value that such a worker tells later still counts, if it is the first.

    Examples:

      [bold]ostinato release lab.db[/bold]

      [bold]ostinato release lab.db --worker robot-3[/bold]
    """
    freed = opened(where, name).release_all(worker=worker, batch=batch)
    Console(stderr=True).print(f"freed {counted(freed, 'measurement')}", highlight=False)


def renew(
    where: Where,
    worker: Annotated[str, typer.Option(help="Whose, as given to `ostinato ask --worker`.")] = WORKER,
    lease: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds from now on. By default as long as before.")
    ] = None,
    name: Name = None,
) -> None:
    """Prolong what a worker holds: it is still at work. Call it from time to time while measurements take long.

    Example: [bold]ostinato renew lab.db --worker robot-3 --lease 600[/bold]
    """
    renewed = opened(where, name).renew(worker, lease)
    words = f"renewed {counted(renewed, 'measurement')} of {worker}"
    if not renewed:
        words = f"{worker} holds nothing: it was told, freed, or is for others since its time was over"
    Console(stderr=True).print(words, highlight=False)


def _as_json(each: Assigned) -> dict[str, Any]:
    record = plain(each)
    return {"row" if name == "index" else name: value for name, value in record.items()}


def _cells(each: Assigned) -> list[str]:
    since = "" if each.since is None else _moment(each.since)
    who = (in_words(each.candidate), each.worker, since, _moment(each.until), STATES[each.state])
    return [str(each.batch), f"{each.repeats:,}", *who]


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%Y-%m-%d %H:%M:%S}"
