"""How stories of the gallery are drawn: Ostinato's figures are shown as matplotlib's own, and both look alike.

`result.plot(…)` gives a figure that pyplot does not know, as a library should; where it is the last line of a cell it
is shown, as in a notebook.
"""

import logging
from pathlib import Path
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

from ostinato.plots.drawing.style import BLUE, GREEN, SKY, STYLE, VERMILLION

COLOURS = (BLUE, VERMILLION, GREEN, "#cc79a7", "#e69f00", SKY, "#5b5f66")  # that colour-blind people can tell apart
SHARP = 2  # pixels of a sharp screen for one of an ordinary one


class Scraper:
    """Finds what a cell has drawn."""

    def __repr__(self) -> str:  # part of the settings, by which Sphinx knows whether they have changed
        return "Scraper"

    def __call__(self, block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
        last = block_vars["example_globals"].get("___")
        drawn = matplotlib_scraper(block, block_vars, gallery_conf)
        if isinstance(last, Figure) and not hasattr(last, "shown_on_site"):
            last.shown_on_site = True  # type: ignore[attr-defined]  # cells after this one see the same last line
            drawn += _shown(last, Path(next(block_vars["image_path_iterator"])), gallery_conf["src_dir"])
        return drawn


def _shown(figure: Figure, path: Path, folder: str) -> str:
    sharp = path.with_stem(f"{path.stem}_{SHARP:.2f}x".replace(".", "_"))
    figure.savefig(path, dpi=100, facecolor="white")
    figure.savefig(sharp, dpi=100 * SHARP, facecolor="white")
    titles = ", ".join(title for axes in figure.axes if (title := axes.get_title("left") or axes.get_title()))
    return figure_rst([str(path)], folder, titles, srcsetpaths=[{0: str(path), SHARP: str(sharp)}])


def reset(_gallery_conf: dict[str, Any], _name: str) -> None:
    """Every story begins with the style of Ostinato's own figures."""
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # a font that has no bold letters
    matplotlib.rcParams.update({**STYLE, "text.parse_math": True, "axes.prop_cycle": cycler(color=COLOURS)})
