"""What can be evaluated: a table or a space of candidates."""

from ostinato.candidates.extending import extended
from ostinato.candidates.files import read_file
from ostinato.candidates.lattice import Lattice, lattice_of
from ostinato.candidates.packing import packed, unpacked
from ostinato.candidates.parameters import Category, Float, Integer, Ordered, Parameter
from ostinato.candidates.reading import read_candidates
from ostinato.candidates.sampled import Sampled
from ostinato.candidates.space import Space
from ostinato.candidates.table import Candidates

__all__ = [
    "Candidates",
    "Category",
    "Float",
    "Integer",
    "Lattice",
    "Ordered",
    "Parameter",
    "Sampled",
    "Space",
    "extended",
    "lattice_of",
    "packed",
    "read_candidates",
    "read_file",
    "unpacked",
]
