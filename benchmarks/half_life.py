"""Which half-life to begin with: the loss a part of a machine whose best position moves in four ways.

    python -m benchmarks.half_life          3 seeds of 1,500 parts for each way and half-life (an hour of a core)

`diagnose` suggests a fifteenth of all measurements where averages drift.
"""

import warnings
from collections.abc import Callable
from math import pi, sin

import numpy as np

from benchmarks import explain
from ostinato import Optimizer
from ostinato.errors import OstinatoWarning

PARTS, NOISE, SEEDS = 1500, 0.5, 3
KNOB = np.linspace(0, 10, 41)[:, None]
HALF_LIVES = (None, 25, 50, 100, 200, 400, 800)
BEST: dict[str, Callable[[int], float]] = {
    "still, wanders, still": lambda part: 3.0 + 4.5 * min(max((part - 600) / 500, 0), 1),
    "wanders slowly": lambda part: 3.0 + 4.0 * part / PARTS,
    "comes and goes": lambda part: 5.0 + 3.0 * sin(2 * pi * part / 750),
    "jumps": lambda part: 3.0 if part < 750 else 7.5,
}


def loss(way: str, half_life: int | None, seed: int) -> float:
    """What a part loses in strength, on average."""
    rng, losses = np.random.default_rng(seed), list[float]()
    optimizer = Optimizer(KNOB, goal="earn", half_life=half_life, seed=seed)
    while len(losses) < PARTS:
        batch = optimizer.ask(limit=min(25, PARTS - len(losses)))
        position, first = float(batch.candidate[0]), len(losses)
        lost = [0.5 * (position - BEST[way](first + i)) ** 2 for i in range(batch.repeats)]
        optimizer.tell(batch, [10 - each + NOISE * rng.standard_normal() for each in lost])
        losses += lost
    return float(np.mean(losses))


def main() -> None:
    warnings.simplefilter("ignore", OstinatoWarning)
    print(f"{'':24}" + "".join(f"{half_life or 'keep all':>10}" for half_life in HALF_LIVES))
    for way in BEST:
        means = [np.mean([loss(way, half_life, seed) for seed in range(SEEDS)]) for half_life in HALF_LIVES]
        print(f"{way:24}" + "".join(f"{mean:10.2f}" for mean in means), flush=True)


if __name__ == "__main__":
    explain(__doc__)
    main()
