"""Checks settings as soon as they are given, before their optimiser is made."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ostinato.errors import InvalidSetting
from ostinato.kernels import as_kernel
from ostinato.optimizer import Optimizer
from ostinato.optimizer.settings import check_names, checked_policy

OF_CANDIDATES = ("kernel", "policy", "search", "device")  # what fits depends on the candidates, or on this machine
STAND_IN = np.array([[0.0], [1.0]])


def check_settings(settings: Mapping[str, Any], *, own: tuple[str, ...], owner: str) -> None:
    """Refuse what no candidates could make right. own: settings that the owner of the trials gives."""
    for name in own:
        if name in settings:
            raise InvalidSetting(f"{name}={settings[name]!r} comes from the {owner}: leave it out here.")
    check_names(settings, Optimizer)
    if settings.get("kernel") is not None:
        as_kernel(settings["kernel"])
    if settings.get("policy") is not None:
        checked_policy(settings["policy"])
    plain = {name: value for name, value in settings.items() if name not in OF_CANDIDATES}
    Optimizer(STAND_IN, **{name: value for name, value in plain.items() if not _is_of_each(value)})


def _is_of_each(value: Any) -> bool:
    """Whether it is a number for each candidate, or a function of them."""
    return callable(value) or np.ndim(value) > 0
