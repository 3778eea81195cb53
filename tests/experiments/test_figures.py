"""Figures: one panel a problem, every algorithm in it, and nothing that hangs on colour alone."""

import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from ostinato.experiments import figures, summary
from ostinato.experiments.records import Run

MEASURES = [figures.regret, figures.unique, figures.rounds, figures.seconds]


def runs_of(problems=("hill",), algorithms=("mini-GP-UCB", "BBKB", "uniform"), seeds=3, points=12):
    """Regret that falls, at a rate and with a spread of its own for each algorithm."""
    rng, made = np.random.default_rng(0), []
    t = np.unique(np.geomspace(10, 10_000, points).astype(int))
    for problem in problems:
        for i, algorithm in enumerate(algorithms):
            for seed in range(seeds):
                regret = t ** (1 if algorithm == "uniform" else 0.5 + 0.03 * i) * np.exp(0.1 * rng.standard_normal())
                counts = np.ceil(t**0.4).astype(int).tolist()
                lists = {"unique": counts, "rounds": counts, "switches": counts, "seconds": (1e-4 * t).tolist()}
                made.append(
                    Run("report", problem, algorithm, {}, seed, 10_000, t=t.tolist(), regret=regret.tolist(), **lists)
                )
    return made


@pytest.mark.parametrize("panels", range(1, 9))
def test_a_panel_a_problem(panels):
    problems = [f"problem {i}" for i in range(panels)]
    figure = figures.regret(runs_of(problems, seeds=1, points=4))
    assert [axes.get_title(loc="left") for axes in figure.axes] == problems


@pytest.mark.parametrize("measure", MEASURES)
def test_every_algorithm_is_in_the_legend_and_in_the_panel(measure):
    labels = [*summary.ORDER, "mine", "yours"]
    figure = measure(runs_of(algorithms=labels, seeds=2, points=5))
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [name for name in named if "dotted" not in name] == labels
    assert len(figure.axes[0].lines) >= len(labels)


def test_lines_show_the_summary():
    runs = runs_of(algorithms=("BBKB", "uniform"))
    lines = figures.regret(runs).axes[0].lines
    expected = summary.normalised(runs, "hill", "BBKB")
    drawn = next(line for line in lines if line.get_color() == figures.LINE_STYLES["BBKB"].colour)
    late = expected.t >= max(run.t[-1] for run in runs) / 200  # the first few measurements are mostly chance
    np.testing.assert_allclose(drawn.get_xdata(), expected.t[late])
    np.testing.assert_allclose(drawn.get_ydata(), expected.mean[late])


def test_long_curves_are_thinned_and_keep_their_ends():
    runs = runs_of(algorithms=("BBKB",), points=2000)
    line = figures.unique(runs).axes[0].lines[0]
    assert len(line.get_xdata()) <= figures.POINTS
    assert (line.get_xdata()[0], line.get_xdata()[-1]) == (10, 10_000)


def test_axes_say_what_they_are():
    runs = runs_of()
    assert figures.regret(runs).axes[0].get_ylabel() == "average regret, share of uniform’s"
    assert figures.unique(runs).axes[0].get_ylabel() == "different candidates measured"
    assert figures.rounds(runs).axes[0].get_ylabel() == "rounds"
    assert figures.seconds(runs).axes[0].get_xlabel() == "seconds of the algorithm"
    assert "not normalised" in figures.regret(runs_of(algorithms=("BBKB",))).axes[0].get_ylabel()


def test_a_problem_without_uniform_among_others_says_so():
    mixed = [run for run in runs_of(("hill", "dale")) if (run.problem, run.algorithm) != ("dale", "uniform")]
    hill, dale = figures.regret(mixed).axes
    assert hill.get_ylabel() == "average regret, share of uniform’s"
    assert "not normalised" in dale.get_ylabel()


def test_mini_algorithms_stand_out():
    looks = figures.line_styles(summary.ORDER)
    mini = [look for label, look in looks.items() if label.startswith("mini")]
    rest = [look for label, look in looks.items() if not label.startswith("mini")]
    assert min(look.line["linewidth"] for look in mini) > max(look.line["linewidth"] for look in rest)
    assert min(look.line["zorder"] for look in mini) > max(look.line["zorder"] for look in rest)


def test_no_two_algorithms_look_alike_even_without_colour():
    looks = figures.line_styles([*summary.ORDER, *(f"own {i}" for i in range(10))])
    grey = {(look.marker, look.dash, look.strong) for look in looks.values()}
    assert len(grey) == len(looks)


def test_rounds_of_mini_algorithms_stand_beside_their_candidates():
    assert len(figures.rounds(runs_of(algorithms=("mini-GP-EI",))).axes[0].lines) == 2
    assert len(figures.rounds(runs_of(algorithms=("BBKB",))).axes[0].lines) == 1


@pytest.mark.parametrize("measure", MEASURES)
def test_zeros_and_single_seeds_can_be_drawn(measure, tmp_path):
    """A logarithmic axis has no zero: an algorithm that is right from the start, and a clock too coarse to see it."""
    runs = runs_of(algorithms=("BBKB", "uniform"), seeds=1)
    zeros = [0.0] * 12
    lists = {"unique": [1] * 12, "rounds": [1] * 12, "switches": [0] * 12, "seconds": zeros}
    perfect = Run("report", "hill", "mini-GP-TS", {}, 0, 10_000, t=runs[0].t, regret=zeros, **lists)
    figures.save_png(measure([*runs, perfect]), tmp_path / "figure.png")


def test_png_and_svg(tmp_path):
    before = dict(matplotlib.rcParams)
    figure = figures.regret(runs_of(("<hill> & dale",)))
    figures.save_png(figure, tmp_path / "regret.png")
    drawing = figures.svg(figure)
    assert (tmp_path / "regret.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert "&lt;hill&gt; &amp; dale" in drawing
    assert "currentColor" in drawing
    assert not re.search(r'<g id=|<\?xml|<!DOCTYPE|(href|src)="http', drawing)
    assert dict(matplotlib.rcParams) == before


def test_figures_are_the_same_every_time():
    first, second = (figures.svg(figures.regret(runs_of())) for _ in range(2))
    assert first == second


def test_numbers_in_words_are_whole_in_the_svg():
    drawing = figures.svg(figures.seconds(runs_of(("noise 0.12345",))))
    assert "noise 0.12345" in drawing
    assert not re.search(r' d="[^"]*\.\d{3}', drawing)
