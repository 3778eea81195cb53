"""What makes commands start quickly."""

import gc
import os
from collections.abc import Generator
from contextlib import contextmanager

POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def uncollected() -> Generator[None, None, None]:
    """Imports make many objects, and all of them stay.

    Looking for garbage among them, then or later, takes a seventh of a short command's time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def on_one_thread() -> None:
    """Linear algebra on one thread, unless the user said on how many; before NumPy is imported.

    The matrices are small: threads would mostly wait for each other.
    """
    if not any(name in os.environ for name in POOLS):
        os.environ[POOLS[0]] = "1"
