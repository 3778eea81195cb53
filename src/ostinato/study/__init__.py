"""Studies: an optimiser, its storage, and where evaluations run."""

from typing import TYPE_CHECKING

from ostinato.lazy import lazily
from ostinato.running.task import Task

if TYPE_CHECKING:
    from ostinato.study.reading import read_one
    from ostinato.study.records import Assigned, Measurement, Status
    from ostinato.study.rescue import Rescued
    from ostinato.study.study import LEASE, RUN_LEASE, Study
    from ostinato.study.verifying import verify

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

__getattr__, __dir__ = lazily(
    __name__,
    {
        "reading": ["read_one"],
        "records": ["Assigned", "Measurement", "Status"],
        "rescue": ["Rescued"],
        "study": ["LEASE", "RUN_LEASE", "Study"],
        "verifying": ["verify"],
    },
)
