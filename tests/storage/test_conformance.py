"""What every storage promises (`ostinato.storage.base`), asked of each of them."""

import threading
from contextlib import suppress
from time import monotonic, time

import numpy as np
import pytest
from msgspec import to_builtins
from msgspec.structs import replace
from sqlalchemy import text
from sqlalchemy.exc import StatementError

from ostinato.errors import Damaged, Unavailable, UnknownStudy
from ostinato.measurements.history import Measured
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.facts import BatchFacts
from ostinato.storage import BatchRecord, Lease, LogRow, Revision, Source, StudyRecord, TokenRecord, open_storage
from ostinato.storage.values import told_summary, told_values


@pytest.fixture
def storage(address):
    storage = open_storage(address, patience=20)
    yield storage
    storage.close()


def make(storage, name="study"):
    return storage.create(StudyRecord(0, name, time(), "{}", "digest", 100, b""), b"candidates")


def batch(number, index=3, repeats=10):
    return BatchRecord(BatchFacts.observed(number, index, repeats), time(), "why")


def test_studies_have_names(storage):
    assert storage.names() == []
    assert make(storage, "a")
    assert make(storage, "b")
    assert not make(storage, "a")
    assert storage.names() == ["a", "b"]
    storage.delete("a")
    assert storage.names() == ["b"]
    with pytest.raises(UnknownStudy, match="it holds 'b'"), storage.read("a"):
        pass


def test_what_is_written_is_read(storage, address):
    make(storage)
    with storage.write("study") as writer:
        writer.add_batches([batch(0)])
        writer.append(0, 0, told_values(np.array([1.5, np.nan, -0.0, 1e99])))
        writer.append(0, 4, told_values(np.array([1.0, 2.0]), np.array([0.1, 0.2])))
        writer.append(-1, 0, told_summary(Statistics(10**12, 3.25, 7.5)))
        writer.lease(Lease(0, 6, 4, "worker", 123.5))
        writer.change(replace(writer.record, asked=1, state=b"\x00\xff", budget=7))
    other = open_storage(address)
    with other.read("study") as reader:
        record = reader.record
        assert (record.asked, record.state, record.budget, record.told) == (1, b"\x00\xff", 7, 3)
        assert reader.table() == b"candidates"
        assert [each.facts.id for each in reader.batches()] == [0]
        assert reader.batch(0).facts.index == 3
        assert reader.batch(1) is None
        assert reader.leases() == [Lease(0, 6, 4, "worker", 123.5)]
        first, second, third = reader.log()
        assert first.told.numbers().tobytes() == np.array([1.5, np.nan, 0.0, 1e99]).tobytes()  # one NaN, one zero
        assert first.told.feedback().failed == 1
        assert second.told.feedback().statistics == Statistics.of_weighted(np.array([1.0, 2.0]), [0.1, 0.2])
        assert third.told.feedback().statistics == Statistics(10**12, 3.25, 7.5)
        assert [entry.number for entry in reader.log(after=1, most=1)] == [2]
    other.close()


def test_large_tables_in_blocks(storage):
    storage.create(StudyRecord(0, "study", time(), "{}", "digest", 100, b""), b"head", [b"one", b"two", b"three"])
    with storage.write("study") as writer:
        assert (writer.table(), writer.blocks()) == (b"head", [b"one", b"two", b"three"])
        assert writer.block(1) == b"two"
        writer.change_table(b"longer", [b"3", b"4"], after=2)
    with storage.read("study") as reader:
        assert (reader.table(), reader.blocks()) == (b"longer", [b"one", b"two", b"3", b"4"])
    with storage.write("study") as writer:
        writer.change_table(b"short")
        assert writer.blocks() == []
        with pytest.raises(Damaged, match="block 0"):
            writer.block(0)


def test_an_answer_holds_until_the_study_changes(storage):
    make(storage)
    make(storage, "other")
    with storage.write("study") as writer:
        assert writer.answer() is None
        writer.keep_answer(b"first")
        writer.keep_answer(b"second")
        assert writer.answer() == b"second"
    with storage.read("other") as reader:
        assert reader.answer() is None
    changes = [{"asked": 1}, {"budget": 7}, {"state": b"x"}, {"retired": "[1]"}, {"digest": "other"}, {"settings": "x"}]
    for change in changes:
        with storage.write("study") as writer:
            before = writer.record
            writer.change(replace(before, **change))
            assert writer.answer() is None
            writer.change(before)
            assert writer.answer() == b"second"


def test_all_of_it_or_nothing(storage):
    make(storage)
    with storage.read("study") as reader:
        before = reader.record

    def stopped():
        with storage.write("study") as writer:
            writer.add_batches([batch(0)])
            writer.append(0, 0, told_values(np.ones(3)))
            writer.lease(Lease(0, 0, 1, "", 0.0))
            writer.keep_answer(b"answer")
            writer.change(replace(writer.record, asked=1))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    with storage.read("study") as reader:
        assert reader.record == before
        assert reader.batches() == reader.log() == reader.leases() == []


def test_writers_wait_for_each_other(storage, address):
    make(storage)

    def add(times):
        mine = open_storage(address)
        for _ in range(times):
            mine.patiently(lambda: add_one(mine))
        mine.close()

    def add_one(mine):
        with mine.write("study") as writer:
            writer.change(replace(writer.record, answered=writer.record.answered + 1))

    threads = [threading.Thread(target=add, args=(15,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with storage.read("study") as reader:
        assert reader.record.answered == 90


def test_whoever_does_not_wait_is_told_at_once_that_another_writes(long_waits, storage, address):
    make(storage)
    other = open_storage(address)
    start = monotonic()
    with storage.write("study"), pytest.raises(Unavailable), other.write("study", wait=False):
        pass
    assert monotonic() - start < long_waits
    with other.write("study", wait=False) as writer:
        writer.keep_answer(b"answer")
    with other.write("study") as writer:  # it waits as ever
        assert writer.answer() == b"answer"
    other.close()


def test_leases_are_renewed_in_one_go_and_beside_whoever_writes(storage, address):
    make(storage)
    given = [Lease(0, 0, 2, "a|1", 5.0, 20.0, 1.0), Lease(0, 2, 1, "b|1", 5.0, 20.0, 1.0), Lease(1, 0, 3, "a|2", 5.0)]
    with storage.write("study") as writer:
        for lease in given:
            writer.lease(lease)
        now = writer.now()
    assert storage.renew("study", ["nobody"]) == storage.renew("none", ["a|1"]) == []
    assert [(each.start, each.seconds) for each in storage.renew("study", ["a|1", "b|1"])] == [(0, 20.0), (2, 20.0)]
    assert [(each.count, each.seconds, each.since) for each in storage.renew("study", ["a|2"], 7.0)] == [(3, 7.0, 0.0)]
    with storage.read("study") as reader:
        assert [each.until >= now + 7.0 for each in reader.leases()] == [True] * 3
        assert [each.worker for each in reader.leases()] == ["a|1", "b|1", "a|2"]
    if address.startswith("postgresql"):
        with storage.write("study") as writer:  # a long one, which holds one of them
            writer.release(given[0])
            assert [each.worker for each in open_storage(address).renew("study", ["a|1", "a|2"])] == ["a|2"]


def test_which_rows_of_the_log_hold_a_repeat(storage):
    make(storage)
    with storage.write("study") as writer:
        writer.add_batches([batch(0, repeats=100)])
        for start, count in ((0, 5), (10, 1), (11, 9), (50, 50)):
            writer.append(0, start, told_values(np.full(count, float(start))))
        writer.append(1, 0, told_values(np.ones(100)))
        for (start, count), there in {
            (0, 1): [0],
            (4, 1): [0],
            (5, 5): [],
            (0, 100): [0, 10, 11, 50],
            (10, 2): [10, 11],
            (19, 31): [11],
            (20, 30): [],
            (99, 1): [50],
        }.items():
            assert [entry.start for entry in writer.overlapping(0, start, count)] == there


def test_batches_that_are_unfinished_or_new(storage):
    make(storage)
    with storage.write("study") as writer:
        for number in range(-3, 4):
            writer.add_batches([batch(number)])
        done = replace(
            writer.batch(1), facts=replace(writer.batch(1).facts, told=Measured(Statistics(10, 1.0))), last=5
        )
        writer.change_batch(done)
        writer.change_batch(replace(writer.batch(2), facts=replace(writer.batch(2).facts, closed=True), last=7))
    with storage.read("study") as reader:
        assert [each.facts.id for each in reader.unfinished()] == [0, 3]
        earlier = replace(reader.record, asked=3, observed=1)
        assert [each.facts.id for each in reader.batches(since=earlier)] == [-3, -2, 3]
        assert to_builtins(reader.batch(1)) == to_builtins(done)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE batches SET mean = 2.5", "batch 0"),
        ("UPDATE batches SET repeats = 11", "batch 0"),
        ("UPDATE studies SET answered = 1", "study 'study'"),
        ("UPDATE log SET start = 1", "row 1 of the log"),
        ("UPDATE tables SET study = study, data = state FROM studies", "candidates"),
    ],
)
def test_damage_is_noticed_when_it_is_read(storage, damage, what):
    make(storage)
    with storage.write("study") as writer:
        writer.add_batches([batch(0)])
        writer.append(0, 0, told_values(np.ones(3)))
        writer.change(replace(writer.record, state=b"x"))
    with storage._transaction(write=True) as connection:
        connection.execute(text(damage))
    with pytest.raises(Damaged, match=what), storage.read("study") as reader:
        reader.table(), reader.batches(), reader.log()


def test_the_clock_is_the_storages(storage):
    make(storage)
    with storage.read("study") as reader:
        assert abs(reader.now() - time()) < 60


def test_tokens_are_kept_and_changed(storage, address):
    first = TokenRecord("id1", "robot", "worker", ("a", "b <c>"), "digest", 1.5, None)
    second = TokenRecord("id2", "reader", "read", (), "other", 2.5, 9.5)
    assert storage.tokens() == []
    for token in (second, first):
        storage.keep_token(token)
    other = open_storage(address)
    assert other.tokens() == [first, second]  # the oldest first
    other.keep_token(replace(first, revoked=3.5))
    assert storage.tokens() == [replace(first, revoked=3.5), second]
    other.close()


def test_a_damaged_token_counts_as_none(storage):
    storage.keep_token(TokenRecord("id1", "reader", "read", (), "digest", 1.5, None))
    with storage._transaction(write=True) as connection:
        connection.execute(text("UPDATE tokens SET role = 'admin'"))
    assert storage.tokens() == []


def test_many_at_once_is_the_same_as_one_by_one(storage):
    make(storage)
    rows = [LogRow(i % 2, i // 2, told_values(np.array([float(i)])), Source("p", "1", "h", "w")) for i in range(6)]
    with storage.write("study") as writer:
        writer.add_batches([batch(0), batch(1)])
        assert [each.number for each in writer.append_all(rows)] == [1, 2, 3, 4, 5, 6]
        writer.change_batches(
            [replace(each, last=number) for number, each in zip((5, 6), writer.batches(), strict=True)]
        )
        kept, gone = Lease(0, 3, 2, "w", 10.0), Lease(1, 3, 2, "w", 10.0)
        writer.change_leases([], [kept, gone])
        writer.change_leases([gone], [])
    with storage.read("study") as reader:
        assert {number: each.last for number, each in reader.batches_of([0, 1, 7]).items()} == {0: 5, 1: 6}
        assert reader.leases_of([0, 1]) == [kept]
        assert reader.leases_of([]) == []
        assert [float(each.told.numbers()[0]) for each in reader.log()] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert reader.known_source(Source("p", "1", "h", "w")) == Source("p", "1", "h", "w")
        assert reader.known_source(Source("p", "2", "h", "w")) is None
        assert len({each.source for each in reader.log()}) == 1


@pytest.mark.parametrize("why", [["a"], "a\x00b"])
def test_what_it_cannot_hold_is_not_tried_again(storage, why):
    """It would be in vain, and others would wait too."""
    make(storage)
    began = monotonic()

    def revise():
        with storage.write("study") as writer:
            writer.revise(Revision(1, 1, 0, 0, 1.0, why=why))

    with suppress(Unavailable, StatementError):  # SQLite takes any text
        storage.patiently(revise)
    assert monotonic() - began < 15
    assert storage.names() == ["study"]
