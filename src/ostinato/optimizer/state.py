"""All that happened: the facts in the order they came, and their sums. `State` owns them, and changes in two ways.

`absorb` takes in new facts. If anything stops it, such as Ctrl-C, the state goes back to what it was before.
`rewrite` replaces all facts, after a correction or when candidates were added. The model is made from the state, and
answers are made from the model.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from ostinato.measurements.history import History, Measured, Part
from ostinato.optimizer.costs import SwitchCost
from ostinato.optimizer.facts import Asked, Closed, DecisionState, Fact, Recalled, Remembered, Restored, Retired, Told
from ostinato.optimizer.ledger import Ledger
from ostinato.optimizer.settings import generator_in

HOPELESS = 3  # failures, and more failures than values, from which a candidate is not asked for again


class State:
    """All facts so far, and their sums.

    sign: −1 where lower values are better, so that inside higher ones always are. costs: of switches, where they cost
    anything. decision_state: what the next decision needs besides the facts.
    """

    def __init__(
        self, sign: int, costs: SwitchCost | None, decision_state: DecisionState, budget: int | None = None
    ) -> None:
        self._sign, self.costs, self.decision_state, self.budget = sign, costs, decision_state, budget
        self.facts: list[Fact] = []
        self.gaps: Sequence[int] = ()  # numbers of measurements that were taken back, in order
        self._rng = generator_in(decision_state.random)
        self.ledger, self.history, self.failures, self.observed = Ledger(), History(), Counter[int](), 0
        self.retired: frozenset[int] = frozenset()
        self.consistent = True

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: all but the generator, which is made again from the decision state."""
        return {name: value for name, value in vars(self).items() if name != "_rng"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _rng=generator_in(state["decision_state"].random))

    def generator(self) -> np.random.Generator:
        """The random generator, as the last decision left it. Only one decision at a time may use it."""
        self._rng.bit_generator.state = self.decision_state.random
        return self._rng

    @property
    def steps(self) -> int:
        """Measurements with a value."""
        return self.history.steps

    @property
    def told(self) -> int:
        """Measurements told, those that failed included."""
        return self.history.steps + self.failures.total()

    @property
    def left(self) -> int | None:
        """Measurements that the budget leaves, with those in flight taken off; None where there is no budget."""
        return None if self.budget is None else max(0, self.budget - self.told - sum(self.ledger.pending.values()))

    @property
    def hopeless(self) -> frozenset[int]:
        """Candidates whose measurements mostly fail. They are not asked for again."""
        counts = self.history.counts
        return frozenset(c for c, failed in self.failures.items() if failed >= HOPELESS and failed > counts[c])

    @property
    def readings(self) -> Iterator[Told]:
        """All that was told, value by value where that is known."""
        for fact in self.facts:
            if isinstance(fact, Remembered):
                yield from fact.told
            elif isinstance(fact, Told):
                yield fact

    def absorb(
        self,
        facts: Sequence[Fact],
        decision_state: DecisionState | None = None,
        measured: Mapping[Part, Measured] | None = None,
    ) -> None:
        """Add these facts: all of them, or none if anything stops it.

        decision_state: the one after these facts, where they come from a decision. measured: what `measured` returned
        for the only fact, where the caller already asked for it.
        """
        size, before = len(self.facts), self.decision_state
        try:
            self.consistent = False
            for fact in facts:
                if isinstance(fact, Asked):
                    self.ledger.ask(fact)
                elif isinstance(fact, Told):
                    self.history.add(self.measured(fact) if measured is None else measured)
                    if (open_ := self.ledger.open.get(fact.batch)) is not None:
                        feedback = next(iter(fact.feedback.values()))
                        self.ledger.told(open_, feedback.answered, feedback.failed, self.costs)
                    self.failures.update({number: each.failed for number, each in fact.feedback.items() if each.failed})
                    self.observed = max(self.observed, -fact.batch)
                elif isinstance(fact, Closed):
                    self.ledger.close(fact.batch)
                elif isinstance(fact, Retired):
                    self.retired |= fact.candidates
                elif isinstance(fact, Restored):
                    self.retired -= fact.candidates
                elif isinstance(fact, Recalled):
                    self._recall(fact)
                self.facts.append(fact)
            self.decision_state = decision_state or before
            self.consistent = True
        except BaseException:
            self.rewind(size, before)
            raise

    def rewind(self, size: int, decision_state: DecisionState) -> None:
        """Back to the first so many facts."""
        self.rewrite(self.facts[:size], decision_state)

    def rewrite(self, facts: Sequence[Fact], decision_state: DecisionState, gaps: Sequence[int] | None = None) -> None:
        """Replace all facts, as if these had been told at first. Measurements keep their numbers.

        gaps: the numbers of those that were taken back.
        """
        self.facts, self.decision_state, self.consistent = list(facts), decision_state, False
        self.gaps = self.gaps if gaps is None else gaps
        self.restored()

    def rewrite_decision_state(self, decision_state: DecisionState) -> None:
        """Take over the decision state that another process left."""
        self.decision_state = decision_state

    def restored(self) -> "State":
        """The state itself. If something stopped a change half-way, its sums are first computed again from facts."""
        if not self.consistent:
            anew = State(self._sign, self.costs, self.decision_state, self.budget)
            anew.gaps = self.gaps
            anew.absorb(self.facts)
            vars(self).update(vars(anew))
        return self

    def measured(self, told: Told) -> dict[Part, Measured]:
        """What some feedback says of each candidate. Its measurements are numbered on from those before."""
        found = dict[Part, Measured]()
        steps, failed, many, answered = self.history.steps, self.failures.total(), len(told.feedback) > 1, 0
        for number, each in told.feedback.items():
            answered += each.answered
            if not each.statistics.n:
                continue
            measured = each.measured(self._sign, steps, failed)
            if many and measured.at:  # single values came at their places among the others, all else one by one
                last = max(each.all_places) + 1 if each.singly else answered
                measured = replace(measured, at=steps + failed + last)
            found[Part(told.batch, number, measured.statistics.known > 0)] = measured
        return found

    def _recall(self, fact: Recalled) -> None:
        measured = fact.facts.measured if self._sign > 0 else -fact.facts.measured
        part = Part(fact.facts.id, fact.candidate, measured.statistics.known > 0)
        self.history.add({part: measured} if measured.statistics.n else {})
        self.failures.update({fact.candidate: fact.facts.failed} if fact.facts.failed else {})
        if fact.facts.id < 0:
            self.observed = max(self.observed, -fact.facts.id)
        else:
            self.ledger.recall(fact, self.costs)
