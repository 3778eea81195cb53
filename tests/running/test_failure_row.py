"""Failures in a row, by when they happened and not by when they were heard of."""

import pytest

from ostinato.running.failure_row import FailureRow
from ostinato.running.task import Task


def task(number):
    return Task("", number, number, None, 0, 1)


@pytest.fixture
def row():
    return FailureRow()


def numbers(tasks):
    return [each.batch for each in tasks]


def test_a_value_that_is_heard_of_late_does_not_hide_failures_after_it(row):
    for number, at in ((1, 10.0), (2, 11.0)):
        row.add_failure(at, task(number))
    row.add_value(8.0, 9.0)
    assert numbers(row.tasks) == [1, 2]
    assert row.began == 10.0


def test_failures_before_a_value_are_no_part_of_the_row(row):
    row.add_value(11.0, 12.0)
    row.add_failure(10.0, task(1))
    assert row.tasks == row.doubtful == []


def test_failures_while_a_value_was_measured_are_kept_in_doubt_until_the_next_one(row):
    row.add_failure(10.0, task(1))
    row.add_value(5.0, 12.0)
    row.add_failure(13.0, task(2))
    assert numbers(row.tasks) == [2]
    assert numbers(row.doubtful) == [1]
    row.add_value(12.5, 14.0)
    assert (numbers(row.tasks), numbers(row.doubtful)) == ([], [2])
    row.add_value(14.0, 15.0)
    assert row.tasks == row.doubtful == []
