"""The inside of an optimiser: a problem, the state, and what is known. All that changes passes through here.

`Optimizer` reads what users say and gives it to this; a study keeps the same state in a storage, and follows it.
"""

from collections.abc import Collection, Mapping, Sequence
from math import inf

from msgspec.structs import replace

from ostinato.candidates import Candidates
from ostinato.errors import InvalidSetting
from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.feedback import Feedback
from ostinato.measurements.robust import Limits
from ostinato.optimizer.answers import Answers
from ostinato.optimizer.decision import Decision
from ostinato.optimizer.facts import Asked, DecisionState, Fact, Recalled, Remembered, Retired, Told
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.revise import Single, failed_of, gaps_after, revised
from ostinato.optimizer.state import State
from ostinato.optimizer.warnings import Warnings
from ostinato.records import Batch


class Core:
    """One owner of state and knowledge; answers are made when they are asked for."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem, self._state = problem, state
        self._known: Knowledge | None = Knowledge(problem, state)
        self._answers: Answers | None = None
        self._warnings = Warnings(problem.sign)

    @property
    def state(self) -> State:
        """All facts and their sums. If something stopped a change half-way, the sums are computed again first."""
        return self._state if self._state.consistent else self._state.restored()

    @property
    def known(self) -> Knowledge:
        """What is known. If something stopped an update half-way, it is computed again from the facts first."""
        if self._known is None:
            self._known, self._answers = Knowledge(self.problem, self.state), None
        return self._known

    @property
    def answers(self) -> Answers:
        if self._answers is None or self._known is None:
            self._answers = Answers(self.problem, self.known)
        return self._answers

    # Deciding: `decide` says what would be asked for; it is taken up here, or may be thrown away

    def warn_of_outliers(self, decision: Decision) -> None:
        """Warn of values that a decision set aside.

        Called before the decision is committed, so that a warning that was turned into an error loses nothing.
        """
        self._warnings.of_outliers(self.problem, decision.known)

    def commit(self, decision: Decision) -> list[Batch]:
        """Make a decision a fact. The state must be the one that it was decided in."""
        if decision.asked[0].batch.id != self.known.state.ledger.asked:
            raise InvalidSetting("This decision was made in another state: decide again.")
        self._known = self._answers = None
        self.problem, self._state.costs = decision.known.problem, decision.known.problem.switch_cost
        self._state.absorb(decision.asked, decision.decision_state)
        self._known = decision.known
        return [asked.batch for asked in decision.asked]

    def extend_candidates(self, table: Candidates) -> None:
        """Add candidates after the old ones. What is known of the old ones stays."""
        if table is not self.problem.table:
            problem, known = self.problem.for_table(table), self.known
            self._known = self._answers = None
            self.problem, self._state.costs = problem, problem.switch_cost
            self._known = known.for_problem(problem)

    # Taking in

    def absorb(self, fact: Fact, decision_state: DecisionState | None = None) -> None:
        """Add a fact that brings no value."""
        state, known, answers = self.state, self._known, self._answers
        self._known = self._answers = None
        state.absorb([fact], decision_state)
        self._known, self._answers = known, answers if isinstance(fact, Asked) else None

    def add_feedback(self, batch: int, feedback: dict[int, Feedback], *, quietly: bool = False) -> None:
        """Take in feedback by candidate: all of it, or none if anything stops it. Warnings come once it is safe."""
        known = self.known
        state = known.state
        size, decision_state = len(state.facts), state.decision_state
        open_ = state.ledger.open.get(batch)
        told = Told(batch, feedback, None if open_ is None else open_.limits)
        measured = state.measured(told)
        self._known = self._answers = None
        try:
            known.add_feedback(told, measured)
            state.absorb([told], measured=measured)
        except BaseException:
            state.rewind(size, decision_state)
            raise
        self._known = known
        if not quietly:
            self._warnings.of_told(known, measured)

    def rewrite(
        self,
        facts: Sequence[Fact],
        decision_state: DecisionState,
        gaps: Sequence[int] | None = None,
        problem: Problem | None = None,
    ) -> None:
        """Replace all facts, or keep them for another problem."""
        state = self.state
        self._known = self._answers = None
        self.problem = problem or self.problem
        state.costs = self.problem.switch_cost
        state.rewrite(facts, decision_state, gaps)

    def revise(self, changes: Mapping[Single, float | None], whole: Sequence[int] = ()) -> None:
        """Change the values of measurements; None takes one back. whole: facts that are taken back as a whole."""
        facts, decision_state = revised(self.state, changes, self.problem.outcome, whole)
        self.rewrite(facts, decision_state, gaps_after(self.state, changes, whole))

    def retract_failures(self, repeats: Collection[tuple[int, int]]) -> int:
        """Take back those of some repeats, by batch and place in what was told of it, that failed; returns how many."""
        gone = failed_of(self.state.facts, repeats)
        self.revise(dict.fromkeys(gone))
        return len(gone)

    # For storage

    def recall(
        self,
        facts: Sequence[BatchFacts],
        decision_state: DecisionState | None,
        gaps: Sequence[int] = (),
        retired: Sequence[int] = (),
        told: Sequence[Told] = (),
        limits: Mapping[int, Limits] = {},
    ) -> None:
        """Become the optimiser that was told these facts; before anything else was asked or told.

        Batches come as aggregates, so that ten million measurements are taken in as quickly as a few hundred.
        gaps: the numbers of measurements that were taken back, in order. retired: indices of candidates.
        told, limits: with robust=True, all that was told, and what was expected of each batch.
        """
        state, number_of = self.state, self.problem.table.number_of
        if state.facts:
            raise InvalidSetting("Facts are recalled by a new optimiser.")
        state.gaps = gaps
        ordered = sorted((fact.among(gaps) for fact in facts), key=lambda fact: (fact.first or inf, fact.id))
        made: list[Fact] = [Recalled(self._with_row(f), number_of(f.index), limits.get(f.id)) for f in ordered]
        made += [Retired(frozenset(map(number_of, retired)))] if retired else []
        self.rewrite([*made, Remembered(list(told))] if told else made, decision_state or state.decision_state)
        self._warnings.know_of(state.decision_state.outlier_review, gaps)

    def resume(self, decision_state: DecisionState) -> None:
        """Go on from a decision state that another process left, whose fit is the same."""
        known = self.known
        self.state.rewrite_decision_state(decision_state)
        if decision_state.outlier_review.outliers != known.outlier_review.outliers:
            self._known = None
        else:
            known.outlier_review = decision_state.outlier_review
            known.recall(decision_state.drawn)

    def follow(self, fact: BatchFacts, limits: Limits | None = None) -> None:
        """A batch was asked elsewhere."""
        self.absorb(Asked(self._with_row(fact).batch, self.problem.table.number_of(fact.index), limits))

    def waits_for(self, batch: int) -> bool:
        """Whether a batch, by its number, is still in flight."""
        return batch in self.state.ledger.open

    def _with_row(self, fact: BatchFacts) -> BatchFacts:
        """With the candidate's row, which a storage does not keep."""
        return replace(fact, batch=replace(fact.batch, candidate=self.problem.table[fact.index]))
