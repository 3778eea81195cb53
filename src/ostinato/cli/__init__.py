"""The command line: thin. It parses, calls and prints."""

from ostinato.cli.app import main

__all__ = ["main"]
