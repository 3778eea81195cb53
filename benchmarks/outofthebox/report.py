"""What the runs come to."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from benchmarks.outofthebox.problems import SETS, names, problem
from benchmarks.outofthebox.trial import Outcome


def table(outcomes: list[Outcome], which: str) -> Iterator[str]:
    wanted = names(SETS[which])
    rows = defaultdict(dict)
    for run in outcomes:
        if run.problem not in wanted: continue
        mean = float(np.mean(problem(run.problem).regrets))
        for i, t in enumerate(run.t):
            if run.optimizer.startswith("Ostinato") and t != run.horizon: continue
            rows[t, run.optimizer][run.problem, run.seed] = (100*run.recommended[i]/mean, 100*run.regret[i]/mean/t, run.switches[i], run.seconds[i])
    for (t, name), runs in sorted(rows.items()):
        each = [np.mean([v for (p, _), v in runs.items() if p == q], axis=0) for q in {p for p, _ in runs}]
        m = np.mean(each, axis=0)
        yield f"{t:5} {name:24} {m[0]:6.1f} {m[1]:6.1f} {m[2]:7.0f} {m[3]:8.2f}  runs {len(runs)} problems {len(each)}"
