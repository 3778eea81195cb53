"""Messages in the words of the command line: options where Python has settings."""

import re
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

from typer.models import OptionInfo


def in_options(words: str, command: Callable[..., Any] | None) -> str:
    """A message with --max-repeats 5 where it says max_repeats=5, if the command has that option. Code in `…` stays."""
    names = list(_options(command)) if command else []
    if not names:
        return words
    setting = re.compile(rf"\b({'|'.join(names)})=(True\b)?(?=(\w|['\"\[(.+-])?)")
    parts = words.split("`")
    parts[::2] = [setting.sub(_option, part) for part in parts[::2]]
    return "`".join(parts)


def _option(found: re.Match[str]) -> str:
    name, true, value = found.groups()
    return f"--{name.replace('_', '-')}{' ' if value and not true else ''}"


def _options(command: Callable[..., Any]) -> Iterator[str]:
    for name, parameter in signature(command).parameters.items():
        if any(isinstance(each, OptionInfo) for each in getattr(parameter.annotation, "__metadata__", ())):
            yield name
