"""
Values that drift: old measurements fade
========================================

A machine is adjusted by one knob, and the best position wanders: tools wear, the season changes. Every part that it
makes counts, so the operator wants good parts all the time, not a verdict at the end.

This story compares three ways to treat old measurements: keep them all, let them fade, or throw them away.
"""

# %%
# A best position that wanders
# ----------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np

from ostinato import Optimizer
from ostinato.errors import OstinatoWarning

warnings.simplefilter("ignore", OstinatoWarning)  # a knob that is far off looks like a mistake at first
knob = np.linspace(0, 10, 41)[:, None]  # mm
PARTS, NOISE = 1500, 0.5  # N: the strength of a part varies by this


def best_position(part):
    return 3.0 + 4.5 * (part > 600) * min((part - 600) / 500, 1)  # mm: still, then wandering, then still


def strength(position, part):
    return 10 - 0.5 * (position - best_position(part)) ** 2  # N


def run(seed, restart_every=PARTS, **settings):
    """The position of every part, what it lost in strength, and the last optimiser."""
    rng, positions = np.random.default_rng(seed), []
    while len(positions) < PARTS:
        optimizer = Optimizer(knob, goal="earn", value="strength", unit="N", seed=seed, **settings)
        end = min(len(positions) + restart_every, PARTS)
        while len(positions) < end:
            batch = optimizer.ask(limit=min(25, end - len(positions)))
            position, first = float(batch.candidate[0]), len(positions)
            values = [strength(position, first + i) + NOISE * rng.standard_normal() for i in range(batch.repeats)]
            optimizer.tell(batch, values)
            positions += [position] * batch.repeats
    losses = [10 - strength(position, part) for part, position in enumerate(positions)]
    return np.array(positions), np.array(losses), optimizer


# %%
# Three ways to treat the past
# ----------------------------
# `half_life=100` says that a measurement counts half after 100 more. *Start again* makes a new optimiser every 300
# parts.

ways = {
    "keep everything": {},
    "half-life of 100": {"half_life": 100},
    "half-life of 400": {"half_life": 400},
    "start again": {"restart_every": 300},
}
SEEDS = range(4)
runs = {name: [run(seed, **settings) for seed in SEEDS] for name, settings in ways.items()}
print("loss of strength in N a part, while the best position")
print(f"{'':18} {'is still':>10} {'wanders':>10} {'is still again':>16}")
for name, found in runs.items():
    losses = np.mean([loss for _, loss, _ in found], axis=0)
    shown = [losses[:600].mean(), losses[600:1100].mean(), losses[1100:].mean()]
    print(f"{name:18} {shown[0]:10.2f} {shown[1]:10.2f} {shown[2]:16.2f}")

# %%
# One run of each: where the knob was, and where it should have been.

figure, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for place, (axis, (name, found)) in enumerate(zip(axes.flat, runs.items(), strict=True)):
    axis.plot(found[0][0], ".", markersize=3, color=f"C{place}", label="knob")
    axis.plot([best_position(part) for part in range(PARTS)], color="black", linewidth=1, label="best position")
    axis.set_title(name)
axes[0, 0].legend(loc="lower right")
for axis in axes[:, 0]:
    axis.set_ylabel("position (mm)")
for axis in axes[1]:
    axis.set_xlabel("part (number)")
plt.show()

# %%
# Nobody has to know beforehand that values drift. The run that kept everything says so when it is asked:

print(runs["keep everything"][0][2].diagnose())

# %%
# What to take away
# -----------------
# Where things change, let old measurements fade. That has a price while nothing changes, because what is forgotten
# has to be measured again: compare the first column. Choose the half-life of the order of the time in which the best
# candidate changes noticeably; too long a memory follows late, too short a one never settles. The half-life that the
# diagnosis suggests, a fifteenth of all measurements, is a first guess.
#
# More: `values that change over time <../guide.html#values-that-change-over-time>`_.
