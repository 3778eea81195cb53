"""Candidates on a Dask worker that has a GPU: the same choices as in memory on the processor.

    python -m benchmarks.gpu_shards                 10⁶ candidates, one worker process with a GPU
    python -m benchmarks.gpu_shards 20000 torch     PyTorch on the worker's processor: to try it without a GPU

Needs the extras [dask] and [gpu]. Prints what was chosen, seconds an ask, and what the worker holds on its card.
"""

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from warnings import simplefilter

import numpy as np

from benchmarks import explain
from benchmarks.gpu_own import ones, periodic
from ostinato import MiniEI, MiniUCB, Optimizer, ShardedTable
from ostinato.kernels import RBF, Custom, Matern52

STEPS = 60
SETTINGS: dict[str, dict[str, Any]] = {
    "mini-GP-UCB, RBF": {"policy": MiniUCB(), "kernel": RBF(0.3), "noise_std": 0.3},
    "mini-GP-EI, Matérn": {"policy": MiniEI(C=1.5), "kernel": Matern52(0.3), "noise_std": 0.3},
    "mini-GP-UCB, one's own": {"policy": MiniUCB(), "kernel": Custom(periodic, ones), "noise_std": 0.3},
    "find, learned": {"goal": "find", "budget": STEPS},
}


def written(size: int, folder: str) -> str:
    """Random candidates in four files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = np.random.default_rng(1).random((size, 3))
    for number, part in enumerate(np.array_split(X, 4)):
        columns = {f"x{j}": part[:, j] for j in range(3)}
        pq.write_table(pa.table(columns), Path(folder) / f"{number}.parquet", row_group_size=100_000)
    return f"{folder}/*.parquet"


def asked(candidates: Any, settings: dict[str, Any], device: str) -> tuple[Any, list[float]]:
    """The batches of a run and what it recommends; seconds of each ask."""
    opt, rng = Optimizer(candidates, seed=0, device=device, **settings), np.random.default_rng(0)
    found, seconds = list[tuple[int, int]](), list[float]()
    while opt.steps < STEPS:
        start = perf_counter()
        batch = opt.ask(limit=STEPS - opt.steps)
        seconds.append(perf_counter() - start)
        found.append((batch.index, batch.repeats))
        x = batch.candidate
        value = np.sin(7 * x["x0"]) + x["x1"] * np.cos(9 * x["x2"])
        opt.tell(batch, value + 0.3 * rng.standard_normal(batch.repeats))
    return (found, opt.best().index), seconds


def on_card() -> float:
    """GB that PyTorch held at most on the card of the process that is asked."""
    import torch

    return torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else 0.0


def main(size: str = "1000000", device: str = "cuda", workers: str = "1") -> None:
    from distributed import Client, LocalCluster

    simplefilter("ignore")
    how = {"n_workers": int(workers), "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    same = 0
    with TemporaryDirectory() as folder, LocalCluster(**how) as cluster, Client(cluster) as client:
        path = written(int(size), folder)
        for name, settings in SETTINGS.items():
            there, seconds = asked(ShardedTable(client, path), settings, device)
            here, own = asked(path, settings, "cpu")
            same += there == here
            says, held = "the same" if there == here else "OTHERS", client.run(on_card)
            print(
                f"{name:24} {len(there[0]):4} batches: {says:9} an ask {median(seconds):.3f} s, in memory on the "
                f"processor {median(own):.3f} s; on the card {', '.join(f'{gb:.2f}' for gb in held.values())} GB",
                flush=True,
            )
    print(f"{same} of {len(SETTINGS)} the same")


if __name__ == "__main__":
    explain(__doc__)
    main(*sys.argv[1:])
