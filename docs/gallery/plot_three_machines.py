"""
A study shared by three machines
================================

Three machines measure for one study. They start and stop when they like, and one of them dies in the middle of a
measurement. Nobody should measure the same thing twice, and nothing that was measured should be lost.

Here three real processes on one computer stand for the machines, and share an SQLite file. Between real machines the
address of a PostgreSQL server takes its place; nothing else changes.
"""

# %%
# What runs on each machine
# -------------------------
# The whole program. It opens the study by name: candidates and settings are stored with it.

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt

from ostinato import Float, Space, Study

PROGRAM = """
import random, sys, time
from ostinato import Study

def measure(candidate):
    time.sleep(random.uniform(0.1, 0.3))  # seconds: the instrument is slow
    return 70 - (candidate["temp"] - 55) ** 2 / 20 - 4 * (candidate["ph"] - 6.5) ** 2 + random.gauss(0, 3)

random.seed(sys.argv[2])
Study("reaction", sys.argv[1]).run(measure, progress=False)
"""

# %%
# One of them makes the study, then all three are started.

folder = Path(tempfile.mkdtemp())
storage, program = f"sqlite:///{folder / 'lab.db'}", folder / "machine.py"
program.write_text(PROGRAM)
space = Space(temp=Float(20, 80, step=5), ph=Float(4, 9, step=0.5))  # °C; pH
study = Study("reaction", storage, space, budget=100, value="yield", unit="%", seed=0)

machines = [subprocess.Popen([sys.executable, str(program), storage, name]) for name in "ABC"]

# %%
# When forty values have come, machine A is killed without warning.

while study.status().measurements < 40:
    time.sleep(0.05)
machines[0].kill()
killed = time.time()
print("machine A ended with", machines[0].wait(), "· B and C ended with", [each.wait() for each in machines[1:]])
print(study.status())

# %%
# Who measured what
# -----------------
# Every value says who measured it and when. What A had in hand when it died was handed out again, to B or C.

measured = list(study.measurements())
names = {str(machine.pid): name for machine, name in zip(machines, "ABC", strict=True)}
by = {name: [each for each in measured if names[each.worker.rpartition(":")[2]] == name] for name in "ABC"}
start = min(each.at for each in measured)
print({name: len(values) for name, values in by.items()}, "measurements,", study.best().candidate, "is the best")

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5.2), sharex=True, layout="constrained")
for name, values in by.items():
    seconds = [each.at - start for each in values]
    above.scatter(seconds, [each.value for each in values], s=16, alpha=0.8, label=f"machine {name}")
    below.step(seconds, range(1, len(values) + 1), where="post")
for axis in (above, below):
    axis.axvline(killed - start, color="grey", linestyle=":")
above.set(ylabel="measured yield (%)", title="One study, three processes")
above.legend(ncols=3, loc="lower right")
below.set(xlabel="time since the first value (s)", ylabel="measurements (number)")
below.annotate("A is killed", (killed - start, 1), xytext=(5, 0), textcoords="offset points", color="grey")
plt.show()

# %%
# Nothing twice, nothing lost
# ---------------------------
# Each repeat of each batch has exactly one value, there are as many as the budget says, and checksums agree.

places = [(each.batch, each.repeat) for each in measured]
print(len(places), "values at", len(set(places)), "different places of the plan")
check = subprocess.run(
    [sys.executable, "-m", "ostinato", "verify", storage], capture_output=True, text=True, check=True
)
print(check.stdout)

# %%
# What to take away
# -----------------
# Processes need nothing but the address of the study: no coordinator, no ports, no names given in advance. They may
# come, go and die. Times, and so the order of values, differ from run to run here: with several workers a study is
# not reproducible to the digit, though it is with one.
#
# More: `several processes <../studies.html#several-processes>`_, `PostgreSQL
# <../studies.html#several-machines-postgresql>`_, `what studies survive <../reliability.html>`_.
