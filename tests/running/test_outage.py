"""The rule that tells an outage from news about candidates, on counts alone."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.running.outage import FEWEST, Evidence

COUNTS = st.dictionaries(st.integers(0, 30), st.integers(1, 50), max_size=20)
ROWS = st.lists(st.integers(0, 30), max_size=40)
WORKED = dict.fromkeys(range(20), 3)


@given(COUNTS, COUNTS, ROWS, st.randoms(use_true_random=False))
def test_every_failure_counts_in_whatever_order_they_come(values, failures, row, shuffled):
    evidence, last = Evidence(values, failures), 0.0
    for candidate in row:
        evidence.add(candidate)
        assert evidence.log_chance < last
        last = evidence.log_chance
    other = row.copy()
    shuffled.shuffle(other)
    assert Evidence(values, failures, other).log_chance == pytest.approx(last)
    assert evidence.suspicious or not evidence.certain


@given(COUNTS, COUNTS, ROWS)
def test_few_failures_and_runs_that_never_worked_are_not_suspicious(values, failures, row):
    assert not Evidence(values, failures, row[: FEWEST - 1]).suspicious
    assert not Evidence({}, failures, row).suspicious


@given(COUNTS, COUNTS, ROWS, st.sets(st.integers(0, 30)))
def test_what_is_tried_has_worked_before_and_says_most(values, failures, row, barred):
    evidence = Evidence(values, failures, row)
    probe = evidence.probe(barred)
    if probe is None:
        assert values.keys() <= barred
        return
    assert probe in values.keys() - barred
    assert row.count(probe) == min(row.count(each) for each in values.keys() - barred)


@pytest.mark.parametrize("row", [range(100, 105), range(5), [0] * 6], ids=["new ones", "known ones", "one known"])
def test_an_outage_is_suspected_soon_and_certain_when_a_known_candidate_fails(row):
    evidence = Evidence(WORKED, {}, row)
    assert evidence.suspicious
    for _ in range(3):
        evidence.add(evidence.probe())
    assert evidence.certain


def test_one_candidate_that_never_works_is_no_outage():
    assert not Evidence(WORKED, {}, [50] * 15).suspicious


def test_a_program_that_fails_often_is_no_outage():
    """30% at random: hardly ever suspicious, and then never certain once candidates that work are tried again."""
    suspicious = certain = 0
    for seed in range(30):
        chance, rng = random.Random(seed), np.random.default_rng(seed)
        values, failures, row = dict[int, int](), dict[int, int](), list[int]()
        for candidate in map(int, rng.integers(0, 40, 500)):
            if chance.random() < 0.7:
                for each in row:
                    failures[each] = failures.get(each, 0) + 1
                values[candidate], row = values.get(candidate, 0) + 1, []
                continue
            row.append(candidate)
            evidence = Evidence(values, failures, row)
            if evidence.suspicious:
                suspicious += 1
                while not evidence.certain and chance.random() < 0.3:
                    evidence.add(evidence.probe())
                certain += evidence.certain
    assert suspicious < 50  # of 15,000
    assert certain == 0
