"""Random lives of an optimiser or a study for hypothesis: all that can happen to it, in any order, and what is left.

`Life` does one thing after the other to a subject, and keeps its own account of the facts that count. `fresh` makes an
optimiser that was told just these.
"""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from ostinato import Optimizer
from ostinato.optimizer.facts import BatchFacts, DecisionState
from ostinato.study import Study

ROWS = 12  # candidates to begin with; some are added
X = np.linspace(0, 1, 24)[:, None]
TRUTH = 10 * np.sin(4 * X[:, 0]) + 20
KINDS = (
    *("ask", "ask", "tell", "tell", "tell", "observe", "summary", "close"),
    *("retract", "retract", "correct", "correct", "add", "retire", "restore", "reopen"),
)
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 99), st.integers(0, 99)), min_size=18, max_size=30)


@dataclass
class Value:
    """A measurement: what it counts for now, of which batch, and whether it counts and was told by itself."""

    now: float
    batch: int
    counts: bool = True
    single: bool = True


@dataclass
class Event:
    kind: str
    what: object
    values: list[Value] = field(default_factory=list)


class InMemory:
    """An optimiser, as a subject. A measurement's number is its own for ever."""

    def __init__(self, **settings):
        self.optimizer = Optimizer(X[:ROWS], **settings)
        self._batches = {}

    def ask(self, limit):
        batch = self.optimizer.ask(limit=limit)
        self._batches[batch.id] = batch
        return [], [BatchFacts(batch)]

    def room(self, life):
        """Batches that wait for values, and for how many."""
        return {number: life.pending(number) for number in self._batches if life.pending(number) > 0}

    def tell(self, number, values):
        self.optimizer.tell(self._batches[number], values)

    def close(self, number):
        self.optimizer.close(self._batches[number])
        return [number]

    def retire(self, row):
        self.optimizer.retire(row)
        return []

    def number(self, life, value):
        return 1 + [id(each) for each in life.told].index(id(value))

    def reopen(self):
        pass

    def __getattr__(self, name):
        return getattr(self.optimizer, name)


class Stored:
    """A study, as a subject. A measurement's number is its own for ever."""

    def __init__(self, name, address, **settings):
        self.study, self._address, self._settings = Study(name, address, X[:ROWS], **settings), address, settings
        self._tasks, self._asked, self._closed = [], set(), set()

    @property
    def optimizer(self):
        return self.study.optimizer

    def ask(self, limit):
        task = self.study.ask(limit=limit)
        self._tasks.append([task, 0])
        new = [each.facts for each in self.study.history() if each.facts.id >= 0 and each.facts.id not in self._asked]
        self._asked |= {facts.id for facts in new}
        return self._closings(), new

    def room(self, life):
        left = {task.batch: task.repeats - done for task, done in self._tasks if done < task.repeats}
        return {number: count for number, count in left.items() if number not in self._closed}

    def tell(self, number, values):
        at = next(each for each in reversed(self._tasks) if each[0].batch == number and each[1] < each[0].repeats)
        assert self.study.tell(at[0], values, start=at[0].start + at[1]) == len(values)
        at[1] += len(values)

    def close(self, number):
        self.study.close(number)
        return self._closings()

    def retire(self, row):
        self.study.retire(row)
        return self._closings()

    def _closings(self):
        """Batches that were closed, also since their candidate was retired and nobody measures it any more."""
        closed = {each.facts.id for each in self.study.history() if each.facts.closed} - self._closed
        self._closed |= closed
        return sorted(closed)

    def number(self, life, value):
        return 1 + [id(each) for each in life.told].index(id(value))

    def reopen(self):
        self.study = Study(self.study.name, self._address)

    def __getattr__(self, name):
        return getattr(self.study, name)


class Life:
    """What happens to a subject, and an account of it that shares no code with the library."""

    def __init__(self, subject, seed):
        self.subject, self.events, self._rng = subject, [], np.random.default_rng(seed)
        self.rows, self.retired, self._over, self._observed = ROWS, set(), set(), 0

    @property
    def told(self):
        return [value for event in self.events for value in event.values]

    def pending(self, number):
        """Repeats of a batch that are still to come: none once it is over."""
        asked = next(each.what for each in self.events if each.kind == "ask" and each.what.id == number)
        if number in self._over:
            return 0
        return asked.repeats - sum(each.counts for each in self.told if each.batch == number)

    def live(self, steps):
        for kind, a, b in steps:
            getattr(self, kind)(a, b)
        self.observe(0, 1)
        self.correct(0, 0)  # last of all, so that no fit from before is in the way

    def ask(self, a, b):
        closed, asked = self.subject.ask(1 + a % 6)
        self._closed(closed)
        self.events += [Event("ask", facts) for facts in asked]

    def tell(self, a, b):
        room = self.subject.room(self)
        if room:
            number = sorted(room)[a % len(room)]
            row = next(each.what.index for each in self.events if each.kind == "ask" and each.what.id == number)
            values = self._measured(row, 1 + b % room[number])
            self.subject.tell(number, values)
            self.events.append(Event("tell", number, [Value(value, number) for value in values]))
            if self.pending(number) == 0:
                self._over.add(number)

    def observe(self, a, b):
        row, values = a % self.rows, self._measured(a % self.rows, 1 + b % 3)
        self.subject.observe(row, values)
        self._observed += 1
        self.events.append(Event("observe", row, [Value(value, -self._observed) for value in values]))

    def summary(self, a, b):
        row, n = a % self.rows, 2 + b % 4
        what = {"n": n, "mean": float(TRUTH[row]), "std": 1.0}
        self.subject.observe(row, **what)
        self._observed += 1
        values = [Value(0.0, -self._observed, single=False) for _ in range(n)]
        self.events.append(Event("summary", (row, what), values))

    def close(self, a, b):
        room = self.subject.room(self)
        if room:
            self._closed(self.subject.close(sorted(room)[a % len(room)]))

    def _closed(self, numbers):
        for number in numbers:
            self._over.add(number)
            self.events.append(Event("close", number))

    def retract(self, a, b):
        value = self._pick(a)
        if value is not None:
            assert self.subject.retract(number=self.subject.number(self, value)) == 1
            value.counts = False
            if value.batch in self._over:
                self.events.append(Event("close", value.batch))

    def correct(self, a, b):
        value = self._pick(a)
        if value is not None:
            new = float("nan") if b % 7 == 6 else float(value.now if value.now == value.now else 20.0) + b % 3
            self.subject.correct(number=self.subject.number(self, value), new=new)
            value.now = new

    def _pick(self, a):
        """Some measurement that counts and was told by itself: the last one (0), or a recent one, or any."""
        there = [value for value in self.told if value.counts and value.single]
        return there[-1 - a % (len(there) if a % 2 else min(3, len(there)))] if there else None

    def add(self, a, b):
        more = min(self.rows + 1 + a % 4, len(X))
        if more > self.rows:
            self.subject.add(X[self.rows : more])
            self.events.append(Event("add", (self.rows, more)))
            self.rows = more

    def retire(self, a, b):
        if len(self.retired) < ROWS // 2:
            self.retired.add(a % self.rows)
            self._closed(self.subject.retire(a % self.rows))

    def restore(self, a, b):
        if self.retired:
            row = sorted(self.retired)[a % len(self.retired)]
            self.retired.remove(row)
            self.subject.restore(row)

    def reopen(self, a, b):
        self.subject.reopen()

    def _measured(self, row, count):
        values = TRUTH[row] + self._rng.standard_normal(count)
        return [float("nan") if self._rng.random() < 0.15 else float(value) for value in values]

    @property
    def began(self):
        """How many measurements came before the first decision; None where there was none."""
        before = 0
        for event in self.events:
            if event.kind == "ask":
                return before
            before += sum(value.counts for value in event.values)
        return None


def fresh(life, random, **settings):
    """An optimiser that was told what counts in the end, and nothing else; with the same randomness ahead of it."""
    optimizer = Optimizer(X[:ROWS], **settings)
    for event in life.events:
        values = [value.now for value in event.values if value.counts]
        if event.kind == "ask":
            optimizer.core.follow(event.what)
        elif event.kind == "add":
            optimizer.add(X[slice(*event.what)])
        elif event.kind == "summary":
            optimizer.observe(event.what[0], **event.what[1])
        elif event.kind == "close":
            if optimizer.core.waits_for(event.what):
                optimizer.close(_batch(optimizer, event.what))
        elif values and event.kind == "tell":
            optimizer.tell(_batch(optimizer, event.what), values)
        elif values:
            optimizer.observe(event.what, values)
    for row in life.retired:
        optimizer.retire(row)
    optimizer.core.rewrite(optimizer.core.state.facts, DecisionState(random, began=life.began))
    return optimizer


def _batch(optimizer, number):
    return next(batch for batch in optimizer.in_flight if batch.id == number)
