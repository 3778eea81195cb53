"""Optuna's Gaussian process with its arithmetic in NumPy: the same decisions up to rounding, in less time.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \\
        python -m benchmarks.continuous.lean_optuna --folder /tmp/runs --first 0 --seeds 40 --jobs 1
    python -m benchmarks.continuous.same_optuna  # how much the same

The sampler is Optuna's, with its random numbers, candidates, restarts and limits; while it is asked, its loss of the
hyperparameters and its LogEI are those of lean_likelihood.py and lean_logei.py. Runs go where those of `Optuna GP` go,
marked as lean: their processor seconds are not Optuna's.
"""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import msgspec
import typer

from benchmarks.continuous.__main__ import FOLDER, finished, stored
from benchmarks.continuous.contestants import CONTESTANTS, OptunaGP
from benchmarks.continuous.problems import names
from ostinato.arrays import Vector

NAME = "Optuna GP"


class LeanOptunaGP(OptunaGP):
    """Makes the decisions of `OptunaGP`."""

    def chosen(self) -> Vector:
        with lean():
            return super().chosen()


@contextmanager
def lean() -> Iterator[None]:
    """Within, Optuna computes in NumPy.

    Names are replaced where Optuna looks them up: its lazy imports are copies of modules, made when first used.
    """
    from optuna._gp import gp, optim_mixed
    from optuna.samplers._gp import sampler

    from benchmarks.continuous.lean_likelihood import lean_fit
    from benchmarks.continuous.lean_logei import LeanLogEI, lean_ascent

    with ExitStack() as stack:
        stack.enter_context(patch.object(gp.GPRegressor, "_fit_kernel_params", lean_fit))
        stack.enter_context(patch.object(sampler.acqf_module, "LogEI", LeanLogEI))
        stack.enter_context(patch.object(optim_mixed, "_gradient_ascent_batched", lean_ascent))
        yield


def main(folder: Path = FOLDER, first: int = 0, seeds: int = 40, jobs: int = 1) -> None:
    """Run what is missing, all problems of a seed before the next seed. Every finished run is kept at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool:
        todo = [(folder, name, seed) for seed in range(first, first + seeds) for name in names()]
        for future in [pool.submit(run, *job) for job in todo]:
            future.result()


def run(folder: Path, name: str, seed: int) -> None:
    """One run, unless it is there: looked up before it and after it, for others add to the same file."""
    if there(folder, name, seed):
        return
    with patch.dict(CONTESTANTS, {NAME: LeanOptunaGP}):
        done = finished(NAME, name, seed)
    if not there(folder, name, seed):
        line = msgspec.json.encode({**msgspec.structs.asdict(done), "lean": True})
        with (folder / f"{NAME}.jsonl").open("ab") as file:
            file.write(line + b"\n")


def there(folder: Path, name: str, seed: int) -> bool:
    return any((run.optimizer, run.problem, run.seed) == (NAME, name, seed) for run in stored(folder))


if __name__ == "__main__":
    typer.run(main)
