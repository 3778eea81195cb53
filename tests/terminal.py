"""Commands as they are typed, and a program that measures."""

import os
import sys
import time
from pathlib import Path

import warm

OSTINATO = [sys.executable, "-c", "from ostinato.cli import main; main()"]  # for what forks cannot be trusted with
PATIENCE = 600  # seconds, for what takes one where nothing else runs
MEASURE = """#!/bin/sh
echo x >> calls
if [ "$(wc -l < calls)" -gt "${HELD_AFTER:-1000}" ]; then
    left=12000
    while [ ! -e go ] && [ $((left -= 1)) -gt 0 ]; do sleep 0.05; done
fi
awk -v temp="$1" -v ph="$2" -v seed=$$ 'BEGIN {
    srand(seed); rand()
    if (rand() < 0.1) { print "the reactor leaked" > "/dev/stderr"; exit 1 }
    print "working"
    for (i = 0; i < 12; i++) noise += rand() - 0.5
    printf "%.9f\\n", 70 - (temp - 55) ^ 2 / 20 - 4 * (ph - 6.5) ^ 2 + 2 * noise
}'
"""  # after so many calls it waits for a file "go". Interpreters of Python would take longer to start than all the rest


def environment(**more):
    return os.environ | {"COLUMNS": "160", "OPENBLAS_NUM_THREADS": "1"} | more


def ostinato(*arguments, cwd, typed=None, **more):
    """A command that runs to its end, and what it printed."""
    return warm.run([*map(str, arguments)], Path(cwd).absolute(), environment(**more), typed, PATIENCE)


def start(*arguments, cwd=".", stdin=None, stdout=None, stderr=None, **more):
    """A command that is to be interrupted, killed or looked at while it runs; `-c CODE` is Python instead."""
    return warm.Started(arguments, Path(cwd).absolute(), environment(**more), (stdin, stdout, stderr))


def wait_until(condition, process=None):
    """Wait for something to happen, however busy the machine is.

    process: who is to do it. Where it has ended and nothing happened, nothing will: that is an error at once.
    """
    end = time.monotonic() + PATIENCE
    while not condition():
        ended = process is not None and process.poll() is not None
        assert not ended or condition(), f"It ended with {process.returncode}: {said_by(process)}"
        assert time.monotonic() < end, f"Nothing has happened for {PATIENCE} seconds."
        time.sleep(0.02)


def said_by(process):
    """What a process that has ended said on its way."""
    return process.stderr.read() if process.stderr else "what it said was not kept"


def lines(path):
    """How many lines a file has, which may not be there yet."""
    return len(path.read_text().splitlines()) if path.exists() else 0


OPTIMIZE = ("optimize", "catalogue.csv", "--command", "./measure {temp} {ph}", "--seed", "0")
