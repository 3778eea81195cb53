"""Imported by the server that workers are forked from (`warm.py`): whatever is imported late is imported here, once."""

import gc
from tempfile import TemporaryDirectory

from benchmarks.reliability.worker import SETTINGS, X, measured
from ostinato.study import Study

with TemporaryDirectory() as folder:
    study = Study("warm", f"sqlite:///{folder}/lab.db", X, seed=0, **SETTINGS)
    for _ in range(3):
        task = study.ask(limit=3)
        assert task is not None
        study.tell(task, measured(task))
    study.best()
    del study
gc.freeze()  # memory that is never touched is never copied
