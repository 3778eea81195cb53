"""What a GPU does: epochs over up to 10⁹ candidates, whole runs, and the same choices as on the processor.

    python -m benchmarks.gpu epochs        one epoch, with the choice, against the number of candidates
    python -m benchmarks.gpu choices       full runs on the GPU and on the processor choose alike
    python -m benchmarks.gpu run 100000000 300      a whole learned run of 300 measurements over 10⁸ candidates
    python -m benchmarks.gpu run 10000000 200 cpu   the same on the processor
    python -m benchmarks.gpu peers         one epoch over 10⁶ candidates, and BoTorch's on the same card
    python -m benchmarks.gpu problems      ten problems: what is recommended on the GPU and on the processor
    python -m benchmarks.gpu grids         learned runs over all points of spaces of 10⁸ to 10¹⁰
    python -m benchmarks.gpu mapped        10⁸ candidates from a file that is mapped into memory

`gpu_own.py` has kernels of one's own.

Needs a GPU and the extra [gpu]. Times are medians of several epochs, by CUDA's own events.
"""

import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks import explain
from ostinato import Float, MiniEI, MiniTS, MiniUCB, Optimizer, Space
from ostinato.arrays import Matrix, Vector
from ostinato.kernels import RBF, Kernel, Matern12, Matern32, Matern52, ProductMatern52, RationalQuadratic
from ostinato.kernels.form import product_form
from ostinato.policies import GPEI, GPTS, GPUCB
from ostinato.posterior import Indices, Posterior
from ostinato.posterior.card import CardBlock
from ostinato.posterior.card_covariances import FusedCovariances
from ostinato.posterior.card_features import Features

EXPONENTIALS = 132 * 16 * 1.98e9  # a second, that the special-function units of an H200 can do at its highest clock


class Drawn(Features):
    """Candidates that are drawn on the card, because a table of 10⁹ would take longer to upload than all the rest."""

    def __init__(self, size: int, width: int, dtype: torch.dtype) -> None:
        self._source, self.middle, self.half_widths = None, np.full(width, 0.5), np.full(width, 0.5)
        self.columns = torch.empty((width, size), dtype=dtype, device="cuda")
        for row in self.columns:
            row.uniform_(-0.5, 0.5)


def timed(function: Callable[..., Any], *given: Any) -> float:
    """Milliseconds that a call takes, the median of five, after one that is not counted."""
    function(*given)
    times: list[float] = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function(*given)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return median(times)


def block_of(size: int, q: int, kernel: Kernel, width: int, dtype: torch.dtype = torch.float32) -> CardBlock:
    """Candidates and q unique ones."""
    features = Drawn(size, width, dtype)
    block = CardBlock(FusedCovariances(features, product_form(kernel, width)), features, kernel)
    block.add(np.random.default_rng(0).random((q, width)), 0)
    return block


def conditioned(block: CardBlock, kernel: Kernel, width: int, q: int) -> tuple[Any, Any]:
    """What one more measurement changes, after q were made of as many candidates; the block knows of them."""
    X = np.random.default_rng(0).random((q, width))
    model = Posterior(X, kernel, np.full(q, 0.01))
    for number, x in enumerate(X):
        model.condition(number, 1, float(np.sin(5 * x).sum()))
    block.refresh(block.prepared(model.factor.alpha), block.prepared(model.factor.whitener))
    direction = model.direction(0)
    p = direction.p / sqrt(direction.variance + 0.01)
    return block.prepared(p[None, :]), block.prepared(np.array([0.1]))


def epoch(block: CardBlock, P: Any, z: Any) -> Indices | None:
    """One term for all candidates, and then those that may have the highest μ + 2σ."""
    block.condition(P, z)
    return block.nearly_highest(2.0, 1e-5, 1e-5)[0]


def epochs(largest: str = "1e9") -> None:
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, float32")
    print("candidates      q  d  kernel     update    epoch   memory   of the units' limit")
    kernels = {"rbf": RBF, "matern52": Matern52}
    for size, q, width, name in (
        (10**7, 512, 3, "rbf"), (10**8, 256, 3, "rbf"), (10**9, 256, 3, "rbf"),
        (10**7, 512, 3, "matern52"), (10**8, 256, 3, "matern52"), (10**9, 256, 3, "matern52"),
        (10**7, 512, 8, "rbf"), (10**8, 256, 8, "rbf"), (10**9, 256, 8, "rbf"),
    ):  # fmt: skip
        if size > float(largest):
            continue
        for scale in (0.3, 0.1) if name == "rbf" else (0.3,):
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            block = block_of(size, q, kernels[name](scale * sqrt(width / 3)), width)
            P, z = conditioned(block, kernels[name](scale * sqrt(width / 3)), width, q)
            update, whole = timed(block.condition, P, z), timed(epoch, block, P, z)
            limit = size * q * (2 if name == "matern52" else 1) / EXPONENTIALS * 1e3
            memory = torch.cuda.max_memory_allocated() / 1e9
            form = "expanded" if block._covariances._shape["EXPANDED"] else "differences"
            figures = f"{update:7.2f} ms {whole:7.2f} ms {memory:6.2f} GB  {limit / update:4.0%}  {form}"
            print(f"{size:10.0e} {q:6} {width:2}  {name:9} {figures}", flush=True)
            del block


def choices(only: str = "") -> None:
    """Full runs over 10⁵ candidates, with the same seeds. only: those whose names have this in them."""
    X = np.random.default_rng(1).random((100_000, 3))
    policies = {"GP-UCB": GPUCB(), "mini-GP-UCB": MiniUCB(), "GP-EI": GPEI(), "mini-GP-EI": MiniEI(C=1.5),
                "GP-TS": GPTS(), "mini-GP-TS": MiniTS(C=1.5)}  # fmt: skip
    kernels = {"rbf": RBF(0.3), "matern12": Matern12(0.5), "matern32": Matern32(0.4), "matern52": Matern52(0.3),
               "rational": RationalQuadratic(0.3), "by column": ProductMatern52(0.4)}  # fmt: skip
    settings = {
        f"{policy}, {kernel}": {"policy": policies[policy], "kernel": kernels[kernel], "noise_std": 0.3}
        for policy in policies
        for kernel in kernels
        if not (policy.endswith("TS") and kernel == "by column")  # of which functions cannot be drawn
    }
    uneven = 0.2 + 0.2 * X[:, 0]
    settings |= {
        "noise of each": {"policy": MiniUCB(), "kernel": RBF(0.3), "noise_std": uneven},
        "earn, noise of each": {"goal": "earn", "noise_std": uneven, "budget": 60},
        "short length-scales": {"policy": MiniUCB(), "kernel": RBF(0.02), "noise_std": 0.3},
        "four in flight": {"policy": MiniEI(C=1.5), "kernel": Matern52(0.3), "noise_std": 0.3, "slots": 4},
        "four in flight, UCB": {"policy": MiniUCB(C=1.5), "kernel": RBF(0.3), "noise_std": 0.3, "slots": 4},
    }
    for goal, budget in (("find", 150), ("find", 60), ("earn", 60), ("earn", 150)):
        settings[f"{goal}, learned, {budget}"] = {"goal": goal, "budget": budget}
    for name, each in settings.items():
        if only not in name:
            continue
        runs, seconds = [], []
        for device in ("cuda", "cpu"):
            start = perf_counter()
            runs.append(asked(X, each, device, each.get("budget", 100)))
            seconds.append(perf_counter() - start)
        says = "the same" if runs[0] == runs[1] else "OTHERS"
        print(
            f"{name:24} {len(runs[0][0]):4} batches: {says:9} {seconds[0]:6.1f} s, processor {seconds[1]:6.1f} s",
            flush=True,
        )


def asked(X: Matrix, settings: dict[str, Any], device: str, steps: int) -> tuple[list[tuple[int, int]], int]:
    """The batches of a run, and what it recommends."""
    given = {name: value for name, value in settings.items() if name != "slots"}
    opt, rng = Optimizer(X, seed=0, device=device, **given), np.random.default_rng(0)
    found: list[tuple[int, int]] = []
    while opt.steps < steps:
        slots = settings.get("slots")
        for batch in opt.ask(slots=slots) if slots else [opt.ask(limit=steps - opt.steps)]:
            found.append((batch.index, batch.repeats))
            x = X[batch.index]
            opt.tell(batch, np.sin(7 * x[0]) + x[1] * np.cos(9 * x[2]) + 0.3 * rng.standard_normal(batch.repeats))
    return found, opt.best().index


def run(size: str, budget: str, device: str = "cuda") -> None:
    """A whole run, everything learned."""
    X = np.random.default_rng(0).random((int(size), 3))
    start = perf_counter()
    opt, rng = Optimizer(X, seed=0, goal="find", budget=int(budget), device=device), np.random.default_rng(0)
    print(f"made in {perf_counter() - start:.1f} s", flush=True)
    start, asks, said = perf_counter(), list[float](), 0
    while opt.steps < int(budget):
        if opt.steps >= said:
            print(f"{opt.steps:5} measurements, {len(asks):4} batches: {perf_counter() - start:6.1f} s", flush=True)
            said += 100
        before = perf_counter()
        batch = opt.ask(limit=int(budget) - opt.steps)
        x = X[batch.index]
        opt.tell(batch, np.sin(7 * x[0]) + x[1] * np.cos(9 * x[2]) + 0.3 * rng.standard_normal(batch.repeats))
        asks.append(perf_counter() - before)
    whole = perf_counter() - start
    start = perf_counter()
    best = opt.best()
    took, memory = perf_counter() - start, torch.cuda.max_memory_allocated() / 1e9
    print(f"{int(size):,} candidates, {budget} measurements, {len(asks)} batches: {whole:.1f} s")
    print(f"median {median(asks):.3f} s a batch, best {took:.1f} s: {best.mean:.3f} ± {best.std:.3f}")
    print(f"{memory:.1f} GB on the card")


def peers() -> None:
    """The highest upper confidence bound of 10⁶ candidates, hyperparameters given: BoTorch on the same card."""
    kernel, q, width = RBF(0.3), 256, 3
    block = block_of(10**6, q, kernel, width)
    ours = timed(epoch, block, *conditioned(block, kernel, width, q))
    for precision in (torch.float32, torch.float64):
        theirs = _botorch(block._features.columns.T + 0.5, q, precision)
        print(f"10⁶ candidates, q {q}: ours {ours:.2f} ms, BoTorch {theirs:.1f} ms in {precision}", flush=True)


def _botorch(A: torch.Tensor, q: int, dtype: torch.dtype) -> float:
    """Milliseconds for the bound of all candidates and the highest of them; candidates a few at a time, as they fit."""
    import gpytorch
    from botorch.acquisition import UpperConfidenceBound
    from botorch.models import SingleTaskGP

    X = torch.from_numpy(np.random.default_rng(0).random((q, A.shape[1]))).to(A.device, dtype)
    kernel = gpytorch.kernels.RBFKernel()
    model = SingleTaskGP(
        X, torch.sin(5 * X).sum(1, keepdim=True), torch.full((q, 1), 0.01).to(X), covar_module=kernel,
        outcome_transform=None,
    ).to(X)  # fmt: skip
    kernel.lengthscale = 0.3
    model.eval()
    bound, candidates = UpperConfidenceBound(model, beta=4.0), A.to(dtype)

    def highest() -> torch.Tensor:
        with torch.no_grad():
            parts = [bound(part[:, None, :]) for part in torch.split(candidates, 100_000)]
        return torch.cat(parts).argmax()

    return timed(highest)


def problems() -> None:
    """Ten functions over 10⁵ candidates: what is recommended after 150 measurements, everything learned."""
    rng, same = np.random.default_rng(5), 0
    for number in range(10):
        width = 2 + number % 5
        X, W, b = rng.random((100_000, width)), 6 * rng.standard_normal((width, 12)), 6 * rng.random(12)
        truth = np.cos(X @ W + b) @ rng.standard_normal(12)
        found = [recommended(X, truth, number, device) for device in ("cuda", "cpu")]
        same += found[0] == found[1]
        print(f"{width} columns: {found[0]} on the card, {found[1]} on the processor", flush=True)
    print(f"{same} of 10 the same")


def recommended(X: Matrix, truth: Vector, seed: int, device: str) -> int:
    opt, rng = Optimizer(X, seed=seed, goal="find", budget=150, device=device), np.random.default_rng(seed)
    while opt.steps < 150:
        batch = opt.ask(limit=150 - opt.steps)
        opt.tell(batch, truth[batch.index] + rng.standard_normal(batch.repeats))
    return opt.best().index


def grids(*sizes: str) -> None:
    """Learned runs over all points of a space, of which nothing is stored but mean and variance; 40 measurements."""
    shapes = {"1e8": (100,) * 4, "1e9": (1_000,) * 3, "1e10": (100,) * 5}
    for size in sizes or shapes:
        shape = shapes[size]
        space = Space({f"x{j}": Float(0, 1, step=1 / (count - 1)) for j, count in enumerate(shape)})
        torch.cuda.reset_peak_memory_stats()
        opt, rng, asks = Optimizer(space, seed=0, budget=40, device="cuda"), np.random.default_rng(0), list[float]()
        while opt.steps < 40:
            start = perf_counter()
            batch = opt.ask(limit=40 - opt.steps)
            x = np.array(list(batch.candidate.values()))
            opt.tell(batch, -np.sum((x - 0.6) ** 2) + 0.1 * rng.standard_normal(batch.repeats))
            asks.append(perf_counter() - start)
        best, peak = opt.best(), torch.cuda.max_memory_allocated() / 1e9
        print(f"{size} points, {len(asks)} batches: {sum(asks):.1f} s, median {median(asks):.2f} s, {peak:.1f} GB")
        print(f"    best {best.mean:.3f} ± {best.std:.3f} at {list(best.candidate.values())}", flush=True)
        del opt
        torch.cuda.empty_cache()


def mapped(size: str = "100000000", width: str = "3") -> None:
    """From a file that is mapped into memory: what the process takes besides, and the card against the formula."""
    rows, columns, rng = int(size), int(width), np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        where = Path(folder) / "table.npy"
        table = np.lib.format.open_memmap(where, mode="w+", dtype=np.float64, shape=(rows, columns))
        for start in range(0, rows, 2**22):
            table[start : start + 2**22] = 1 + rng.random((min(2**22, rows - start), columns))
        table.flush()
        del table
        torch.cuda.init()
        before = _own_memory()
        start = perf_counter()
        opt = Optimizer(np.load(where, mmap_mode="r"), kernel=RBF(0.3), noise_std=0.3, policy=MiniUCB(), device="cuda")
        opt.tell(opt.ask(limit=1), [1.0])
        opt.ask(limit=1)
        took, own = perf_counter() - start, _own_memory() - before
        card, formula = torch.cuda.max_memory_allocated(), 4 * (columns + 2) * rows
        print(f"{rows:,} × {columns}, {8 * rows * columns / 1e9:.1f} GB in a file: first two asks {took:.1f} s")
        print(
            f"    {own / 1e9:.2f} GB of memory that is no file's; card {card / 1e9:.2f} GB, formula {formula / 1e9:.2f}"
        )


def _own_memory() -> int:
    """Bytes of this process that are not pages of files."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


COMMANDS = {"epochs": epochs, "choices": choices, "run": run, "peers": peers, "problems": problems, "grids": grids,
            "mapped": mapped}  # fmt: skip

if __name__ == "__main__":
    explain(__doc__)
    COMMANDS[sys.argv[1]](*sys.argv[2:])
