"""Studies: an optimiser, its storage, and where evaluations run."""

from ostinato.running.task import Task
from ostinato.study.reading import read_one
from ostinato.study.records import Measurement, Status
from ostinato.study.rescue import Rescued
from ostinato.study.study import LEASE, Study
from ostinato.study.verify import verify

__all__ = ["LEASE", "Measurement", "Rescued", "Status", "Study", "Task", "read_one", "verify"]
