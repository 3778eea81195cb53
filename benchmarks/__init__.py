"""Speed, measured as ratios in one run on one thread: ``make bench``, or ``python -m benchmarks [NAME …]``."""

import os

for pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy is imported
    os.environ[pool] = "1"
