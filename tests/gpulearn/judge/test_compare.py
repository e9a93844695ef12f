"""What wrong numbers have in common."""

import numpy as np
import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.compare import numbers_or_none, relation, results
from gpulearn.judge.diagnosis import diagnose


@pytest.mark.parametrize(
    ("got", "said"),
    [
        ([4.0, 10.0, 6.0], "in every case it is 2 times what it should be"),
        ([-2.0, -5.0, -3.0], "in every case it is -1 times what it should be"),
        ([0.5, 0.2, 1 / 3], "in every case it is upside down, 1 divided by what it should be"),
        ([2.5, 5.5, 3.5], "in every case it is too large by 0.5"),
        ([1, 4, 2], "in every case it is too small by 1"),
        ([2.0001, 5.0, 3.0], "in every case it is nearly right"),
    ],
)
def test_a_relation_is_named(got, said):
    assert relation(got, [2.0, 5.0, 3.0]).startswith(said)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ([4.0, 10.0, 7.0], [2.0, 5.0, 3.0]),
        ([4.0], [2.0]),
        ([1.0, 2.0], [None, 1.0]),
        ([0.0, 0.0], [1.0, 2.0]),
        ([10**400, 2], [1, 1]),
    ],
)
def test_no_relation(got, expected):
    assert relation(got, expected) is None


def test_results_are_compared_as_what_is_expected():
    pair = np.array([1.0, 2.0])
    assert results(3.0, 3.0) is None
    assert results(pair * (1 + 1e-15), pair) is None
    assert results([1.0, 2.0], pair) == "it returns a list; wrap it in np.array"
    assert results(pair[:1], pair) == "it returns shape (1,), expected (2,)"
    assert results(pair, 3.0) == "it returns an array of shape (2,) (ndarray), expected 3.0"


def test_nothing_is_expected_of_zero():
    assert relation([0, 4, 10], [0, 2, 5]).startswith("in every case it is 2 times")
    assert relation([1, 4, 10], [0, 2, 5]) is None
    assert relation([1, 3, 6], [0, 2, 5]).startswith("in every case it is too large by 1")


def test_infinity_is_itself_and_nothing_finite_is_near_it():
    assert numbers_or_none(np.inf, np.inf) is None
    assert numbers_or_none(1e300, np.inf) == "it returns 1e+300, expected inf"
    assert numbers_or_none(-np.inf, np.inf) is not None
    assert numbers_or_none(np.inf, 3.0) is not None
    assert relation([1.0, 2.0, 1e9], [1.0, 2.0, np.inf]) is None


def test_a_diagnosis_of_numbers_ends_with_their_relation():
    said = diagnose(find("attainable"), lambda i, p, b: min(p, i * b) / 1e9)
    assert said.endswith("; in every case it is 1e-09 times what it should be.")
    said = diagnose(find("ridge_point"), lambda p, b: np.float32(p) / np.float32(b))
    assert "; in every case it is nearly right: a number of fewer digits, such as a f" in said
