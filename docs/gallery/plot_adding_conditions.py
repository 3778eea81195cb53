"""
Adding conditions half-way
==========================

A formulation team tests 48 recipes, 60 measurements in all. After half of them the supplier offers two new solvents,
higher temperatures become possible, and one solvent is no longer sold.

They want to keep what they know, and to spend the rest of the budget on all that can be bought now.
"""

# %%
# Half of the budget
# ------------------
# The recipes are the rows of a table.

import warnings
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from ostinato import Optimizer
from ostinato.errors import SuspiciousMeasurement

warnings.simplefilter(
    "ignore", SuspiciousMeasurement
)  # poor recipes look like mistakes at first, and are measured again
BUDGET, NOISE = 60, 6.0  # measurements; % yield
SOLVENTS = {"water": 50, "ethanol": 58, "acetone": 62, "DMSO": 65, "glycerol": 61}  # % yield at 50 °C, pH 7


def table(temps, solvents):
    rows = product(temps, (5.0, 6.0, 7.0, 8.0), solvents)
    return pl.DataFrame(rows, schema={"temp": float, "ph": float, "solvent": str}, orient="row")


def true_yield(recipe):
    temp, ph = recipe["temp"], recipe["ph"]
    return SOLVENTS[recipe["solvent"]] + 12 - (temp - 70) ** 2 / 33 - 2 * (ph - 6.5) ** 2


def measure_until(optimizer, steps, rng, log):
    while optimizer.steps < steps:
        batch = optimizer.ask(limit=steps - optimizer.steps)
        values = true_yield(batch.candidate) + NOISE * rng.standard_normal(batch.repeats)
        optimizer.tell(batch, values)
        log += [(batch.candidate, value) for value in values]


first = table((30.0, 40.0, 50.0, 60.0), ("water", "ethanol", "acetone"))
rng, log = np.random.default_rng(0), []
optimizer = Optimizer(first, budget=BUDGET, value="yield", unit="%", seed=0)
measure_until(optimizer, BUDGET // 2, rng, log)
print(f"{len(first)} recipes; best {optimizer.best()}")

# %%
# More, and fewer
# ---------------
# `add` takes rows with the same columns; new names of solvents are fine. `retire` takes out what cannot be bought any
# more. All measurements stay, and still say something about their neighbours: acetone at 50 °C tells what 50 °C does.

rows = optimizer.add(table((30.0, 40.0, 50.0, 60.0), ("DMSO", "glycerol")))
rows += optimizer.add(table((70.0, 80.0), ("ethanol", "DMSO", "glycerol", "water")))
retired = [row for row, solvent in enumerate(first["solvent"]) if solvent == "acetone"]
optimizer.retire(retired)
print(f"{len(rows)} recipes added, {len(retired)} retired; best {optimizer.best()}")

measure_until(optimizer, BUDGET, rng, log)
best = optimizer.best()
print(f"at the end: {best}; its true yield is {true_yield(best.candidate):.1f} %")

# %%
# What was measured, in order. The first measurements after the change go to the new solvents.

figure, axis = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for place, solvent in enumerate(SOLVENTS):
    points = [(number, value) for number, (recipe, value) in enumerate(log, start=1) if recipe["solvent"] == solvent]
    axis.scatter(*zip(*points, strict=True), s=16, alpha=0.8, color=f"C{place}", label=solvent)
axis.axvline(BUDGET / 2 + 0.5, color="grey", linestyle=":")
axis.annotate("added and retired", (BUDGET / 2 + 1.5, 22), color="grey")
axis.set(xlabel="measurement (number)", ylabel="measured yield (%)", title="Every measurement, by solvent")
axis.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, -0.38))
plt.show()

# %%
# Or start again?
# ---------------
# The alternative is a new optimiser for the new table, with the second half of the budget and none of what was learned.
# Both, with 40 seeds:

now = pl.concat([first.filter(pl.col("solvent") != "acetone"), table((30.0, 40.0, 50.0, 60.0), ("DMSO", "glycerol"))])
now = pl.concat([now, table((70.0, 80.0), ("ethanol", "DMSO", "glycerol", "water"))])


def continued(seed):
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(first, budget=BUDGET, seed=seed)
    measure_until(optimizer, BUDGET // 2, rng, [])
    optimizer.add(now)  # rows that are there already are left out
    optimizer.retire(retired)
    measure_until(optimizer, BUDGET, rng, [])
    return optimizer.best()


def started_again(seed):
    optimizer = Optimizer(now, budget=BUDGET // 2, seed=seed)
    measure_until(optimizer, BUDGET // 2, np.random.default_rng(seed), [])
    return optimizer.best()


highest = max(true_yield(recipe) for recipe in now.iter_rows(named=True))
for name, way in (("continued", continued), ("started again", started_again)):
    answers = [way(seed) for seed in range(40)]
    short = [highest - true_yield(each.candidate) for each in answers]
    widths = [each.interval[1] - each.interval[0] for each in answers]
    print(f"{name:14} {np.mean(short):.2f} % below the best yield on average; intervals {np.mean(widths):.1f} % wide")

# %%
# What to take away
# -----------------
# A running optimiser takes new candidates as they come, with new levels of a category too, and gives up old ones. Old
# measurements help as far as they speak about the same columns: here they make intervals narrower, and the
# recommendation only a little better, since the new solvents had to be looked at in any case. A `Study` does the same,
# and so does `ostinato candidates` on the command line.
#
# More: `more candidates, or fewer <../guide.html#more-candidates-or-fewer>`_.
