"""`ostinato demo`: a run whose truth is known."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from ostinato.demo import BUDGET, report, run


class PolicyName(StrEnum):
    """The policies that the demonstration knows."""

    ucb = "ucb"
    ei = "ei"
    ts = "ts"


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
