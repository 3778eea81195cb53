"""How much memory there is, and how much a run takes: `memory_limit="4GB"`.

What grows with a run are the covariances of all candidates with those that were measured: 8 bytes for each pair.
"""

import os
import re
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from ostinato.checks import counted, is_whole
from ostinato.errors import InvalidSetting
from ostinato.posterior.device import Device

UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)
SHARE = 0.5  # of what is free that a run may take by default
SMALLEST = 10**6  # bytes that may be given as a limit: below that hardly any covariance is kept
LEAST = 2**27  # bytes that a run may take in any case, unless another limit is given
NUMBER = 8  # bytes of a covariance
MEASURED = 8.0  # times the square root of the budget: about as many different candidates are measured
WORTH_SAYING = 10**9  # bytes
MEMINFO, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def read_limit(given: Any) -> int | None:
    """Bytes, from a number of them or a text such as 4GB; None where nothing is given."""
    if given is None:
        return None
    if is_whole(given) and given > 0:
        return _enough(given, int(given))
    found = SIZE.fullmatch(given) if isinstance(given, str) else None
    if found is None or found[2].lower() not in UNITS or not float(found[1]) > 0:
        raise InvalidSetting(f"memory_limit={given!r} is not an amount of memory: give one such as '4GB' or '500MB'.")
    return _enough(given, int(float(found[1]) * UNITS[found[2].lower()]))


def _enough(given: Any, size: int) -> int:
    if size < SMALLEST:
        raise InvalidSetting(
            f"memory_limit={given!r} is {in_words(size)}, in which hardly any covariance can be kept: give "
            f"{in_words(SMALLEST)} or more, with its unit, such as '4GB' or '500MB'."
        )
    return size


def default_limit() -> int | None:
    """Half of what is free; None where that cannot be told."""
    free = free_memory()
    return None if free is None else max(LEAST, int(SHARE * free))


def free_memory(meminfo: Path = MEMINFO, group: Path = GROUP) -> int | None:
    """Bytes that this process may still take: of the machine, or of the container that it is in."""
    known = [each for each in (_of_machine(meminfo), _of_group(group)) if each is not None]
    return min(known) if known else None


def _of_machine(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return _pages()
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return kilobytes[0] * 1024 if kilobytes else None


def _pages() -> int | None:
    """All of the machine's memory, where nothing says how much of it is free."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_group(group: Path) -> int | None:
    try:
        most, used = ((group / name).read_text(encoding="utf-8").strip() for name in ("memory.max", "memory.current"))
        return None if most == "max" else max(0, int(most) - int(used) + _of_files(group))
    except (OSError, ValueError):
        return None


def _of_files(group: Path) -> int:
    """Bytes that hold files which were read, and are given back when they are needed."""
    try:
        lines = (group / "memory.stat").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def forecast(candidates: int | None, budget: int | None, limit: int | None) -> str:
    """What a run will take, in words; nothing where that is little."""
    if budget is None or candidates is None:  # a run without an end, or a space: of that only some points are held
        return ""
    measured = min(budget, candidates, ceil(MEASURED * sqrt(budget)))
    needed = NUMBER * candidates * measured
    if needed < WORTH_SAYING and (limit is None or needed <= limit):
        return ""
    words = (
        f"memory: about {in_words(needed)}, for the covariances of {counted(candidates, 'candidate')} with some "
        f"{measured:,} that will be measured"
    )
    if limit is None or needed <= limit:
        return words
    return f"{words}; beyond the limit of {in_words(limit)} they are computed again when needed, which takes longer"


def forecast_on_card(candidates: int | None, columns: int, device: Device | None) -> str:
    """What candidates take on a card, in words; nothing where that is little, or there is none."""
    needed = 0 if device is None or candidates is None else device.bytes_for(candidates, columns)
    if needed < WORTH_SAYING:
        return ""
    return f"memory on the card: about {in_words(needed)}, for {counted(candidates or 0, 'candidate')}"


def in_words(count: int) -> str:
    """An amount of memory."""
    unit = next(name for name in ("tb", "gb", "mb", "kb", "") if count >= UNITS[name] or not name)
    return f"{count / UNITS[unit]:.3g} {unit.upper() or 'bytes'}"
