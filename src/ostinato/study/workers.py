"""Who holds repeats: a name for this process, and whether a process of this machine has ended.

Nothing beats a heart. But where a process is known to be gone, nobody has to wait until its time is over.
"""

import os
import socket
from pathlib import Path

from ostinato.storage import Lease

PROC = Path("/proc")


def this_worker() -> str:
    """A name that tells the machine, since when it is up, the processes that see each other on it, and this one."""
    return "|".join([*_here(), str(os.getpid()), _began(os.getpid())])


class Gone:
    """Whether a lease was given up: its time is over, or its worker is known to have ended."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._known: dict[str, bool] = {}

    def __call__(self, lease: Lease) -> bool:
        if lease.until <= self._now:
            return True
        if lease.worker not in self._known:
            self._known[lease.worker] = is_gone(lease.worker)
        return self._known[lease.worker]


def is_gone(worker: str) -> bool:
    """Whether a worker is known to be gone: a process among those that can be seen from here, which has ended."""
    *where, process, began = worker.split("|")[:5] if worker.count("|") >= 4 else ("", "", "")
    if where != _here() or not all(where) or not process.isdigit() or not began:
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    now = _began(int(process))
    return now != "" and now != began


def _here() -> list[str]:
    """This machine, and the processes that see each other on it (a container sees its own only)."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return [socket.gethostname().replace("|", ""), boot, str((PROC / "self/ns/pid").readlink())]
    except OSError:
        return ["", "", ""]


def _began(process: int) -> str:
    """When a process began, in the kernel's own ticks; nothing where that cannot be told."""
    try:
        return (PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
