"""How the goals' policies were chosen: by recommended and measured regret, and switches, on problems of their own."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.outofthebox.problems import TABLES, training
from benchmarks.outofthebox.report import save
from benchmarks.outofthebox.trial import SHIFT, STRETCH
from ostinato import MiniEI, MiniUCB, Optimizer
from ostinato.experiments.trial import Measurements
from ostinato.policies import Find, Policy
from ostinato.problems import Problem

MEASUREMENTS = 200
POLICIES: tuple[Policy, ...] = (
    MiniUCB(C=2.0, beta=2.5),
    MiniUCB(C=1.5, beta=2.0),
    MiniUCB(C=1.3, beta=2.5),
    MiniUCB(C=1.2, beta=2.0),
    MiniEI(C=1.1, beta=1.0),
    MiniEI(C=1.2, beta=1.0),
    MiniEI(C=1.5, beta=2.0),
    Find(C=1.5, beta=2.0),
)


def choose(seeds: int, path: Path) -> Iterator[str]:
    """Run all rules, write a table, and say how each did."""
    problems = training()
    rows: list[dict[str, object]] = []
    for policy in POLICIES:
        row: dict[str, object] = {"policy": repr(policy), "seeds": seeds}
        for kind in ("tables", "functions"):
            own = [problem for problem in problems if (problem.name in TABLES) == (kind == "tables")]
            runs = np.array([run(problem, policy, seed) for problem in own for seed in range(200, 200 + seeds)])
            for name, column in zip(("recommended", "measured", "switches"), runs.T, strict=True):
                row[f"{kind}_{name}"] = f"{column.mean():.4g}"
            row[f"{kind}_error"] = f"{runs[:, 0].std(ddof=1) / np.sqrt(len(runs)):.3g}"
        rows.append(row)
        yield ", ".join(f"{name} {value}" for name, value in row.items())
    save(path, rows)


def run(problem: Problem, policy: Policy, seed: int) -> tuple[float, float, int]:
    """Recommended and measured regret in % of a random candidate's, and switches."""
    opt = Optimizer(problem.candidates, policy=policy, budget=MEASUREMENTS, seed=seed)
    measure, random, regret = Measurements(problem, seed), float(np.mean(problem.regrets)), 0.0
    while opt.steps < MEASUREMENTS:
        batch = opt.ask(limit=MEASUREMENTS - opt.steps)
        opt.tell(batch, SHIFT + STRETCH * measure(batch.index, batch.repeats))
        regret += batch.repeats * float(problem.regrets[batch.index])
    recommended = float(problem.regrets[opt.leader()[0]])
    return 100 * recommended / random, 100 * regret / random / MEASUREMENTS, opt.switches
