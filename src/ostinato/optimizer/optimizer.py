"""Ask and tell: the loop in the user's own hands, and the only place where it closes.

candidates → posterior → scores → batch → (evaluation by the user) → feedback → tally → posterior
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn, cast, overload

import msgspec
import numpy as np

from ostinato.arrays import Matrix, Namespace, unwrapped
from ostinato.candidates import Candidates, Sampled, ShardedTable, extended
from ostinato.candidates.identifiers import remark_measured
from ostinato.candidates.table import is_empty
from ostinato.checks import brief, whole
from ostinato.errors import FewerSlots, InvalidFeedback, InvalidSetting, UnknownBatch, notify
from ostinato.kernels import Kernel
from ostinato.measurements.feedback import FeedbackInput, read_many, read_none
from ostinato.measurements.outcomes import OutcomeName
from ostinato.optimizer.certifiable import Search
from ostinato.optimizer.core import Core
from ostinato.optimizer.decide import decide
from ostinato.optimizer.facts import Asked, Closed, DecisionState, OutlierReview, Restored, Retired, Told
from ostinato.optimizer.memory import default_limit, read_limit
from ostinato.optimizer.plan import Wish
from ostinato.optimizer.problem import Settings, grown_priority, priority_of, table_for
from ostinato.optimizer.revise import check_named, found, numbered, singles
from ostinato.optimizer.settings import Goal, generator, more_noise, sign_of
from ostinato.optimizer.state import State
from ostinato.optimizer.view import OptimizerView
from ostinato.policies import Policy
from ostinato.posterior.device import Precision, read_device
from ostinato.records import Batch, Plan


class Optimizer(OptimizerView):
    """Optimise a noisy function over a table or a space of candidates by ask and tell.

    candidates: a 2-D array, a pandas, polars or pyarrow data frame, dicts, a `Space`, or a `ShardedTable` of
    files on a Dask cluster. Nothing else has to be given:

    goal: "find" to know the best candidate at the end, "earn" to have every measurement pay.
    budget: how many measurements there will be in all, where that is known: "find" ends by telling the best apart with
        the last tenth, "earn" looks only while many are left.
    direction: "maximize" or "minimize".
    seed: any seed of `numpy.random.default_rng`; the same seed gives the same run.
    switch_cost, measurement_cost: what going to another candidate costs, and a measurement (1): a number, a cost per
        column as a dict, a table from row to row, or a function of two candidates.
    setup_std: standard deviation of the error that repeats of a batch, one set-up, share; "learn": from returns.
    outcome: what kind of number a measurement is: "real", "binary" (0 or 1, True or False), "count" (0, 1, 2, …) or
        "positive" (0 or more, with noise in proportion). Noise then follows the mean, and intervals stay within bounds.
    value, unit: what the measured number is called, and its unit, in answers and figures: value="yield", unit="%".
    half_life: in how many measurements a measurement comes to count for half, where what is measured changes with time.
    max_repeats: the most repeats that are asked for at once.
    robust: whether single measurements that are far off count less; for outliers on both sides, not for timings.

    What is learned unless it is given, in your own units; the paper's guarantees need all of it (docs/guarantees.md):

    kernel: how much the values of two candidates have in common, as in `kernels.RBF(lengthscale=2.0, std=1.0)`.
    noise_std: standard deviation of one measurement's noise: a number, one a candidate, or "varying", learned for each.
    mean: the value expected of a candidate before anything is measured (0 where the kernel is given).

    policy: how candidates are picked and repeated, in place of the goal's own.
    search: in a space that cannot be listed, "certified" proves how near to the highest score the asked point is.
    block_size: how many candidates are scored at a time; by default all on a grid, else 16,384.
    memory_limit: for covariances, such as "4GB"; by default half of what is free. The others are computed when needed.
    device: "cuda" for a GPU, which needs the extra [gpu]; the choices are the same. precision: "double" computes all in
    double precision there.
    xp: the array namespace to compute with; NumPy by default.

    It can be pickled and copied. It is not thread-safe: ask and tell from one thread, measure in many.
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
        value: str | None = None,
        unit: str | None = None,
        half_life: int | None = None,
        max_repeats: int | None = None,
        robust: bool = False,
        search: Search = "sampled",
        direction: Literal["maximize", "minimize"] = "maximize",
        seed: Any = None,
        block_size: int | None = None,
        memory_limit: str | int | None = None,
        device: str | None = None,
        precision: Precision = "single",
        xp: Namespace = np,
    ) -> None:
        self._table, sign, xp = table_for(candidates, device), sign_of(direction), unwrapped(xp)
        self.goal: Goal = goal
        self.seed = np.random.SeedSequence().entropy if seed is None else seed
        rng = generator(self.seed)
        settings = Settings(
            kernel,
            noise_std,
            mean,
            setup_std,
            outcome=outcome,
            value=value,
            unit=unit,
            goal=goal,
            policy=policy,
            direction=direction,
            switch_cost=switch_cost,
            measurement_cost=measurement_cost,
            half_life=half_life,
            max_repeats=max_repeats,
            robust=robust,
            search=search,
            block_size=block_size,
            memory_limit=self._limit(memory_limit, xp),
            device=read_device(device, precision, here=not isinstance(self._table, ShardedTable)),
            xp=xp,
        )
        if isinstance(self._table, Sampled):
            self._table = self._table.seeded(int(rng.integers(2**32)))
        problem = settings.problem(self._table, priority_of(self._table, rng))
        if not isinstance(candidates, Candidates):  # but as the user gave them; of a study it is said when it is made
            remark_measured(self._table, problem.quantity)
        draws = rng.spawn(1)[0]
        decision_state = DecisionState(dict(rng.bit_generator.state))
        state = State(sign, problem.switch_cost, decision_state, None if budget is None else whole("budget", budget))
        super().__init__(Core(problem, state), draws)
        self._owner = ""

    def _limit(self, given: str | int | None, xp: Namespace) -> int | None:
        """Bytes for covariances here; those of candidates on workers are theirs."""
        if isinstance(self._table, ShardedTable):
            if given is None:
                return None
            raise InvalidSetting(
                f"memory_limit={given!r} is for candidates in this machine's memory: limit that of Dask's workers "
                "instead (docs/performance.md says what they need)."
            )
        return read_limit(given) or (default_limit() if xp is np else None)

    def lend(self, owner: str) -> None:
        """From now on this is for looking: it is asked and told through its owner."""
        self._owner = owner

    def _refuse(self) -> NoReturn:
        raise InvalidSetting(f"This optimiser of {self._owner} is for looking: ask and tell through the study.")

    @property
    def budget(self) -> int | None:
        """How many measurements there will be in all; it may be changed at any time."""
        return self._state.budget

    @budget.setter
    def budget(self, budget: int | None) -> None:
        if self._owner:
            self._refuse()
        self._state.budget = None if budget is None else whole("budget", budget)

    # The loop

    @overload
    def ask(self, limit: int | None = None) -> Batch: ...

    @overload
    def ask(
        self, limit: int | None = None, *, workers: int, distinct: bool = False, shared: Sequence[str | int] = ()
    ) -> Plan: ...

    @overload
    def ask(
        self, limit: int | None = None, *, slots: int, distinct: bool = False, shared: Sequence[str | int] = ()
    ) -> Plan: ...

    def ask(
        self,
        limit: int | None = None,
        *,
        workers: int | None = None,
        slots: int | None = None,
        distinct: bool = False,
        shared: Sequence[str | int] = (),
    ) -> Batch | Plan:
        """The next candidate, and how often to measure it; at most `limit` times, or what is left of the budget.

        Ask again before telling, and repeats in flight are counted as if they had come. A policy that decides rounds of
        several batches hands them out one by one, and decides them within the limit that was given when they began.

        workers: a plan of several batches instead, so that with those in flight there is work for that many workers.
        slots: a plan that fills exactly so many places, such as the wells of a plate; fewer where `limit` is lower.
        distinct: every measurement of a plan is of another candidate. shared: columns in which all candidates of a plan
        are alike, such as the temperature of the one oven; the first batch says what they share.
        """
        if self._owner:
            self._refuse()
        most = None if limit is None else whole("limit", limit)
        wish = Wish.of(slots, workers, distinct, shared, most)
        decision = decide(self.core.known, most, wish)
        if decision.known.outlier_review.outliers:
            self.core.warn_of_outliers(decision)
        batches = self.core.commit(decision)
        if wish is None:
            return batches[0]
        plan = Plan(tuple(batches), decision.ratio, self._problem.keeps_within)
        if short := wish.short_of(plan.repeats):
            spent = self.core.state.left == 0
            why = "the budget leaves no more" if spent else "no other candidate may be part of the plan"
            notify(f"{short}: {why}.", FewerSlots)
        return plan

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
        if self._owner:
            self._refuse()
        core = self.core
        open_ = core.known.state.ledger.find(batch)
        feedback = FeedbackInput(values, stderr, n, mean, std, successes, trials).read(core.problem.outcome)
        if feedback.answered > open_.pending:
            raise InvalidFeedback(
                f"Batch {batch.id} waits for {open_.pending} of its {batch.repeats} repeats and was told "
                f"{feedback.answered}: tell at most those, and use observe(candidate, values) for the others."
            )
        core.add_feedback(batch.id, {open_.candidate: feedback})

    def cost_of(self, repeats: Mapping[int, int]) -> float:
        """What measurements to come will cost, repeats of batches by their numbers, and the switches to them."""
        ledger = self._state.ledger
        ways = [ledger.way(ledger.open[batch]) for batch in repeats if batch in ledger.open]
        switches = sum(self._problem.cost(*way) for way in ways if way is not None)
        return switches + sum(repeats.values()) * self.measurement_cost

    def close(self, batch: Batch) -> None:
        """Give up the repeats of a batch that were not told; those that were, stay."""
        if self._owner:
            self._refuse()
        self.core.absorb(Closed(self._state.ledger.find(batch).batch.id))

    def retract(
        self, what: Any = None, *, value: float | None = None, number: int | None = None, failures: bool = False
    ) -> int:
        """Take measurements back, as if they had never been told; returns how many.

        what: a batch, for all that was told of it; or a candidate, with the `value` that is wrong (the last such one).
        number: of a measurement, as warnings and `outliers` name it; it stays the same whatever else is taken back.
        failures: those of a candidate, or of all, are taken back instead: after an instrument was down, say.

        Repeats of a batch that is in flight are then waited for again; of one that was over they are not.
        """
        if self._owner:
            self._refuse()
        batch, state = what if isinstance(what, Batch) else None, self._state
        check_named(
            ("a batch", batch is not None),
            ("a candidate", what is not None and batch is None and not failures),
            ("value=", value is not None and (batch is not None or failures or what is None)),
            ("number=", number is not None),
            ("failures=True", failures),
        )
        if failures:
            candidate = None if what is None else self._number(what)
            gone = [s for s in singles(state.facts) if s.failed and candidate in (None, s.candidate)]
        elif number is not None:
            gone = [numbered(state, whole("number", number))]
        elif batch is not None:
            return self._retract_batch(batch)
        elif value is not None and what is not None:
            gone = [found(state, self._number(what), self._problem.outcome.single(value))]
        else:
            raise InvalidFeedback("What is to be taken back? Give a batch, a candidate with value=, or number=.")
        self.core.revise(dict.fromkeys(gone))
        return len(gone)

    def correct(
        self, what: Any = None, old: float | None = None, new: float | None = None, *, number: int | None = None
    ) -> None:
        """Another value for a measurement, as if it had been told in the first place: correct(candidate, 125, 12.5).

        number: of the measurement, as warnings and `outliers` name it, in place of candidate and old value.
        """
        if self._owner:
            self._refuse()
        if new is None or (number is None and (what is None or old is None)):
            raise InvalidFeedback("Give candidate, old and new value; or number= and new=.")
        check_named(("number=", number is not None), ("candidate and old value", what is not None or old is not None))
        self._problem.outcome.check(new)
        state = self._state
        wrong = (
            found(state, self._number(what), self._problem.outcome.single(old))
            if number is None
            else numbered(state, whole("number", number))
        )
        self.core.revise({wrong: new})

    def _number(self, candidate: Any) -> int:
        named = self._problem.table.named_by(candidate)
        if not isinstance(named, int) and len(named) != 1:
            raise InvalidFeedback(f"{brief(candidate)} is more than one candidate: give one.")
        return named if isinstance(named, int) else int(named[0])

    def _retract_batch(self, batch: Batch) -> int:
        """All that was told of it, also where only averages were."""
        state = self._state
        at = [place for place, fact in enumerate(state.facts) if isinstance(fact, Told) and fact.batch == batch.id]
        asked = (fact.batch for fact in state.facts if isinstance(fact, Asked) and fact.batch.id == batch.id)
        if not at or any((each.index, each.repeats) != (batch.index, batch.repeats) for each in asked):
            raise UnknownBatch(f"Nothing was told of batch {batch.id}: there is nothing to take back.")
        count = sum(each.answered for place in at for each in cast("Told", state.facts[place]).feedback.values())
        self.core.revise({}, at)
        return count

    def add(self, rows: Any, *, noise_std: Any = None) -> list[int]:
        """More candidates from now on: a table or rows with the same columns. Returns their indices.

        Rows that are there already are left out. What was measured stays, and so do indices and batches in flight.
        noise_std: of the new rows, one number or one for each, where it was given one a row.
        """
        if self._owner:
            self._refuse()
        table = extended(self._table, rows)
        if table.rows == self._table.rows:
            return []
        settings = self._problem.settings
        noise = more_noise(settings.noise_std, noise_std, table.rows - self._table.rows)
        problem = replace(settings, noise_std=noise).problem(table, grown_priority(self._problem.priority, len(table)))
        before, state = self._table.rows, self._state
        decision_state = DecisionState(
            state.decision_state.random, [], None, OutlierReview(), state.decision_state.began
        )
        self._table = table
        self.core.rewrite(state.facts, decision_state, problem=problem)
        return list(range(before, table.rows))

    def retire(self, rows: Any) -> int:
        """Candidates that are not to be measured or recommended any more; returns how many that is.

        rows: an index or a row, or several. What was measured of them stays and informs their neighbours; batches in
        flight stay valid.
        """
        if self._owner:
            self._refuse()
        numbers = self._numbers(rows) - self._state.retired
        self.core.absorb(Retired(frozenset(numbers)), self._without_round(numbers))
        return len(numbers)

    def restore(self, rows: Any) -> int:
        """Retired candidates may be measured again; returns how many."""
        if self._owner:
            self._refuse()
        numbers = self._numbers(rows) & self._state.retired
        self.core.absorb(Restored(frozenset(numbers)))
        return len(numbers)

    @property
    def retired(self) -> list[int]:
        """The indices of candidates that were retired."""
        return sorted(self._problem.table.index_of(number) for number in self._state.retired)

    def _numbers(self, rows: Any) -> set[int]:
        rows = list(rows) if isinstance(rows, range) else rows
        if isinstance(rows, list) and not rows:
            return set()
        self.core.extend_candidates(self._problem.table.holding(rows))
        named = self._problem.table.named_by(rows)
        return {named} if isinstance(named, int) else set(named)

    def _without_round(self, gone: set[int]) -> DecisionState:
        """A round that is not handed out yet goes on without some candidates."""
        decision_state = self._state.decision_state
        return msgspec.structs.replace(
            decision_state, round=[each for each in decision_state.round if each.candidate not in gone]
        )

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
        is a row. Of no candidates there is nothing to take in.
        """
        if self._owner:
            self._refuse()
        claim = FeedbackInput(values, stderr, n, mean, std, successes, trials)
        if is_empty(candidate):
            read_none(claim)
            return
        table = self._problem.table.holding(candidate)
        named = table.named_by(candidate)
        if isinstance(named, int) or (len(named) == 1 and np.ndim(successes) == 0):
            number = named if isinstance(named, int) else named[0]
            feedback = {number: claim.read(self._problem.outcome)}
        else:
            feedback = read_many(named, claim, self._problem.outcome)
        self.core.extend_candidates(table)
        self.core.add_feedback(-1 - self._state.observed, feedback)
