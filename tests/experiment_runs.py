"""Runs of experiments, made up: what they reached after 10 and 100 measurements."""

from ostinato.experiments.records import Run

T = [10, 100]


def run(algorithm, seed=0, regret=(1.0, 2.0), *, t=T, problem="hill", stage="report", settings=None, **lists):
    given = {
        "unique": [1] * len(t),
        "rounds": [2] * len(t),
        "switches": [3] * len(t),
        "seconds": [0.5] * len(t),
    } | lists
    return Run(
        stage=stage,
        problem=problem,
        algorithm=algorithm,
        settings=settings or {},
        seed=seed,
        horizon=t[-1],
        t=list(t),
        regret=list(regret),
        **given,
    )


UNIFORM = [run("uniform", 0, (9.0, 90.0)), run("uniform", 1, (11.0, 110.0))]  # on average 10 and 100
MINI = [run("mini-GP-UCB", 0, (5.0, 10.0)), run("mini-GP-UCB", 1, (7.0, 14.0))]
