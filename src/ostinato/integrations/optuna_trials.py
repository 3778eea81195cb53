"""An optimiser that follows the trials of an Optuna study.

All it knows comes from the trials and their system attributes, so that any process can make it anew at any time:

    trial 7   asked  {"opener": 7, "repeats": 3, "params": {…}, "state": …}   opens a batch of three repeats
    trial 8   asked  {"opener": 7, …}                                         the second of them
    trial 9   nothing                                                         was enqueued, or sampled otherwise

"state" is what the next decision rests on besides the trials (the last fit, above all), as in a study of our own: who
goes on decides as if nothing had stopped. "settings" tells of which study and with which settings it was made; with
others it is left alone.

Trials that finished are told, trials that run are in flight. Parameters are kept as Optuna's storages keep them, a
choice of a category by its place: choices may be anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any
from zlib import crc32

import msgspec
from msgspec.structs import replace
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.logging import get_logger
from optuna.trial import FrozenTrial, TrialState

from ostinato.candidates import Category, Float, Integer, Parameter, Sampled, Space
from ostinato.errors import InvalidSetting, UnknownCandidate
from ostinato.integrations.choices import candidates_of
from ostinato.measurements.tally import LARGEST
from ostinato.optimizer import Optimizer
from ostinato.optimizer.decide import decide
from ostinato.optimizer.facts import Asked, DecisionState
from ostinato.records import Batch, Best

logger = get_logger("optuna.ostinato")  # below Optuna's own, so that its verbosity holds here
ATTRIBUTE = "ostinato:asked"
LARGEST_STATE = 30_000  # characters: MySQL, as Optuna uses it, takes 65,535 for an attribute
ELSEWHERE = ("seed", "budget")  # settings with which what was learned with others is still right

Distributions = Mapping[str, BaseDistribution]
Point = dict[str, Any]


@dataclass
class OpenBatch:
    """A batch in flight, the number of its candidate, and whether its repeats are handed out here."""

    batch: Batch
    candidate: int
    shared: bool


class Follower:
    """The optimiser of one study and one search space."""

    def __init__(self, space: Distributions, direction: str, settings: Mapping[str, Any], study: str = "") -> None:
        self.space = dict(space)
        described = Space({name: _parameter(name, each) for name, each in space.items()})
        every: dict[str, Any] = {**settings, "direction": direction}
        self._optimizer = Optimizer(candidates_of(described), **every)
        self._settings = _digest(study, settings)
        self._decided: set[int] = set()  # trials that opened a batch, and whose decision state is known here
        self._opened: dict[int, OpenBatch] = {}  # by the trial that opened it
        self._told: dict[int, float] = {}  # values by trial; those that tell nothing too
        self._said: set[int] = set()  # measurements that do not fit
        self._left_out: set[int] = set()  # trials outside of the space

    def matches(self, space: Distributions, trials: Iterable[FrozenTrial]) -> bool:
        """Whether what was told so far is part of these trials: else this is another study, or another space."""
        ended = {trial.number: _value(trial) for trial in trials if trial.state.is_finished()}
        same = (_same(ended.get(number), value) for number, value in self._told.items())
        return self.space == dict(space) and all(same)

    def take_in(self, trials: Iterable[FrozenTrial]) -> None:
        """All that happened since."""
        for trial in sorted(trials, key=lambda each: each.number):
            if trial.number not in self._told and trial.state != TrialState.WAITING:
                self._take(trial)

    def resume(self, trials: Iterable[FrozenTrial]) -> None:
        """Decide from here on as whoever opened the last batch would: with the same fit."""
        decided = [each for trial in trials if (each := asked_of(trial)) and "state" in each]
        own = [
            each
            for each in decided
            if each["settings"] == self._settings and each["params"].keys() == self.space.keys()
        ]
        asked = max(own, key=lambda each: each["opener"], default=None)
        if asked is None or asked["opener"] in self._decided:
            return
        self._decided.add(asked["opener"])
        core, state = self._optimizer.core, msgspec.json.decode(asked["state"], type=DecisionState)
        table = core.problem.table
        core.rewrite(core.state.facts, state.renumbered(table.number_of) if isinstance(table, Sampled) else state)
        self._said |= state.outlier_review.outliers.keys()

    def next_repeat(self, trials: Sequence[FrozenTrial]) -> dict[str, Any] | None:
        """What was asked, of the first batch whose repeats are not all handed out."""
        handed_out = Counter(each["opener"] for each in map(asked_of, trials) if each)
        failing = self._failing(trials)
        for opener, opened in list(self._opened.items()):
            if opener in failing and self._waits(opened):
                self._optimizer.close(opened.batch)
            if opened.shared and self._waits(opened) and handed_out[opener] < opened.batch.repeats:
                return {"opener": opener, "repeats": opened.batch.repeats, "params": opened.batch.candidate}
        return None

    def ask(self, opener: int) -> dict[str, Any]:
        """A new batch, opened by a trial."""
        core = self._optimizer.core
        decision = decide(core.known)
        batch = core.commit(decision)[0]
        if decision.known.outlier_review.outliers:
            self._say_what_does_not_fit()
        self._opened[opener] = OpenBatch(batch, self._number(batch.candidate), shared=True)
        self._decided.add(opener)
        asked = {"opener": opener, "repeats": batch.repeats, "params": batch.candidate}
        return asked | self._decision_state(decision.decision_state)

    def _decision_state(self, state: DecisionState) -> dict[str, Any]:
        """For whoever goes on; nothing where it is too large to store, or part of a round that is only known here."""
        table = self._optimizer.core.problem.table
        if state.round:
            return {}
        kept = state.renumbered(table.index_of) if isinstance(table, Sampled) else state
        text = msgspec.json.encode(kept).decode()
        return {"settings": self._settings, "state": text} if len(text) <= LARGEST_STATE else {}

    def preview(self) -> Point:
        """What would be asked for, without asking for it."""
        return decide(self._optimizer.core.known).asked[0].batch.candidate

    def best(self, level: float) -> Best:
        """The recommendation, with parameters as the user knows them."""
        best = self._optimizer.best(level)
        return replace(best, candidate=outside(self.space, best.candidate))

    def _say_what_does_not_fit(self) -> None:
        """Values that are set aside, in the user's words: in those of an optimiser they would be measurements."""
        for each in self._optimizer.outliers:
            if each.number not in self._said:
                self._said.add(each.number)
                low, high = each.expected
                logger.warning(
                    f"{each.value:g} does not fit what all else says of {outside(self.space, each.candidate)}: {low:g} "
                    f"to {high:g} was expected. It does not count unless it comes again."
                )

    def _take(self, trial: FrozenTrial) -> None:
        asked, point = asked_of(trial), self._point(trial)
        if asked is not None and asked["params"].keys() != self.space.keys():
            asked = None  # it was asked for when other parameters were common to all trials
        if asked is not None:
            if asked["opener"] not in self._opened:
                self._open(asked["opener"], asked["params"], asked["repeats"], shared=True)
        elif not trial.state.is_finished() and point is not None and trial.number not in self._opened:
            self._open(trial.number, point, 1, shared=False)
        if trial.state.is_finished():
            opener = trial.number if asked is None else asked["opener"]
            self._told[trial.number] = value = _value(trial)
            if point is not None:
                self._tell(self._opened.get(opener), point, value)

    def _point(self, trial: FrozenTrial) -> Point | None:
        """The candidate that a trial measures; None where it is none, as enqueued trials need not keep to a range."""
        point = inside(self.space, trial)
        try:
            if point is not None:
                self._number(point)
        except UnknownCandidate:
            if trial.number not in self._left_out:
                self._left_out.add(trial.number)
                logger.warning(f"Trial {trial.number} does not count: {trial.params} is outside of the search space.")
            return None
        return point

    def _open(self, opener: int, point: Point, repeats: int, *, shared: bool) -> None:
        """A batch that was asked for elsewhere is in flight here."""
        core, number = self._optimizer.core, self._number(point)
        table = core.problem.table
        batch = Batch(core.state.ledger.asked, table.index_of(number), table.point(number), repeats, repeats)
        core.absorb(Asked(batch, number))
        self._opened[opener] = OpenBatch(batch, number, shared)

    def _tell(self, opened: OpenBatch | None, point: Point, value: float) -> None:
        if opened is not None and self._waits(opened):
            if opened.candidate == self._number(point):
                self._optimizer.tell(opened.batch, [value])
                return
            self._optimizer.close(opened.batch)  # the trial took other parameters than it was given
        self._optimizer.observe(point, [value])

    def _number(self, point: Point) -> int:
        """The candidate that a point is; one more, where a space is not listed."""
        core = self._optimizer.core
        core.extend_candidates(core.problem.table.holding(point))
        named: Any = core.problem.table.named_by(point)
        return named

    def _waits(self, opened: OpenBatch) -> bool:
        return self._optimizer.core.waits_for(opened.batch.id)

    def _failing(self, trials: Sequence[FrozenTrial]) -> set[int]:
        """Batches of which something failed and nothing succeeded: they are not repeated."""
        ended = [(each["opener"], trial) for trial in trials if trial.state.is_finished() and (each := asked_of(trial))]
        values = {opener for opener, trial in ended if isfinite(_value(trial))}
        return {opener for opener, _ in ended} - values


def _digest(study: str, settings: Mapping[str, Any]) -> int:
    """Of which study and settings a fit is, as far as it depends on them: trials may be copied to other studies."""
    plain = {name: each for name, each in settings.items() if name not in ELSEWHERE and each is not None}
    return crc32(repr((study, sorted(plain.items()))).encode())


def asked_of(trial: FrozenTrial) -> dict[str, Any] | None:
    """What the sampler noted of a trial."""
    return trial.system_attrs.get(ATTRIBUTE)


def inside(space: Distributions, trial: FrozenTrial) -> Point | None:
    """The parameters of a trial as the optimiser knows them; None if it has others."""
    if any(trial.distributions.get(name) != each for name, each in space.items()):
        return None
    return {name: _plain(each, each.to_internal_repr(trial.params[name])) for name, each in space.items()}


def outside(space: Distributions, point: Point) -> Point:
    """The same as the user knows them."""
    return {name: each.to_external_repr(point[name]) for name, each in space.items()}


def _plain(distribution: BaseDistribution, number: float) -> float | int:
    return float(number) if isinstance(distribution, FloatDistribution) else int(number)


def _value(trial: FrozenTrial) -> float:
    """What a trial tells: its value, or NaN where it failed, was pruned, broke a constraint or is too large."""
    limits: Any = getattr(trial, "constraints", None) or trial.system_attrs.get("constraints") or ()
    broken = any(each > 0 for each in (limits.values() if isinstance(limits, dict) else limits))  # pyright: ignore
    if trial.state != TrialState.COMPLETE or broken or trial.value is None:
        return nan
    return trial.value if abs(trial.value) <= LARGEST else nan


def _same(a: float | None, b: float) -> bool:
    return a == b or (a is not None and a != a and b != b)


def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    """The same parameter in Ostinato's words."""
    if isinstance(distribution, FloatDistribution):
        return Float(distribution.low, distribution.high, step=distribution.step, log=distribution.log)
    if isinstance(distribution, IntDistribution):
        return Integer(distribution.low, distribution.high, step=distribution.step, log=distribution.log)
    if isinstance(distribution, CategoricalDistribution):
        return Category(*range(len(distribution.choices)))
    raise InvalidSetting(f"{name} has the distribution {distribution!r}: only float, int and categorical are known.")
