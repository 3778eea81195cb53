"""Out of the box: Ostinato with nothing tuned, against other optimisers with nothing tuned, on the same noise.

    pip install torch==2.13.0 && pip install -r benchmarks/outofthebox/requirements.txt
    python -m benchmarks.outofthebox run               every optimiser on every problem; goes on where it was stopped
    python -m benchmarks.outofthebox run --only TPE    some of them
    python -m benchmarks.outofthebox report            tables and figures, from the runs that are finished
    python -m benchmarks.outofthebox choose            how the goals' policies were chosen, on other problems

`problems.py` names the problems, `rivals.py` the other optimisers, `trial.py` is one run, `report.py` what they come
to.
"""
