"""What can be evaluated: a table or a space of candidates."""

from typing import TYPE_CHECKING

from ostinato.lazy import lazily

if TYPE_CHECKING:
    from ostinato.candidates.extending import extended
    from ostinato.candidates.files import read_file
    from ostinato.candidates.gridded import GridTable, grid_of
    from ostinato.candidates.lattice import Lattice, lattice_of
    from ostinato.candidates.packing import Head, Packed, head_of, packed, row_of, unlike, unpacked
    from ostinato.candidates.parameters import Category, Float, Integer, Ordered, Parameter
    from ostinato.candidates.reading import read_candidates
    from ostinato.candidates.sampled import Sampled
    from ostinato.candidates.sharded import ShardedTable
    from ostinato.candidates.space import Space
    from ostinato.candidates.table import Candidates

__all__ = [
    "Candidates",
    "Category",
    "Float",
    "GridTable",
    "Head",
    "Integer",
    "Lattice",
    "Ordered",
    "Packed",
    "Parameter",
    "Sampled",
    "ShardedTable",
    "Space",
    "extended",
    "grid_of",
    "head_of",
    "lattice_of",
    "packed",
    "read_candidates",
    "read_file",
    "row_of",
    "unlike",
    "unpacked",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "extending": ["extended"],
        "files": ["read_file"],
        "gridded": ["GridTable", "grid_of"],
        "lattice": ["Lattice", "lattice_of"],
        "packing": ["Head", "Packed", "head_of", "packed", "row_of", "unlike", "unpacked"],
        "parameters": ["Category", "Float", "Integer", "Ordered", "Parameter"],
        "reading": ["read_candidates"],
        "sampled": ["Sampled"],
        "sharded": ["ShardedTable"],
        "space": ["Space"],
        "table": ["Candidates"],
    },
)
