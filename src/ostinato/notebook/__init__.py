"""Small pieces of HTML for notebooks. All that is shown is text: every name and value is escaped.

Colours are those of the notebook, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape

CELL = "padding:0.15em 0.9em 0.15em 0;text-align:left;vertical-align:top;background:none"
RULE = "border:0;border-bottom:1px solid rgba(128,128,128,0.35)"
WORD = 12  # characters


def card(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A title, and lines of a word and what it is."""
    lines = (
        f'<tr><th style="{CELL};font-weight:normal;opacity:0.7">{text(word)}</th>'
        f'<td style="{CELL}">{text(what)}</td></tr>'
        for word, what in rows
    )
    return f'<div><strong>{text(title)}</strong><table style="border:0">{"".join(lines)}</table></div>'


def described(title: str, words: str) -> str:
    """The same from lines as a terminal shows them: a word in the first twelve places, then what it is."""
    return card(title, [(line[:WORD].strip(), line[WORD:].strip()) for line in words.split("\n")])


def listing(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], most: int = 20) -> str:
    """A title and a table; of many rows the first."""
    every = list(rows)
    heads = "".join(f'<th style="{CELL};{RULE};font-weight:normal;opacity:0.7">{text(each)}</th>' for each in head)
    lines = (
        "<tr>" + "".join(f'<td style="{CELL}">{text(cell)}</td>' for cell in row) + "</tr>" for row in every[:most]
    )
    rest = f"<p>and {len(every) - most:,} more</p>" if len(every) > most else ""
    table = f'<table style="border:0"><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return f"<div><strong>{text(title)}</strong>{table}{rest}</div>"


def text(what: object) -> str:
    """Anything as text of a page."""
    return escape(str(what))
