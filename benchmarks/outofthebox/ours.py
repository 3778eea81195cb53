"""Ostinato as a contestant, with nothing given but the candidates, the goal and the budget."""

from typing import Any

import numpy as np

from benchmarks.outofthebox.trial import SHIFT, STRETCH
from ostinato import Optimizer
from ostinato.policies import GPEI, Earn, Find
from ostinato.problems import Problem

LEVEL, Z90 = 0.9, 1.6448536
GAPS = (0.03, 0.1, 0.3)  # of the truth's standard deviation, for `chance_within`
GP_EI = "GP-EI (our model)"
NAMED = {  # run only where they are named: other constants than the goals', which were chosen among these
    "Ostinato find, always looking": Find(worth=0),
    **{f"Ostinato earn, beta {beta:g}": Earn(beta=beta) for beta in (1.25, 1.5, 1.75, 2)},
}


class Ours:
    """An `Optimizer`, asked and told."""

    def __init__(self, optimizer: Optimizer, horizon: int) -> None:
        self.optimizer, self.horizon = optimizer, horizon

    def ask(self) -> tuple[int, int]:
        self.batch = self.optimizer.ask(limit=self.horizon - self.optimizer.steps)
        return self.batch.index, self.batch.repeats

    def tell(self, row: int, values: Any) -> None:
        self.optimizer.tell(self.batch, values)

    def recommend(self) -> int:
        return self.optimizer.leader()[0]

    def claims(self, problem: Problem) -> dict[str, float]:
        """What it says of how sure it is, and what is true."""
        opt, truth = self.optimizer, SHIFT + STRETCH * problem.truth
        prediction, best = opt.predict(), opt.best(LEVEL)
        inside = np.abs(truth - prediction.mean) <= Z90 * prediction.std
        seen = np.zeros(len(truth), dtype=bool)
        seen[[int(index) for index in opt.diagnose().rows]] = True
        low, high = best.interval
        regret = float(problem.regrets[best.index])
        found = {
            "recommended": float(low <= truth[best.index] <= high),
            "measured": float(np.mean(inside[seen])),
            "unmeasured": float(np.mean(inside[~seen])) if not seen.all() else np.nan,
            "chance": best.chance,
            "is_best": float(regret <= 1e-9),
        }
        for gap in GAPS:
            found[f"chance_within_{gap}"] = opt.chance_within(gap * STRETCH)
            found[f"is_within_{gap}"] = float(regret <= gap)
        return found


def ours(optimizer: str, seed: int, horizon: int, problem: Problem) -> Ours:
    if optimizer == GP_EI:
        return Ours(Optimizer(problem.candidates, policy=GPEI(), seed=seed), horizon)
    goal: Any = "earn" if "earn" in optimizer else "find"
    policy = NAMED.get(optimizer)
    return Ours(Optimizer(problem.candidates, goal=goal, policy=policy, budget=horizon, seed=seed), horizon)


OURS = ("Ostinato find", "Ostinato earn", GP_EI)
