"""The command line: thin. It parses, calls and prints."""

from ostinato.cli.startup import uncollected


def main() -> None:
    """Run a command."""
    with uncollected():
        from ostinato.cli.app import run
    run()


__all__ = ["main"]
