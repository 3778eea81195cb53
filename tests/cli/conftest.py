"""A laboratory."""

import csv

import pytest

from terminal import MEASURE


@pytest.fixture
def lab(tmp_path):
    """A folder with a catalogue and a program."""
    with (tmp_path / "catalogue.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["temp", "ph"])
        writer.writerows((temp, ph) for temp in range(20, 81, 10) for ph in (5, 6, 6.5, 7, 8))
    program = tmp_path / "measure"
    program.write_text(MEASURE)
    program.chmod(0o755)
    return tmp_path
