"""The demonstration: a noisy function on a 22 × 22 × 22 grid, where the truth is known."""

from dataclasses import dataclass

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ostinato.arrays import Matrix, Vector
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF
from ostinato.policies import MiniEI, MiniTS, MiniUCB
from ostinato.running.optimize import optimize
from ostinato.running.result import Result

BUDGET = 20_000
NOISE = 1.0
KERNEL = RBF(lengthscale=1.5, std=2.0)
POLICIES = {"ucb": MiniUCB(C=1.1, beta=3.0), "ei": MiniEI(C=1.1), "ts": MiniTS(C=1.1)}


@dataclass(frozen=True)
class Demonstration:
    """A finished run, and the truth it was after."""

    result: Result
    grid: Matrix
    truth: Vector


def grid(side: int = 22) -> Matrix:
    """side³ points, evenly spaced over [−5, 5]³."""
    axis = np.linspace(-5, 5, side)
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)


def landscape(points: Matrix) -> Vector:
    """Four smooth hills, two of them nearly as high as the highest, standardised to mean 0 and standard deviation 1."""
    hills = [
        ((2.0, -1.5, 1.0), 1.6, 1.00),
        ((-2.5, 2.5, -2.0), 2.0, 0.93),
        ((-3.0, -3.0, 3.0), 1.8, 0.90),
        ((3.5, 3.5, -3.5), 2.5, 0.60),
    ]
    height = np.zeros(len(points))
    for centre, width, top in hills:
        height += top * np.exp(-np.sum((points - np.asarray(centre)) ** 2, axis=1) / (2 * width**2))
    return (height - np.mean(height)) / np.std(height)


def run(budget: int = BUDGET, seed: int = 0, policy: str = "ucb", progress: bool | None = None) -> Demonstration:
    """Optimise the landscape, every measurement of which carries noise of its own standard deviation."""
    if policy not in POLICIES:
        raise InvalidSetting(f"policy={policy!r} is unknown: give one of {', '.join(POLICIES)}.")
    points = grid()
    truth = landscape(points)
    value = {point.tobytes(): height for point, height in zip(points, truth, strict=True)}
    noise = np.random.default_rng(seed)

    def measure(candidate: Vector, repeats: int) -> Vector:
        return value[candidate.tobytes()] + NOISE * noise.standard_normal(repeats)

    result = optimize(
        measure,
        points,
        budget=budget,
        vectorized=True,
        progress=progress,
        kernel=KERNEL,
        noise_std=NOISE,
        policy=POLICIES[policy],
        seed=seed,
    )
    return Demonstration(result, points, truth)


def report(demonstration: Demonstration, console: Console) -> None:
    """The answer beside the truth, and what it took."""
    result, truth = demonstration.result, demonstration.truth
    best, optimum = result.best, int(np.argmax(truth))
    low, high = best.interval
    answer = Table(
        "",
        "candidate",
        "true value",
        f"estimate ({best.level:.0%})",
        box=SIMPLE_HEAD,
        header_style="bold",
        padding=(0, 1),
    )
    estimate = f"{best.mean:.3f}, {low:.3f} to {high:.3f}"
    answer.add_row("recommended", _shown(best.candidate), f"{truth[best.index]:.3f}", estimate)
    answer.add_row("true optimum", _shown(demonstration.grid[optimum]), f"{truth[optimum]:.3f}", "")
    facts = Table.grid(padding=(0, 2))
    facts.add_row(" measurements", f"{result.steps:,}, of which {best.n:,} of the recommended candidate")
    facts.add_row(" confidence", best.standing)
    facts.add_row(" candidates", f"{result.unique:,} of {len(truth):,} were measured at all")
    facts.add_row(" switches", f"{result.switches:,} (one measurement at a time could make {result.steps - 1:,})")
    facts.add_row(" certificate", str(result.certificate))
    console.print(answer)
    console.print(facts, highlight=False)
    if result.interrupted:
        console.print(" Interrupted: this is the result so far.", style="yellow")


def _shown(candidate: Vector) -> str:
    return "(" + ", ".join(f"{x:.2f}" for x in candidate) + ")"
