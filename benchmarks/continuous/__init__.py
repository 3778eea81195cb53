"""Continuous ranges: Ostinato with nothing tuned, against other optimisers with nothing tuned, on the same functions.

    pip install torch==2.13.0 && pip install -r benchmarks/outofthebox/requirements.txt
    python -m benchmarks.continuous run                       # every optimiser; goes on where it stopped
    python -m benchmarks.continuous run --only TPE --seeds 5
    python -m benchmarks.continuous same --on "hartmann4 0.5" # does the lean arithmetic decide as the libraries do?
    python -m benchmarks.continuous report                    # the table, from the runs that are finished

Eight functions of 2 to 10 columns on the unit cube, at three levels of noise, 300 measurements. Regret is against the
true maximum, in % of that of a random point. `problems.py` has the functions, `contestants.py` the optimisers,
`__main__.py` runs and reports. Finished runs are kept in docs/results/continuous/runs.

A run of BoTorch's LogEI takes a minute, one of Optuna's Gaussian process 20 seconds, nearly all of it overhead. So
`lean/` computes the same functions and slopes in NumPy, and the libraries' own code does the rest. `run` takes it,
unless you say `--own-arithmetic`, and marks such runs. Decisions are the same up to rounding: `same` asks both, step by
step, and `same --control` asks BoTorch twice, the second time with its measurements in reverse order.

Seconds are those of a few runs by the libraries' own arithmetic, one at a time on one machine:

    python -m benchmarks.continuous run --own-arithmetic --jobs 1 --seeds 1 --folder docs/results/continuous/seconds
"""
