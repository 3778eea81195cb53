"""
Kernel autotuning with switching costs
======================================

A program looks for nearest neighbours. It does so in blocks, and its speed depends on the sizes of the blocks and on
the precision. Timings vary from run to run. Before another setting can be timed, the data have to be packed anew and
the caches warmed up, which takes longer than one timing.

The engineer wants the fastest setting, and does not want to wait long for it.
"""

# %%
# The kernel
# ----------
# A real one: the distances come from blocked matrix products. `prepare` is the switch. Processor time is measured,
# which suffers less from other programs than the clock on the wall.

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from ostinato import Category, Optimizer, Ordered, Space

QUERIES, POINTS, COLUMNS, WARM_UP = 1024, 4096, 16, 10
source = np.random.default_rng(0)
queries, points = source.normal(size=(QUERIES, COLUMNS)), source.normal(size=(POINTS, COLUMNS))

ROWS, BLOCKS, PRECISIONS = (
    (16, 32, 64, 128, 256, 512, 1024),
    (64, 128, 256, 512, 1024, 2048, 4096),
    ("single", "double"),
)
space = Space(rows=Ordered(*ROWS), block=Ordered(*BLOCKS), precision=Category(*PRECISIONS))


def prepare(setting):
    """Pack the data for a setting and warm up. The kernel that comes back is ready to be timed."""
    dtype = np.float32 if setting["precision"] == "single" else np.float64
    packed = [np.ascontiguousarray(queries[i : i + setting["rows"]], dtype) for i in range(0, QUERIES, setting["rows"])]
    blocks = [
        np.ascontiguousarray(points[i : i + setting["block"]].T, dtype) for i in range(0, POINTS, setting["block"])
    ]
    lengths = [(block**2).sum(axis=0) for block in blocks]

    def kernel():
        nearest = []
        for part in packed:
            best = np.full(len(part), np.inf, dtype)
            for block, length in zip(blocks, lengths, strict=True):
                np.minimum(best, (length - 2 * (part @ block)).min(axis=1), out=best)
            nearest.append(best)
        return np.concatenate(nearest)

    for _ in range(WARM_UP):
        kernel()
    return kernel


def timed(function):
    start = process_time()
    function()
    return 1000 * (process_time() - start)  # ms


# %%
# What a switch costs, in timings: it is measured, too.

example = {"rows": 64, "block": 512, "precision": "double"}
switch = float(np.median([timed(lambda: prepare(example)) for _ in range(5)]))
once = float(np.median([timed(prepare(example)) for _ in range(5)]))
print(f"a switch takes {switch:.1f} ms of processor time, a timing {once:.1f} ms")

# %%
# Four ways to look for it
# ------------------------
# *All*: every setting is timed three times. *Random*: 20 random settings, three timings each. *Ostinato*: 100
# timings, without and with the cost of a switch. `outcome="positive"` says that long times vary more than short ones.
# All but the first are repeated with three seeds.


class Bench:
    """Times settings, and adds up what that takes."""

    def __init__(self):
        self.now, self.kernel, self.switches, self.spent = None, None, 0, 0.0

    def time(self, setting, repeats):
        start = process_time()
        if setting != self.now:
            self.now, self.kernel, self.switches = setting, prepare(setting), self.switches + 1
        values = [timed(self.kernel) for _ in range(repeats)]
        self.spent += 1000 * (process_time() - start)
        return values


def listed(settings):
    bench = Bench()
    bench.medians = [float(np.median(bench.time(setting, 3))) for setting in settings]
    return settings[int(np.argmin(bench.medians))], bench, 0.0


def optimised(seed, switch_cost):
    bench, start = Bench(), process_time()
    optimizer = Optimizer(
        space,
        budget=100,
        direction="minimize",
        outcome="positive",
        value="time",
        unit="ms",
        switch_cost=switch_cost,
        seed=seed,
    )
    while optimizer.steps < 100:
        batch = optimizer.ask(limit=100 - optimizer.steps)
        optimizer.tell(batch, bench.time(batch.candidate, batch.repeats))
    best = optimizer.best()
    return best.candidate, bench, 1000 * (process_time() - start) - bench.spent


SEEDS = range(3)
everything = list(space.enumerate())
some = [np.random.default_rng(seed).choice(everything, 20, replace=False).tolist() for seed in SEEDS]
ways = {
    "all": [listed(everything)],
    "random": [listed(settings) for settings in some],
    "Ostinato": [optimised(seed, None) for seed in SEEDS],
    "Ostinato, switch cost": [optimised(seed, switch / once) for seed in SEEDS],
}

# %%
# The winners are timed again, by turns so that all see the same machine, 30 times each:

winners = {str(setting): prepare(setting) for found in ways.values() for setting, *_ in found}
again = {name: [] for name in winners}
for _ in range(30):
    for name, kernel in winners.items():
        again[name].append(timed(kernel))

reached, spent = {}, {}
for name, found in ways.items():
    reached[name] = [float(np.median(again[str(setting)])) for setting, *_ in found]
    spent[name] = [(bench.spent + thinking) / 1000 for _, bench, thinking in found]  # s
    switches, thinking = np.mean([bench.switches for _, bench, _ in found]), np.mean([each[2] for each in found]) / 1000
    print(
        f"{name:22} {np.mean(reached[name]):5.2f} ms; the search took {np.mean(spent[name]):5.2f} s "
        f"with {switches:.0f} switches, {thinking:.2f} s of it for decisions"
    )

# %%

figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for name in ways:
    axis.scatter(spent[name], reached[name], label=name, alpha=0.85)
axis.set(xlabel="processor time of the search (s)", ylabel="time of the setting found (ms)")
axis.set(xlim=(0, None), ylim=(0, 1.1 * max(map(max, reached.values()))))
axis.legend(loc="lower right")
plt.show()
# sphinx_gallery_thumbnail_number = 2

# %%
# The map that *all* has made, for single precision. Small blocks are slow because Python has more to do between them,
# large ones because they leave the processor's cache.

table = np.reshape(ways["all"][0][1].medians, (len(ROWS), len(BLOCKS), len(PRECISIONS)))[:, :, 0]
figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
image = axis.imshow(table, norm="log", cmap="cividis_r", origin="lower")
axis.set(xticks=range(7), xticklabels=BLOCKS, yticks=range(7), yticklabels=ROWS)
axis.set(xlabel="points in a block (number)", ylabel="queries in a block (number)")
axis.grid(visible=False)
figure.colorbar(image, label="time (ms)", format="%g", ticks=[4, 6, 10, 20, 30]).minorticks_off()
plt.show()

# %%
# What to take away
# -----------------
# Say what a switch costs, and batches get longer and switches fewer, for nearly the same result. Timing everything is
# safe, and too slow as soon as there is one more column. Random settings are the quickest search, and not bad where
# many settings are nearly as fast as the fastest, as here.
#
# Times are those of the machine that built this page, and differ a little every time. More: `when switching costs
# <../guide.html#when-switching-costs>`_.
