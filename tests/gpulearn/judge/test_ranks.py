"""Outcomes of answers on ranks: when two failures, and when two results, are the same."""

from dataclasses import dataclass

import numpy as np
import pytest

from gpulearn.judge.ranks import Ending, failed_alike, failed_the_same, same_result


@dataclass(frozen=True)
class Ran:
    number: int = 0
    ending: Ending | None = None


def same_number(one, other):
    return one.number == other.number


ZERO_WAITS = Ran(ending=Ending("deadlock", "rank 0 waits", frozenset({(0, "sends", 1)})))
ONE_WAITS = Ran(ending=Ending("deadlock", "rank 1 waits", frozenset({(1, "sends", 0)})))
RAISES = Ran(ending=Ending("ValueError", "rank 0 raises ValueError"))


@pytest.mark.parametrize(
    ("one", "other", "alike", "the_same"),
    [
        (Ran(1), Ran(1), True, True),
        (Ran(1), Ran(2), False, False),
        (ZERO_WAITS, ZERO_WAITS, True, True),
        (ZERO_WAITS, ONE_WAITS, True, False),
        (ZERO_WAITS, RAISES, False, False),
        (ZERO_WAITS, Ran(), False, False),
        (Ran(), RAISES, False, False),
    ],
)
def test_failures_are_alike_by_their_kind_and_the_same_by_who_waits(one, other, alike, the_same):
    assert failed_alike(same_number)(one, other) is alike
    assert failed_the_same(same_number)(one, other) is the_same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (np.array([1.0, np.nan]), np.array([1.0 + 1e-9, np.nan]), True),
        (np.array([1.0]), np.array([1.001]), False),
        (np.ones(2), np.ones((2, 1)), False),
        ("is no row", "is no row", True),
        ("is no row", "has shape (2,)", False),
        ("is no row", np.ones(2), False),
        (np.ones(2), "is no row", False),
    ],
)
def test_results_are_the_same_numbers_or_the_same_words(one, other, same):
    assert same_result(one, other) is same
