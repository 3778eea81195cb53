"""Workers that start at once: forks of a server that has imported all that a worker needs, and has used it once.

Each is a process of its own, which opens the study by itself. Starting Python takes a second of processor time, and a
fork some milliseconds, so that ten thousand kills take minutes instead of hours.
"""

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def start(work: Callable[..., Any], *arguments: Any) -> ForkServerProcess:
    """A process that calls a function of a module."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    context = get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.reliability.warmed"])
    process = context.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process
