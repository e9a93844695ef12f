"""Argmax and softmax of rows: equal to NumPy's, and safe where the formula overflows."""

import math

import numpy as np
import pytest

from gpulearn.kernels.softmax import ARGMAX_ROWS, SOFTMAX_ROWS

from .launched import launched

SHAPES = [(1, 1), (3, 5), (7, 33), (5, 200)]


def scores(shape, scale=3.0):
    return np.random.default_rng(1).normal(0, scale, shape).astype(np.float32)


def softmax(x):
    return SOFTMAX_ROWS.reference(x, x)[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_references_equal_the_formula_and_a_search_row_by_row(shape):
    given = scores(shape)
    shares, places = [], []
    for row in given.tolist():
        powers = [math.exp(x) for x in row]
        shares.append([power / sum(powers) for power in powers])
        places.append(row.index(max(row)))
    np.testing.assert_allclose(softmax(given), shares, rtol=1e-6)
    assert ARGMAX_ROWS.reference(given, np.empty(len(given), np.int32))[0].tolist() == places


@pytest.mark.parametrize("shape", SHAPES)
def test_both_equal_numpys(shape):
    report = launched(SOFTMAX_ROWS, scores(shape), np.full(shape, np.nan, np.float32), rtol=1e-5)
    assert report.totals.flops64 == 0
    ties = np.round(scores(shape))
    launched(ARGMAX_ROWS, ties, np.full(len(ties), -1, np.int32))


def test_softmax_bears_scores_whose_powers_would_overflow():
    given = scores((4, 40), 100.0)
    assert (given > 88.7).any()
    launched(SOFTMAX_ROWS, given, np.zeros_like(given), rtol=1e-4, atol=1e-30)


def test_argmax_of_equal_and_of_infinite_scores():
    given = np.array([[2.0] * 50, [-np.inf] * 50, [0.0] * 49 + [np.inf]], np.float32)
    places = np.full(3, -1, np.int32)
    assert ARGMAX_ROWS.reference(given, places)[0].tolist() == [0, 0, 49]
    launched(ARGMAX_ROWS, given, places)
