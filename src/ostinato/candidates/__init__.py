"""What can be evaluated: a table or a space of candidates."""

from ostinato.candidates.extending import extended
from ostinato.candidates.files import read_file
from ostinato.candidates.packing import packed, unpacked
from ostinato.candidates.reading import read_candidates
from ostinato.candidates.space import Category, Float, Integer, Ordered, Parameter, Space
from ostinato.candidates.table import Candidates

__all__ = [
    "Candidates",
    "Category",
    "Float",
    "Integer",
    "Ordered",
    "Parameter",
    "Space",
    "extended",
    "packed",
    "read_candidates",
    "read_file",
    "unpacked",
]
