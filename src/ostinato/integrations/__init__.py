"""Ostinato in the tools that people already use. Each module needs the library that it is named after."""
