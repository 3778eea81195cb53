"""Speed, measured as ratios in one run on one thread: ``make bench``, or ``python -m benchmarks [NAME …]``."""

import os
import sys

for pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy is imported
    os.environ[pool] = "1"


def explain(about: str | None, names: str = "") -> None:
    """Where --help is asked: what a benchmark says of itself, and the names it takes; and the end."""
    if {"--help", "-h"} & set(sys.argv[1:]):
        print((about or "").strip(), names and f"Names: {names}.", sep="\n\n" if names else "")
        sys.exit(0)
