"""What tests run in other processes. It imports little at first, so that these processes start at once."""

import os
import socket
import time
from pathlib import Path

import numpy as np

SIDE = np.linspace(0, 1, 8)
X = np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2)
TRUTH = np.sin(4 * X[:, 0]) + X[:, 1]


def measure(candidate):
    return float(np.sin(4 * candidate[0]) + 0.3 * np.random.default_rng().standard_normal())


def kills_its_process_once(candidate):
    flag = Path(os.environ["OSTINATO_TEST_FLAG"])
    if not flag.exists():
        flag.touch()
        os._exit(1)
    return measure(candidate)


def kills_its_process_at_one_candidate(candidate):
    if 0.45 < candidate[0] < 0.48:
        os._exit(1)
    time.sleep(0.01)
    return measure(candidate)


class Awkward(Exception):
    """An exception that is not the same after a journey."""

    def __init__(self, a, b):
        super().__init__(f"{a} {b}")


def awkwardly(candidate):
    raise Awkward("out of", "reagent")


def on_another_machine():
    """From now on this process takes itself for one of another machine."""
    socket.gethostname = lambda: "rig-7"


def measured(task, seed=0):
    """The same values for the same repeats, whoever measures them."""
    numbers = range(task.start, task.start + task.repeats)
    noise = [np.random.default_rng((seed, task.batch, number)).standard_normal() for number in numbers]
    return TRUTH[task.index] + 0.5 * np.array(noise)


def work(address, name, seconds):
    """Ask and tell until all is done."""
    from ostinato.study import Study

    study = Study(name, address, lease=30, patience=60)
    end = time.time() + seconds
    while time.time() < end and (task := study.ask(limit=2)) is not None:
        study.tell(task, measured(task))


def ask_and_die(address):
    from ostinato.study import Study

    Study("lab", address, lease=3_600).ask()
    os._exit(1)


def open_when_all_are_ready(path, ready, go):
    from ostinato.storage import open_storage

    ready.put(1)
    go.wait()
    open_storage(path)
