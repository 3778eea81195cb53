"""What integrations bring: Optuna's samplers and scikit-learn's searches against ours, with as many trials or fits.

    pip install torch==2.13.0                               # for Optuna's GPSampler
    python -m benchmarks.integrations run studies           # ours, TPE and GP; goes on where it stopped
    python -m benchmarks.integrations run studies --only TPE --seeds 20
    python -m benchmarks.integrations run searches          # OstinatoSearchCV and two of scikit-learn's
    python -m benchmarks.integrations report                # the tables of docs/integrations.md

`studies.py` is one study, `searches.py` one search, `report.py` what they come to. Finished runs are kept in
docs/results/integrations.
"""
