"""Studies: an optimiser, its storage, and where evaluations run."""

from ostinato.running.task import Task
from ostinato.study.reading import read_one
from ostinato.study.records import Assigned, Measurement, Status
from ostinato.study.rescue import Rescued
from ostinato.study.study import LEASE, RUN_LEASE, Study
from ostinato.study.verify import verify

__all__ = [
    "LEASE",
    "RUN_LEASE",
    "Assigned",
    "Measurement",
    "Rescued",
    "Status",
    "Study",
    "Task",
    "read_one",
    "verify",
]
