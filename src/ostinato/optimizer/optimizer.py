"""Ask and tell: the loop in the user's own hands, and the only place where it closes.

candidates → posterior → scores → batch → (evaluation by the user) → feedback → tally → posterior
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any, Literal, cast, overload

import numpy as np

from ostinato.arrays import Matrix, Namespace
from ostinato.candidates import read_candidates
from ostinato.checks import counted, flag, positive, whole
from ostinato.errors import InvalidFeedback, InvalidSetting, SuspiciousMeasurement, notify
from ostinato.kernels import Kernel
from ostinato.learning import Learner, Prior
from ostinato.measurements.feedback import Early, Feedback, Given, read_many
from ostinato.measurements.outcomes import OutcomeName, outcome_of
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.answers import Answers
from ostinato.optimizer.concerns import Concerns
from ostinato.optimizer.costs import read_costs
from ostinato.optimizer.decisions import INITIAL, Decided, Decisions
from ostinato.optimizer.diagnosis import Diagnosis
from ostinato.optimizer.explanation import Explanation, explanation
from ostinato.optimizer.facts import BatchFacts, Looked, State
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.ledger import Lease, Ledger
from ostinato.optimizer.settings import (
    Goal,
    checked_policy,
    generator,
    given,
    learner_for,
    policy_for,
    sign_of,
    what_to_learn,
)
from ostinato.policies import Policy
from ostinato.posterior import Model, Posterior
from ostinato.records import Batch, Best, Certificate, Costs, Learned, Outlier, Plan, Prediction

EARLY = 10  # measurements that are looked at again and again, where outliers are to count less


class Optimizer:
    """Optimise a noisy function over a finite set of candidates by ask and tell.

    candidates: a 2-D array, a pandas, polars or pyarrow data frame, or a `Space`. Nothing else has to be given:

    goal: "find" to know the best candidate at the end, "earn" to have every measurement pay.
    budget: how many measurements there will be in all, where that is known. To find, the last tenth of them goes to
        telling the best candidates apart; to earn, looking pays only while many are left.
    direction: "maximize" or "minimize".
    seed: any seed of `numpy.random.default_rng`; the same seed gives the same run.
    switch_cost, measurement_cost: what going to another candidate costs, and a measurement (1): a number, a cost per
        column as a dict, a table from row to row, or a function of two candidates.
    setup_std: standard deviation of the error that repeats made with one set-up share; "learn" learns it from returns.
        Every batch is a set-up: prepare anew for each.
    outcome: what kind of number a measurement is: "real", "binary" (0 or 1, True or False), "count" (0, 1, 2, …) or
        "positive" (0 or more, with noise in proportion). Noise then follows the mean, and intervals stay within bounds.
    half_life: in how many measurements a measurement comes to count for half, where what is measured changes with time.
    robust: whether single measurements that are far off count less.

    What is learned unless it is given, in your own units; the paper's guarantees hold where all of it is given:

    kernel: how much the values of two candidates have in common, as in `kernels.RBF(lengthscale=2.0, std=1.0)`.
    noise_std: standard deviation of one measurement's noise; one number, or one a candidate; "varying" learns one
    for each.
    mean: the value expected of a candidate before anything is measured (0 where the kernel is given).

    policy: how candidates are picked and repeated, in place of the goal's own.
    block_size: how many candidates are scored at a time; by default all on a grid, else 16,384.
    xp: the array namespace to compute with; NumPy by default.

    An optimiser can be pickled and copied. It is not thread-safe: ask and tell from one thread, measure in many.
    """

    def __init__(
        self,
        candidates: Any,
        *,
        goal: Goal = "find",
        budget: int | None = None,
        policy: Policy | None = None,
        kernel: Kernel | Callable[[Matrix, Matrix], Matrix] | None = None,
        noise_std: Any = None,
        mean: float | None = None,
        setup_std: float | Literal["learn"] | None = None,
        switch_cost: Any = None,
        measurement_cost: float = 1.0,
        outcome: OutcomeName = "real",
        half_life: int | None = None,
        robust: bool = False,
        direction: Literal["maximize", "minimize"] = "maximize",
        seed: Any = None,
        block_size: int | None = None,
        xp: Namespace = np,
    ) -> None:
        self._sign = sign_of(direction)
        self._table = read_candidates(candidates, logs=kernel is None)
        self.goal: Goal = goal
        self.budget = None if budget is None else whole("budget", budget)
        self.seed = np.random.SeedSequence().entropy if seed is None else seed
        self._rng = generator(self.seed)
        self._priority = self._rng.permutation(len(self._table))
        self._switch_cost = read_costs(switch_cost, self._table)
        self.measurement_cost = positive("measurement_cost", measurement_cost)
        self._robust = flag("robust", robust)
        self._early = Early(self._sign) if robust else None
        self._outcome = outcome_of(outcome)
        wanted = what_to_learn(self._table, kernel, noise_std, mean, setup_std, self._sign, self._outcome)
        by_goal = policy_for(goal, learned=bool(wanted.learned))
        self.policy: Policy = by_goal if policy is None else checked_policy(policy)
        self.half_life = None if half_life is None else whole("half_life", half_life)
        if self.half_life is not None and robust:
            raise InvalidSetting("robust=True and half_life= do not go together: give one of them.")
        learner = learner_for(self.policy, self._table, wanted, self.half_life)
        prior = given(wanted) if learner is None else learner.first()
        size = None if block_size is None else whole("block_size", block_size)
        make = Maker(self.policy, self._table.features, size)
        self._known = Knowledge(
            self._table.features,
            prior,
            learner,
            make,
            xp,
            by_setup=wanted.setup != 0,
            half_life=self.half_life,
            judges=isinstance(learner, Learner) and wanted.noise is None and self._outcome.real and not robust,
            names_outliers=self._outcome.real,
        )
        rng, learned = self._rng.spawn(1)[0], wanted.learned
        self._answers = Answers(self._table, self._sign, self._known, self._priority, rng, learned, self._outcome)
        self._concerns = Concerns(self._sign)
        self._ledger = Ledger()
        self._decisions = Decisions(
            self._table,
            self.policy,
            self._known,
            self._ledger,
            self._switch_cost,
            self.measurement_cost,
            self.budget,
            self._sign,
            self._priority,
            self._rng,
        )
        self._observed = 0
        self._remarked: frozenset[int] = frozenset()
        self._log_det_0 = 0.0

    def __repr__(self) -> str:
        known = "" if self.unique == 0 else f", best {self.best()}"
        return (
            f"Optimizer({counted(self.candidates, 'candidate')}, {counted(self.steps, 'measurement')} of "
            f"{self.unique}, {counted(self.switches, 'switch', 'switches')}{known})"
        )

    # What was done so far

    @property
    def candidates(self) -> int:
        """How many different candidates there are to choose from."""
        return len(self._table)

    @property
    def keeps_setups(self) -> bool:
        """Whether repeats share the error of a set-up."""
        return self._known.tally.by_setup

    @property
    def maximizes(self) -> bool:
        """Whether higher is better."""
        return self._sign > 0

    @property
    def steps(self) -> int:
        """Measurements taken in, asked for or not."""
        return self._known.history.steps

    @property
    def epochs(self) -> int:
        """Batches that were answered, in full or in part."""
        return self._ledger.epochs

    @property
    def rounds(self) -> int:
        """Decisions: rounds of one batch or several, asked for without learning anything in between."""
        return self._ledger.rounds

    @property
    def switches(self) -> int:
        """Changes of candidate from one batch to the next."""
        return self._ledger.switches

    @property
    def unique(self) -> int:
        """Different candidates measured."""
        return len(self._known.history.counts)

    @property
    def failures(self) -> int:
        """Measurements that were told as failed."""
        return self._known.failures.total()

    @property
    def costs(self) -> Costs:
        """What was paid for switches and measurements so far."""
        ledger, each = self._ledger, self.measurement_cost
        measurements = self.steps + self.failures
        per_switch = ledger.switch_cost / ledger.switches if ledger.switches else 0.0
        most = max(measurements - 1, 0) * per_switch + measurements * each
        return Costs(ledger.switches, ledger.switch_cost, measurements, measurements * each, most)

    @property
    def in_flight(self) -> list[Batch]:
        """Batches asked and not yet answered in full."""
        return [lease.batch for lease in self._ledger.in_flight]

    @property
    def log_det(self) -> float:
        """log det(I + K_t/λ) of everything measured: twice the information gained, in nats."""
        return self._known.posterior.log_det

    @property
    def certificate(self) -> Certificate | None:
        """The bound on the number of full batches; None where none is promised, or where anything is learned."""
        per_batch = getattr(self.policy, "gain_of_full_batch", None)
        known = self._known
        changing = known.learner is not None or known.half_life is not None
        if per_batch is None or changing or known.prior.setup > 0 or known.tally.has_errors:
            return None
        ledger = self._ledger
        gain = self._known.model.log_det - self._log_det_0
        return Certificate(ledger.full, ledger.capped, ledger.truncated, ledger.partial, gain, per_batch)

    # The loop

    @overload
    def ask(self, limit: int | None = None) -> Batch: ...

    @overload
    def ask(self, limit: int | None = None, *, workers: int) -> Plan: ...

    @overload
    def ask(self, limit: int | None = None, *, slots: int) -> Plan: ...

    def ask(self, limit: int | None = None, *, workers: int | None = None, slots: int | None = None) -> Batch | Plan:
        """The next candidate, and how often to measure it; at most `limit` times, or what is left of the budget.

        Ask again before telling, and repeats in flight are counted as if they had come. A policy that decides rounds of
        several batches hands them out one by one, and decides them within the limit that was given when they began.

        workers: a plan of several batches instead, so that with those in flight there is work for that many workers.
        slots: a plan that fills exactly so many places, such as the wells of a plate; fewer where `limit` is lower.
        """
        self._decisions.prepare()
        self.remark_outliers()
        most = self._most(None if limit is None else whole("limit", limit))
        if workers is None and slots is None:
            return self._lease(self._decisions.next(most))
        if workers is not None and slots is not None:
            raise InvalidSetting("Both workers= and slots= were given: give one of them.")
        if slots is not None:
            places = min(whole("slots", slots), most or slots)
            return self._planned(places, places)
        free = whole("workers", cast("int", workers)) - sum(self._ledger.pending.values())
        return self._planned(min(max(1, free), most or max(1, free)), most)

    def remark_outliers(self) -> None:
        """Warn, once, of values that do not fit and were set aside; before anything rests on it."""
        known = self._known.looked.aside.keys()
        new = [misfit for misfit in self._known.misfits if misfit.value.number in known - self._remarked]
        self._remarked |= known
        for misfit in new:
            words = str(self._answers.outlier(misfit)).capitalize()
            notify(
                f"{words}. It does not count unless it comes again: the candidate is measured again where it has no "
                "other values.",
                SuspiciousMeasurement,
            )

    def _most(self, limit: int | None) -> int | None:
        """The limit, or what is left of the budget where that is less. Beyond the budget, whoever asks may go on."""
        left = (
            0 if self.budget is None else self.budget - self.steps - self.failures - sum(self._ledger.pending.values())
        )
        return min(left, limit or left) if left > 0 else limit

    def _planned(self, least: int, most: int | None) -> Plan:
        decided, staleness = self._decisions.plan(least, most)
        return Plan(tuple(map(self._lease, decided)), staleness, getattr(self.policy, "C", None))

    def _lease(self, decided: Decided) -> Batch:
        proposal, reason = decided
        index = self._table.index_of(proposal.candidate)
        batch = Batch(
            self._ledger.asked,
            index,
            self._table[index],
            proposal.repeats,
            proposal.wanted or proposal.repeats,
            proposal.capped,
            proposal.truncated,
            reason,
        )
        if self._ledger.asked == 0:
            self._log_det_0 = self._known.model.log_det
        self._ledger.lease(batch, proposal.candidate)
        return batch

    def tell(
        self,
        batch: Batch,
        values: Any = None,
        *,
        stderr: Any = None,
        n: int | None = None,
        mean: float | None = None,
        std: float | None = None,
        successes: int | None = None,
        trials: int | None = None,
    ) -> None:
        """The answer to a batch: its values, or their count, mean and sample standard deviation.

        successes, trials: of yes and no (outcome="binary"), how often it was yes. NaN and None stand for measurements
        that failed. stderr: the standard error of each value, where they are known.
        Fewer than asked is fine: tell the rest later, or `close` the batch. What is rejected changes nothing.
        """
        lease = self._ledger.find(batch)
        feedback = Given(values, stderr, n, mean, std, successes, trials).read(self._outcome)
        if feedback.answered > lease.pending:
            raise InvalidFeedback(
                f"Batch {batch.id} waits for {lease.pending} of its {batch.repeats} repeats and was told "
                f"{feedback.answered}: tell at most those, and use observe(candidate, values) for the others."
            )
        cost = self._cost_of_way_to(lease)
        told = self._take_in({lease.candidate: feedback}, lease.batch.id)
        self._ledger.told(lease, feedback.n, feedback.failed, cost)
        self._fail({lease.candidate: feedback})
        self._remark(told)

    def cost_of(self, repeats: Mapping[int, int]) -> float:
        """What measurements to come will cost, repeats of batches by their numbers, and the switches to them."""
        leases = [lease for lease in map(self._ledger.lease_of, repeats) if lease is not None]
        return sum(map(self._cost_of_way_to, leases)) + sum(repeats.values()) * self.measurement_cost

    def _cost_of_way_to(self, lease: Lease) -> float:
        """What going to a batch's candidate costs, from the one that was measured last."""
        way = self._ledger.way(lease)
        return 0.0 if way is None else self._cost(*way)

    def _cost(self, start: int, end: int) -> float:
        return 0.0 if self._switch_cost is None else float(self._switch_cost(start, np.array([end]))[0])

    def close(self, batch: Batch) -> None:
        """Give up the repeats of a batch that were not told; those that were, stay."""
        self._ledger.close(self._ledger.find(batch))

    def observe(
        self,
        candidate: Any,
        values: Any = None,
        *,
        stderr: Any = None,
        n: int | None = None,
        mean: float | None = None,
        std: float | None = None,
        successes: Any = None,
        trials: Any = None,
    ) -> None:
        """Measurements that were not asked for: a warm start, logged data.

        candidate: an index or a row, with all its values (or their statistics); or many at once, a sequence of
        indices or a table of rows, with one value each, or successes and trials of each. A flat array as long as a row
        is a row.
        """
        named = self._table.named_by(candidate)
        claim = Given(values, stderr, n, mean, std, successes, trials)
        if isinstance(named, int) or (len(named) == 1 and np.ndim(successes) == 0):
            number = named if isinstance(named, int) else named[0]
            feedback = {number: claim.read(self._outcome)}
        else:
            feedback = read_many(named, claim, self._outcome)
        told = self._take_in(feedback, -1 - self._observed)
        self._observed += 1
        self._fail(feedback)
        self._remark(told)

    # Facts, for storage

    @property
    def state(self) -> State:
        """What the next decision rests on besides what was asked and told."""
        learner = self._known.learner
        learnt = None if learner is None else learner.learnt
        random, looked = dict(self._rng.bit_generator.state), self._known.looked
        return State(random, list(self._decisions.round), learnt, self._log_det_0, looked)

    def recall(self, facts: Sequence[BatchFacts], state: State | None) -> None:
        """Become the optimiser that was told these facts; before anything else was asked or told.

        Batches come as aggregates, so that ten million measurements are taken in as quickly as a few hundred.
        """
        if self.steps or self._ledger.asked or self._robust:
            raise InvalidSetting("Facts are recalled by a new optimiser, and by one without robust=True.")
        number_of, sign = self._table.number_of, self._sign
        told = sorted((fact for fact in facts if fact.statistics.n), key=lambda fact: fact.first)
        turned = [(number_of(f.index), f.id, f.measured if sign > 0 else -f.measured) for f in told]
        failures: Counter[int] = Counter()
        for fact in facts:
            failures[number_of(fact.index)] += fact.failed
        learnt, looked = (None, Looked()) if state is None else (state.learnt, state.looked)
        self._known.recall(turned, +failures, learnt, looked)
        asked = sorted((fact for fact in facts if fact.id >= 0), key=lambda fact: fact.id)
        self._ledger.recall([(fact, self._batch(fact), number_of(fact.index)) for fact in asked], self._cost)
        self._observed = sum(fact.id < 0 for fact in facts)
        if state is not None:
            self.resume(state)

    def resume(self, state: State) -> None:
        """Decide from here on as whoever was in this state would; what was learned then is `recall`'s matter."""
        self._rng.bit_generator.state = state.random
        self._decisions.round = list(state.round)
        self._log_det_0 = state.log_det_0
        self._known.look(state.looked)

    def follow(self, fact: BatchFacts) -> None:
        """A batch was asked elsewhere."""
        self._ledger.rounds = max(self._ledger.rounds, fact.round)
        self._ledger.lease(self._batch(fact), self._table.number_of(fact.index))

    def waits_for(self, batch: int) -> bool:
        """Whether a batch, by its number, is still in flight."""
        return self._ledger.lease_of(batch) is not None

    def take(self, batch: int, index: int, feedback: Feedback) -> None:
        """Feedback for a batch, or an observation (a number below 0), that was told elsewhere."""
        number = self._table.number_of(index)
        lease = self._ledger.lease_of(batch)
        if lease is not None:
            self._ledger.told(lease, feedback.n, feedback.failed, self._cost_of_way_to(lease))
        self._take_in({number: feedback}, batch)
        self._observed = max(self._observed, -batch)
        self._fail({number: feedback})

    def allow(self, budget: int | None) -> None:
        """Another budget."""
        self.budget = self._decisions.budget = budget

    def _batch(self, fact: BatchFacts) -> Batch:
        candidate = self._table[fact.index]
        return Batch(fact.id, fact.index, candidate, fact.repeats, fact.wanted, fact.capped, fact.truncated)

    # Answers

    def predict(self, points: Any = None) -> Prediction:
        """Mean and standard deviation of f at all candidates, or at new points given like the candidates."""
        return self._answers.predict(points)

    def covariance(self, points: Any = None) -> Matrix:
        """The covariance matrix of f at candidates or new points (up to 5,000: it has a row and a column for each)."""
        return self._answers.covariance(points)

    def sample(self, size: int = 1, points: Any = None) -> Matrix:
        """Joint draws of f from the posterior, one a row; at candidates or new points. Every call draws anew."""
        return self._answers.sample(size, points)

    def best(self, level: float = 0.95) -> Best:
        """The measured candidate of the best lower bound (mean less a standard deviation): never the luckiest value."""
        return self._answers.best(level)

    def leader(self) -> tuple[int, float, float]:
        """Index, posterior mean and standard deviation of the best candidate so far; cheaper than `best`."""
        return self._answers.leader()

    def top(self, k: int = 5, level: float = 0.95) -> list[Best]:
        """The k best measured candidates, each with its chance of being the best of all.

        Their intervals are simultaneous: with probability `level` all of them hold at once.
        """
        return self._answers.top(k, level)

    def chance_within(self, gap: float) -> float:
        """The probability that no candidate is better than the recommended one by more than `gap`.

        It speaks of candidates that were never measured: where the kernel is learned, it is calibrated by how often
        such claims came true (docs/results.md, "How sure it is").
        """
        return self._answers.chance_within(gap)

    @property
    def learned(self) -> Learned:
        """What the model holds true besides the measurements, and which of it was learned from them."""
        return self._answers.learned()

    @property
    def outliers(self) -> list[Outlier]:
        """Single values that do not fit what all else says of their candidates, the furthest off first.

        While noise is learned they do not count, neither for choosing nor for answers.
        """
        return self._answers.outliers()

    def diagnose(self) -> Diagnosis:
        """Whether the model fits what was measured: residuals, repeats and returns, with a verdict in words."""
        return self._answers.diagnose()

    def explain(self, batch: Batch) -> Explanation:
        """Why this candidate and why this many repeats: in a sentence, and in numbers."""
        return explanation(batch)

    # Inside

    def _take_in(self, feedback: Mapping[int, Feedback], setup: int) -> dict[int, Statistics]:
        """Feedback → what is known; returns the part of it that succeeded."""
        told = {
            number: each.measured(self._sign, self.steps, self.failures, self._limits(number))
            for number, each in feedback.items()
            if each.n
        }
        if self._early is not None:
            self._early.add(feedback, setup)
            self._known.retake(self._early.tally(by_setup=self._known.tally.by_setup), told, setup)
            if self.unique >= INITIAL and self.steps >= EARLY:
                self._early = None
            return {number: self._known.tally[number] for number in told}
        if told:
            self._known.take_in(told, setup)
        return {number: measured.statistics for number, measured in told.items()}

    def _fail(self, feedback: Mapping[int, Feedback]) -> None:
        for number, each in feedback.items():
            if each.failed:
                self._known.fail(number, each.failed)

    def _limits(self, candidate: int) -> tuple[float, float, float] | None:
        """Where single values are limited: what is expected here, its standard deviation, and that of noise alone."""
        if not self._robust or self._early is not None:
            return None
        mean, variance = self._known.posterior.at(candidate)
        prior = self._known.learned
        noise = float(prior.noise[candidate]) + prior.setup
        return mean, sqrt(variance + noise), sqrt(noise)

    def _remark(self, told: Mapping[int, Statistics]) -> None:
        """Warnings; last of all, when the feedback is safe."""
        if self._known.settled:
            self._known.model.warn_where_float64_ends()
        if self._known.learner is None:
            self._concerns.look(self._known.model, told)


class Maker:
    """From a prior to the model that a policy sees. A class and not a closure, so that optimisers can be pickled."""

    def __init__(self, policy: Policy, features: Matrix, block_size: int | None) -> None:
        self._make, self._features, self._block_size = getattr(policy, "model", Posterior), features, block_size

    def __call__(self, prior: Prior, xp: Namespace) -> Model:
        mean, size = prior.mean, self._block_size
        return self._make(self._features, prior.kernel, prior.noise, mean=mean, xp=xp, block_size=size)
