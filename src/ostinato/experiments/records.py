"""A run to be made, and what it leaves behind."""

from typing import Literal, TypeAlias

import msgspec

Stage: TypeAlias = Literal["choose", "report"]
Key: TypeAlias = tuple[str, str, str, tuple[tuple[str, float], ...], int, int, str]


class Job(msgspec.Struct, frozen=True):
    """A run to be made of one algorithm on one problem.

    `made` is a digest of what it is made with, so that a changed problem or policy is not taken for the old one.
    """

    stage: Stage
    problem: str
    algorithm: str
    settings: dict[str, float]
    seed: int
    horizon: int
    made: str = ""

    @property
    def key(self) -> Key:
        """What tells one run from another."""
        settings = tuple(sorted(self.settings.items()))
        return self.stage, self.problem, self.algorithm, settings, self.seed, self.horizon, self.made

    @property
    def kind(self) -> tuple[str, str, int]:
        """Runs of one kind take about equally long."""
        return self.problem, self.algorithm, self.horizon


class Run(Job, frozen=True, kw_only=True):
    """A finished run: where it stood, with one entry a checkpoint.

    `regret` is cumulative and true (noise-free); `seconds` are the algorithm's alone, in processor time, the problem's
    excluded. `simple` is the regret, at the end, of the candidate that would be recommended, as a share of the mean
    regret of all candidates. It is None where all candidates are equally good, and in files of older versions.
    """

    t: list[int] = []
    regret: list[float] = []
    unique: list[int] = []
    rounds: list[int] = []
    switches: list[int] = []
    seconds: list[float] = []
    simple: float | None = None
