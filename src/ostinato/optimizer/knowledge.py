"""What is known: the tally of measurements, the prior, and the model that both make, kept in step.

Feedback is taken in whole or not at all. The model is a function of prior and tally; the prior is given, or learned
from the tally on a growing schedule.
"""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from math import sqrt
from typing import Any, TypeAlias, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ostinato.arrays import Array, Matrix, Namespace, Vector, from_numpy, gathered
from ostinato.confidence import SURE
from ostinato.errors import NothingMeasured, NothingToAsk
from ostinato.kernels import Kernel
from ostinato.learning import Learner, Learnt, Prior, Shrinking
from ostinato.measurements.history import Entry, History, Measured, clock
from ostinato.measurements.tally import Statistics, Tally
from ostinato.optimizer.facts import Looked
from ostinato.optimizer.outliers import (
    CONFIRMED,
    ENOUGH,
    Misfit,
    harmful,
    judged,
    lone_leader,
    surprises,
    suspects,
    values_of,
)
from ostinato.posterior import Ahead, ExactGhost, Ghost, Model, Posterior
from ostinato.posterior.draws import PriorDraw, draw, prior_draw

Lot: TypeAlias = tuple[int, int, int]  # a candidate, repeats told of a set-up, and repeats of it in flight
MANY = 16  # candidates told at once from which a rebuild is cheaper than one update each


class Knowledge:
    """Tally, prior and model.

    make: from a prior to the model that the policy sees, nothing measured. learner: what changes the prior as
    measurements come, if anything does. half_life: in how many measurements one comes to count for half.
    judges: whether single values that do not fit are set aside; names_outliers: whether they are looked for at all.
    """

    def __init__(
        self,
        features: Matrix,
        prior: Prior,
        learner: Learner | Shrinking | None,
        make: Callable[[Prior, Namespace], Model],
        xp: Namespace,
        *,
        by_setup: bool,
        half_life: int | None = None,
        judges: bool = False,
        names_outliers: bool = True,
    ) -> None:
        self.features, self.prior, self.learner, self._make = features, prior, learner, make
        self.tally = Tally(by_setup=by_setup)
        self.model: Model = make(prior, xp)
        self.history = History()
        self.half_life, self._judges, self._names_outliers = half_life, judges, names_outliers
        self.looked = Looked()
        self.failures: Counter[int] = Counter()
        self._imputed: dict[int, float] = {}  # candidates that failed, and the poor value that the model is told
        self._exact: Posterior | None = None
        self._answers: tuple[list[Misfit], Tally] | None = None
        self.misfits: list[Misfit] = []  # found when values were judged last
        self._answering: Prior | None = None
        self._peek: Prior | None = None
        self._draws: tuple[Kernel, PriorDraw] | None = None

    # Taking in

    def take_in(self, feedback: Mapping[int, Measured], setup: int) -> None:
        """Feedback → model and tally: all of it, or, if anything stops that, none."""
        entries = self.history.entries(feedback, setup)
        if self.half_life is not None and (self._ticks(entries) or self.history.has(entries)):
            self._take(self._tally(self.looked.aside, entries), entries)
            return
        told = {candidate: measured.statistics for candidate, measured in feedback.items()}
        tally = self.tally.plus(told, setup)
        with self.whole():
            self._condition(told, tally, setup)
            self._changed(tally, entries)

    def retake(self, tally: Tally, feedback: Mapping[int, Measured], setup: int) -> None:
        """Another tally in place of the one so far, because of more feedback."""
        self._take(tally, self.history.entries(feedback, setup))

    def recall(
        self,
        told: Iterable[tuple[int, int, Measured]],
        failures: Mapping[int, int],
        learnt: Learnt | None,
        looked: Looked,
    ) -> None:
        """What is known, from facts: candidate, set-up and measurements of every batch, in the order they came."""
        self.history.add([Entry(candidate, setup, measured) for candidate, setup, measured in told])
        self.failures, self.looked = Counter(failures), looked
        if self.learner is not None and learnt is not None:
            self.prior = self.learner.recall(learnt)
            self.model = self._make(self.prior, self.model.xp)
        self._take(self._tally(looked.aside), [])

    def _take(self, tally: Tally, entries: list[Entry]) -> None:
        """Another tally from now on, and the entries that it has more."""
        with self.whole():
            self.model.rebuild(self.evidence(self.prior, tally))
            self._changed(tally, entries)

    def _ticks(self, entries: Iterable[Entry]) -> bool:
        """Whether old measurements are to be weighed anew."""
        steps = self.history.steps
        after = steps + sum(int(entry.measured.statistics.n) for entry in entries)
        return clock(steps, self.half_life) != clock(after, self.half_life)

    def _tally(self, aside: Collection[int], more: Collection[Entry] = ()) -> Tally:
        by_setup, half_life = self.tally.by_setup, self.half_life
        return self.history.tally(by_setup=by_setup, aside=aside, half_life=half_life, more=more)

    def _changed(self, tally: Tally, entries: Collection[Entry] = ()) -> None:
        self._exact, self._peek, self._answers, self.tally = None, None, None, tally
        self.history.add(entries)

    def learn(self) -> None:
        """What the user did not say, learned anew where that is due: before a decision, which it is for."""
        if self.learner is None:
            return
        due = self.learner.due(self.tally)
        looked = self._look(again=due)
        again = looked.aside != self.looked.aside
        if due or again:
            tally = self._tally(looked.aside) if again else self.tally
            with self.whole():
                prior = self.learner.learn(tally)
                if prior is not self.prior or again:
                    model = self._make(prior, self.model.xp)
                    model.rebuild(self.evidence(prior, tally))
                    self.prior, self.model = prior, model
                self._changed(tally)
        self.look(looked)
        self.history.looked_over()

    # Single values that do not fit

    def _look(self, *, again: bool) -> Looked:
        """What is to be set aside now: judged are the new values, and, where all is fitted anew, all of them again."""
        looked, surprising = self.looked, self._surprises if self._judges else frozenset[int]()
        if not self._judges or not (again or surprising):
            return replace(looked, until=self._told)
        suspected = self._suspected if again else surprising | looked.aside.keys()
        self.misfits = self._judged(suspected)
        aside = {misfit.value.number: misfit.value.candidate for misfit in self.misfits}
        cleared = frozenset(suspected - aside.keys())
        return Looked(aside, cleared if again else looked.cleared | cleared, self._told)

    def look(self, looked: Looked) -> None:
        """Which values are set aside is as it was found here, or elsewhere."""
        if looked.aside != self.looked.aside:
            self._exact = self._answers = None
        self.looked = looked

    @property
    def _told(self) -> int:
        """Measurements told, those that failed included."""
        return self.history.steps + self.failures.total()

    @property
    def _surprises(self) -> frozenset[int]:
        """New values that stand out from what the model says."""
        fitted = not isinstance(self.learner, Learner) or self.learner.fits > 0
        if not isinstance(self.model, Posterior) or not fitted:
            return frozenset()
        new = self.history.new(self.looked.until)
        return surprises(new, self.prior, self.model) - self.looked.cleared

    @property
    def _suspected(self) -> frozenset[int]:
        values = values_of(self.history)
        return suspects(values, self._told) | lone_leader(values) | self._surprises | self.looked.aside.keys()

    def _judged(self, suspected: frozenset[int]) -> list[Misfit]:
        """Those that do not fit, by a model that knows none of them."""
        tally = self._tally(suspected) if suspected else Tally()
        if tally.steps < ENOUGH:
            return []
        values = harmful((value for value in values_of(self.history) if value.number in suspected), tally)
        if not values:
            return []
        learns = isinstance(self.learner, Learner)
        prior = self.learner.for_judging(tally) if isinstance(self.learner, Learner) else self.prior
        return judged(values, prior, self.features, tally, ("kernel",) if learns else ())

    @property
    def unconfirmed(self) -> dict[int, int]:
        """Candidates of values that were set aside with too few others to be sure, and how many are wanted."""
        others = {candidate: self.history.counts[candidate] - 1 for candidate in self.looked.aside.values()}
        return {candidate: CONFIRMED - n for candidate, n in others.items() if n < CONFIRMED}

    @property
    def outliers(self) -> list[Misfit]:
        """Single values that do not fit what is known now."""
        if self._judges:
            return self._for_answers()[0]
        return self._judged(self._suspected) if self._names_outliers else []

    @property
    def told(self) -> Tally:
        """What answers rest on: everything but what was set aside."""
        return self._for_answers()[1]

    @property
    def left_out(self) -> frozenset[int]:
        """The numbers of what answers leave out."""
        return frozenset(misfit.value.number for misfit in self._for_answers()[0])

    def _for_answers(self) -> tuple[list[Misfit], Tally]:
        if self._answers is None:
            found = self._judged(self._suspected) if self._judges else []
            aside = {misfit.value.number for misfit in found}
            self._answers = found, self.tally if aside == self.looked.aside.keys() else self._tally(aside)
        return self._answers

    @contextmanager
    def whole(self) -> Generator[None, None, None]:
        """Whatever stops the model half-way (a kernel that is refused, Ctrl-C), go back to what the facts say."""
        prior, tally = self.prior, self.tally
        learner: dict[str, Any] = dict(vars(self.learner)) if self.learner else {}
        try:
            yield
        except NothingToAsk:
            raise
        except BaseException:
            if self.tally is tally:
                self.prior, self._answers = prior, None
                if self.learner is not None:
                    vars(self.learner).update(learner)
                self.model = self._make(prior, self.model.xp)
                self.model.rebuild(self.evidence(prior))
            raise

    def _condition(self, feedback: Mapping[int, Statistics], tally: Tally, setup: int) -> None:
        added = {c: self.prior.addition(self.tally, c, statistics, setup) for c, statistics in feedback.items()}
        if len(added) >= MANY or None in added.values() or self._imputed != self._poor(self.prior, tally):
            self.model.rebuild(self.evidence(self.prior, tally))
            return
        for candidate, worth in added.items():
            self.model.condition(candidate, cast("Statistics", worth).n, cast("Statistics", worth).mean)

    def fail(self, candidate: int, n: int) -> None:
        """So many measurements of a candidate failed: it does not look attractive any more, nor do its neighbours."""
        self.failures[candidate] += n
        poor = self._poor(self.prior, self.tally)
        if candidate in poor and candidate not in self._imputed:
            with self.whole():
                self.model.condition(candidate, 1, poor[candidate])
                self._imputed = poor

    def evidence(self, prior: Prior, tally: Tally | None = None) -> Tally:
        """What a model for choosing is told: the measurements; and where all failed, as much as the worst gave."""
        tally = self.tally if tally is None else tally
        evidence = prior.evidence(tally)
        self._imputed = self._poor(prior, tally)
        if not self._imputed:
            return evidence
        return evidence.plus({candidate: Statistics(1, value) for candidate, value in self._imputed.items()})

    def _poor(self, prior: Prior, tally: Tally) -> dict[int, float]:
        """Candidates that failed and have no value, with the lowest average so far (or the floor if that is more)."""
        failed = [
            candidate for candidate in self.failures if not self.history.counts[candidate] and candidate not in tally
        ]
        if not failed or not len(tally):
            return {}
        return dict.fromkeys(failed, max(min(statistics.mean for _, statistics in tally), prior.floor))

    # Looking

    @property
    def settled(self) -> bool:
        """Whether nothing is to be learned before the next decision."""
        return self.learner is None or not (self.learner.due(self.tally) or (self._judges and self._surprises))

    @property
    def learned(self) -> Prior:
        """The prior that the next decision will be made with. Looking at it does not disturb a run."""
        if self.settled or self.learner is None:
            return self.prior
        self._peek = self._peek or self.learner.peek(self.told)
        return self._peek

    @property
    def posterior(self) -> Posterior:
        """The exact posterior, which gives all answers: the policy's own model, or made from the tally when asked.

        A policy may look away from how bad the bad candidates are; answers do not.
        """
        learned = isinstance(self.learner, Learner) and len(self.told) > 0
        if isinstance(self.model, Posterior) and not learned and not self._imputed:
            return self.model
        if self._exact is None:
            self._answering = cast("Learner", self.learner).for_answers(self.told) if learned else self.prior
            self._exact = self._posterior(self._answering)
        return self._exact

    @property
    def answering(self) -> Prior:
        """The prior of all answers."""
        return self.prior if self.posterior is self.model else cast("Prior", self._answering)

    def _posterior(self, prior: Prior) -> Posterior:
        posterior = Posterior.like(self.model, prior.kernel, prior.noise, prior.mean)
        posterior.rebuild(prior.evidence(self.told))
        return posterior

    def leader(self, priority: NDArray[np.int64]) -> tuple[int, float, float]:
        """Number, mean and standard deviation of the measured candidate that leads, in the exact posterior."""
        numbers, means, variances = self.ranked(priority)
        return int(numbers[0]), float(means[0]), sqrt(float(variances[0]))

    def ranked(self, priority: NDArray[np.int64]) -> tuple[NDArray[np.int64], Vector, Vector]:
        """Number, mean and variance of all measured candidates, from the best to the worst.

        They are compared by what is nearly sure of them, the mean less a standard deviation: a candidate that was
        measured once does not lead by its luck, nor by what the model expects of its neighbourhood.
        """
        self.check_measured()
        numbers, means, variances = self.at_measured(self.posterior)
        order = np.lexsort((priority[numbers], SURE * np.sqrt(variances) - means))
        return numbers[order], means[order], variances[order]

    def check_measured(self) -> None:
        if len(self.told) == 0:
            failed = (
                f"All {self.failures.total():,} measurements failed" if self.failures else "Nothing was measured yet"
            )
            raise NothingMeasured(f"{failed}, so that nothing is known: tell or observe a measurement first.")

    def at_measured(self, model: Model) -> tuple[NDArray[np.int64], Vector, Vector]:
        """Number, mean and variance of every measured candidate."""
        numbers = self.told.numbers
        means, variances = (gathered(blocks, model.starts, numbers) for blocks in (model.means, model.variances))
        return numbers, means, variances

    def counts(self, pending: Mapping[int, int]) -> dict[int, int]:
        """Measurements of every candidate, told and in flight."""
        told = {candidate: int(statistics.n) for candidate, statistics in self.tally}
        return told | {candidate: told.get(candidate, 0) + n for candidate, n in pending.items()}

    # Looking ahead

    def ahead(self, lots: Iterable[Lot], model: Model | None = None) -> Ahead:
        """The variances, with what is in flight counted as if it had come: each lot of one set-up, some of it told."""
        model = model or self.model
        ahead = Ahead(model.variances, model.ghost())
        for candidate, told, pending in lots:
            before, after = (self.prior.worth(candidate, Statistics(n)) if n else 0.0 for n in (told, told + pending))
            ahead.add(candidate, after - before)
        return ahead

    def in_blocks(self, values: Vector) -> list[Array]:
        return [from_numpy(self.model.xp, part) for part in np.split(values, self.model.starts[1:])]

    def draw(self, rng: np.random.Generator) -> list[Array]:
        """A function from the posterior of all answers, at all candidates."""
        return draw(self.posterior, self._prior_draw(self.posterior.kernel), self.posterior.unique, rng)

    def draw_ahead(self, ghost: Ghost, lots: Iterable[Lot], rng: np.random.Generator) -> list[Array]:
        """A draw for choosing, which counts what is in flight."""
        model = self.model
        if not isinstance(model, Posterior):
            model = Posterior.like(model)
            model.rebuild(self.evidence(self.prior))
            ghost = self.ahead(lots, model).ghost
        return draw(model, self._prior_draw(model.kernel), cast("ExactGhost", ghost).unique, rng)

    def _prior_draw(self, kernel: Kernel) -> PriorDraw:
        """How the prior is drawn under a kernel; kept for the last one."""
        if self._draws is None or self._draws[0] is not kernel:
            self._draws = kernel, prior_draw(kernel, self.features)
        return self._draws[1]

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: all but the prior's draws, which are made again when they are needed."""
        return vars(self) | {"_draws": None}
