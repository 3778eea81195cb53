"""Commands as they are typed, and a program that measures."""

import os
import subprocess
import sys

import warm

OSTINATO = [sys.executable, "-c", "from ostinato.cli import main; main()"]  # for what signals are sent to
MEASURE = """#!{python}
import os, random, sys, time
temp, ph = float(sys.argv[1]), float(sys.argv[2])
with open("calls", "a") as file:
    file.write("x\\n")
time.sleep(float(os.environ.get("SLOW", "0")))
if random.random() < 0.1:
    sys.exit("the reactor leaked")
print("working")
print(70 - (temp - 55) ** 2 / 20 - 4 * (ph - 6.5) ** 2 + random.gauss(0, 2))
"""


def environment(**more):
    return os.environ | {"COLUMNS": "160", "OPENBLAS_NUM_THREADS": "1"} | more


def ostinato(*arguments, cwd, typed=None, **more):
    """A command that runs to its end, and what it printed."""
    command, env = [*warm.command(), *map(str, arguments)], environment(**more)
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, input=typed, timeout=240, check=False
    )


OPTIMIZE = ("optimize", "catalogue.csv", "--command", "./measure {temp} {ph}", "--seed", "0")
