"""Settings as text that a storage can keep: numbers, texts, and this library's own kernels, policies and β schedules.

What is Python code (a function for switching costs, a kernel of one's own) cannot be kept: its place is marked, with
what it shows of its own settings, and it has to be given again where something is decided or asked of the model.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import Any, cast

import msgspec
import numpy as np

from ostinato.checks import brief
from ostinato.errors import MissingSetting, StudyDiffers
from ostinato.measurements.quantity import quantity_of
from ostinato.records import Quantity

ROOMS = ("kernels", "policies", "confidence", "stopping")  # whose objects are kept
CODE = "python"  # the mark of what cannot be kept
SAYS = "says"  # how code shows itself, without the addresses that differ from process to process
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
PROGRAM = "program"  # kept beside the settings: with what a study is measured; it may change
VERSION = "program_version"  # and in which version, where that is known
PAUSES = "pauses"  # kept there too: which runs measure nothing at the moment


def as_text(settings: Mapping[str, Any]) -> str:
    """Settings as JSON."""
    return msgspec.json.encode({name: _encoded(value) for name, value in sorted(settings.items())}).decode()


def check_given(text: str, given: Mapping[str, Any], name: str, *, rows_given: bool) -> None:
    """What is given must be what was kept, as far as that can be known of Python code.

    rows_given: with candidates, which may be more or fewer than those of the study; and so may be their noise.
    """
    kept = _kept(text)
    for key, value in given.items():
        if key not in kept and _is_default(key, value):
            continue
        was, now = kept.get(key), _encoded(value)
        if key == "noise_std" and rows_given:
            was, now = _shared(was, now)
        if key not in kept or not _same(was, now):
            raise StudyDiffers(
                f"The study {name!r} was made with {key}={_in_words(kept[key]) if key in kept else 'not given'}, and "
                f"now {key}={brief(value)} was given: settings of a study do not change. Leave it out, or begin a "
                "study of another name."
            )


def restored(text: str, given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of an optimiser that were kept; what is code is taken from those given."""
    return _restored(_without_stop(text), given, name)


def stop_of(text: str, given: Mapping[str, Any], name: str) -> Any:
    """The rules by which runs end; None for none."""
    rules = {key: value for key, value in _kept(text).items() if key == "stop"}
    return _restored(rules, given, name).get("stop")


def missing_code(text: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of an optimiser's settings that are Python code and were not given."""
    return _missing(_without_stop(text), given)


def _restored(kept: Mapping[str, Any], given: Mapping[str, Any], name: str) -> dict[str, Any]:
    missing = _missing(kept, given)
    if missing:
        raise MissingSetting(
            f"The study {name!r} was made with a {' and a '.join(missing)} of your own Python code, which is not "
            "stored: to decide, and to answer from the model, open it from Python and give it again, "
            f"`Study({name!r}, storage, {', '.join(f'{key}=…' for key in missing)})`. Without it you can look at what "
            "was measured, tell, correct and retract, retire candidates, and change the budget."
        )
    return {key: given[key] if _has_code(value) else _decoded(value) for key, value in kept.items()}


def _missing(kept: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(key for key, value in kept.items() if _has_code(value) and key not in given)


def _without_stop(text: str) -> dict[str, Any]:
    return {key: value for key, value in _kept(text).items() if key != "stop"}


def outcome_name(text: str) -> str:
    """What kind of number a measurement is."""
    return _kept(text).get("outcome", "real")


def quantity_in(text: str) -> Quantity:
    """What the measured number is called, and its unit."""
    kept = _kept(text)
    return quantity_of(kept.get("value"), kept.get("unit"), kept.get("outcome", "real"))


def has_setting(text: str, name: str) -> bool:
    """Whether a setting was given, and is not 0."""
    return bool(_kept(text).get(name))


def _kept(text: str) -> dict[str, Any]:
    kept: dict[str, Any] = msgspec.json.decode(text)
    for name in (PROGRAM, VERSION, PAUSES):
        kept.pop(name, None)
    return kept


def _shared(kept: Any, given: Any) -> tuple[Any, Any]:
    """Of two lists, what both have; anything else as it is."""
    lists = [cast("dict[str, Any]", each).get("list") if isinstance(each, dict) else None for each in (kept, given)]
    if None in lists:
        return kept, given
    one, two = cast("list[list[Any]]", lists)
    shared = min(len(one), len(two))
    return one[:shared], two[:shared]


def _same(kept: Any, given: Any) -> bool:
    """Whether two encoded settings are the same; of code, as far as both say anything of it."""
    if isinstance(kept, dict) and isinstance(given, dict):
        one, two = cast("dict[str, Any]", kept), cast("dict[str, Any]", given)
        both = one.keys() & two.keys()
        alike = CODE in both or one.keys() == two.keys()
        return alike and all(_same(one[key], two[key]) for key in both)
    if isinstance(kept, list) and isinstance(given, list):
        first, second = cast("list[Any]", kept), cast("list[Any]", given)
        return len(first) == len(second) and all(map(_same, first, second))
    return msgspec.json.encode(kept) == msgspec.json.encode(given)


def _in_words(encoded: Any) -> str:
    """A setting that was kept, for a message."""
    if not _has_code(encoded):
        return brief(_decoded(encoded))
    if not isinstance(encoded, dict):
        return brief(encoded)
    given = cast("dict[str, Any]", encoded)
    if SAYS in given:
        return given[SAYS]
    if "fields" in given:
        fields = ", ".join(f"{name}={_in_words(each)}" for name, each in given["fields"].items())
        return f"{_plain_name(given)}({fields})"
    return given.get(CODE, brief(encoded))


def _plain_name(encoded: Mapping[str, str]) -> str:
    """Of a class: without where it lives."""
    return encoded.get("type", encoded.get(CODE, "")).rpartition(":")[2].rpartition(".")[2]


def _is_default(key: str, value: Any) -> bool:
    """Whether that is what a setting is where it is left out."""
    from ostinato.optimizer import Optimizer  # whoever only looks gives no settings, and needs no optimiser

    parameter = signature(Optimizer).parameters.get(key)
    return parameter is not None and msgspec.json.encode(_encoded(value)) == msgspec.json.encode(
        _encoded(parameter.default)
    )


def program_of(text: str) -> tuple[str | None, str]:
    """The program with which a study is measured, where the command line has noted it, and its version."""
    kept = msgspec.json.decode(text)
    return kept.get(PROGRAM), kept.get(VERSION, "")


def with_setting(text: str, name: str, value: Any) -> str:
    """The same settings with another value for one of them."""
    return msgspec.json.encode({**msgspec.json.decode(text), name: _encoded(value)}).decode()


def with_program(text: str, program: str, version: str) -> str:
    """The same settings with another program."""
    return msgspec.json.encode({**msgspec.json.decode(text), PROGRAM: program, VERSION: version}).decode()


def pauses_in(text: str) -> list[Any]:
    """The runs that measure nothing at the moment."""
    if f'"{PAUSES}"' not in text:  # most of the time; settings may be large, and this is asked every second
        return []
    return msgspec.json.decode(text).get(PAUSES, [])


def with_pauses(text: str, pauses: Sequence[Any]) -> str:
    """The same settings with other runs that measure nothing."""
    kept = {key: value for key, value in msgspec.json.decode(text).items() if key != PAUSES}
    return msgspec.json.encode(kept | ({PAUSES: pauses} if pauses else {})).decode()


def _encoded(value: Any) -> Any:
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return {"list": [_encoded(each) for each in cast("list[Any]", value)]}
    if isinstance(value, Mapping):
        return {"dict": [[_encoded(key), _encoded(each)] for key, each in cast("Mapping[Any, Any]", value).items()]}
    room, kind = type(value).__module__.split(".")[1:2], type(value).__name__
    if is_dataclass(value) and room and room[0] in ROOMS and hasattr(_room(room[0]), kind):
        parts = {field.name: _encoded(getattr(value, field.name)) for field in fields(value) if field.init}
        return {"type": f"{room[0]}.{kind}", "fields": parts}
    return _code(value)


def _code(value: Any) -> dict[str, Any]:
    """What can be kept of Python code: its name, and the settings that it shows."""
    encoded = {CODE: f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', type(value).__qualname__)}"}
    if is_dataclass(value) and not isinstance(value, type):
        shown = [field.name for field in fields(value) if field.init and field.compare]
        return {**encoded, "fields": {name: _encoded(getattr(value, name)) for name in shown}}
    if isinstance(value, (set, frozenset)):  # in no order that another process would know
        return {**encoded, "list": sorted(map(repr, cast("set[Any]", value)))}
    said = ADDRESS.sub("", repr(value))
    return encoded if type(value).__repr__ is object.__repr__ or "\n" in said else {**encoded, SAYS: said}


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    if "list" in given:
        return tuple(_decoded(each) for each in given["list"])
    if "dict" in given:
        return {_decoded(key): _decoded(each) for key, each in given["dict"]}
    room, kind = given["type"].split(".")
    return getattr(_room(room), kind)(**{name: _decoded(each) for name, each in given["fields"].items()})


def _room(name: str) -> ModuleType:
    return import_module(f"ostinato.{name}")


def _has_code(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_code(each) for each in cast("list[Any]", value))
    if not isinstance(value, dict):
        return False
    given = cast("dict[str, Any]", value)
    return CODE in given or any(_has_code(each) for each in given.values())
