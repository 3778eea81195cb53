"""Tables in the terminal."""

from rich.console import Console
from rich.table import Table

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
