"""
Clicks on 100,000 items
=======================

A shop shows one of 100,000 items at the top of its page. A visitor clicks or does not. Items have five properties
(price, age, rating and two numbers of a recommender), and alike items are clicked alike. There will be 10,000 visitors.

The shop does not need to know the best item. It wants as many clicks as possible from these visitors, while it learns.
"""

# %%
# The shop
# --------
# The visitors are simulated: most items get clicks from about one visitor in fifty, a few regions do better.

import matplotlib.pyplot as plt
import numpy as np

from ostinato import Optimizer

ITEMS, VISITORS, HOUR = 100_000, 10_000, 200  # HOUR: the most visitors who see one choice before the next is made
shop = np.random.default_rng(0)
items = shop.uniform(size=(ITEMS, 5))
centres, heights = shop.uniform(size=(4, 5)), np.array([0.20, 0.16, 0.12, 0.12])
distances = ((items[:, None, :] - centres) ** 2).sum(axis=2)
rates = 0.02 + (heights * np.exp(-distances / 0.15)).sum(axis=1)  # of clicks, never seen by those who choose
print(f"clicks: {100 * rates.mean():.1f} % of visitors on average over items, {100 * rates.max():.1f} % for the best item")

# %%
# `outcome="binary"` says that a measurement is yes or no, and `goal="earn"` that every visitor counts. A batch says which
# item to show and to how many visitors; `successes` and `trials` say what came of it.


def with_ostinato(seed):
    """Clicks of each visitor in turn."""
    visitors = np.random.default_rng(seed)
    optimizer = Optimizer(items, outcome="binary", goal="earn", budget=VISITORS, seed=seed)
    clicks = []
    while optimizer.steps < VISITORS:
        batch = optimizer.ask(limit=min(HOUR, VISITORS - optimizer.steps))
        seen = visitors.random(batch.repeats) < rates[batch.index]
        optimizer.tell(batch, successes=int(seen.sum()), trials=batch.repeats)
        clicks.append(seen)
    return np.concatenate(clicks), optimizer


clicks, optimizer = with_ostinato(seed=0)
print(f"{clicks.sum():,} clicks; {optimizer.unique:,} of {ITEMS:,} items were shown, with {optimizer.switches} switches")
print(optimizer.best())
