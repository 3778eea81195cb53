"""What a run is made with, in sixteen letters: runs of a changed problem or policy are not taken for the old ones.

Everything a problem holds goes in (candidates, truth, noise law, kernels), and a policy with its settings; code of
one's own too, where it stands in a script or notebook, or has its source at hand. This library goes in by its version,
and what is recorded of a run by RECORDED.
"""

from collections.abc import Mapping
from dataclasses import fields
from hashlib import blake2b
from importlib.metadata import version
from inspect import getsource
from typing import Any, cast

import cloudpickle  # type: ignore[import-untyped]

from ostinato.experiments.algorithms import Algorithm
from ostinato.problems import Problem

RECORDED = 2  # to be counted up when runs record something else: 2 has processor time and simple regret


def digest_of_problem(problem: Problem) -> bytes:
    return _digest(*(getattr(problem, field.name) for field in fields(problem)))


def digest(problem: bytes, algorithm: Algorithm, settings: Mapping[str, float]) -> str:
    """Of a run with these settings, on a problem of this digest."""
    policy = algorithm.make(settings)
    return _digest(problem, policy, _source(policy), sorted(settings.items()), version("ostinato"), RECORDED).hex()


def _digest(*parts: Any) -> bytes:
    made = blake2b(digest_size=8)
    for part in parts:
        made.update(cast("Any", cloudpickle).dumps(part))
    return made.digest()


def _source(policy: Any) -> str:
    try:
        return getsource(cast("type[Any]", type(policy)))
    except (OSError, TypeError):  # typed at a prompt: cloudpickle has taken its code
        return ""
