"""Problems with a known truth, to try out and compare optimisers: synthetic functions, and tables of real trainings."""

from ostinato.problems.base import Problem, standardised
from ostinato.problems.catalogue import Entry, catalogue, groups, load, names
from ostinato.problems.cells import cells
from ostinato.problems.nasbench import nas101, read_nasbench
from ostinato.problems.noise import Gaussian, Multiplicative, Noise, Setups, Stored
from ostinato.problems.synthetic import synthetic
from ostinato.problems.tables import table

__all__ = [
    "Entry",
    "Gaussian",
    "Multiplicative",
    "Noise",
    "Problem",
    "Setups",
    "Stored",
    "catalogue",
    "cells",
    "groups",
    "load",
    "names",
    "nas101",
    "read_nasbench",
    "standardised",
    "synthetic",
    "table",
]
