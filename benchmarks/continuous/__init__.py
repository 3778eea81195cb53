"""Continuous ranges: Ostinato with nothing tuned, against other optimisers with nothing tuned, on the same functions.

    pip install torch==2.13.0 && pip install -r benchmarks/outofthebox/requirements.txt
    python -m benchmarks.continuous run                       # every optimiser; goes on where it stopped
    python -m benchmarks.continuous run --only TPE --seeds 5
    python -m benchmarks.continuous run --only "BoTorch LogEI" --own-arithmetic  # for its processor time
    python -m benchmarks.continuous same --on "hartmann4 0.5" # does the lean arithmetic decide as BoTorch does?
    python -m benchmarks.continuous report                    # the table, from the runs that are finished

Eight functions of 2 to 10 columns on the unit cube, at three levels of noise, 300 measurements. Regret is against the
true maximum, in % of that of a random point. `problems.py` has the functions, `contestants.py` the optimisers,
`__main__.py` runs and reports. Finished runs are kept in docs/results/continuous/runs.

A run of BoTorch's LogEI takes a minute or two. Nearly all of that is overhead. So `lean.py` computes the same functions
and slopes in NumPy, and BoTorch's own code does the rest. `run` takes it, unless you say `--own-arithmetic`. Both make
the same decisions up to rounding. `same` compares them, step by step; `same --control` compares BoTorch with itself,
measurements in reverse order. Runs by the lean arithmetic are marked. The report takes their regret and switches, but
not their seconds.
"""
