"""What one run leaves behind: where it stood at some checkpoints, and with which settings it was made."""

from typing import Literal, TypeAlias

import msgspec

Key: TypeAlias = tuple[str, str, str, tuple[tuple[str, float], ...], int, int]


def key_of(stage: str, problem: str, algorithm: str, settings: dict[str, float], seed: int, horizon: int) -> Key:
    """What tells one run from another."""
    return stage, problem, algorithm, tuple(sorted(settings.items())), seed, horizon


class Run(msgspec.Struct, frozen=True):
    """One finished run of one algorithm on one problem. The lists have one entry a checkpoint.

    `regret` is cumulative and true (noise-free); `seconds` are the algorithm's alone, the problem's excluded.
    """

    stage: Literal["choose", "report"]
    problem: str
    algorithm: str
    settings: dict[str, float]
    seed: int
    horizon: int
    t: list[int]
    regret: list[float]
    unique: list[int]
    rounds: list[int]
    switches: list[int]
    seconds: list[float]

    @property
    def key(self) -> Key:
        return key_of(self.stage, self.problem, self.algorithm, self.settings, self.seed, self.horizon)
