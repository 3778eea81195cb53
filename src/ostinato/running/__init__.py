"""Measuring: the user's function or program, where it runs, how it is shown, and the loop."""
