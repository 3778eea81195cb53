"""What can be evaluated: a table or a space of candidates."""

from ostinato.candidates.extending import extended
from ostinato.candidates.files import read_file
from ostinato.candidates.lattice import Lattice, lattice_of
from ostinato.candidates.packing import Head, Packed, head_of, packed, row_of, unlike, unpacked
from ostinato.candidates.parameters import Category, Float, Integer, Ordered, Parameter
from ostinato.candidates.reading import read_candidates
from ostinato.candidates.sampled import Sampled
from ostinato.candidates.space import Space
from ostinato.candidates.table import Candidates

__all__ = [
    "Candidates",
    "Category",
    "Float",
    "Head",
    "Integer",
    "Lattice",
    "Ordered",
    "Packed",
    "Parameter",
    "Sampled",
    "Space",
    "extended",
    "head_of",
    "lattice_of",
    "packed",
    "read_candidates",
    "read_file",
    "row_of",
    "unlike",
    "unpacked",
]
