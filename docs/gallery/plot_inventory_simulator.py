"""
A stochastic simulator with continuous parameters
=================================================

A warehouse orders goods when its stock falls to the *reorder point*, and fills up to the *order-up-to level*. Demand
and delivery times are random. A simulator says what a policy costs a day, averaged over one simulated quarter, and two
runs never agree.

The engineer wants the two numbers with the lowest expected cost, within 150 simulated quarters, and a cost that she can
promise.
"""

# %%
# The simulator
# -------------
# Holding an article costs 1 € a day, an order 64 €, and each unit that a customer asks for in vain 20 €.

import matplotlib.pyplot as plt
import numpy as np
import optuna

import ostinato
from ostinato import Float, Space

DAYS = 90
RUNS = 150


def simulate(reorder, level, rng):
    """The cost of one simulated quarter (€ a day)."""
    stock, coming, cost = level, [], 0.0  # coming: (day of arrival, amount)
    for day in range(DAYS):
        stock += sum(amount for due, amount in coming if due == day)
        coming = [each for each in coming if each[0] > day]
        demand = rng.negative_binomial(4, 4 / (4 + 12))  # 12 units a day, in bursts
        cost += 20 * max(demand - stock, 0)
        stock = max(stock - demand, 0)
        cost += stock
        on_order = sum(amount for _, amount in coming)
        if stock + on_order <= reorder:
            cost += 64
            coming.append((day + 1 + rng.integers(2, 6), level - stock - on_order))
    return cost / DAYS


# %%
# Any number in a range
# ---------------------
# `Float(20, 150)` without a step is a continuous range. There is nothing else to set; the model learns how noisy a
# quarter is.

space = Space(reorder=Float(20, 150), gap=Float(10, 150))  # units; gap: from the reorder point to the level

rng = np.random.default_rng(0)
result = ostinato.optimize(
    lambda c: simulate(c["reorder"], c["reorder"] + c["gap"], rng),
    space,
    budget=RUNS,
    direction="minimize",
    value="cost",
    unit="€/day",
    seed=0,
)
print(result)

# %%
# What the model believes about the whole space. The valley is flat around the best policy, and costs rise towards large
# stocks. White points were simulated, most of them more than once.

figure = result.plot("posterior", columns=["reorder", "gap"])
figure.axes[0].set(xlabel="reorder point (units)", ylabel="gap to the order-up-to level (units)")
figure

# %%
# What is promised, and what is true
# ----------------------------------
# Random search and Optuna's TPE get the same 150 quarters, ten times over. They report the lowest cost that they have
# seen; Ostinato reports an estimate. The true cost of each recommendation is the average of 500 fresh quarters.


def true_cost(reorder, level):
    fresh = np.random.default_rng(123)
    return np.mean([simulate(reorder, level, fresh) for _ in range(500)])


def by_random_search(seed):
    rng = np.random.default_rng(seed)
    tried = [(rng.uniform(20, 150), rng.uniform(10, 150)) for _ in range(RUNS)]
    costs = [simulate(reorder, reorder + gap, rng) for reorder, gap in tried]
    reorder, gap = tried[int(np.argmin(costs))]
    return reorder, gap, min(costs)


def by_tpe(seed):
    rng = np.random.default_rng(seed)

    def objective(trial):
        reorder = trial.suggest_float("reorder", 20, 150)
        return simulate(reorder, reorder + trial.suggest_float("gap", 10, 150), rng)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=RUNS)
    return study.best_params["reorder"], study.best_params["gap"], study.best_value


def by_ostinato(seed):
    rng = np.random.default_rng(seed)

    def measure(candidate):
        return simulate(candidate["reorder"], candidate["reorder"] + candidate["gap"], rng)

    best = ostinato.optimize(measure, space, budget=RUNS, direction="minimize", seed=seed).best
    return best.candidate["reorder"], best.candidate["gap"], best.mean


optuna.logging.set_verbosity(optuna.logging.WARNING)
SEEDS = range(10)
answers = {}
for name, method in {"random search": by_random_search, "Optuna TPE": by_tpe, "Ostinato": by_ostinato}.items():
    found = [method(seed) for seed in SEEDS]
    promised = np.array([cost for *_, cost in found])
    answers[name] = promised, np.array([true_cost(reorder, reorder + gap) for reorder, gap, _ in found])

for name, (promised, true) in answers.items():
    print(f"{name:14} true cost {true.mean():.1f} €/day; promised {(true - promised).mean():.1f} €/day less than that")

# %%

figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for place, (name, (promised, true)) in enumerate(answers.items()):
    axis.scatter(promised, true, label=name, color=f"C{place}", alpha=0.8)
ends = [
    min(each.min() for pair in answers.values() for each in pair) - 1,
    max(t.max() for _, t in answers.values()) + 1,
]
axis.plot(ends, ends, color="grey", linestyle=":", label="promise kept")
axis.set(xlabel="promised cost (€/day)", ylabel="true cost (€/day)", title="Ten searches by each method")
axis.legend()
plt.show()
# sphinx_gallery_thumbnail_number = 2

# %%
# What to take away
# -----------------
# The lowest of many noisy values is a lucky one. It names a decent policy but promises a cost that will not be met. An
# estimate from repeats and neighbours can be promised. Where only a decent point is wanted and no number, random search
# and TPE are simpler, and TPE is not far behind on this easy problem.
#
# More: `continuous ranges <../guide.html#continuous-ranges-and-huge-spaces>`_,
# `simulators in other languages <../command-line.html#optimise-a-program>`_.
