"""Figures and reports of studies, optimisers and results. matplotlib is imported when a figure is drawn."""

from ostinato.plots.figures import FIGURES, plot, save, series_of
from ostinato.plots.page import report

__all__ = ["FIGURES", "plot", "report", "save", "series_of"]
