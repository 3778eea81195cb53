"""Draw the pictures of docs/figures.md from a real run: ``python docs/plots.py``."""

from pathlib import Path

import numpy as np

from ostinato import Category, Float, Optimizer, Space
from ostinato.plots import FIGURES, save

FOLDER = Path(__file__).parent / "plots"
rng = np.random.default_rng(0)
TEMP = "temp (°C)"
space = Space({TEMP: Float(20, 80, step=5), "pH": Float(4, 9, step=0.5), "solvent": Category("water", "ethanol")})
opt = Optimizer(space, switch_cost=2.0, seed=1, value="yield", unit="%")


def measured(c: dict) -> float:
    """The yield of a reaction, with noise."""
    extra = 4 if c["solvent"] == "ethanol" else 0
    return 60 + extra - ((c[TEMP] - 55) / 10) ** 2 - 3 * (c["pH"] - 6.5) ** 2 + 2 * rng.standard_normal()


while opt.steps < 200:
    batch = opt.ask(limit=200 - opt.steps)
    opt.tell(batch, [measured(batch.candidate) for _ in range(batch.repeats)])
for name in FIGURES:
    save(opt.plot(name), FOLDER / f"{name}.svg")
save(opt.plot("posterior", columns=[TEMP, "pH"]), FOLDER / "map.svg")
