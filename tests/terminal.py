"""Commands as they are typed, and a program that measures."""

import os
import subprocess
import sys
import time

import warm

OSTINATO = [sys.executable, "-c", "from ostinato.cli import main; main()"]  # for what is interrupted or killed
PATIENCE = 600  # seconds, for what takes one where nothing else runs
MEASURE = """#!{python}
import os, random, sys, time
temp, ph = float(sys.argv[1]), float(sys.argv[2])
with open("calls", "a") as file:
    file.write("x\\n")
with open("calls") as file:
    held = len(file.readlines()) > int(os.environ.get("HELD_AFTER", "1000"))
end = time.monotonic() + {patience}
while held and not os.path.exists("go") and time.monotonic() < end:
    time.sleep(0.02)
if random.random() < 0.1:
    sys.exit("the reactor leaked")
print("working")
print(70 - (temp - 55) ** 2 / 20 - 4 * (ph - 6.5) ** 2 + random.gauss(0, 2))
"""  # after so many calls it waits for a file "go"


def environment(**more):
    return os.environ | {"COLUMNS": "160", "OPENBLAS_NUM_THREADS": "1"} | more


def ostinato(*arguments, cwd, typed=None, **more):
    """A command that runs to its end, and what it printed."""
    command, env = [*warm.command(), *map(str, arguments)], environment(**more)
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, input=typed, timeout=PATIENCE, check=False
    )


def wait_until(condition):
    """Wait for something to happen, however busy the machine is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def lines(path):
    """How many lines a file has, which may not be there yet."""
    return len(path.read_text().splitlines()) if path.exists() else 0


OPTIMIZE = ("optimize", "catalogue.csv", "--command", "./measure {temp} {ph}", "--seed", "0")
