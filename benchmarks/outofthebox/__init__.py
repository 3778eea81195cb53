"""Out of the box: Ostinato with nothing tuned, against other optimisers with nothing tuned, on the same noise.

    pip install torch==2.13.0 && pip install -r benchmarks/outofthebox/requirements.txt
    pip install --no-deps olymp==0.0.1b0               # laboratory tables
    python -m benchmarks.outofthebox run development   # ours on the problems by which defaults are chosen
    python -m benchmarks.outofthebox run report        # every optimiser on other problems; goes on where it stopped
    python -m benchmarks.outofthebox run report --only TPE --seeds 20
    python -m benchmarks.outofthebox report report     # tables, from the runs that are finished

`problems.py` names the problems, `functions.py` has their formulas, `rivals.py` the other optimisers, `trial.py` is one
run, `report.py` what they come to. Finished runs are kept in docs/results/outofthebox/runs.
"""
