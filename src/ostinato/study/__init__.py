"""Studies: an optimiser, its storage, and where evaluations run."""

from typing import TYPE_CHECKING

from ostinato.lazy import lazily
from ostinato.running.task import Task

if TYPE_CHECKING:
    from ostinato.study.reading import read_one
    from ostinato.study.records import Measurement, Status
    from ostinato.study.rescue import Rescued
    from ostinato.study.study import LEASE, Study
    from ostinato.study.verifying import verify

__all__ = ["LEASE", "Measurement", "Rescued", "Status", "Study", "Task", "read_one", "verify"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "reading": ["read_one"],
        "records": ["Measurement", "Status"],
        "rescue": ["Rescued"],
        "study": ["LEASE", "Study"],
        "verifying": ["verify"],
    },
)
