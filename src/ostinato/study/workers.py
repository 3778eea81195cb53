"""Who holds repeats: a name for this process, and whether another process is known to have ended.

Leases are short where a heart beats for them (`heartbeat.py`). But where a process is known to be gone, nobody has to
wait even for that.
"""

import os
import socket
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from ostinato.checks import brief
from ostinato.errors import InvalidSetting
from ostinato.storage import Lease

PROC = Path("/proc")


@cache  # it is read from five files, and stays as long as the process lives
def this_worker() -> str:
    """A name that tells the machine, since when it is up, the processes that see each other on it, and this one."""
    return "|".join([*_here(), str(os.getpid()), _began(os.getpid())])


os.register_at_fork(after_in_child=this_worker.cache_clear)


def check_worker(name: Any) -> str:
    """The name of whoever measures; empty for none."""
    if not isinstance(name, str) or not name.isprintable() or "|" in name:
        raise InvalidSetting(f"worker={brief(name)} is not a name: give a text that can be printed, without |.")
    return name


def name_of(key: str) -> str:
    """What people call the worker of a lease: the name that it was given, or its host and process."""
    parts = key.split("|")
    return parts[0] if len(parts) < 6 else f"{parts[0] or 'process'}:{parts[3]}"


def token_of(key: str) -> str:
    """The name of the token with which a lease was asked for over HTTP; nothing where it was not."""
    parts = key.split("|")
    return parts[1] if len(parts) == 3 else ""


def own_name() -> str:
    """What people call this process, where it works under no other name."""
    return name_of(f"{this_worker()}|")


class GivenUpCheck:
    """Checks whether a lease was given up: its time is over, or its worker is known to have ended.

    now: by the storage's clock. local: as for `is_gone`. mine: keys of leases of the one who asks, who knows that it is
    there.
    """

    def __init__(self, now: float, *, local: bool = False, mine: Collection[str] = ()) -> None:
        self._now, self._local, self._mine = now, local, mine
        self._known: dict[str, bool] = {}

    def __call__(self, lease: Lease) -> bool:
        if lease.worker in self._mine:
            return False
        return lease.is_over(self._now) or self.has_ended(lease)

    def has_ended(self, lease: Lease) -> bool:
        """Whether its worker is known to have ended."""
        who = lease.worker.rpartition("|")[0]
        if who not in self._known:
            self._known[who] = is_gone(lease.worker, local=self._local)
        return self._known[who]


def is_gone(worker: str, *, local: bool = False) -> bool:
    """Whether a worker is known to be gone: a process among those that can be seen from here, which has ended.

    Or, where its study is on this machine's own disk (local), one of before the machine was started again.
    """
    *where, process, began = worker.split("|")[:5] if worker.count("|") >= 4 else ("", "", "")
    here = _here()
    if not all(where) or not all(here) or not process.isdigit() or not began:
        return False
    if where != here:
        return local and where[1] != here[1] and _is_to_come(began)
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    now = _began(int(process))
    return (now != "" and now != began) or _has_ended(int(process))


def _here() -> list[str]:
    """This machine, and the processes that see each other on it (a container sees its own only)."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        if str((PROC / "self").readlink()) != str(os.getpid()):
            return ["", "", ""]  # /proc shows other processes than those that are seen from here
        return [socket.gethostname().replace("|", ""), boot, str((PROC / "self/ns/pid").readlink())]
    except OSError:
        return ["", "", ""]


def _began(process: int) -> str:
    """When a process began, in the kernel's own ticks; nothing where that cannot be told."""
    return "".join(_stat(process)[19:20])


def _has_ended(process: int) -> bool:
    """Whether a process is listed only because its parent has not asked yet how it ended, as happens in containers."""
    return _stat(process)[:1] in (["Z"], ["X"])


def _stat(process: int) -> list[str]:
    """What the kernel tells of a process, after its name; nothing where it does not."""
    try:
        return (PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _is_to_come(ticks: str) -> bool:
    """Whether this kernel has not been up for so long.

    Another boot id alone proves nothing: some containers are given one of their own. What no process of this kernel can
    have seen yet does.
    """
    try:
        up = float((PROC / "uptime").read_text().split()[0])
        return int(ticks) / os.sysconf("SC_CLK_TCK") > up + 1.0
    except (OSError, ValueError, IndexError):
        return False
