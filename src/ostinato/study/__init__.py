"""Studies: an optimiser, its storage, and where evaluations run."""

from ostinato.study.study import Status, Study, Task

__all__ = ["Status", "Study", "Task"]
