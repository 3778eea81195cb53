"""Rewrites messages for the command line: `--max-repeats 5` in place of `max_repeats=5`."""

import re
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

from typer.models import OptionInfo

CALL = re.compile(r"\w\(")
ARGUMENT = re.compile(r"\b([a-z_]+)=(?=[\s,.:;)]|$)")  # of a function in Python, named without a value


def in_options(words: str, command: Callable[..., Any] | None) -> str:
    """A message with --max-repeats 5 where it says max_repeats=5, if the command has that option.

    Other arguments that Python has are named without =: successes and trials.
    Code stays as it is: what is in `…`, and what stands in a call, such as the columns of Space(budget=Float(0, 1)).
    """
    names = list(_options(command)) if command else []
    if not names:
        return words
    setting = re.compile(rf"\b({'|'.join(names)})=(True\b)?(?=(\w|['\"\[(.+-])?)")
    parts = words.split("`")
    parts[::2] = ["".join(_translated(part, setting)) for part in parts[::2]]
    return "`".join(parts)


def _translated(words: str, setting: re.Pattern[str]) -> Iterator[str]:
    """What stands outside of calls with options, and calls as they are."""
    place = 0
    while (call := CALL.search(words, place)) is not None:
        yield _in_shell(words[place : call.end()], setting)
        place = _closed(words, call.end())
        yield words[call.end() : place]
    yield _in_shell(words[place:], setting)


def _in_shell(words: str, setting: re.Pattern[str]) -> str:
    return ARGUMENT.sub(r"\1", setting.sub(_option, words))


def _closed(words: str, start: int) -> int:
    """Where a call ends whose bracket was opened just before; one that was cut short ends with its …."""
    depth = 1
    for place in range(start, len(words)):
        depth += {"(": 1, ")": -1}.get(words[place], 0)
        if depth == 0 or words[place] == "…":
            return place
    return len(words)


def _option(found: re.Match[str]) -> str:
    name, true, value = found.groups()
    return f"--{name.replace('_', '-')}{' ' if value and not true else ''}"


def _options(command: Callable[..., Any]) -> Iterator[str]:
    for name, parameter in signature(command).parameters.items():
        if any(isinstance(each, OptionInfo) for each in getattr(parameter.annotation, "__metadata__", ())):
            yield name
