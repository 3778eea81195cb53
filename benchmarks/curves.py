"""Seconds and memory against the number of candidates, of unique ones and of columns: `python -m benchmarks.curves`.

Every point is a run of its own (`size_run.py`), in a process of its own, on one thread: scattered candidates,
everything learned. Seconds are of the processor. What was measured is kept in docs/size.json, from which
`python -m benchmarks.curves draw` draws docs/size.svg; points that are there are not measured again.
"""

import json
import sys
from typing import Any

from rich.console import Console

from benchmarks.release import ROOT
from benchmarks.size import measured

KEPT, PICTURE = ROOT / "docs" / "size.json", ROOT / "docs" / "size.svg"
SIZE, STEPS, COLUMNS = 100_000, 60, 6
CURVES = {
    "candidates": [(size, STEPS, COLUMNS) for size in (10_000, 100_000, 1_000_000, 10_000_000)],
    "unique": [(3 * SIZE, steps, COLUMNS) for steps in (30, 75, 150, 300)],
    "columns": [(SIZE, STEPS, columns) for columns in (2, 4, 8, 16, 32)],
}
GIGABYTES = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
NAMES = {
    "candidates": f"candidates\n({STEPS} measurements, {COLUMNS} columns)",
    "unique": f"different candidates measured\n(of {3 * SIZE:,}, {COLUMNS} columns)",
    "columns": f"columns\n({SIZE:,} candidates, {STEPS} measurements)",
}


def measure(console: Console) -> None:
    found: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for point in (point for points in CURVES.values() for point in points):
        if _key(point) not in found:
            with console.status(f"{point[0]:,} candidates, {point[1]} measurements, {point[2]} columns …"):
                found[_key(point)] = measured("learned", point[0], point[1], columns=point[2])
            KEPT.write_text(json.dumps(found, indent=1) + "\n")
        console.print(_key(point), {name: round(value, 3) for name, value in found[_key(point)].items()})


def draw() -> None:
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    found = json.loads(KEPT.read_text())
    with mpl.rc_context({"svg.hashsalt": "ostinato", "font.size": 9}):
        picture, panels = plt.subplots(2, 3, figsize=(10, 5.2), sharex="col", sharey="row", layout="constrained")
        for (above, below), (name, wanted) in zip(panels.T, CURVES.items(), strict=True):
            points = [point for point in wanted if _key(point) in found]
            runs = [found[_key(point)] for point in points]
            x = [run["unique"] for run in runs] if name == "unique" else [p[name == "columns" and 2] for p in points]
            above.loglog(x, [run["cpu"] for run in runs], "o-", label="the whole run")
            above.loglog(x, [_epoch(run) for run in runs], "s--", label="one batch, fits aside")
            below.loglog(x, [run["peak"] for run in runs], "o-")
            below.set_xlabel(NAMES[name])
            if name != "candidates":  # less than a decade or two: the points themselves are the ticks
                below.set_xticks(x, [f"{value:g}" for value in x])
                below.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        panels[0, 0].set_ylabel("seconds of the processor")
        panels[1, 0].set_ylabel("peak memory, GB")
        panels[1, 0].set_yticks(GIGABYTES, [f"{value:g}" for value in GIGABYTES])
        panels[1, 0].yaxis.set_minor_locator(mpl.ticker.NullLocator())
        panels[0, 0].legend()
        for panel in panels.flat:
            panel.grid(alpha=0.3)
        picture.savefig(PICTURE, metadata={"Date": None})


def _epoch(run: dict[str, float]) -> float:
    return (run["cpu"] - run["making"] - run["fits"] - run["rebuilding"]) / run["epochs"]


def _key(point: tuple[int, int, int]) -> str:
    return "{} candidates, {} measurements, {} columns".format(*point)


def main(words: list[str]) -> int:
    if words not in ([], ["draw"]):
        print("python -m benchmarks.curves measures and draws; python -m benchmarks.curves draw only draws.")
        return 2
    if not words:
        measure(Console(highlight=False))
    draw()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
