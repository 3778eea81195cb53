"""`ostinato create` and `ostinato budget`: make a study, or change its budget, without measuring anything."""

from typing import Annotated

import typer
from rich.console import Console

from ostinato.checks import counted
from ostinato.cli.opening import Name, Where, exists, opened
from ostinato.cli.options import (
    Budget,
    Dask,
    Direction,
    Goal,
    HalfLife,
    Ignore,
    KernelText,
    MaxRepeats,
    MemoryLimit,
    NoiseStd,
    Outcome,
    PolicyText,
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
from ostinato.cli.reading import made, place_beside, read_table
from ostinato.cli.terminal import Json, print_status
from ostinato.errors import InvalidSetting


def create(
    where: Where,
    candidates: Annotated[
        str,
        typer.Argument(help="A table (.csv, .tsv, .parquet), a space (.toml), or with --dask 'many/*.parquet'."),
    ],
    ignore: Ignore = None,
    budget: Budget = None,
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
    dask: Dask = None,
    seed: Seed = None,
    name: Annotated[str | None, typer.Option(help="The study's name. By default that of the candidates' file.")] = None,
    json: Json = False,
) -> None:
    """Make a study without measuring anything yet: for [bold]ostinato ask[/bold] and [bold]ostinato tell[/bold].

    The settings are those of [bold]ostinato optimize[/bold], which also goes on with it.

    Example: [bold]ostinato create lab.db lab.csv --budget 300[/bold]
    """
    called = place_beside(candidates)[1] if name is None else name
    if exists(where, called):
        raise InvalidSetting(
            f"The study {called!r} exists in {where}: give another --name, or change its budget with `ostinato budget`."
        )
    settings = settings_of(
        goal=goal, direction=direction, outcome=outcome, value=value, unit=unit, half_life=half_life,
        switch_cost=switch_cost, max_repeats=max_repeats, noise_std=noise_std, setup_std=setup_std,
        robust=robust or None, kernel=kernel,
        policy=policy, search=search, stop=stop, seed=seed, memory_limit=memory_limit,
    )  # fmt: skip
    print_status(made(called, where, read_table(candidates, dask, ignore), budget=budget, **settings), json)


def budget(
    where: Where,
    measurements: Annotated[int, typer.Argument(min=1, help="How many there will be in all.")],
    name: Name = None,
) -> None:
    """Another budget: how many measurements there will be in all; not fewer than were made already."""
    opened(where, name).allow(measurements)
    Console(stderr=True).print(f"the budget is {counted(measurements, 'measurement')} now", highlight=False)
