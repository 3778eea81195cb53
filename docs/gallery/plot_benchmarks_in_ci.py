"""
Which version is fastest? Benchmarks in CI
==========================================

A pull request has eight versions of one function. The build server is noisy: now and then a run takes much longer than
the last. The team wants the fastest version, with as few runs as the question needs, because every run of the benchmark
costs build time.

They have the usual rule, "20 runs of each, then take the best average", and wonder whether it can be replaced.
"""

# %%
# Eight versions
# --------------
# Real code: all of them count the words of a text. Some are nearly equal, which is the hard part.

import random
import re
from collections import Counter, defaultdict
from time import process_time

import matplotlib.pyplot as plt
import numpy as np

import ostinato
from ostinato import Category, Space
from ostinato.stopping import Within

random.seed(0)
words = ["".join(random.choices("abcdefgh", k=random.randint(2, 4))) for _ in range(300)]
text = " ".join(random.choices(words, k=4000))


def plain_dict():
    counts = {}
    for word in text.split():
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1


def dict_get():
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1


def default_dict():
    counts = defaultdict(int)
    for word in text.split():
        counts[word] += 1


def try_except():
    counts = {}
    for word in text.split():
        try:
            counts[word] += 1
        except KeyError:
            counts[word] = 1


def counter():
    Counter(text.split())


def counter_loop():
    counts = Counter()
    for word in text.split():
        counts[word] += 1


def regular_expression():
    Counter(re.findall(r"\w+", text))


def sorting():
    ordered = sorted(text.split())
    starts = [i for i in range(len(ordered)) if i == 0 or ordered[i] != ordered[i - 1]]
    dict(zip((ordered[i] for i in starts), np.diff([*starts, len(ordered)]), strict=True))


VERSIONS = [plain_dict, dict_get, default_dict, try_except, counter, counter_loop, regular_expression, sorting]
by_name = {version.__name__: version for version in VERSIONS}


def milliseconds(version, runs):
    """Some runs in a row, after three that fill the caches and do not count."""
    clocks = []
    for _ in range(runs + 3):
        start = process_time()
        version()
        clocks.append(1000 * (process_time() - start))
    return clocks[3:]


# %%
# With a rule to stop
# -------------------
# `Within(0.02)` stops as soon as no version is faster by more than 0.02 ms, with 95% probability. Before that,
# versions that are clearly slow are not run again. `outcome="positive"` says that slow versions vary more than fast
# ones. Runs in a row share the mood of the machine, and `setup_std="learn"` accounts for that: without it, a version
# that was run at a bad moment may be given up too early.

space = Space(version=Category(*by_name))
settings = {"direction": "minimize", "outcome": "positive", "setup_std": "learn", "value": "time", "unit": "ms"}
result = ostinato.optimize(
    lambda candidate, runs: milliseconds(by_name[candidate["version"]], runs),
    space,
    vectorized=True,
    budget=20 * len(VERSIONS),
    stop=Within(0.02),
    seed=0,
    **settings,
)
print(result)
print("stopped by", result.ended)

# %%
# Every run, version by version:

result.plot("measurements")

# %%
# Many builds
# -----------
# One build proves nothing. So 400 runs of each version are recorded, and builds are replayed from the record: each run
# draws one of the 400. Other builds on the server are added: every fifth run is disturbed, by half of its time on
# average. What is fastest is known, because all versions suffer alike.

record = {name: [] for name in by_name}
for _ in range(40):  # by turns, so that all see the same machine
    for name, version in by_name.items():
        record[name] += milliseconds(version, 10)
means = {name: float(np.mean(times)) for name, times in record.items()}
fastest = min(means, key=means.__getitem__)
for name in sorted(means, key=means.__getitem__):
    times = record[name]
    print(f"{name:20} mean {means[name]:.3f} ms, median {np.median(times):.3f} ms, slowest {max(times):.2f} ms")


def replayed(name, runs, rng):
    """Some runs of a version in a replayed build (ms)."""
    disturbed = rng.random(runs) < 0.2
    return rng.choice(record[name], runs) * (1 + disturbed * rng.exponential(0.5, runs))


def by_averages(seed, runs):
    """The version with the lowest average of some runs each."""
    rng = np.random.default_rng(seed)
    averages = {name: replayed(name, runs, rng).mean() for name in record}
    return min(averages, key=averages.__getitem__), runs * len(record)


def by_ostinato(seed, gap, **other):
    rng = np.random.default_rng(seed)
    replay = ostinato.optimize(
        lambda candidate, runs: replayed(candidate["version"], runs, rng),
        space,
        vectorized=True,
        budget=20 * len(VERSIONS),
        stop=Within(gap),
        seed=seed,
        **{**settings, **other},
    )
    return replay.best.candidate["version"], replay.steps


BUILDS = range(40)
ROBUST = {"outcome": "real", "setup_std": None, "robust": True}  # single slow runs count little
rules = {f"{runs} runs of each": [by_averages(seed, runs) for seed in range(1000)] for runs in (3, 5, 10, 20)}
rules |= {f"within {gap} ms": [by_ostinato(seed, gap) for seed in BUILDS] for gap in (0.05, 0.02, 0.005)}
rules["0.02 ms, robust"] = [by_ostinato(seed, 0.02, **ROBUST) for seed in BUILDS]
runs_used, slower = {}, {}
for rule, builds in rules.items():
    runs_used[rule] = np.mean([runs for _, runs in builds])
    slower[rule] = 1000 * np.mean([means[name] - means[fastest] for name, _ in builds])  # µs
    right = 100 * np.mean([name == fastest for name, _ in builds])
    print(f"{rule:16} {runs_used[rule]:5.0f} runs, right in {right:3.0f} % of builds, {slower[rule]:4.1f} µs slower")

# %%

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for rule in rules:
    style = "s" if "runs" in rule else "o"
    axis.plot(runs_used[rule], slower[rule], style, color="C0" if "runs" in rule else "C1")
    axis.annotate(rule, (runs_used[rule], slower[rule]), xytext=(6, 4), textcoords="offset points", fontsize=8)
axis.plot([], [], "sC0", label="fixed number of runs")
axis.plot([], [], "oC1", label="Ostinato with a rule to stop")
axis.set(xlabel="runs in a build (number)", ylabel="slower than the fastest, on average (µs)", xlim=(0, 185))
axis.set(title="What a build costs, and what it gets wrong")
axis.legend()
plt.show()
# sphinx_gallery_thumbnail_number = 2

# %%
# What to take away
# -----------------
# Runs go to the versions that may still win, and a build stops where the question is easy. With as few versions as here
# there is little to gain over a fixed number of runs: compare the table. The rule has to be chosen with care, too. The
# 95% belong to a model of the noise, and runs on a build server have a long tail. `robust=True` looks natural here but
# makes the model too sure. If a wrong answer is dear, ask for a smaller gap, or simply take more runs.
#
# The numbers on this page are timings of the machine that built it, and differ a little every time. More: `when to stop
# <../guide.html#when-to-stop>`_, `how sure it is <../concepts.html#how-sure-it-is>`_.
