"""The tortures. Each returns what it found: numbers of losses are to be read, and tested to be 0."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.reliability import warm
from benchmarks.reliability.slow import slowly
from benchmarks.reliability.worker import ENOUGH, SETTINGS, X, work
from ostinato.optimizer.decide import decide
from ostinato.study import Study, verify

ROOT = Path(__file__).parents[2]


class Found(msgspec.Struct, frozen=True):
    """What a torture came to."""

    acknowledged: int  # repeats whose tell had returned
    twice: int  # acknowledged to two workers: handed out twice
    stored: int
    lost: int  # acknowledged, and not there
    changed: int  # there with another value
    damage: list[str]  # what verify says
    same_next: bool  # whether two fresh processes ask for the same next
    done: int  # how often the harm was done


def start(address: str, name: str, file: Path, seconds: float, most: int = 10**9, before: tuple[str, ...] = ()) -> Any:
    command = [*before, sys.executable, "-m", "benchmarks.reliability.worker", address, name, str(file)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command, str(seconds), str(most)], cwd=ROOT, env=environment, **quiet)


def killed(address: str, folder: Path, kills: int, processes: int = 4, report: Callable[[int], object] = int) -> Found:
    """kill -9 at random moments, while several processes ask and tell; each is started again, and killed at work."""
    Study("torture", address, X, seed=0, **SETTINGS)
    rng = random.Random(str(folder))
    files = [folder / f"acknowledged{i}" for i in range(processes)]
    workers = [warm.start(work, address, "torture", file, 3600.0, 10**9) for file in files]
    began = [0] * processes
    for count in range(kills):
        place = rng.choice(_at_work(files, began))
        time.sleep(rng.uniform(0.0, 0.05))
        end(workers[place])
        began[place] = files[place].stat().st_size
        workers[place] = warm.start(work, address, "torture", files[place], 3600.0, 10**9)
        report(count + 1)
    for worker in workers:
        end(worker)
    return found(address, files, kills)


def end(worker: ForkServerProcess) -> None:
    """kill -9, at once."""
    assert worker.is_alive(), "a worker has ended by itself"
    worker.kill()
    worker.join()
    worker.close()


def asked_at_once(address: str, folder: Path, processes: int, asks: int) -> tuple[Found, list[int]]:
    """Many processes on one study, each with so many asks; with their exit codes."""
    Study("torture", address, X, seed=0, **SETTINGS)
    files = [folder / f"acknowledged{i}" for i in range(processes)]
    workers = [warm.start(work, address, "torture", file, 3600.0, asks) for file in files]
    for worker in workers:
        worker.join()
    return found(address, files, 0), [worker.exitcode or 0 for worker in workers]


def restarted(
    server: Any, address: str, folder: Path, restarts: int, processes: int = 4, report: Callable[[int], object] = int
) -> tuple[Found, list[int]]:
    """PostgreSQL stopped at once and started again, while processes ask and tell; none of them is started again.

    Every stop comes while they work: one of them has told something since the last. With the exit codes of those that
    ended with an error, which they print.
    """
    Study("torture", address, X, seed=0, **SETTINGS)
    rng = random.Random(0)
    files = [folder / f"acknowledged{i}" for i in range(processes)]
    workers = [warm.start(work, address, "torture", file, 3600.0, 10**9) for file in files]
    done, began = 0, [0] * processes
    while done < restarts and any(worker.is_alive() for worker in workers):
        _at_work(files, began)
        time.sleep(rng.uniform(0.0, 0.3))
        server.stop("immediate")
        began = [file.stat().st_size if file.exists() else 0 for file in files]
        time.sleep(rng.uniform(0.0, 0.2))
        server.start()
        done += 1
        report(done)
    (folder / ENOUGH).touch()
    for worker in workers:
        worker.join()
    return found(address, files, done), [worker.exitcode for worker in workers if worker.exitcode]


def found(address: str, files: list[Path], done: int) -> Found:
    """What was acknowledged against what is stored."""
    acknowledged = acknowledged_in(files)
    lines = sum(file.read_text().count("\n") for file in files if file.exists())
    study = Study("torture", address, patience=120.0)
    stored = stored_in(study)
    asks = [decide(Study("torture", address).optimizer.core.known, 50).asked[0].batch for _ in range(2)]
    return Found(
        acknowledged=len(acknowledged),
        twice=lines - len(acknowledged),
        stored=len(stored),
        lost=sum(key not in stored for key in acknowledged),
        changed=sum(stored.get(key, value) != value for key, value in acknowledged.items()),
        damage=verify(study.storage, "torture"),
        same_next=len({(ask.index, ask.repeats) for ask in asks}) == 1,
        done=done,
    )


def acknowledged_in(files: list[Path]) -> dict[tuple[int, int], str]:
    """Values by batch and repeat that workers have written down; the last line of a file may have been cut."""
    text = [line.split() for file in files if file.exists() for line in file.read_text().split("\n")[:-1]]
    return {(int(batch), int(repeat)): value for batch, repeat, value in text}


def stored_in(study: Study) -> dict[tuple[int, int], str]:
    """The values of a study by batch and repeat."""
    return {(each.batch, each.repeat): float(each.value).hex() for each in study.measurements()}


def doubled_in(study: Study) -> int:
    """How many repeats have more than one value."""
    return sum(1 for _ in study.measurements()) - len(stored_in(study))


def _at_work(files: list[Path], began: list[int]) -> list[int]:
    """The workers that have told something since then (sizes of their files); waits for one."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        places = [i for i, file in enumerate(files) if file.exists() and file.stat().st_size > began[i]]
        if places:
            return places
        time.sleep(0.01)
    raise TimeoutError("no worker has told anything for ten minutes")


def stored_and_opened(path: Path, feedbacks: int, at_once: int = 100_000) -> dict[str, float]:
    """Many feedbacks in batches: feedbacks a second, seconds to open and answer, and memory."""
    from resource import RUSAGE_SELF, getrusage

    study = Study("many", path, X, seed=0, **SETTINGS)
    rng, peaks = np.random.default_rng(0), list[int]()
    values = rng.standard_normal(at_once)
    began = time.perf_counter()
    for i in range(feedbacks // at_once):
        study.observe(i % len(X), values)
        peaks.append(getrusage(RUSAGE_SELF).ru_maxrss)
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    again = Study("many", path)
    steps, _ = again.optimizer.steps, again.best()
    opened = time.perf_counter() - began
    return {
        "feedbacks": float(steps),
        "a_second": feedbacks / seconds,
        "seconds_to_open_and_answer": opened,
        "memory_growth_MB": (peaks[-1] - peaks[len(peaks) // 10]) / 1024,
        "file_MB": path.stat().st_size / 2**20,
    }


FAULTS = {
    "synchronising fails": "fsync,fdatasync:error=EIO:when=4+5",
    "writing fails": "pwrite64:error=EIO:when=30+41",
    "the disk is full": "pwrite64:error=ENOSPC:when=30+41",
}


def faulty(folder: Path, fault: str, seconds: float, patience: float = 120.0) -> tuple[Found, int, int]:
    """System calls of one worker fail again and again (strace's fault injection), while another works as ever.

    With how many calls failed, and the worker's exit code: it may give up, when its patience ends, and loses nothing.
    """
    address = f"sqlite:///{folder}/lab.db"
    Study("torture", address, X, seed=0, **SETTINGS)
    files = [folder / "acknowledged0", folder / "acknowledged1"]
    calls = fault.partition(":")[0]
    trace = folder / "trace"
    strace = ("strace", "-f", "-q", "-o", str(trace), "-e", f"trace={calls}", "-e", f"inject={fault}")
    workers = [
        start(address, "torture", files[0], seconds, before=(*strace, "env", f"PATIENCE={patience}")),
        start(address, "torture", files[1], seconds),
    ]
    for worker in workers:
        worker.communicate()
    failed = sum("(INJECTED)" in line for line in trace.read_text(errors="replace").splitlines())
    more = warm.start(work, address, "torture", files[0], 2.0, 50)  # the fault is gone, and the study goes on
    more.join()
    assert more.exitcode == 0
    return found(address, files, failed), failed, workers[0].returncode


def on_dask(path: Path, budget: int, kill: int, workers: int = 4) -> tuple[int, list[int], int]:
    """A run on a real Dask cluster of processes, some of which are killed: the best row, open batches, and deaths."""
    import threading

    from distributed import Client, LocalCluster

    study = Study("torture", path, X, seed=0, **SETTINGS)
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        deaths: list[int] = []

        def murder() -> None:
            while study.status().measurements < budget // 4:
                time.sleep(0.02)
            for process in list(client.run(os.getpid).values())[:kill]:
                os.kill(process, signal.SIGKILL)
                deaths.append(process)

        murderer = threading.Thread(target=murder)
        murderer.start()
        study.run(slowly, budget, executor=client, workers=workers)
        murderer.join()
    left = [batch.facts.id for batch in study.history() if batch.facts.answered < batch.facts.repeats]
    return study.best().index, left, len(deaths)
