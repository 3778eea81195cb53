"""Tables in the terminal."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

LEFT = ("candidate", "when", "batch", "why", "worker", "state", "began", "program", "version")
WIDEST = 1_000


def show(console: Console, table: Table) -> None:
    """Print a table within the terminal's width where its columns fit, else as wide as it is: no digit is cut off."""
    width = console.width
    if console.is_terminal and console.measure(table).minimum <= width:
        console.print(table, highlight=False)
        return
    console.width = max(width, console.measure(table, options=console.options.update(width=WIDEST)).maximum)
    console.print(table, crop=False, highlight=False)
    console.width = width


def table_of(*columns: str) -> Table:
    """An empty table: words on the left of their columns, and numbers on the right."""
    table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=name != "candidate")
    return table
