"""Docstrings are plain text here: this makes reStructuredText of them.

A line such as "budget: how many measurements there will be" is an item of a list, and the lines below it that are
indented belong to it. Several items may share a line: "seed: a number. budget: another". `name` is code. Other text
that is indented is shown as it stands.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

ITEM = re.compile(r"^([a-z_][\w.]*(?:, [a-z_]\w*)*): (.*)$")
NEXT = re.compile(r"(?<=[.;]) (?=[a-z_]\w*: \w)")  # where another item begins on the same line
CODE = re.compile(r"``?([^`]+)``?")
ARRAY = re.compile(r"(~?numpy\.ndarray)\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[[\w.~]*(?:\[[^\]]*\])?\]\]")
DEFAULT = re.compile(r"<factory>|<class '(?:\w+\.)*(\w+)'>")  # defaults that are not code, which Sphinx cannot read
MARKS = re.compile(r"([*|\\])|(?<=\w)(_)(?=\W|$)")


def convert(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    return list(_converted(lines))


def _converted(lines: list[str]) -> Iterator[str]:
    item = literal = False
    for number, line in enumerate(lines):
        found, indented = ITEM.match(line), line.startswith(" ")
        if not line.strip():
            item = False
            yield ""
        elif found:
            if not item and number and lines[number - 1].strip():
                yield ""
            item, literal = True, False
            yield from _items(line)
        elif item:
            more, *others = NEXT.split(line.strip())
            yield f"  {_words(more)}"
            yield from (each for other in others for each in _items(other))
        elif indented:
            if not literal:
                yield from ("", "::", "")
            literal = True
            yield line
        else:
            if literal:
                yield ""
            literal = False
            yield _words(line)


def _items(line: str) -> Iterator[str]:
    """One item for each of those that share a line."""
    for each in NEXT.split(line):
        name, _, text = each.partition(": ")
        yield f"- **{_escaped(name)}**: {_words(text)}"


def _words(line: str) -> str:
    """A line of prose: code between backticks, and nothing else that means something."""
    parts = CODE.split(line)
    words = "".join(f"``{each}``\\ " if odd % 2 else _escaped(each) for odd, each in enumerate(parts))
    return words.replace("``\\  ", "`` ").removesuffix("\\ ")


def _escaped(text: str) -> str:
    return MARKS.sub(lambda found: f"\\{found[0]}", text)


def process(_app: Any, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """What Sphinx calls for every docstring."""
    lines[:] = value(obj) if what == "data" and obj.__doc__ == type(obj).__doc__ else convert(lines)


def value(obj: Any) -> list[str]:
    """What a module's data holds, where Python has no other words for it than those of its type."""
    if not isinstance(obj, dict):
        return []
    return [f"By name: {', '.join(f'``{name}``' for name in cast('dict[object, object]', obj))}."]


def shorten(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Arrays by their name, without the types of their shape and numbers; defaults as code."""
    return tuple(each and DEFAULT.sub(_default, ARRAY.sub(r"\1", each)) for each in (signature, returns))


def _default(found: re.Match[str]) -> str:
    return found[1] or "..."  # made anew for each object


def setup(app: Any) -> dict[str, Any]:
    """Join in."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True}
