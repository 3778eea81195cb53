"""The figures of a report by name: how each is made, its title, and what it shows in words."""

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from ostinato.experiments import figures, summary
from ostinato.experiments.records import Run

FIGURES: dict[str, tuple[Callable[[Sequence[Run]], Figure], str, str]] = {
    "regret": (
        figures.regret,
        "Regret",
        "How much worse an average measurement was than one of the best candidate. Lower is better. Lines are means "
        "over seeds and bands their 95% intervals; where bands overlap, the order may be chance. Lines that end early "
        "had a shorter horizon. Both axes are logarithmic.",
    ),
    "unique": (
        figures.unique,
        "Different candidates",
        "How many different candidates had been measured. Fewer means cheaper: the time that an exact Gaussian process "
        "takes can be made to grow with this number instead of that of measurements. A line that flattens repeats "
        "candidates it knows. Bands are 95% intervals over seeds.",
    ),
    "rounds": (
        figures.rounds,
        "Rounds",
        "How many rounds had been decided; after each the model is brought up to date. (A round of a mini algorithm "
        "is one batch.) The diagonal is a round for every "
        "single measurement. For the mini algorithms the dotted line counts different candidates: the further the "
        "solid line is above it, the more often they came back to a candidate they knew.",
    ),
    "seconds": (
        figures.seconds,
        "Time",
        "The same regret against the processor time that the algorithm itself had taken, that of the measurements "
        "left out. The marker is where the run ended: down is better, left is faster.",
    ),
}
SHARES = (
    "At 1 an algorithm does no better than measuring candidates at random (“uniform”); at 0.1 it loses a tenth of that."
)
UNITS = "On {} uniform did not run, so regret is not normalised there but in the problem’s own units."


def caption(runs: Sequence[Run], name: str) -> str:
    """What the figure shows, and for regret what its numbers are."""
    without = [problem for problem in summary.problems(runs) if not summary.has_uniform(runs, problem)]
    shares = [SHARES] if len(without) < len(summary.problems(runs)) else []
    units = [UNITS.format(", ".join(without))] if without else []
    return " ".join([FIGURES[name][2], *(shares + units if name == "regret" else [])])
