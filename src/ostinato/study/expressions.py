"""Kernels and policies as one writes them in Python, read from text: of the command line, or of a request.

Nothing is run: names are looked up.

Matern52(lengthscale=(10, 0.5), std=2)
RBF(0.3).on("temp") * Hamming().on("solvent") + Constant(2)
MiniUCB(C=1.2, beta=Bayesian(delta=0.1))
"""

import ast
import operator
from collections.abc import Callable, Mapping
from inspect import isabstract
from types import ModuleType
from typing import Any

from ostinato import confidence, kernels, policies
from ostinato.errors import InvalidSetting, OstinatoError

LONGEST = 1_000  # characters
DEEPEST = 100  # expressions within each other
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {ast.Add: operator.add, ast.Mult: operator.mul}


def kernel_of(text: str) -> Any:
    """A kernel, such as Matern52(lengthscale=0.3, std=2)."""
    return _read(text, "kernel", kernels.Kernel, [kernels], "Matern52(lengthscale=0.3, std=1)")


def policy_of(text: str) -> Any:
    """A policy, such as MiniUCB(C=1.2, beta=2)."""
    return _read(text, "policy", policies.BasePolicy, [policies, confidence], "MiniUCB(C=1.2, beta=2)")


def _read(text: str, setting: str, kind: type, rooms: list[ModuleType], example: str) -> Any:
    if len(text) > LONGEST:
        raise InvalidSetting(f"{setting} has {len(text)} characters: write it with {LONGEST:,} at most.")
    known = {name: each for room in rooms for name, each in vars(room).items() if _is_ours(each)}
    try:
        value = _value(ast.parse(text, mode="eval").body, known)
    except (SyntaxError, TypeError, ValueError, LookupError, AttributeError, RecursionError, MemoryError) as error:
        cause = error.msg if isinstance(error, SyntaxError) else error
        raise InvalidSetting(
            f"{setting}={text!r} cannot be read ({cause}): write it as in Python, for instance {example}."
        ) from None
    except OstinatoError as error:
        raise InvalidSetting(f"{setting}={text!r} cannot be used. {error}") from None
    if not isinstance(value, kind):
        raise InvalidSetting(f"{setting}={text!r} is not a {setting}: write for instance {example}.")
    return value


def _is_ours(value: Any) -> bool:
    """Whether it is a class of this library that is made from settings, and not from code."""
    ours = isinstance(value, type) and value.__module__.startswith("ostinato.") and not isabstract(value)
    return ours and value.__name__ != "Custom"


def _value(node: ast.expr, known: Mapping[str, Any], depth: int = 0) -> Any:
    """What an expression stands for: numbers, texts, and the library's own objects, added and multiplied."""
    if depth > DEEPEST:
        raise ValueError(f"it has more than {DEEPEST} expressions within each other")
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        parts = _value(node.left, known, depth + 1), _value(node.right, known, depth + 1)
        if not all(isinstance(part, (int, float, kernels.Kernel)) for part in parts):
            raise TypeError(f"{ast.unparse(node)[:60]} cannot be added or multiplied")  # "a" * 10**12 takes all memory
        return OPERATORS[type(node.op)](*parts)
    if isinstance(node, ast.Call):
        named = {str(each.arg): _value(each.value, known, depth + 1) for each in node.keywords}
        given = [_value(each, known, depth + 1) for each in node.args]
        return _function(node.func, known, depth)(*given, **named)
    return ast.literal_eval(node)


def _function(node: ast.expr, known: Mapping[str, Any], depth: int) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in known:
            raise LookupError(f"{node.id} is unknown")
        return known[node.id]
    if isinstance(node, ast.Attribute) and node.attr == "on":
        return _value(node.value, known, depth + 1).on
    raise LookupError(f"{ast.unparse(node)} is unknown")
