"""What is known: tally, prior, and the model made of both. All of it can be computed from the problem and the state.

Feedback updates it step by step. If the facts change in another way, or if something stops an update half-way, it is
computed again from the facts. A decision learns in a copy (`fork`), so a decision that is thrown away leaves nothing
behind.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.confidence import SURE
from ostinato.errors import NothingMeasured
from ostinato.kernels import Kernel
from ostinato.learning import Learner, Prior
from ostinato.measurements.history import Measured, Part, clock
from ostinato.measurements.robust import Limits, RobustTally
from ostinato.measurements.tally import Statistics, Tally
from ostinato.optimizer.facts import OutlierReview, Told
from ostinato.optimizer.outliers import (
    CONFIRMED,
    MIN_OTHERS,
    Misfit,
    harmful,
    judged,
    lone_leader,
    surprises,
    suspects,
    values_of,
)
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.state import State
from ostinato.posterior import (
    BlockedVector,
    Drawn,
    ExactGhost,
    Ghost,
    Indices,
    ListedVector,
    Model,
    NoModel,
    Nystrom,
    PendingVariances,
    Posterior,
)
from ostinato.posterior.draws import PriorDraw, draw, leading_draw, prior_draw
from ostinato.posterior.screen_block import SearchCriterion

REBUILD_FROM = 16  # candidates told at once from which a rebuild is cheaper than one update each
INITIAL = 5  # random candidates with which a run begins where scales are learned


class Lot(NamedTuple):
    """Repeats made with one set-up: how many were told, and how many are in flight."""

    candidate: int
    told: int
    pending: int


@dataclass
class TallyCache:
    """What was derived from a tally when it was asked for; another tally has another cache."""

    exact: Posterior | None = None
    answers: tuple[list[Misfit], Tally] | None = None
    answering: Prior | None = None
    peek: Prior | None = None


class Knowledge:
    """Tally, prior and model, for a problem and what happened so far."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem, self.state = problem, state
        self.learner = problem.learner()
        self.outlier_review = state.decision_state.outlier_review
        fit_state = state.decision_state.fit_state
        known = self.learner is not None and fit_state is not None
        self.prior: Prior = self.learner.recall(fit_state) if known else problem.first_prior(self.learner)  # type: ignore[union-attr, arg-type]
        self._robust = RobustTally(problem.sign, by_setup=problem.by_setup) if problem.settings.robust else None
        self.tally = (
            self._tally(self.outlier_review.outliers) if self._robust is None else self._told_robustly(self._robust)
        )
        self.misfits: list[Misfit] = []  # found when values were judged last
        self.model: Model = problem.model(self.prior)
        self.honest = self.model  # of what was measured and nothing else: how long a batch may be, what was learned
        self._imputed: dict[
            int, float
        ] = {}  # candidates that failed, and the poor value that the model is told besides
        if state.told:
            self._rebuild(self.model, self.prior, self.tally)
        self.recall(state.decision_state.drawn)
        self._draws: tuple[Kernel, PriorDraw] | None = None
        self._cache = TallyCache()

    def recall(self, drawn: Drawn | None) -> None:
        """Go on from an inducing set that was drawn before, where there is one."""
        if drawn is not None and isinstance(self.model, Nystrom):
            self.model.recall(drawn)

    def fork(self) -> "Knowledge":
        """A copy for a decision to learn in. It shares tally and model until it makes its own."""
        other = object.__new__(Knowledge)
        other.__dict__.update(self.__dict__)
        other.learner, other._cache = copy(self.learner), copy(self._cache)
        return other

    def for_problem(self, problem: Problem) -> "Knowledge":
        """The same for a problem with more candidates, after the old ones. Only one of the two may be used after."""
        if problem is self.problem:
            return self
        other, noise = self.fork(), problem.learning_settings.noise
        other.problem = problem
        if len(problem.features) == len(self.problem.features):
            return other
        if isinstance(self.learner, Learner):
            other.learner = self.learner.with_candidates(problem.features, problem.learning_settings)
            other.prior = other.learner.prior
        else:
            other.learner = None if self.learner is None else self.learner.with_candidates(cast("Vector", noise))
            other.prior = replace(self.prior, noise=noise)
        if isinstance(self.model, Posterior):
            other.model = self.model.extended(problem.features, other.prior.noise)
            other.honest = other.model
            if isinstance(self.honest, Posterior) and self.honest is not self.model:
                other.honest = self.honest.extended(problem.features, other.prior.noise)
        else:
            other._rebuild(problem.model(other.prior), other.prior, other.tally)
            other.recall(self.state.decision_state.drawn)
        other._draws, other._cache = None, TallyCache()
        return other

    # Taking in

    def add_feedback(self, told: Told, measured: Mapping[Part, Measured]) -> None:
        """Take in feedback that the state is about to absorb. If anything stops it, the caller must make this anew.

        The model is updated step by step. It is rebuilt where the feedback does not simply add, or comes of many
        candidates at once.
        """
        robust, half_life, setup = self._robust, self.problem.settings.half_life, told.batch
        if robust is not None:
            more = robust.add(told.feedback, setup, told.limits)
        elif half_life is not None and (self._ticks(told) or self.state.history.has(measured)):
            more = None
        else:
            more = {part.candidate: each.statistics for part, each in measured.items()}
        prior, added = self.prior, more
        # Measurements count as they are, but where set-ups share an error, outcomes have a floor, or errors are known.
        if more and (prior.setup > 0 or prior.floor > -inf or any(each.known for each in more.values())):
            added = prior.additions(self.tally, more, setup)
        if more is None:  # what was told before counts differently now
            self.tally = (
                robust.tally() if robust else self._tally(self.outlier_review.outliers, measured, _answered(told))
            )
        else:
            for candidate, statistics in more.items():
                self.tally.add(candidate, statistics, setup)
        poor = self._poor(self.prior, self.tally) if self.state.failures else {}
        if added is None or len(added) >= REBUILD_FROM or self._imputed != poor:
            self._rebuild(self.model, self.prior, self.tally)
        else:
            models = [self.model] if self.honest is self.model else [self.model, self.honest]
            for candidate, worth in added.items():
                for model in models:
                    model.condition(candidate, worth.n, worth.mean)
        self._cache = TallyCache()
        if failed := [number for number, each in told.feedback.items() if each.failed and number not in self.tally]:
            self._fail(failed)

    def _told_robustly(self, robust: RobustTally) -> Tally:
        for told in self.state.readings:
            robust.add(told.feedback, told.batch, told.limits)
        return robust.tally()

    def limits(self, candidate: int) -> Limits | None:
        """What is expected of a value here, its standard deviation, and that of noise alone; for `RobustTally`."""
        if self._robust is None or self._robust.early:
            return None
        mean, variance = self.posterior.at(candidate)
        prior = self.learned
        noise = float(prior.noise[candidate]) + prior.setup
        return mean, sqrt(variance + noise), sqrt(noise)

    def _rebuild(self, model: Model, prior: Prior, tally: Tally) -> None:
        """The model, from prior and tally; where all measurements of a candidate failed, as much as the worst gave."""
        self.model, self.honest = model, model
        evidence, self._imputed = prior.evidence(tally), self._poor(prior, tally)
        if self._imputed:
            if isinstance(model, Posterior):
                self.honest = Posterior.like(model)
                self.honest.rebuild(evidence)
            evidence = evidence.plus({candidate: Statistics(1, value) for candidate, value in self._imputed.items()})
        model.rebuild(evidence)

    def _ticks(self, told: Told) -> bool:
        """Whether old measurements have faded enough for their weights to be computed again."""
        now, half_life = self.state.told, self.problem.settings.half_life
        return clock(now, half_life) != clock(now + _answered(told), half_life)

    def _tally(self, aside: Collection[int], more: Mapping[Part, Measured] = {}, coming: int = 0) -> Tally:
        """All that counts, and more, which is of so many measurements to come."""
        by_setup, half_life, now = self.problem.by_setup, self.problem.settings.half_life, self.state.told + coming
        return self.state.history.tally(by_setup=by_setup, aside=aside, half_life=half_life, now=now, more=more)

    def learn(self) -> None:
        """Learn what the user did not give, if a fit is due. Called before a decision."""
        if self.learner is None:
            return
        due = self.due
        looked = self._review_outliers(again=due)
        again = looked.outliers != self.outlier_review.outliers
        if due or again:
            tally = self._tally(looked.outliers) if again else self.tally
            prior = self.learner.learn(tally)
            if prior is not self.prior or again:
                model = self.problem.model(prior)
                if isinstance(model, Posterior) and isinstance(self.model, Posterior):
                    model.reuse_memory_of(self.model)
                self._rebuild(model, prior, tally)
                self.prior = prior
            self.tally = tally
        if due or again:
            self._cache = TallyCache()
        self.outlier_review = looked

    # Single values that do not fit

    def _review_outliers(self, *, again: bool) -> OutlierReview:
        """What is to be set aside now: judged are the new values, and, where all is fitted anew, all of them again."""
        judges = self.problem.sets_outliers_aside
        looked, surprising, until = (
            self.outlier_review,
            self._surprises if judges else frozenset[int](),
            self.state.told,
        )
        if not judges or not (again or surprising):
            return OutlierReview(looked.outliers, looked.cleared, until)
        suspected = self._suspected if again else surprising | looked.outliers.keys()
        self.misfits = self._judged(suspected)
        aside = {misfit.value.number: misfit.value.candidate for misfit in self.misfits}
        cleared = frozenset(suspected - aside.keys())
        return OutlierReview(aside, cleared if again else looked.cleared | cleared, until)

    @property
    def _surprises(self) -> frozenset[int]:
        """New values that stand out from what the model says."""
        fitted = not isinstance(self.learner, Learner) or self.learner.fits > 0
        if not isinstance(self.model, Posterior) or not fitted:
            return frozenset()
        new = self.state.history.new(self.outlier_review.until)
        return surprises(new, self.prior, self.model) - self.outlier_review.cleared

    @property
    def _suspected(self) -> frozenset[int]:
        values = values_of(self.state.history)
        return (
            suspects(values, self.state.told)
            | lone_leader(values)
            | self._surprises
            | self.outlier_review.outliers.keys()
        )

    def _judged(self, suspected: frozenset[int]) -> list[Misfit]:
        """Those of some values that do not fit, by a model that was fitted without them."""
        tally = self._tally(suspected) if suspected else Tally()
        if tally.steps < MIN_OTHERS:
            return []
        values = harmful(values_of(self.state.history, suspected), tally)
        if not values:
            return []
        features = self.problem.features
        if not isinstance(self.learner, Learner):
            return judged(values, self.prior, features, tally, ())
        prior = self.learner.for_judging(tally)
        found = judged(values, prior, features, tally, ("kernel",))
        low = [misfit.value for misfit in found if misfit.value.y < prior.floor]
        if not low:
            return found
        whole = self.learner.for_answers(tally)  # a fit that looks away from low values expects none anywhere
        odd = {misfit.value.number for misfit in judged(low, whole, features, tally, ("kernel",))}
        return [misfit for misfit in found if misfit.value.y >= prior.floor or misfit.value.number in odd]

    @property
    def unconfirmed(self) -> dict[int, int]:
        """Candidates of values that were set aside with too few others to be sure, and how many are wanted."""
        others = {
            candidate: self.state.history.counts[candidate] - 1 for candidate in self.outlier_review.outliers.values()
        }
        return {candidate: CONFIRMED - n for candidate, n in others.items() if n < CONFIRMED}

    @property
    def outliers(self) -> list[Misfit]:
        """Single values that do not fit what is known now."""
        if self.problem.sets_outliers_aside:
            return self._for_answers()[0]
        return self._judged(self._suspected) if self.problem.outcome.real else []

    @property
    def told(self) -> Tally:
        """What answers rest on: everything but what was set aside."""
        return self._for_answers()[1]

    @property
    def left_out(self) -> frozenset[int]:
        """The numbers of what answers leave out."""
        return frozenset(misfit.value.number for misfit in self._for_answers()[0])

    def _for_answers(self) -> tuple[list[Misfit], Tally]:
        if self._cache.answers is None:
            found = self._judged(self._suspected) if self.problem.sets_outliers_aside else []
            aside = {misfit.value.number for misfit in found}
            self._cache.answers = (
                found,
                self.tally if aside == self.outlier_review.outliers.keys() else self._tally(aside),
            )
        return self._cache.answers

    def _fail(self, new: Sequence[int]) -> None:
        """Candidates without a value failed: they do not look attractive any more, nor do their neighbours."""
        poor = self._poor(self.prior, self.tally, new)
        for candidate in new:
            if candidate in poor and candidate not in self._imputed:
                if self.honest is self.model and isinstance(self.model, Posterior):
                    self.honest = Posterior.like(self.model)
                    self.honest.rebuild(self.prior.evidence(self.tally))
                self.model.condition(candidate, 1, poor[candidate])
                self._imputed = poor

    def _poor(self, prior: Prior, tally: Tally, more: Sequence[int] = ()) -> dict[int, float]:
        """Candidates that failed and have no value, with the lowest average so far (or the floor if that is more)."""
        counts = self.state.history.counts
        failed = [each for each in [*self.state.failures, *more] if not counts[each] and each not in tally]
        if not failed or not len(tally):
            return {}
        return dict.fromkeys(failed, max(min(statistics.mean for _, statistics in tally), prior.floor))

    # Looking

    @property
    def due(self) -> bool:
        """Whether the next decision fits the hyperparameters anew."""
        return self.learner is not None and self.learner.due(self.tally)

    @property
    def settled(self) -> bool:
        """Whether nothing is to be learned before the next decision."""
        surprised = self.problem.sets_outliers_aside and self._surprises
        return self.learner is None or not (self.due or surprised)

    @property
    def learned(self) -> Prior:
        """The prior that the next decision will be made with. Looking at it does not disturb a run."""
        if self.settled or self.learner is None:
            return self.prior
        self._cache.peek = self._cache.peek or self.learner.peek(self.told)
        return self._cache.peek

    @property
    def posterior(self) -> Posterior:
        """The exact posterior, which gives all answers: the policy's own model, or made from the tally when asked.

        A policy may look away from how bad the bad candidates are; answers do not.
        """
        learned = isinstance(self.learner, Learner) and len(self.told) > 0
        if isinstance(self.honest, Posterior) and not learned:
            return self.honest
        if self._cache.exact is None:
            self._cache.answering = cast("Learner", self.learner).for_answers(self.told) if learned else self.prior
            self._cache.exact = self._posterior(self._cache.answering)
        return self._cache.exact

    @property
    def answering(self) -> Prior:
        """The prior of all answers."""
        return self.prior if self.posterior is self.honest else cast("Prior", self._cache.answering)

    def _posterior(self, prior: Prior) -> Posterior:
        posterior = Posterior.like(self.model, prior.kernel, prior.noise, prior.mean)
        posterior.rebuild(prior.evidence(self.told), everywhere=False)
        return posterior

    @property
    def overview(self) -> Model:
        """A model that is up to date at all candidates: that of the policy, where it has one."""
        return self.posterior if isinstance(self.model, NoModel) else self.model

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
        numbers = self.told.numbers
        means, variances = self.posterior.answer_at(numbers)
        usable = ~np.isin(numbers, list(self.state.retired))
        if not usable.any():
            raise NothingMeasured("All candidates that were measured are retired: measure another, or restore one.")
        numbers, means, variances = numbers[usable], means[usable], variances[usable]
        order = np.lexsort((priority[numbers], SURE * np.sqrt(variances) - means))
        return numbers[order], means[order], variances[order]

    def check_measured(self) -> None:
        if len(self.told) == 0:
            failures = self.state.failures.total()
            failed = f"All {failures:,} measurements failed" if failures else "Nothing was measured yet"
            raise NothingMeasured(f"{failed}, so that nothing is known: tell or observe a measurement first.")

    def counts(self, pending: Mapping[int, int]) -> dict[int, int]:
        """Measurements of every candidate, told and in flight."""
        told = {candidate: int(statistics.n) for candidate, statistics in self.tally}
        return told | {candidate: told.get(candidate, 0) + n for candidate, n in pending.items()}

    # With what is pending

    def pending_variances(self, lots: Iterable[Lot], model: Model | None = None) -> PendingVariances:
        """The variances, with what is in flight counted as if it had come: each lot of one set-up, some of it told."""
        model = model or self.model
        variances = PendingVariances(model.variances, model.ghost())
        for lot in lots:
            variances.add(lot.candidate, self.worth(lot))
        return variances

    def worth(self, lot: Lot) -> float:
        """How many measurements the pending ones of a lot count for."""
        told, all_ = (Statistics(n) for n in (lot.told, lot.told + lot.pending))
        before, after = (self.prior.worth(lot.candidate, each) if each.n else 0.0 for each in (told, all_))
        return after - before

    def draw(self, rng: np.random.Generator) -> BlockedVector:
        """A function from the posterior of all answers, at all candidates."""
        return draw(self.posterior, self._prior_draw(self.posterior.kernel), self.posterior.ghost(), rng)

    def draw_with_pending(self, ghost: Ghost, lots: Iterable[Lot], rng: np.random.Generator) -> BlockedVector:
        """A draw for choosing, which counts what is in flight."""
        model = self.model
        if not isinstance(model, Posterior):
            model = Posterior.like(model)
            self.fork()._rebuild(model, self.prior, self.tally)
            ghost = self.pending_variances(lots, model).ghost
        return draw(model, self._prior_draw(model.kernel), cast("ExactGhost", ghost), rng)

    def leading_draw(
        self, ghost: Ghost, rng: np.random.Generator, criterion: tuple[SearchCriterion, Indices]
    ) -> ListedVector:
        """The same over candidates on a card: those that may be the highest."""
        model = cast("Posterior", self.model)
        return leading_draw(model, self._prior_draw(model.kernel), cast("ExactGhost", ghost), rng, criterion)

    def _prior_draw(self, kernel: Kernel) -> PriorDraw:
        """How the prior is drawn under a kernel; kept for the last one."""
        if self._draws is None or self._draws[0] is not kernel:
            self._draws = kernel, prior_draw(kernel, self.problem.features)
        return self._draws[1]

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: all but the prior's draws, which are made again when they are needed."""
        return vars(self) | {"_draws": None}


def _answered(told: Told) -> int:
    return sum(each.answered for each in told.feedback.values())
