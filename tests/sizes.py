"""How much the tests try: as much as a few minutes allow, or all that `make torture` has time for."""

import os

THOROUGH = bool(os.environ.get("OSTINATO_THOROUGH"))


def size(ordinary, thorough):
    """How many seeds, draws or histories a test takes: enough to fail for the defect it is about, or many more."""
    return thorough if THOROUGH else ordinary
