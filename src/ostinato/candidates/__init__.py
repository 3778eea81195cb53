"""What can be evaluated: a table or a space of candidates."""

from ostinato.candidates.files import read_file
from ostinato.candidates.space import Category, Float, Integer, Ordered, Parameter, Space
from ostinato.candidates.table import Candidates, read_candidates, unpacked

__all__ = [
    "Candidates",
    "Category",
    "Float",
    "Integer",
    "Ordered",
    "Parameter",
    "Space",
    "read_candidates",
    "read_file",
    "unpacked",
]
