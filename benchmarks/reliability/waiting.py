"""Nobody waits for the dead: runs that end without a word, clocks that jump, and a thousand heartbeats at once."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.reliability.torture import ROOT, Found, found, start
from benchmarks.reliability.worker import SETTINGS, X
from ostinato.errors import OstinatoError
from ostinato.storage import Lease, open_storage
from ostinato.study import Study
from ostinato.study import workers as processes

CONTAINER = ("unshare", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc")
ENDS = CONTAINER_KILLED, HOST_RESTARTED = "a container is killed", "a host starts again"
LEASE = 600.0  # seconds, of those that hearts renew
YEAR = 365 * 86_400.0
JUMPS = {"a year ahead": YEAR, "a year back": -YEAR}


class Beaten(msgspec.Struct, frozen=True):
    """What became of many heartbeats at once."""

    threads: int
    renewed: int
    lost: int  # leases that do not last as long as they should
    errors: int
    seconds: float  # for all of them
    longest: float  # that one waited
    together: float  # seconds for all of them in one write


def can_contain() -> bool:
    """Whether containers can be made here: processes with a view of their own, and equal host names and numbers."""
    return (
        shutil.which("unshare") is not None and not subprocess.run([*CONTAINER, "true"], capture_output=True).returncode
    )


def ended(address: str, folder: Path, how: str) -> tuple[float, float]:
    """A run of default settings ends without a word, with the whole budget in its hands, and another is started.

    Seconds until its first measurement begins: after the end of the first, and after it was ready itself.
    """
    Study("torture", address, X, seed=0, budget=1, **SETTINGS)
    before = CONTAINER if how == CONTAINER_KILLED else ()
    first = _run(address, folder / "first", 3_600, before, boot="another" if how == HOST_RESTARTED else "")
    try:
        _wait_for(lambda: len(_moments(folder / "first")) == 2)
        time.sleep(random.uniform(4.0, 8.0))  # its heart beats
        first.send_signal(signal.SIGKILL)
        moment = time.time()
        second = _run(address, folder / "second", 0, before)
        said = second.communicate(timeout=600)[1].decode()
        if second.returncode:
            raise RuntimeError(said)
    finally:
        first.kill()
        first.communicate()
    ready, began = _moments(folder / "second")
    return began - moment, began - max(ready, moment)


def beaten(address: str, folder: Path, count: int, workers: int = 4, threads: int = 20) -> Beaten:
    """As many runs as leases, each with a heart of its own, which all beat at the same moment."""
    Study("torture", address, X, seed=0, **SETTINGS)
    storage = open_storage(address)
    with storage.write("torture") as writer:
        now = writer.now()
        for i in range(count):
            writer.lease(Lease(0, i, 1, key_of(i), now + LEASE, LEASE, now))
    go, share = folder / "go", count // workers
    command = [sys.executable, "-m", "benchmarks.reliability.waiting", address, str(go)]
    quiet: dict[str, Any] = {"cwd": ROOT, "env": _environment(), "stdout": subprocess.PIPE, "text": True}
    hearts = [
        subprocess.Popen([*command, str(first), str(share), str(threads)], **quiet)
        for first in range(0, share * workers, share)
    ]
    _wait_for(lambda: len(list(folder.glob("go.*"))) == workers)
    began = time.time()
    go.touch()
    told = [msgspec.json.decode(heart.communicate(timeout=600)[0]) for heart in hearts]
    seconds = time.time() - began
    with storage.read("torture") as reader:
        lost = sum(lease.until < began + LEASE for lease in reader.leases())
    clock = time.perf_counter()
    storage.renew("torture", [key_of(i) for i in range(count)], LEASE)
    together = time.perf_counter() - clock
    renewed, errors, waits = (list(each) for each in zip(*told, strict=True))
    return Beaten(workers * threads, sum(renewed), lost, sum(errors), seconds, max(waits), together)


def jumped(folder: Path, jump: float, jumps: int = 20) -> tuple[Found, float]:
    """The clock jumps there and back while two processes ask and tell.

    With the seconds until what a robot holds is for others, when it jumps once more.
    """
    address, clock = f"sqlite:///{folder}/lab.db", folder / "clock"
    set_clock(clock, 0.0)
    study = Study("torture", address, X, seed=0, **SETTINGS)
    files = [folder / "acknowledged0", folder / "acknowledged1"]
    workers = [start(address, "torture", file, 3_600, before=("env", f"CLOCK={clock}")) for file in files]
    for count in range(jumps):
        size = [file.stat().st_size if file.exists() else 0 for file in files]
        _wait_for(
            lambda size=size: all(
                file.exists() and file.stat().st_size > n for file, n in zip(files, size, strict=True)
            )
        )
        set_clock(clock, jump if count % 2 == 0 else 0.0)
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
    study.release_all()
    task, began = study.ask(1, worker="robot-3", lease=3_600.0), time.monotonic()
    follow(clock)
    try:
        set_clock(clock, jump)
        _wait_for(lambda: not any(each.state == "held" for each in study.leases()))
        other = study.ask(1)
    finally:
        follow(None)
    assert task is not None
    assert other is not None
    assert (other.batch, other.start) == (task.batch, task.start)
    return found(address, files, jumps), time.monotonic() - began


def set_clock(clock: Path, ahead: float) -> None:
    beside = clock.with_suffix(".new")
    beside.write_text(str(ahead))
    beside.replace(clock)


def follow(clock: Path | None) -> None:
    """This process's SQLite goes by a clock that is so many seconds ahead as a file says."""
    from ostinato.storage import sqlite

    sqlite.time = time.time if clock is None else lambda: time.time() + float(clock.read_text())  # type: ignore[assignment]


def key_of(number: int) -> str:
    return f"robot-{number}|key"


def _environment() -> dict[str, str]:
    return os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT}/src:{ROOT}"}


def _run(address: str, file: Path, seconds: float, before: tuple[str, ...], boot: str = "") -> Any:
    command = [*before, sys.executable, "-m", "benchmarks.reliability.waiting", address, str(file), str(seconds), boot]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, env=_environment(), **quiet)


def _moments(file: Path) -> list[float]:
    return [float(line) for line in file.read_text().split()] if file.exists() else []


def _wait_for(condition: Any) -> None:
    end = time.monotonic() + 300
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("nothing has happened for five minutes")
        time.sleep(0.05)


def _measure_once(address: str, file: Path, seconds: float, boot: str) -> None:
    """A run that writes down when it was ready, and when each measurement began."""
    if boot:
        _before_the_reboot(file.with_name("proc"), boot)

    def note() -> None:
        with file.open("a") as notes:
            notes.write(f"{time.time()}\n")

    def measure(candidate: Any) -> float:
        note()
        time.sleep(seconds)
        return float(candidate[0])

    study = Study("torture", address)
    note()
    study.run(measure, workers=1)


def _before_the_reboot(proc: Path, boot: str) -> None:
    """This process takes itself for one of this host, before it was started again."""
    random_ = proc / "sys/kernel/random"
    random_.mkdir(parents=True)
    (random_ / "boot_id").write_text(boot)
    (proc / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")
    (proc / "self").symlink_to(str(os.getpid()))
    (proc / "uptime").symlink_to("/proc/uptime")
    processes.PROC = proc


def _beat(address: str, go: Path, first: int, count: int, threads: int) -> None:
    """Hearts of one process; prints how many leases were renewed, the errors, and the longest that one waited."""
    storage = open_storage(address, patience=LEASE)  # hearts try again as long as there is a lease to renew
    errors, waits = list[str](), list[float]()
    ready = threading.Event()

    def one(number: int) -> int:
        ready.wait()
        began = time.perf_counter()
        try:
            return len(storage.patiently(lambda: storage.renew("torture", [key_of(number)], LEASE)))
        except OstinatoError as error:
            errors.append(str(error))
            return 0
        finally:
            waits.append(time.perf_counter() - began)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(one, number) for number in range(first, first + count)]
        go.with_suffix(f".{first}").touch()
        _wait_for(go.exists)
        ready.set()
        renewed = sum(future.result() for future in futures)
    print(msgspec.json.encode((renewed, len(errors), max(waits))).decode())


if __name__ == "__main__":
    if len(sys.argv) == 5:
        _measure_once(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
    else:
        _beat(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
