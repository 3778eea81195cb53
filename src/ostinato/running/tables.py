"""Tables in the terminal."""

from rich.console import Console
from rich.table import Table

WIDEST = 1_000


def show(console: Console, table: Table) -> None:
    """Print a table as wide as it is: beyond the terminal's width lines wrap, but no digit is cut off."""
    width = console.width
    console.width = max(width, console.measure(table, options=console.options.update(width=WIDEST)).maximum)
    console.print(table, crop=False, highlight=False)
    console.width = width
