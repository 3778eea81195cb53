"""With what is measured, so that every value can be traced to it: a program or a function, and its version."""

import inspect
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

DIGITS = 12  # of a SHA-256 digest, in hexadecimal


class Program(NamedTuple):
    """A command as it was given, or module:function. Its version: digests of its files, or of the function's source.

    Of a function that of its module comes first, where it has one (`__version__`).
    """

    name: str = ""
    version: str = ""


def program_of(f: Callable[..., Any]) -> Program:
    """What a function is, as it is now. An object may say so itself (`program`), as commands do."""
    try:
        inner = _unwrapped(f)
        own = getattr(inner, "program", None)
        return own if isinstance(own, Program) else _of_function(inner)
    except Exception:  # objects of all kinds can be called; what cannot be known is no reason not to measure
        return Program()


def program_of_command(template: str, words: Sequence[str]) -> Program:
    """What a command is, as it is now."""
    return Program(template, " ".join(_digests(words)))


def _digests(words: Sequence[str]) -> Iterator[str]:
    """Of a program's file; and where it is found by its name, as `python` is, of its script.

    That is the first argument that is a file.
    """
    script = [word for word in words[1:] if Path(word).is_file()][:1] if "/" not in words[0] else []
    for file in filter(None, [shutil.which(words[0]), *script]):
        with suppress(OSError), Path(file).open("rb") as content:
            yield file_digest(content, "sha256").hexdigest()[:DIGITS]


def _of_function(f: Any) -> Program:
    """Of an object that can be called, its class."""
    named = f if hasattr(f, "__qualname__") else cast("Any", type(f))
    module, source = str(named.__module__ or ""), ""
    with suppress(Exception):  # it was typed at a prompt, or is not written in Python
        source = inspect.getsource(named)
    version: Any = getattr(sys.modules.get(module), "__version__", None)
    digest = sha256(source.encode()).hexdigest()[:DIGITS] if source else ""
    known = [version if isinstance(version, str) else "", digest]
    return Program(f"{module}:{named.__qualname__}", " ".join(filter(None, known)))


def _unwrapped(f: Any) -> Any:
    """Without what was put around it."""
    if isinstance(f, partial):
        return _unwrapped(cast("partial[Any]", f).func)
    inner = getattr(f, "__wrapped__", None)
    return f if inner is None else _unwrapped(inner)
