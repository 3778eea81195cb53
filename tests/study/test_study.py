"""Studies that survive: what was acknowledged is never lost, and nothing counts twice. On every storage."""

from dataclasses import dataclass

import msgspec
import numpy as np
import pandas as pd
import pytest
from benchmarks.reliability import warm

from elsewhere import X, ask_and_die, measured, work
from inside import next_batch
from ostinato import Float, MiniUCB, Optimizer, Space
from ostinato.errors import (
    Conflict,
    FewerSlots,
    InvalidCandidates,
    InvalidFeedback,
    InvalidInput,
    InvalidSetting,
    MissingSetting,
    OstinatoError,
    StudyDiffers,
    Unavailable,
    UnknownBatch,
    UnknownCandidate,
    UnknownStudy,
)
from ostinato.kernels import RBF
from ostinato.policies import BBKB, BKB, UCB, Combined, EpsilonGreedy, Proposal, RepeatRule, Uniform
from ostinato.stopping import Width
from ostinato.storage.access import SQLReader
from ostinato.study import Study, Task, asking, verify, view
from sizes import size

GIVEN = {"kernel": RBF(0.4), "noise_std": 0.5, "policy": MiniUCB(C=1.5)}


def finish(study, **options):
    while (task := study.ask(**options)) is not None:
        study.tell(task, measured(task))


def facts(study):
    return [batch.facts for batch in study.history()]


def test_a_study_is_the_optimiser_it_stores(any_address):
    """Asked one task at a time, it asks for what an Optimizer with the same seed asks for."""
    study, opt = Study("lab", any_address, X, budget=50, seed=3), Optimizer(X, seed=3, budget=50)
    while (task := study.ask()) is not None:
        batch = opt.ask(limit=50 - opt.steps)
        assert (task.index, task.start, task.repeats) == (batch.index, 0, batch.repeats)
        assert np.array_equal(task.candidate, batch.candidate)
        values = measured(task)
        study.tell(task, values)
        opt.tell(batch, values)
    assert study.finished
    assert study.best().index == opt.best().index
    assert study.best().mean == pytest.approx(opt.best().mean)
    assert study.status().measurements == 50
    assert study.status().switches == opt.switches
    assert "50 of 50 measurements" in str(study.status())
    assert "measured" in str(study.explain(7))


@pytest.mark.parametrize("settings", [{}, GIVEN, {"setup_std": "learn"}, {"noise_std": "varying", "goal": "earn"}])
def test_it_is_opened_again_and_goes_on(tmp_path, settings):
    opened_again_and_again(tmp_path / "lab.db", settings)


def test_it_is_opened_again_and_goes_on_wherever_it_is_stored(address):
    opened_again_and_again(address, GIVEN)


def opened_again_and_again(address, settings):
    """Opened anew for every step, by name alone, it does what one that stayed open does."""
    one = Study("one", address, X, budget=40, seed=0, **settings)
    finish(one)
    Study("two", address, X, budget=40, seed=0, **settings)
    while (task := Study("two", address).ask()) is not None:
        Study("two", address).tell(task, measured(msgspec.structs.replace(task)))
    assert [(f.index, f.repeats) for f in facts(one)] == [(f.index, f.repeats) for f in facts(Study("two", address))]


def test_the_same_answer_counts_once_and_another_is_refused(address):
    study = Study("lab", address, X, seed=0, **GIVEN)
    task = study.ask()
    while task.repeats < 3:
        study.tell(task, measured(task))
        task = study.ask()
    values = measured(task)
    before = study.status().measurements
    assert study.tell(task, values[:2]) == 2
    assert study.tell(task, values[:2]) == 0
    assert study.tell(task, values) == task.repeats - 2
    with pytest.raises(Conflict, match=r"the first is kept"):
        study.tell(task, values + 1)
    assert study.tell(task, values) == 0
    assert study.status().measurements == before + task.repeats
    assert study.optimizer.steps == before + task.repeats


def test_failed_measurements_count_as_answers(address):
    study = Study("lab", address, X, budget=12, seed=0)
    while (task := study.ask(limit=1)) is not None:
        assert study.tell(task, [None] if task.batch % 3 == 0 else measured(task)) == 1
        study.tell(task, [np.nan] if task.batch % 3 == 0 else measured(task))
    status = study.status()
    assert status.measurements + status.failures == 12
    assert status.failures >= 4
    assert status.finished


def test_a_status_speaks_of_one_moment(any_address, monkeypatch):
    """Others work while it is put together; nothing of what they do is in it, or all."""
    study, other = Study("lab", any_address, X, seed=0), Study("lab", any_address)
    other.observe(0, [1.0, 1.5])
    answer_of, rows = view.answer_of, iter(range(1, len(X)))

    def slowly(*args, **options):
        other.ask(limit=1)
        other.observe(next(rows), 9.0)
        return answer_of(*args, **options)

    monkeypatch.setattr(view, "answer_of", slowly)
    status = study.status()
    assert (status.measurements, status.unique, status.best.index, status.best.n) == (2, 1, 0, 2)
    assert (status.batches, status.in_flight) == (0, 0)
    status = study.status()
    assert (status.measurements, status.unique, status.best.index) == (3, 2, 1)
    assert (status.batches, status.in_flight) == (1, 1)


@pytest.fixture
def a_minute_later(monkeypatch):
    """The storage's clock goes on by a minute when this is called."""
    now = SQLReader.now
    return lambda: monkeypatch.setattr(SQLReader, "now", lambda self: now(self) + 60)


def test_what_is_not_answered_in_time_is_handed_out_again(address, a_minute_later):
    study, other = Study("lab", address, X, seed=0, lease=60, **GIVEN), Study("lab", address, lease=600)
    task = study.ask()
    assert other.ask().batch != task.batch
    a_minute_later()
    again = other.ask()
    assert (again.batch, again.start, again.repeats) == (task.batch, task.start, task.repeats)
    values = measured(task)
    assert study.tell(task, values) == task.repeats  # late, and first
    assert other.tell(again, values) == 0
    with pytest.raises(Conflict):
        other.tell(again, values + 1)


def test_only_what_is_missing_is_handed_out_again(address, a_minute_later):
    study = Study("lab", address, X, seed=0, lease=60, **GIVEN)
    task = study.ask()
    while task.repeats < 6:
        study.tell(task, measured(task))
        task = study.ask()
    values = measured(task)
    study.tell(task, values[1:3], start=task.start + 1)
    a_minute_later()
    left = set(range(task.start, task.start + task.repeats)) - {task.start + 1, task.start + 2}
    other = Study("lab", address, lease=600)
    while left:
        again = other.ask(limit=2)
        assert again.batch == task.batch
        numbers = set(range(again.start, again.start + again.repeats))
        assert numbers <= left
        left -= numbers
        other.tell(again, values[again.start - task.start :][: again.repeats])
    assert other.ask().batch != task.batch


def test_a_task_can_be_handed_back(any_address):
    study = Study("lab", any_address, X, seed=0, **GIVEN)
    task = study.ask()
    study.release(task)
    again = study.ask()
    assert (again.batch, again.start) == (task.batch, task.start)


def test_repeats_are_shared_between_workers(any_address):
    study = Study("lab", any_address, X, seed=0, **GIVEN)
    task = study.ask(share=4)
    while study.history()[-1].facts.repeats < 8:
        study.tell(task, measured(task))
        task = study.ask(share=4)
    tasks = [task]
    while (task := study.ask(share=4)).batch == tasks[0].batch:
        tasks.append(task)
    assert len(tasks) == 4
    assert sum(each.repeats for each in tasks) == study.history()[tasks[0].batch].facts.repeats
    assert len({each.start for each in tasks}) == 4


def test_a_batch_is_closed_with_what_there_is(any_address):
    study = Study("lab", any_address, X, budget=200, seed=0, **GIVEN)
    task = study.ask()
    while task.repeats < 3:
        study.tell(task, measured(task))
        task = study.ask()
    study.tell(task, measured(task)[:1])
    study.close(task)
    assert study.ask().batch == task.batch + 1
    assert study.tell(task, measured(task)) == task.repeats - 1  # late answers still count
    assert study.optimizer.steps == study.status().measurements


def test_the_budget_holds_and_can_be_raised(any_address):
    study = Study("lab", any_address, X, budget=40, seed=0)
    task = study.ask()
    assert Study("lab", any_address).status().in_flight == task.repeats
    study.tell(task, measured(task))
    finish(study)
    assert study.status().measurements == 40
    with pytest.raises(InvalidSetting, match="below the 40"):
        study.allow(10)
    Study("lab", any_address, budget=60)
    finish(study)
    assert study.status().measurements == 60


def test_measurements_that_were_not_asked_for(any_address):
    study = Study("lab", any_address, X, seed=0)
    study.observe(5, [1.0, 2.0])
    study.observe(X[7], n=100, mean=0.5, std=0.1)
    study.observe(9, [1.0], stderr=[0.2])
    task = study.ask()
    study.tell(task, measured(task))
    again = Study("lab", any_address)
    assert again.optimizer.steps == 103 + task.repeats
    assert again.optimizer.unique == 4


BAD = {
    "infinite": [np.inf],
    "too large": [1e308],
    "text": ["much"],
    "booleans": [True],
    "huge integers": [10**400],
    "nothing": [],
    "too many": [1.0] * 10_000,
    "a table": [[1.0]],
}


def test_bad_values_change_nothing(any_address):
    study = Study("lab", any_address, X, seed=0)
    task = study.ask()
    for name, values in BAD.items():
        with pytest.raises(InvalidFeedback):
            study.tell(task, values)
        assert study.status().measurements == 0, name
    assert study.tell(task, measured(task)) == task.repeats


def test_nothing_told_is_not_a_failed_measurement(any_address):
    """A call that lacks its values is a slip; None and NaN say that a measurement failed."""
    study = Study("lab", any_address, X, seed=0)
    task = study.ask(limit=2)
    with pytest.raises(InvalidFeedback, match="None or nan for a measurement that failed"):
        study.tell(task)
    with pytest.raises(InvalidFeedback, match="None or nan for a measurement that failed"):
        study.observe_all([(0, {"value": 1.0}), (1, {})])
    assert study.status().failures == study.status().measurements == 0
    assert study.tell(task, 2.5) == 1  # nothing stands in its way
    assert study.observe_all([(1, {"value": None})]) == 1
    assert study.status().failures == 1


def test_other_bad_input(any_address):
    study = Study("lab", any_address, X, seed=0)
    task = study.ask()
    with pytest.raises(UnknownBatch, match="not a task"):
        study.tell("batch 0", [1.0])
    with pytest.raises(UnknownBatch):
        study.tell(Task("lab", 99, 0, X[0], 0, 1, 0.0), [1.0])
    with pytest.raises(UnknownBatch):
        study.close(99)
    with pytest.raises(UnknownCandidate):
        study.observe([0.123, 0.456], [1.0])
    with pytest.raises(InvalidSetting, match="limit"):
        study.ask(limit=0)
    with pytest.raises(UnknownStudy, match="it holds 'lab'"):
        Study("other", any_address)
    with pytest.raises(InvalidSetting, match=r"C=0\.5"):
        Study("bad", any_address, X, policy=MiniUCB(C=0.5))
    with pytest.raises(InvalidCandidates):
        Study("empty", any_address, np.zeros((0, 2)))
    assert study.storage.names() == ["lab"]
    assert study.tell(task, measured(task)) == task.repeats


CATALOGUE = pd.DataFrame({"price": [10.0, 20.0, 30.0], "kind": ["a", "b", "a"]})


def observers(tmp_path, candidates, **settings):
    """A study, and an optimiser in memory."""
    return Study("shop", tmp_path / "shop.db", candidates, **settings), Optimizer(candidates, **settings)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_a_day_of_one_item_is_taken_in_as_one_of_many_is(tmp_path, kind):
    for each in observers(tmp_path, CATALOGUE, outcome="binary"):
        each.observe(np.array([1]), successes=kind([7]), trials=kind([100]))
        each.observe([0], successes=kind([1]), trials=10)
        each.observe(1, successes=kind([0]), trials=kind([5]))
        assert each.counts() == {0: 10, 1: 105}
    column = np.array([[1.0], [2.0], [3.0]])
    (tmp_path / "column").mkdir()
    for each in observers(tmp_path / "column", column, outcome="binary"):
        each.observe(np.array([2]), successes=kind([7]), trials=kind([100]))  # a row, as long as rows are
        assert each.counts() == {1: 100}


@pytest.mark.parametrize("nobody", [[], (), np.array([]), np.array([], dtype=int), CATALOGUE.index[:0], CATALOGUE[:0]])
def test_of_no_candidates_there_is_nothing_to_observe(tmp_path, nobody):
    for each in observers(tmp_path, CATALOGUE, outcome="binary"):
        each.observe(nobody, successes=[], trials=[])
        each.observe(nobody, np.array([]))
        with pytest.raises(
            InvalidFeedback, match=r"No candidates were given, and values=\[1\]: say which were measured"
        ):
            each.observe(nobody, [1])
        with pytest.raises(InvalidFeedback, match="No values were given"):
            each.observe(nobody)
        assert each.counts() == {}


def test_what_does_not_name_a_candidate_is_told_what_does(tmp_path):
    for each in observers(tmp_path, CATALOGUE):
        for wrong in ("SKU-1", 5.0, None):
            words = f"{wrong!r} does not name a candidate: give a row number .a whole number., or the row's columns"
            with pytest.raises(UnknownCandidate, match=words):
                each.observe(wrong, [1.0])
    with pytest.raises(UnknownCandidate, match=r"'SKU-1' does not name a candidate: .* or the row's 2 numbers"):
        Optimizer(X).observe("SKU-1", [1.0])
    line = Optimizer([[0.5], [1.5]])
    line.observe(1.5, [1.0])  # rows of one number
    assert line.counts() == {1: 1}


def test_a_catalogue_that_changed_is_noticed(any_address):
    table = pd.DataFrame({"temp": [20, 30, 40], "solvent": ["a", "b", "a"]})
    Study("lab", any_address, table, seed=0)
    Study("lab", any_address, table.copy())
    changed = table.copy()
    changed.loc[1, "temp"] = 31
    with pytest.raises(StudyDiffers, match="row 1, column 'temp': 30 is stored, and 31 was given"):
        Study("lab", any_address, changed)
    with pytest.raises(StudyDiffers, match="3 rows, and 2 were given"):
        Study("lab", any_address, table[:2])
    with pytest.raises(
        StudyDiffers, match="column 'temp' is stored, and was not given; column 'heat' was given, and is not stored"
    ):
        Study("lab", any_address, table.rename(columns={"temp": "heat"}))


STORED = pd.DataFrame({"price of one": [10.57, 3.0], "age": [212, 4], "kind": ["Shoes", "Hats"], "score": [0.1, 0.2]})
LONG = "a remark that is longer than what a message shows of a single value, and ends with "


@pytest.mark.parametrize(
    ("stored", "given", "words"),
    [
        (STORED, STORED.assign(score=[0.2, 0.4]), "row 0, column 'score': 0.1 is stored, and 0.2 was given"),
        (STORED, STORED.assign(age=[212.0, 4.0]), "row 0, column 'age': 212 is stored, and 212.0 was given"),
        (STORED, STORED.assign(age=["old", "new"]), "column 'age': numbers are stored, and categories were given"),
        (STORED, STORED.drop(columns="age"), "column 'age' is stored, and was not given"),
        (STORED, STORED.assign(size=[1, 2], colour=[3, 4]), "column 'size', 'colour' was given, and is not stored"),
        (STORED[["age", "kind"]], STORED[["kind", "age"]], "columns 'age', 'kind' are stored, and 'kind', 'age' were"),
        (STORED[["age"]].assign(t=LONG + "a"), STORED[["age"]].assign(t=LONG + "b"), "and ends with a' is stored"),
        (STORED, STORED[["age", "score"]].to_numpy(), "it has columns 'price of one', .*, and no names were given"),
        ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]], "row 1, column 1: 4.0 is stored, and 5.0 was given"),
        ([[1.0, 2.0]], [[1.0, 2.0, 3.0]], "it has 2 columns, and 3 were given"),
        (
            np.array([[1.0, 2.0]], dtype=np.float32),
            np.array([[1.0, 2.0]]),
            "type float32 are stored, and float64 were given",
        ),
        (
            Space(t=Float(0, 1)),
            Space(t=Float(0, 2)),
            r"parameter 't': Float\(.*1.*is stored, and Float\(.*2.*was given",
        ),
        (Space(t=Float(0, 1)), Space(s=Float(0, 1)), "parameter 't' is stored, and was not given; parameter 's'"),
        (Space(t=Float(0, 1)), [[1.0]], r"they are Space\(.*, and a table was given"),
    ],
)
def test_the_first_difference_between_candidates_is_named(tmp_path, stored, given, words):
    Study("lab", tmp_path / "lab.db", stored, seed=0)
    with pytest.raises(StudyDiffers, match=words):
        Study("lab", tmp_path / "lab.db", given)


def test_settings_do_not_change(any_address):
    Study("lab", any_address, X, seed=0, goal="earn", **GIVEN)
    Study("lab", any_address, X, goal="earn", kernel=RBF(0.4))
    with pytest.raises(StudyDiffers, match="goal='earn', and now goal='find'"):
        Study("lab", any_address, goal="find")
    with pytest.raises(StudyDiffers, match="kernel="):
        Study("lab", any_address, kernel=RBF(0.5))


def test_a_mistyped_setting_is_named_before_anything_else(tmp_path):
    """The same words for a study that is there and for one that is not, which is then not made."""
    words = "There is no setting 'budgett'. Did you mean budget[?] The settings are budget, stop, goal, "
    for _ in range(2):
        with pytest.raises(InvalidSetting, match=words):
            Study("lab", tmp_path / "lab.db", X, budgett=3)
        Study("other", tmp_path / "lab.db", X)
    Study("lab", tmp_path / "lab.db", X)
    with pytest.raises(InvalidSetting, match=words):
        Study("lab", tmp_path / "lab.db", budgett=3)


def costs(a, b):
    return abs(a[0] - b[0])


def test_code_is_given_again(any_address):
    Study("lab", any_address, X, seed=0, switch_cost=costs)
    with pytest.raises(MissingSetting, match="a switch_cost of your own"):
        Study("lab", any_address, X)
    with pytest.raises(MissingSetting, match="switch_cost="):
        Study("lab", any_address).ask()
    study = Study("lab", any_address, switch_cost=costs)
    finish(Study("lab", any_address, budget=30, switch_cost=costs))
    assert study.optimizer.costs.switch_cost > 0


def test_without_the_code_one_can_look_and_correct_but_not_decide(any_address):
    study = Study("lab", any_address, X, seed=0, budget=30, switch_cost=costs)
    finish(study)
    plain = Study("lab", any_address)
    one, other = plain.status(), study.status()
    assert (one.unique, one.switches, one.measurements) == (other.unique, other.switches, other.measurements)
    assert (one.best, one.missing) == (None, ("switch_cost",))
    assert "not known here: it takes the switch_cost" in str(one)
    assert plain.counts() == study.counts() == study.optimizer.counts()
    assert len(plain.history()) == len(study.history())
    plain.correct(number=3, new=7.0)
    assert plain.retract(number=4) == 1
    assert plain.retire(5) == 1
    plain.allow(40)
    assert study.status().measurements == 29
    assert [each.value for each in study.measurements() if each.number == 3] == [7.0]
    for question in (plain.best, plain.top, plain.diagnose, lambda: plain.add(X[:2] + 7), lambda: plain.optimizer):
        with pytest.raises(MissingSetting, match=r"open it from Python and give it again, `Study\('lab', storage"):
            question()


class Width2:
    """A rule of the user's own by which a study stops."""

    def __call__(self, optimizer):
        return optimizer.steps >= 5


def test_a_rule_of_ones_own_is_given_again(any_address):
    Study("lab", any_address, X, seed=0, stop=Width2())
    assert Study("lab", any_address).status().measurements == 0
    with pytest.raises(MissingSetting, match="stop="):
        _ = Study("lab", any_address).stopped
    study = Study("lab", any_address, stop=Width2())
    study.observe(3, [1.0] * 5)
    assert study.stopped is not None


@dataclass(frozen=True)
class Times(RepeatRule):
    """A repeat rule of the user's own."""

    n: int = 3
    but_not: frozenset[str] = frozenset({"a", "b", "c"})

    def __call__(self, repeat_value):
        return self.n


class Rule:
    """Another one, that shows its settings."""

    def __init__(self, n):
        self._n = n

    def __repr__(self):
        return f"Rule({self._n})"

    def propose(self, belief, most):
        return [Proposal(int(belief.counts.get(0, 0) > 0), self._n)]


class Shy(Rule):
    """And one that does not."""

    __repr__ = object.__repr__


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        (Combined(UCB(2.0), Times(3)), Combined(UCB(2.0), Times(3)), Combined(UCB(2.0), Times(4))),
        (Combined(UCB(2.0), Times(3)), Combined(UCB(2.0), Times(3)), Combined(UCB(1.0), Times(3))),
        (Rule(3), Rule(3), Rule(4)),
        (Shy(3), Shy(4), Rule(3)),  # what cannot be known is not refused
    ],
    ids=["rule", "score", "policy", "unknown"],
)
def test_code_with_other_settings_is_refused(any_address, first, same, other):
    given = {"kernel": RBF(0.4), "noise_std": 0.5}
    Study("lab", any_address, X, seed=0, policy=first, **given)
    Study("lab", any_address, X, policy=same, **given)
    with pytest.raises(StudyDiffers, match="made with policy=") as refused:
        Study("lab", any_address, X, policy=other, **given)
    assert "python" not in str(refused.value)


def test_a_study_that_kept_only_the_name_of_its_code_is_opened(any_address):
    study = Study("lab", any_address, X, seed=0, policy=Rule(3))
    with study.storage.write("lab") as writer:
        kept = msgspec.json.decode(writer.record.settings)
        kept["policy"].pop("says")
        writer.change(msgspec.structs.replace(writer.record, settings=msgspec.json.encode(kept).decode()))
    Study("lab", any_address, X, policy=Rule(4))


def test_processes_share_a_study(address):
    """Every repeat is measured once, nothing is lost, and the next decision is that of a fresh process."""
    study = Study("lab", address, X, budget=120, seed=0, **GIVEN)
    workers = [warm.start(work, address, "lab", 120) for _ in range(4)]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    status = study.status()
    assert status.measurements == 120
    assert sum(fact.statistics.n for fact in facts(study)) == 120
    assert all(fact.answered == fact.repeats for fact in facts(study))
    study.allow(200)
    other = Study("lab", address)
    assert study.optimizer.predict().mean == pytest.approx(other.optimizer.predict().mean, abs=1e-9)
    first, second = study.optimizer, other.optimizer
    a, b = next_batch(first, 50), next_batch(second, 50)
    assert (a.index, a.repeats) == (b.index, b.repeats)


def test_a_worker_of_this_machine_that_died_is_known_to_be_gone(address):
    study = Study("lab", address, X, seed=0, lease=3_600, **GIVEN)
    warm.start(ask_and_die, address).join()
    task = study.ask()
    assert (task.batch, task.start) == (0, 0)


def test_yes_and_no_in_a_study(any_address):
    X = np.arange(30.0)[:, None]
    study = Study("clicks", any_address, X, budget=80, outcome="binary", goal="earn", seed=0)
    task = study.ask()
    assert task is not None
    assert study.tell(task, successes=0, trials=task.repeats) == task.repeats
    assert study.tell(task, successes=0, trials=task.repeats) == 0  # the same again
    with pytest.raises(InvalidFeedback, match=r"0\.5 is not a measurement"):
        study.observe(3, [0.5])
    study.observe(3, successes=5, trials=20)
    study.observe_all([(4, {"successes": 1, "trials": 10}), (5, {"value": 1})])
    again = Study("clicks", any_address)
    assert again.run(lambda x: bool(x[0] > 20), progress=False).steps == 80
    low, high = again.best().interval
    assert 0 <= low <= again.best().mean <= high <= 1
    assert verify(again.storage, "clicks") == []
    assert Study("clicks", any_address, outcome="binary").best().mean == pytest.approx(again.best().mean)
    with pytest.raises(StudyDiffers, match="outcome"):
        Study("clicks", any_address, outcome="count")


def test_a_half_life_in_a_study_decides_as_without_one(any_address):
    """However often it is opened anew: what has faded is told by the facts alone."""
    X, rng = np.arange(20.0)[:, None], np.random.default_rng(0)
    study, mirror = (
        Study("fades", any_address, X, budget=100, half_life=30, seed=0),
        Optimizer(X, budget=100, half_life=30, seed=0),
    )
    while (task := study.ask()) is not None:
        batch = mirror.ask(limit=100 - mirror.steps)
        assert (task.index, task.repeats) == (batch.index, batch.repeats)
        y = np.sin(X[task.index, 0]) + 0.1 * rng.standard_normal(task.repeats)
        study.tell(task, y)
        mirror.tell(batch, y)
        if task.batch % 4 == 0:
            study = Study("fades", any_address)
    assert study.best().mean == pytest.approx(mirror.best().mean)


def test_counts_of_many_items_fade_as_if_told_one_after_another(any_address):
    """The counts of a day, told at once, are not as old as what was told before them."""
    X, counts = np.arange(30.0)[:, None], [2 + item % 5 for item in range(30)]
    settings = {"outcome": "binary", "half_life": 50, "seed": 0}
    study, at_once, singly = (
        Study("day", any_address, X, **settings),
        Optimizer(X, **settings),
        Optimizer(X, **settings),
    )
    for each in (study, at_once):
        each.observe(range(30), successes=counts, trials=[100] * 30)
    for item in range(30):
        singly.observe(item, successes=counts[item], trials=100)
    assert study.best().mean == at_once.best().mean == singly.best().mean


PLATE = np.array([(t, c) for t in (20.0, 30.0, 40.0) for c in np.linspace(0, 1, 12)])


def test_a_plate_is_planned(any_address):
    study = Study("lab", any_address, PLATE, seed=0, budget=60)
    first = study.ask(limit=1)
    tasks = study.ask(slots=24)
    assert sum(task.repeats for task in tasks) == 24
    study.release(first)
    again = study.ask(slots=12)  # what waits comes first, and the rest is decided
    assert (again[0].batch, sum(task.repeats for task in again)) == (first.batch, 12)
    for task in [*tasks, *again]:
        study.tell(task, -((task.candidate[1] - 0.5) ** 2) + np.zeros(task.repeats))
    with pytest.warns(FewerSlots, match="24 of 50 slots are filled: the budget leaves no more"):
        assert sum(task.repeats for task in study.ask(slots=50)) == 24
    assert study.ask(slots=5) == []


def test_a_plan_that_is_asked_for_again_has_no_task_twice(any_address):
    study = Study("lab", any_address, PLATE, seed=0)
    tasks = study.ask(slots=4, distinct=True, key="plate 7")
    again = study.ask(slots=4, distinct=True, key="plate 7")
    assert [task.place for task in again] == [task.place for task in tasks]
    study.tell(tasks[0], np.zeros(tasks[0].repeats))
    rest = study.ask(slots=4, distinct=True, key="plate 7")
    assert [task.place for task in rest[:3]] == [task.place for task in tasks[1:]]
    assert len({task.place for task in rest}) == len({task.key for task in rest}) == 4


def test_work_for_as_many_workers(any_address):
    study = Study("lab", any_address, PLATE, seed=0)
    assert sum(task.repeats for task in study.ask(workers=8)) == 8
    assert study.ask(workers=8) == []  # they have some
    assert sum(task.repeats for task in study.ask(workers=10)) == 2


def test_plates_of_different_candidates_that_share_a_column(any_address):
    study = Study("lab", any_address, PLATE, seed=0)
    waiting = study.ask(limit=1)
    study.release(waiting)
    tasks = study.ask(slots=8, distinct=True, shared=[0])
    assert len({task.index for task in tasks}) == 8
    assert len({task.candidate[0] for task in tasks}) == 1
    assert study.ask(limit=1).batch == waiting.batch
    with pytest.raises(InvalidSetting, match="give slots= or workers="):
        study.ask(distinct=True)


def test_a_worker_with_a_name_keeps_its_task(address):
    study = Study("lab", address, PLATE, seed=0)
    task = study.ask(worker="robot-3")
    other = Study("lab", address).ask(limit=1)
    assert (other.batch, other.start) != (task.batch, task.start)
    with pytest.raises(InvalidSetting, match="is not a name"):
        study.ask(worker="a|b")


def test_those_who_tell_never_wait_for_a_decision(address, monkeypatch):
    """However much is told meanwhile, it is decided once, outside the lock; and the next decision knows all of it."""
    study, other = Study("lab", address, PLATE, seed=0), Study("lab", address)
    tasks, decided = [other.ask(limit=1) for _ in range(4)], []
    decide = asking.decide

    def overtaken(*args):
        decided.append(other.tell(tasks.pop(), [1.0]) if tasks else 0)  # the lock is free
        return decide(*args)

    monkeypatch.setattr(asking, "decide", overtaken)
    first = study.ask(limit=1)
    assert decided == [1]
    study.tell(first, [2.0])
    monkeypatch.setattr(asking, "decide", decide)
    fresh = Study("lab", address)
    assert (fresh.best().n, fresh.best().mean) == (study.best().n, pytest.approx(study.best().mean))
    assert fresh.status().measurements == 2
    assert study.ask(limit=1).batch == first.batch + 1
    assert verify(study.storage, "lab") == []


def test_a_decision_that_others_overtake_is_made_again(address, monkeypatch, caplog):
    """The third time with the study locked, so that nobody can overtake it again; and the log says so."""
    study, other = Study("lab", address, PLATE, seed=0), Study("lab", address)
    decided, decide = [], asking.decide

    def overtaken(*args):
        decided.append(1)
        if len(decided) < 3:
            other.observe(2 + len(decided), 1.0)
        else:
            with pytest.raises(Unavailable), other.storage.write("lab", wait=False):
                pass
        return decide(*args)

    monkeypatch.setattr(asking, "decide", overtaken)
    with caplog.at_level("INFO", "ostinato"):
        assert study.ask(limit=1) is not None
    assert len(decided) == 3
    assert caplog.messages == 2 * ["study 'lab': decided again, because others asked, observed or revised meanwhile"]
    assert verify(study.storage, "lab") == []


def test_many_measurements_at_once(address):
    study = Study("lab", address, X, seed=0)
    study.observe([3, 5, 3], [1.0, 2.0, 3.0])
    study.observe([7, 8, 9], np.array([1.0, np.nan, 2.0]))
    status = study.status()
    assert (status.measurements, status.failures, status.unique) == (5, 1, 4)
    with pytest.raises(InvalidFeedback, match="2 candidates came with values of shape"):
        study.observe([3, 5], [1.0])
    assert study.status().measurements == 5


def test_zeroed_blocks_are_damage_whatever_they_hold(tmp_path):
    """Every page of a database, zeroed in turn: a clear error, or no harm."""
    path = tmp_path / "lab.db"
    study = Study("lab", path, X, seed=0, budget=30)
    while (task := study.ask(limit=3)) is not None:
        study.tell(task, np.arange(task.repeats) / 7)
    study.storage.close()
    whole, page = path.read_bytes(), 4096
    seen = 0
    for start in range(0, len(whole), page):
        path.write_bytes(whole[:start] + b"\0" * page + whole[start + page :])
        words = ""
        try:
            opened = Study("lab", path)
            list(opened.measurements())
            opened.best()
        except OstinatoError as error:
            words = str(error)
        assert "it holds 'lab'" not in words
        seen += bool(words)
    assert seen > 3


LEARNED, KNOWN = {}, {"kernel": RBF(0.4), "noise_std": 0.3, "mean": 0.0}


@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        (BKB(), LEARNED), (BKB(), KNOWN), (BBKB(), KNOWN), (BBKB(rule="local"), LEARNED), (EpsilonGreedy(), KNOWN),
        (Uniform(), LEARNED),
    ],
)  # fmt: skip
def test_whatever_a_policy_draws_is_kept(tmp_path, policy, settings):
    """The same decisions in memory, in a study, and in a study that is opened anew for every one of them."""
    truth, rng = np.sin(4 * PLATE[:, 1]), np.random.default_rng(1)
    settings = settings | {"seed": 1, "budget": size(15, 25), "policy": policy}
    opt, kept = Optimizer(PLATE, **settings), Study("kept", tmp_path / "kept.db", PLATE, **settings)
    Study("again", tmp_path / "again.db", PLATE, **settings)
    while (task := kept.ask()) is not None:
        again = Study("again", tmp_path / "again.db")
        other, batch = again.ask(), opt.ask()
        assert (task.index, task.repeats) == (other.index, other.repeats) == (batch.index, batch.repeats)
        values = truth[task.index] + 0.3 * rng.standard_normal(task.repeats)
        kept.tell(task, values)
        again.tell(other, values)
        opt.tell(batch, values)


def test_an_empty_file_is_no_study(tmp_path):
    (tmp_path / "lab.db").touch()
    for candidates in (None, X):
        with pytest.raises(UnknownStudy, match=r"is empty \(0 bytes\)"):
            Study("lab", tmp_path / "lab.db", candidates)


@pytest.mark.parametrize(
    "refused",
    [
        {"kernel": "Matern"},
        {"noise_std": -1.0},
        {"nosie_std": 1.0},
        {"stop": Width},
        {"budget": 0},
        {"memory_limit": "4 apples"},
        {"seed": -1},
    ],
    ids=str,
)
def test_a_study_that_is_refused_leaves_nothing_behind(tmp_path, refused):
    with pytest.raises(OstinatoError):
        Study("lab", tmp_path / "lab.db", X, **refused)
    assert not list(tmp_path.iterdir())
    study = Study("lab", tmp_path / "lab.db", X)
    with pytest.raises(OstinatoError):
        Study("other", tmp_path / "lab.db", X, **refused)
    assert study.storage.names() == ["lab"]


def test_a_rule_that_is_met_is_said_and_whoever_asks_goes_on(any_address):
    study = Study("lab", any_address, X, seed=0, stop=Width(0.5), **GIVEN)
    assert study.stopped is None
    while study.stopped is None:
        task = study.ask()
        study.tell(task, measured(task))
    assert Study("lab", any_address).stopped == "Width(width=0.5, level=0.95)"
    assert study.ask() is not None


def test_with_what_it_is_measured_is_kept_and_a_change_of_it_said(any_address):
    study = Study("lab", any_address, X, seed=0)
    assert study.note_program("./measure {temp}") is None
    assert Study("lab", any_address, X, seed=0).note_program("./measure {temp}") is None
    assert study.note_program("./other {temp}") == "./measure {temp}"
    assert Study("lab", any_address).ask() is not None


def test_a_plan_of_a_study_keeps_to_its_limit_and_to_what_waits(any_address):
    study = Study("lab", any_address, PLATE, seed=0)
    assert sum(task.repeats for task in study.ask(2, workers=6)) == 2


@pytest.mark.parametrize("policy", [BBKB(C=1.5), MiniUCB(C=1.5)])
def test_a_limit_is_of_what_is_handed_out_and_not_of_what_is_decided(tmp_path, policy):
    """A round or batch of a study is that of an optimiser that was asked without a limit; the rest of it waits."""
    given, table = {"kernel": RBF(0.4), "noise_std": 0.5, "policy": policy, "seed": 0}, np.linspace(0, 2, 30)[:, None]
    study, memory, asked, decided = Study("lab", tmp_path / "lab.db", table, **given), Optimizer(table, **given), [], []
    for told in (study, memory):
        told.observe(3, [0.5] * 9)
    while len(decided) < 12:
        batch = memory.ask()
        decided += [batch.index] * batch.repeats
    while len(asked) < len(decided):
        task = study.ask(limit=2)
        assert task.repeats <= 2
        asked += [task.index] * task.repeats
    assert asked[: len(decided)] == decided


def test_what_waits_is_handed_out_where_nothing_more_can_be_decided(any_address):
    study = Study(
        "lab",
        any_address,
        np.array([[0.0]]),
        seed=0,
        policy=MiniUCB(cap_per_candidate=1),
        kernel=RBF(1.0),
        noise_std=1.0,
    )
    task = study.ask()
    study.release(task)
    with pytest.warns(FewerSlots, match="1 of 5 slots is filled"):
        plan = study.ask(slots=5)
    assert sum(each.repeats for each in plan) == task.repeats


def test_a_key_is_known_on_another_machine(tmp_path, monkeypatch):
    study = Study("lab", tmp_path / "lab.db", [[0.0], [1.0]])
    study.observe(0, [1.0, 2.0], key="a")
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    study.observe(0, [1.0, 2.0], key="a")
    assert [each.value for each in study.measurements()] == [1.0, 2.0]
    assert study.observe_all([(0, {"value": 3.0})], key="b") == 1
    assert study.observe_all([(0, {"value": 3.0})], key="b") == 0
    with pytest.raises(Conflict, match="key"):
        study.observe(0, [1.0, 2.5], key="a")
    assert len(list(study.measurements())) == 3


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda study: study.observe_all([(1, {"value": 2.0})], worker=4), "worker=4 is not a name"),
        (lambda study: study.observe_all([(1, {"value": 2.0})], key=4), "key=4 is not a text"),
        (lambda study: study.observe(1, [2.0], key=4), "key=4 is not a text"),
        (lambda study: study.observe_all([(1, {"valu": 2.0})]), "'valu' says nothing of a measurement: give value,"),
        (lambda study: study.observe_all([1, 2]), "1 is not an observation: give a candidate and what was measured"),
        (lambda study: study.ask(key=4), "key=4 is not a text"),
        (lambda study: study.renew(3), "worker=3 is not a name"),
        (lambda study: study.release_all(worker=3), "worker=3 is not a name"),
        (lambda study: study.close("x"), "batch='x' is not a whole number"),
        (lambda study: study.explain("x"), "batch='x' is not a whole number"),
        (lambda study: study.task("x"), "batch='x' is not a whole number"),
        (lambda study: study.candidate("x"), "index='x' is not a whole number"),
        (lambda study: study.candidate(99), "Index 99 is not in the table: its"),
    ],
)
def test_what_is_of_another_type_is_refused_and_harms_nothing(tmp_path, act, words):
    study = Study("lab", tmp_path / "lab.db", X, seed=0)
    study.observe(3, [1.0])
    with pytest.raises(InvalidInput, match=words):
        act(study)
    assert study.status().measurements == 1
    assert study.leases() == []
    assert verify(study.storage, "lab") == []
