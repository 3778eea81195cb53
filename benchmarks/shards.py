"""Candidates on a Dask cluster: what the driver holds, what is sent, and the same choices as in memory.

    python -m benchmarks.shards choices              1, 2 and 4 workers, also with one killed, choose as in memory
    python -m benchmarks.shards large 10000000 4     a learned run: memory of driver and workers, seconds, bytes sent

The cluster's scheduler and workers are processes of their own, one thread each; so is the driver, whose peak memory is
the process's (VmHWM). Tables are drawn at random in three columns, and written as Parquet files.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from ostinato import MiniEI, MiniUCB, Optimizer, ShardedTable, kernels

GIVEN = {"kernel": kernels.RBF(0.2), "noise_std": 0.1}
SETTINGS: dict[str, dict[str, Any]] = {
    "mini-GP-UCB, given": {**GIVEN, "policy": MiniUCB(C=1.2, beta=2.0)},
    "mini-GP-EI, given": {**GIVEN, "policy": MiniEI(C=1.2, beta=1.0)},
    "find, given": GIVEN,
    "find, learned": {},
    "mini-GP-UCB, learned": {"policy": MiniUCB(C=1.2, beta=2.0)},
}
EPOCHS = 40
NOISE = 0.1


def value(candidate: dict[str, float]) -> float:
    """The truth: highest near (0.3, 0.6, 0.5)."""
    return -sum((candidate[name] - at) ** 2 for name, at in (("a", 0.3), ("b", 0.6), ("c", 0.5)))


def write(folder: str, size: int, files: int) -> None:
    """Random candidates in some files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for number in range(files):
        rows = size * (number + 1) // files - size * number // files
        columns = {name: rng.random(rows) for name in "abc"}
        pq.write_table(pa.table(columns), Path(folder) / f"{number:03}.parquet", row_group_size=250_000)


@contextmanager
def cluster(workers: int, memory: str = "auto") -> Iterator[Any]:
    """A scheduler and workers with one thread each."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})  # 15 s are few on a busy machine
    how: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(n_workers=workers, memory_limit=memory, **how) as made, Client(made) as client:
        yield client


def run(table: Any, settings: dict[str, Any], epochs: int = EPOCHS, kill: Any = None) -> list[tuple[int, int]]:
    """Candidates and repeats that are asked for. kill: a client, one of whose workers is killed half-way."""
    optimizer, rng = Optimizer(table, seed=1, budget=10 * epochs, **settings), np.random.default_rng(2)
    picks: list[tuple[int, int]] = []
    for epoch in range(epochs):
        if kill is not None and epoch == epochs // 2:
            os.kill(next(iter(kill.run(os.getpid).values())), signal.SIGKILL)
        batch = optimizer.ask()
        picks.append((batch.index, batch.repeats))
        optimizer.tell(batch, value(batch.candidate) + NOISE * rng.standard_normal(batch.repeats))
    return [*picks, (optimizer.best().index, 0)]


def choices(sizes: tuple[int, ...] = (5_000, 100_000)) -> int:
    """Whether runs choose alike; with the seconds that each takes."""
    import polars as pl

    missed = 0
    for size in sizes:
        with TemporaryDirectory() as folder:
            write(folder, size, 3)
            path = f"{folder}/*.parquet"
            wanted = {name: run(pl.read_parquet(path), settings) for name, settings in SETTINGS.items()}
            for workers in (1, 2, 4):
                with cluster(workers) as client:
                    kills = (None, client) if workers > 1 else (None,)
                    for kill in kills:
                        for name, settings in SETTINGS.items():
                            start = perf_counter()
                            same = run(ShardedTable(client, path), settings, kill=kill) == wanted[name]
                            how = f"{workers} workers" + (", one killed" if kill else "")
                            took = f"{perf_counter() - start:.1f} s"
                            print(
                                f"{size:>9,}  {name:22} {how:24} {'the same' if same else 'OTHERS'}  {took}", flush=True
                            )
                            missed += not same
    return missed


def drive(address: str, path: str, epochs: int) -> None:
    """The driver of a large run, in a process of its own; says what it took, as JSON."""
    from distributed import Client

    client = Client(address)
    start = perf_counter()
    table = ShardedTable(client, path)
    read = perf_counter() - start
    optimizer, rng = Optimizer(table, seed=1, budget=10 * epochs), np.random.default_rng(2)
    took: list[float] = []
    sent: list[tuple[int, int]] = []
    for _ in range(epochs):
        before, start = (table.traffic.sent, table.traffic.received), perf_counter()
        batch = optimizer.ask()
        took.append(perf_counter() - start)
        sent.append((table.traffic.sent - before[0], table.traffic.received - before[1]))
        optimizer.tell(batch, value(batch.candidate) + NOISE * rng.standard_normal(batch.repeats))
    start = perf_counter()
    best = optimizer.best()
    workers = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    found = {
        "read": read,
        "epochs": took,
        "sent": [each[0] for each in sent],
        "received": [each[1] for each in sent],
        "best": (perf_counter() - start, str(best)),
        "driver": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "workers": [each / 1e3 for each in workers.values()],
        "unique": len(optimizer.core.known.tally),
    }
    print(json.dumps(found))


def large(size: int, workers: int, epochs: int = EPOCHS) -> int:
    """A learned run over very many candidates; what was missed is 1 where the driver takes 500 MB or more."""
    with TemporaryDirectory() as folder, cluster(workers, "4GB") as client:
        subprocess.run([sys.executable, "-m", "benchmarks.shards", "write", folder, str(size), "8"], check=True)
        how = [sys.executable, "-m", "benchmarks.shards", "drive", client.scheduler.address, f"{folder}/*.parquet"]
        found = json.loads(subprocess.run([*how, str(epochs)], check=True, capture_output=True, text=True).stdout)
    print(f"{size:,} candidates on {workers} workers, {epochs} batches, {found['unique']} different candidates")
    print(f"  read in {found['read']:.1f} s; an epoch {np.median(found['epochs']):.2f} s (median), ", end="")
    print(f"{max(found['epochs']):.1f} s (highest); best() {found['best'][0]:.1f} s")
    print(f"  bytes of an epoch, to all workers {np.median(found['sent']):,.0f}, and back ", end="")
    print(
        f"{np.median(found['received']):,.0f} (median); {max(found['sent']):,} and {max(found['received']):,} at most"
    )
    print(f"  peak memory: driver {found['driver']:,.0f} MB, workers {[round(each) for each in found['workers']]} MB")
    print(f"  {found['best'][1]}")
    return int(found["driver"] >= 500)


def main(words: list[str]) -> int:
    match words:
        case ["write", folder, size, files]:
            write(folder, int(size), int(files))
        case ["drive", address, path, epochs]:
            drive(address, path, int(epochs))
        case ["large", size, workers, *rest]:
            return large(int(size), int(workers), *map(int, rest))
        case ["choices", *sizes]:
            return choices(tuple(map(int, sizes)) or (5_000, 100_000))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
