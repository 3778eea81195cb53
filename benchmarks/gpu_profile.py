"""A learned run on a GPU under Python's profiler: python -m benchmarks.gpu_profile 10000000 200."""

import cProfile
import pstats
import sys

from benchmarks.gpu import run

profile = cProfile.Profile()
profile.enable()
try:
    run(*sys.argv[1:])
finally:
    profile.disable()
    pstats.Stats(profile).sort_stats("cumtime").print_stats(45)
