"""Random histories through public names only: every policy, learned and given, in flight, partial, failed, planned.

    python tests/recorded/histories.py        writes decisions.json anew: what is decided today
    pytest tests/recorded                     the same decisions as then

A history is made from its number alone. Each step of it asks, tells (whole, in part, as a summary, with standard
errors, with failures), observes or closes; what was decided is written down as row and repeats.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from ostinato import Float, Optimizer, Space, Study
from ostinato.kernels import RBF, Matern52
from ostinato.policies import (
    BBKB,
    BKB,
    GPBTS,
    GPBUCB,
    GPEI,
    GPTS,
    GPUCB,
    AdaptiveUCB,
    EpsilonGreedy,
    MiniEI,
    MiniTS,
    MiniUCB,
    RareEI,
    RareTS,
    RareUCB,
    Uniform,
)

FILE = Path(__file__).with_name("decisions.json")
HISTORIES, STUDIES, STEPS = 160, 40, 14
POLICIES = [
    None,
    None,
    MiniUCB(),
    MiniEI(C=1.5),
    MiniTS(),
    GPUCB(),
    GPEI(),
    GPTS(),
    RareUCB(),
    RareEI(),
    RareTS(),
    GPBUCB(),
    GPBTS(),
    BKB(),
    BBKB(),
    BBKB(rule="local"),
    EpsilonGreedy(),
    Uniform(),
    AdaptiveUCB(),
    MiniUCB(C=1.4, cap_per_batch=5, cap_per_candidate=20),
]
STORED = [policy for policy in POLICIES if not isinstance(policy, BKB | BBKB | EpsilonGreedy | Uniform)]


def candidates(rng: np.random.Generator):
    """Scattered points, a grid, or a table with a column of categories."""
    kind = int(rng.integers(3))
    if kind == 0:
        return rng.uniform(-1, 1, (60, 2))
    if kind == 1:
        return Space(x=Float(0.0, 1.0, count=8), y=Float(0.0, 2.0, count=9))
    rows = [(float(x), str(s)) for x in np.linspace(0, 1, 20) for s in "abc"]
    return {"x": [row[0] for row in rows], "s": [row[1] for row in rows]}


def settings(rng: np.random.Generator, number: int, policies: list) -> dict:
    """What a user may set. Policies come in turn, so that each is met."""
    policy = policies[number % len(policies)]
    given: dict = {
        "seed": number,
        "goal": ["find", "earn"][number % 2],
        "direction": ["maximize", "minimize"][number // 2 % 2],
    }
    if policy is not None:
        given["policy"] = policy
    if rng.random() < 0.5 or isinstance(policy, AdaptiveUCB):
        given |= {"kernel": [RBF(0.5), Matern52(0.7)][int(rng.integers(2))], "noise_std": 0.3, "mean": 0.0}
    if rng.random() < 0.4:
        given["budget"] = int(rng.integers(20, 80))
    if rng.random() < 0.15:
        given["setup_std"] = 0.2
    if rng.random() < 0.15:
        given["switch_cost"] = 3.0
    return given


def truth(size: int) -> np.ndarray:
    return np.random.default_rng(size).standard_normal(size).cumsum() / 4


def decisions(number: int) -> list:
    """What an optimiser in memory decides in a history."""
    rng = np.random.default_rng((7, number))
    table, chosen = candidates(rng), settings(rng, number, POLICIES)
    opt = Optimizer(_frame(table), **chosen)
    f, found, open_batches = truth(1000), [], []
    fails = rng.random() < 0.2
    for _ in range(STEPS):
        step = rng.random()
        if step < 0.55 or not open_batches:
            batches = _asked(opt, rng)
            found.append([[b.index, b.repeats, b.wanted] for b in batches])
            open_batches += batches
        elif step < 0.65:
            opt.observe(int(rng.integers(len(_rows(table)))), float(f[int(rng.integers(50))]))
            continue
        elif step < 0.7:
            opt.close(open_batches.pop(int(rng.integers(len(open_batches)))))
            continue
        if rng.random() < 0.75:
            for batch in open_batches:
                _told(opt, batch, f, rng, fails)
            open_batches = []
    found.append([opt.steps, opt.failures, opt.switches, opt.epochs])
    return found


def _asked(opt: Optimizer, rng: np.random.Generator) -> list:
    draw = rng.random()
    if draw < 0.8:
        return [opt.ask(limit=int(rng.integers(1, 40)) if draw < 0.2 else 40)]
    return list(opt.ask(workers=4)) if draw < 0.9 else list(opt.ask(slots=6))


def _told(opt: Optimizer, batch, f: np.ndarray, rng: np.random.Generator, fails: bool) -> None:
    values = f[batch.index] + 0.3 * rng.standard_normal(batch.repeats)
    how = rng.random()
    if fails and how < 0.3:
        values[rng.random(len(values)) < 0.5] = np.nan
        opt.tell(batch, values)
    elif how < 0.5 or batch.repeats < 3:
        opt.tell(batch, values)
    elif how < 0.7:
        opt.tell(batch, n=batch.repeats, mean=float(values.mean()), std=float(values.std(ddof=1)))
    elif how < 0.8:
        opt.tell(batch, values, stderr=0.25)
    else:
        opt.tell(batch, values[: batch.repeats // 2])
        if how < 0.9:
            opt.tell(batch, values[batch.repeats // 2 :])
        else:
            opt.close(batch)


def stored_decisions(number: int) -> list:
    """What a study decides in a history, opened anew in the middle of it."""
    rng = np.random.default_rng((8, number))
    table, chosen = candidates(rng), settings(rng, number, STORED)
    budget = chosen.pop("budget", None)
    f, found = truth(1000), []
    with tempfile.TemporaryDirectory() as folder:
        where = f"sqlite:///{folder}/study.db"
        study = Study("s", where, _frame(table), budget=budget, **chosen)
        waiting: list = []
        for step in range(STEPS):
            task = study.ask(limit=int(rng.integers(1, 40)))
            if task is None:
                break
            found.append([task.batch, task.index, task.repeats])
            waiting.append(task)
            if rng.random() < 0.7:
                for each in waiting:
                    values = f[each.index] + 0.3 * rng.standard_normal(each.repeats)
                    if rng.random() < 0.1:
                        values[0] = np.nan
                    study.tell(each, values)
                waiting = []
            if rng.random() < 0.1:
                study.observe(int(rng.integers(len(_rows(table)))), [float(f[step])])
            if step == STEPS // 2:
                study = Study("s", where)
    return found


def _frame(table):
    if isinstance(table, dict):
        import pandas

        return pandas.DataFrame(table)
    return table


def _rows(table):
    return table["x"] if isinstance(table, dict) else range(72) if isinstance(table, Space) else table


def names(histories: int = HISTORIES, studies: int = STUDIES) -> list[str]:
    return [f"memory {number}" for number in range(histories)] + [f"study {number}" for number in range(studies)]


def decided(name: str) -> list:
    kind, number = name.split()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return decisions(int(number)) if kind == "memory" else stored_decisions(int(number))


if __name__ == "__main__":
    made = {name: decided(name) for name in names()}
    if "--compare" in sys.argv:
        kept = json.loads(FILE.read_text())
        print(*[f"{name} differs" for name, each in made.items() if kept[name] != each], sep="\n")
    else:
        FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in made.items()) + "\n}\n")
