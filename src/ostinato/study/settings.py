"""Settings as text that a storage can keep: numbers, texts, and this library's own kernels, policies and β schedules.

What is Python code (a function for switching costs, a kernel of one's own) cannot be kept: its place is marked, and it
has to be given again when the study is opened.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, cast

import msgspec
import numpy as np

from ostinato import confidence, kernels, policies, stopping
from ostinato.checks import brief
from ostinato.errors import MissingSetting, StudyDiffers
from ostinato.optimizer import Optimizer

ROOMS = {"kernels": kernels, "policies": policies, "confidence": confidence, "stopping": stopping}
CODE = "python"  # the mark of what cannot be kept
PROGRAM = "program"  # kept beside the settings: with what a study is measured; it may change


def as_text(settings: Mapping[str, Any]) -> str:
    """Settings as JSON."""
    return msgspec.json.encode({name: _encoded(value) for name, value in sorted(settings.items())}).decode()


def restored(text: str, given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings that were kept; what is given besides must be the same, and code must be given."""
    kept: dict[str, Any] = msgspec.json.decode(text)
    kept.pop(PROGRAM, None)
    for key, value in given.items():
        if key not in kept and _is_default(key, value):
            continue
        if msgspec.json.encode(_encoded(value)) != msgspec.json.encode(kept.get(key)):
            was = brief(_decoded(kept[key])) if key in kept and not _has_code(kept[key]) else kept.get(key, "not given")
            raise StudyDiffers(
                f"The study {name!r} was made with {key}={was}, and now {key}={brief(value)} was given: settings of a "
                "study do not change. Leave it out, or begin a study of another name."
            )
    missing = [key for key, value in kept.items() if _has_code(value) and key not in given]
    if missing:
        raise MissingSetting(
            f"The study {name!r} was made with {', '.join(f'{key}=' for key in missing)} of your own Python code, "
            "which is not stored: give it again."
        )
    return {key: given[key] if key in given else _decoded(value) for key, value in kept.items()}


def _is_default(key: str, value: Any) -> bool:
    """Whether that is what a setting is where it is left out."""
    parameter = signature(Optimizer).parameters.get(key)
    return parameter is not None and msgspec.json.encode(_encoded(value)) == msgspec.json.encode(
        _encoded(parameter.default)
    )


def program_of(text: str) -> str | None:
    """The program with which a study is measured, where the command line has noted it."""
    return msgspec.json.decode(text).get(PROGRAM)


def with_stop(text: str, stop: Any) -> str:
    """The same settings with other rules to stop by."""
    return msgspec.json.encode({**msgspec.json.decode(text), "stop": _encoded(stop)}).decode()


def with_program(text: str, program: str) -> str:
    """The same settings with another program."""
    return msgspec.json.encode({**msgspec.json.decode(text), PROGRAM: program}).decode()


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
    if is_dataclass(value) and room and hasattr(ROOMS.get(room[0]), kind):
        parts = {field.name: _encoded(getattr(value, field.name)) for field in fields(value) if field.init}
        return {"type": f"{room[0]}.{kind}", "fields": parts}
    return {CODE: f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', type(value).__qualname__)}"}


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    if "list" in given:
        return tuple(_decoded(each) for each in given["list"])
    if "dict" in given:
        return {_decoded(key): _decoded(each) for key, each in given["dict"]}
    room, kind = given["type"].split(".")
    return getattr(ROOMS[room], kind)(**{name: _decoded(each) for name, each in given["fields"].items()})


def _has_code(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_code(each) for each in cast("list[Any]", value))
    if not isinstance(value, dict):
        return False
    given = cast("dict[str, Any]", value)
    return CODE in given or any(_has_code(each) for each in given.values())
