"""Names of a package that are imported when they are first used (PEP 562): whoever needs few of them starts sooner.

A package lists its names three times: for type checkers as imports under TYPE_CHECKING, for everybody in `__all__`, and
here by the module that each is in. `tests/test_public_names.py` sees to it that all three say the same.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


def lazily(
    package: str, names: Mapping[str, Sequence[str]], modules: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: names by the module of it that has them, and modules themselves."""
    homes = {name: module for module, listed in names.items() for name in listed}

    def found(name: str) -> Any:
        here = sys.modules[package]
        if name in modules:
            return _imported(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=here)
        value = getattr(_imported(f"{package}.{homes[name]}"), name)
        setattr(here, name, value)  # so that this is not called again
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return found, listed


def from_above(module: str, name: str) -> Any:
    """A function of a room that lies above: for methods that are only another name for it, such as `study.plot`."""
    return getattr(_imported(module), name)


def _imported(module: str) -> ModuleType:
    """A module. Some libraries draw from `random` while they are imported: a user may have seeded it before."""
    random = sys.modules.get("random")
    if random is None:
        return import_module(module)
    state = random.getstate()
    try:
        return import_module(module)
    finally:
        random.setstate(state)
