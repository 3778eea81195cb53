"""
Repairing a mistake
===================

Somebody forgets a decimal point. Later it turns out that one sample was mixed up. The values are in a study on disk,
decisions were made with them, and nobody wants to start again.

This story finds the two mistakes, repairs them, and shows what they did to the answer.
"""

# %%
# A study with two mistakes
# -------------------------

import random
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt

from ostinato import Float, Space, Study
from ostinato.errors import SuspiciousMeasurement

space = Space(temp=Float(20, 80, step=5), ph=Float(4, 9, step=0.5))  # °C; pH


def true_yield(candidate):
    return 70 - (candidate["temp"] - 55) ** 2 / 20 - 4 * (candidate["ph"] - 6.5) ** 2


def measure(candidate):
    return true_yield(candidate) + random.gauss(0, 3)


random.seed(1)
warnings.simplefilter("ignore", SuspiciousMeasurement)  # it is looked at below
folder = Path(tempfile.mkdtemp())
study = Study("reaction", folder / "lab.db", space, budget=80, value="yield", unit="%", seed=0)
told, mistyped, mixed_up = 0, None, None

while told < 60:
    task = study.ask(limit=5)
    values = [measure(task.candidate) for _ in range(task.repeats)]
    if mistyped is None and told >= 12:
        mistyped, values[0] = task, 10 * values[0]  # the decimal point was forgotten
    if mixed_up is None and true_yield(task.candidate) > 69 and task.repeats > 2:
        mixed_up, values = task, [each - 25 for each in values]  # another sample was in the vial
    told += study.tell(task, values)
print(study.status())

# %%
# The first mistake is named
# --------------------------
# A single value that is far off gives a warning at once, is shown to everybody who opens the study, and does not count.

outlier = study.optimizer.outliers[0]
print(outlier)

# %%
# The lab book confirms the missing point. `correct` takes the number of the measurement, and keeps the reason.

study.correct(number=outlier.number, new=outlier.value / 10, why="decimal point")
print(len(study.optimizer.outliers), "outliers left")

# %%
# The second is not
# -----------------
# All values of the mixed-up sample are off by the same amount, and agree with each other. To a program that looks
# like a poor candidate among good neighbours. It is no outlier, but the diagnosis says that something is wrong:

print(study.diagnose())

# %%
# It guesses that values drift. So look at candidates that were measured in several batches:

frame = study.to_frame("pandas")
batches = frame.groupby(["temp", "ph", "batch"])["value"].agg(["mean", "size"]).round(1)
several = batches.groupby(["temp", "ph"]).filter(lambda group: len(group) > 1)
print(several)

# %%
# One batch disagrees with the others of its candidate. Its vial has the wrong label: the whole task is taken back, and
# the answer changes.


def estimates():
    """For every measured candidate: its true yield, the estimate, and two standard deviations of that (%)."""
    rows = study.to_frame("pandas").drop_duplicates("row").sort_values("row")
    belief = study.optimizer.predict()
    return true_yield(rows), belief.mean[rows["row"]], 2 * belief.std[rows["row"]]


before, wrong = estimates(), study.best()
print(study.retract(mixed_up, why="wrong vial"), "values of", mixed_up.candidate, "taken back")
after, right = estimates(), study.best()
for when, best in (("before", wrong), ("after", right)):
    print(f"{when:6} {best}; its true yield is {true_yield(best.candidate):.1f} %")

# %%

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for axis, (truth, mean, width), title in zip(axes, (before, after), ("with the wrong vial", "repaired"), strict=True):
    axis.errorbar(truth, mean, width, fmt="o", markersize=4, elinewidth=1)
    axis.axline((40, 40), slope=1, color="grey", linestyle=":")
    axis.set(xlabel="true yield (%)", title=title)
axes[0].set(ylabel="estimate, ± 2 standard deviations (%)", xlim=(25, 73))
plt.show()

# %%
# Nothing is lost
# ---------------
# The log keeps what was told, what was changed, and why. Afterwards everything is as if the right values had been told
# from the start: a new study that is given only those says the same.

for each in study.measurements(everything=True):
    for revision in each.revisions:
        now = "taken back" if revision.value is None else f"now {revision.value:.2f}"
        print(f"measurement {each.number} was {each.told:.2f}, {now} ({revision.why})")

anew = Study("told right", folder / "lab.db", space, budget=80, value="yield", unit="%", seed=0)
for row, values in study.to_frame("pandas").groupby("row")["value"]:
    anew.observe(int(row), list(values))
print("repaired  ", study.best())
print("told right", anew.best())

# %%
# What to take away
# -----------------
# Values that are far off by themselves are found for you. Mistakes that agree with each other are not: `diagnose()`
# says that something is wrong, and the lab book has to say what. Either way a correction is one call, in Python, on
# the command line (`ostinato correct`, `ostinato retract`) or over HTTP, and nothing has to be measured again.
#
# More: `mistakes and corrections <../guide.html#mistakes-and-corrections>`_, `how often outliers are found
# <../results.html#mistakes>`_.
