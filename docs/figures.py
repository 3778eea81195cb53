"""Draw the README's picture of the demonstration from a real run: ``python docs/figures.py``."""

from pathlib import Path

from rich.console import Console

from ostinato.demo import report, run

console = Console(record=True, width=86)
console.print("[bold]$ ostinato demo[/bold]")
report(run(progress=True), console)
console.save_svg(str(Path(__file__).parent / "demo.svg"), title="ostinato")
