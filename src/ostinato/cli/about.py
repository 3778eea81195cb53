"""What `ostinato --version --verbose` prints: everything about an installation that a report of a bug should say."""

import os
import platform
import re
import sqlite3
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from ostinato import __version__

NAME = re.compile(r"[\w.-]+")
EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
MISSING = "not installed"


def installation() -> dict[str, Any]:
    """Versions of Ostinato, Python, the system, libraries and extras; linear algebra, SQLite and threads."""
    groups = _required()
    return {
        "ostinato": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.python_compiler()})",
        "system": f"{platform.platform()}, {platform.machine()}",
        "libraries": {name: _version(name) for name in groups.pop("", [])},
        "blas": {"numpy": _blas("numpy"), "scipy": _blas("scipy")},
        "sqlite": sqlite3.sqlite_version,
        "processors": {"there": os.cpu_count(), "usable": _usable()},
        "threads": {name: os.environ[name] for name in THREADS if name in os.environ},
        "extras": {extra: {name: _version(name) for name in names} for extra, names in sorted(groups.items())},
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The same for people to read and to paste."""
    threads = ", ".join(f"{name}={value}" for name, value in found["threads"].items())
    processors = found["processors"]
    shown = [
        ("ostinato", found["ostinato"]),
        ("python", found["python"]),
        ("system", found["system"]),
        ("libraries", _listed(found["libraries"])),
        ("blas", f"{found['blas']['numpy']} (numpy), {found['blas']['scipy']} (scipy)"),
        ("sqlite", found["sqlite"]),
        ("processors", f"{processors['usable']} of {processors['there']}; threads: {threads or 'as libraries choose'}"),
        *((f"[{extra}]", _listed(libraries)) for extra, libraries in found["extras"].items()),
    ]
    return [f"{name:<14}{what}" for name, what in shown]


def _listed(libraries: dict[str, str]) -> str:
    return ", ".join(f"{name} {found}" for name, found in libraries.items()) or "none"


def _required() -> dict[str, list[str]]:
    """The libraries that this installation asks for, by the extra that they belong to; those of none under ""."""
    groups: dict[str, list[str]] = {"": []}
    try:
        wanted = requires("ostinato") or []
    except PackageNotFoundError:  # run from its source
        return groups
    for each in wanted:
        extra, name = EXTRA.search(each), NAME.match(each)
        if name is not None:
            groups.setdefault(extra[1] if extra else "", []).append(name[0])
    return groups


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return MISSING


def _blas(library: str) -> str:
    """The linear algebra that a library was built with."""
    from importlib import import_module

    try:
        built = import_module(library).show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{built['name']} {built['version']}"
    except (ImportError, KeyError, TypeError):
        return "unknown"


def _usable() -> int | None:
    """Processors that this process may use: fewer in a container."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
