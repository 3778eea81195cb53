"""
A reaction on plates, with set-up errors
========================================

A chemist has 315 sets of conditions and room for five plates of 24 wells. One oven heats a whole plate, so all wells
of a plate have the same temperature. A stock solution is mixed once for every set of conditions on a plate, and no two
mixtures are quite alike: all wells filled from one mixture share its error.

She wants the conditions with the highest yield, and an interval that she can put into a report.
"""

# %%
# The reaction
# ------------
# A stand-in for the laboratory. One mixture is off by 4 % yield, one well by 2 %: repeats of one mixture agree well
# with each other, and can all be wrong.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from ostinato import Category, Float, Optimizer, Space

space = Space(
    temp=Float(40, 100, step=10),  # °C
    load=Float(1, 5, step=0.5),  # mol% catalyst
    solvent=Category("DMF", "MeCN", "toluene", "THF", "EtOH"),
)
SOLVENTS = {"DMF": (72, 100), "MeCN": (76, 80), "toluene": (60, 90), "THF": (67, 60), "EtOH": (64, 70)}  # %, °C
SETUP, NOISE = 4.0, 2.0  # % yield
PLATES, WELLS = 5, 24


def true_yield(candidate):
    highest, warmth = SOLVENTS[candidate["solvent"]]
    heat, load = candidate["temp"] - warmth, candidate["load"] - 3
    return highest - heat**2 / 60 - 3 * load**2 - heat * load / 4  # less catalyst where it is hot


def mixture(candidate, wells, rng):
    """The yields of some wells, all filled from one mixture."""
    return true_yield(candidate) + SETUP * rng.standard_normal() + NOISE * rng.standard_normal(wells)


# %%
# Five plates
# -----------
# `setup_std="learn"` says that there is such an error and that its size is not known. `slots=24` fills a plate, and
# `shared=["temp"]` keeps it at one temperature. Every batch of a plan is one mixture.


def campaign(seed, setup_std="learn"):
    """Five plates, and the optimiser that planned them."""
    rng = np.random.default_rng(seed)
    optimizer = Optimizer(
        space, budget=PLATES * WELLS, setup_std=setup_std, value="yield", unit="%", seed=seed, max_repeats=4
    )
    plates = []
    for _ in range(PLATES):
        plan = optimizer.ask(slots=WELLS, shared=["temp"])
        plates.append([(batch.candidate, mixture(batch.candidate, batch.repeats, rng)) for batch in plan])
        for batch, (_, values) in zip(plan, plates[-1], strict=True):
            optimizer.tell(batch, values)
    return optimizer, plates


optimizer, plates = campaign(seed=1)
best = optimizer.best()
print(best)
highest = max(map(true_yield, space.enumerate()))
print(f"its true yield: {true_yield(best.candidate):.1f} %; the best of all: {highest:.1f} %")
print(optimizer.learned)

# %%
# The wells, plate by plate. The first plate looks around; later ones come back to the best mixtures and prepare them
# anew, since more wells of the same mixture would only repeat its error.

figure, axes = plt.subplots(2, 3, figsize=(7, 3.8), layout="constrained")
*places, spare = axes.flat
for number, (axis, plate) in enumerate(zip(places, plates, strict=True), start=1):
    yields = np.concatenate([values for _, values in plate]).reshape(4, 6)
    image = axis.imshow(yields, vmin=20, vmax=82, cmap="viridis")
    ends = np.cumsum([0, *(len(values) for _, values in plate)])
    for mixed, (start, end) in enumerate(pairwise(ends), start=1):
        for well in range(start, end):
            color = "white" if yields.flat[well] < 60 else "black"
            axis.text(well % 6, well // 6, mixed, ha="center", va="center", fontsize=8, color=color)
    axis.set(title=f"plate {number}, {plate[0][0]['temp']:.0f} °C", xticks=[], yticks=[])
spare.set_axis_off()
figure.colorbar(image, ax=axes, label="measured yield (%)", fraction=0.04)
figure.suptitle("Wells with the same number were filled from one mixture")
plt.show()

# %%
# Against other ways to use 120 wells
# -----------------------------------
# *Screen*: 120 random conditions, one well each, and the highest yield wins. *One factor at a time*: the best solvent,
# then the best temperature in it, then the best load, with five wells of one mixture for each. *Without set-up errors*:
# Ostinato, not told about mixtures. All are repeated with 20 different seeds.


def screen(seed):
    rng = np.random.default_rng(seed)
    tried = rng.choice(list(space.enumerate()), PLATES * WELLS, replace=False)
    return tried[np.argmax([mixture(each, 1, rng)[0] for each in tried])]


def one_factor_at_a_time(seed):
    rng = np.random.default_rng(seed)
    chosen = {"temp": 70.0, "load": 3.0, "solvent": "DMF"}
    levels = {"solvent": list(SOLVENTS), "temp": np.arange(40, 101, 10.0), "load": np.arange(1, 5.1, 0.5)}
    for factor, values in levels.items():
        averages = [mixture({**chosen, factor: each}, 5, rng).mean() for each in values]
        chosen[factor] = values[int(np.argmax(averages))]
    return chosen


SEEDS = range(20)
informed = [campaign(seed)[0].best() for seed in SEEDS]
naive = [campaign(seed, setup_std=None)[0].best() for seed in SEEDS]
reached = {
    "screen": [true_yield(screen(seed)) for seed in SEEDS],
    "one factor at a time": [true_yield(one_factor_at_a_time(seed)) for seed in SEEDS],
    "without set-up errors": [true_yield(each.candidate) for each in naive],
    "with set-up errors": [true_yield(each.candidate) for each in informed],
}
for name, yields in reached.items():
    print(f"{name:22} true yield {np.mean(yields):.1f} % on average, {min(yields):.1f} % at worst")
for name, answers in (("without", naive), ("with", informed)):
    right = sum(each.interval[0] <= true_yield(each.candidate) <= each.interval[1] for each in answers)
    print(f"the 95% interval {name} set-up errors held the true yield in {right} of {len(SEEDS)} campaigns")

# %%

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
spread = np.random.default_rng(0)
for place, yields in enumerate(reached.values()):
    axis.scatter(yields, place + spread.uniform(-0.15, 0.15, len(yields)), s=18, alpha=0.6, color=f"C{place}")
    axis.plot(np.mean(yields), place, "k|", markersize=18)
axis.axvline(highest, color="grey", linestyle=":", label="best conditions")
axis.set(yticks=range(len(reached)), yticklabels=reached, xlabel="true yield of the recommended conditions (%)")
axis.legend(loc="upper left")
plt.show()

# %%
# What to take away
# -----------------
# Where repeats share an error, say so with `setup_std="learn"`. The recommendation gets a little better, and above
# all the interval becomes honest. A plate is one call of `ask(slots=…)`, and `shared=` says what its wells have in
# common.
#
# More: `set-up errors <../guide.html#noise>`_, `plates <../guide.html#plates-and-workers>`_, and
# `a plate to print <../dashboard.html#plan-a-plate>`_.
