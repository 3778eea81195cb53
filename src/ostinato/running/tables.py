"""Tables in the terminal: no digit is cut off, and no column is left out."""

from collections.abc import Iterator
from textwrap import fill

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

LEFT = (
    *("candidate", "when", "batch", "why", "worker", "state", "began", "program", "version"),
    *("figure", "what it shows"),
)
CANDIDATE = 16  # characters that candidates have at least, where they need as many
HEAD = 12  # characters of a head that is broken between words
WIDEST = 1_000


def table_of(*columns: str) -> Table:
    """An empty table: words on the left of their columns, and numbers on the right."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=name != "candidate")
    return table


def show(console: Console, table: Table) -> None:
    """Print a table within the terminal's width: candidates are broken between words, and heads where they must be.

    Where that is too wide, every row becomes a few lines. Without a terminal a table is as wide as it is.
    """
    if not console.is_terminal:
        width = console.width
        console.width = max(width, console.measure(table, options=console.options.update(width=WIDEST)).maximum)
        console.print(table, crop=False, highlight=False)
        console.width = width
    elif _needed(console, table) <= console.width:
        console.print(table, highlight=False)
    else:
        for line in _as_lines(table, console.width):
            console.print(line, highlight=False, soft_wrap=True)


def _needed(console: Console, table: Table) -> int:
    """The least width at which nothing is cut off, and the columns told so. Heads are broken where that is less."""
    everything = console.options.update(width=WIDEST)
    for narrow in (False, True):
        for column in table.columns:
            if narrow:
                column.header = fill(str(column.header), max(HEAD, _longest(column)), break_long_words=False)
            natural = max(_longest(column), *map(cell_len, str(column.header).split("\n")))
            column.min_width = natural if column.no_wrap else min(natural, max(CANDIDATE, _longest_word(column)))
        if (needed := console.measure(table, options=everything).minimum) <= console.width:
            break
    return needed


def _as_lines(table: Table, width: int) -> Iterator[Text]:
    """Every row as its cells with their names, as many in a line as there is room for, and an empty line after it."""
    heads = [" ".join(str(column.header).split()) for column in table.columns]
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        line = Text()
        for head, cell in zip(heads, map(_text, cells), strict=True):
            if not cell:
                continue
            part = Text.assemble((f"{head} " if head else "", "bold"), cell)
            if line and line.cell_len + 3 + part.cell_len > width:
                yield line
                line = Text("  ")
            line = Text.assemble(line, "   " if line.plain.strip() else "", part)
        yield line
        yield Text()


def _longest(column: Column) -> int:
    """Characters of the longest cell."""
    return max((_text(cell).cell_len for cell in column.cells), default=0)


def _longest_word(column: Column) -> int:
    return max((cell_len(word) for cell in column.cells for word in _text(cell).plain.split()), default=0)


def _text(cell: object) -> Text:
    return cell if isinstance(cell, Text) else Text.from_markup(str(cell))
