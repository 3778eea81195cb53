"""Studies: an optimiser, its storage, and where evaluations run."""

from ostinato.study.study import Measurement, Status, Study
from ostinato.study.task import Task
from ostinato.study.verify import verify

__all__ = ["Measurement", "Status", "Study", "Task", "verify"]
