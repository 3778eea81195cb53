"""Tables in terminals of any width."""

import io

import pytest
from rich.console import Console

from ostinato.running.tables import show, table_of

ROWS = (
    ("observed", "120 to 127", "2026-11-19 01:22:33", "flour 500, water 340, rest 12", "8", "-0.57734", "1 taken back"),
    ("3", "12", "2026-11-19 01:22:34", "flour 512.25, water 341, rest 9", "1", "1234.5", ""),
)
HEADS = ("batch", "numbers", "when", "candidate", "repeats", "average", "below the best by at most (90%)")


def shown(width: int, *, terminal: bool = True) -> str:
    table = table_of(*HEADS)
    for row in ROWS:
        table.add_row(*row)
    file = io.StringIO()
    show(Console(file=file, force_terminal=terminal, width=width, color_system=None), table)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 92, 110, 140, 200])
def test_no_digit_is_cut_off_and_no_column_left_out(width: int) -> None:
    words = shown(width).split()
    for row in ROWS:
        for cell in row:
            for word in cell.split():
                assert word in words


@pytest.mark.parametrize("width", [60, 80, 92, 110, 140, 200])
def test_every_line_is_within_the_terminal(width: int) -> None:
    assert max(map(len, shown(width).splitlines())) <= width


def test_heads_and_candidates_are_broken_between_words_before_rows_become_lines() -> None:
    assert "below the best by at most (90%)" in shown(200)
    assert "below the best by" not in shown(110)
    assert "─" in shown(110)
    assert "average -0.57734" in shown(60)


def test_without_a_terminal_a_table_is_as_wide_as_it_is() -> None:
    lines = shown(40, terminal=False).splitlines()
    assert any("flour 500, water 340, rest 12" in line and "-0.57734" in line for line in lines)
