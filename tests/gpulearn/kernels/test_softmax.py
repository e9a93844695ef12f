"""Argmax and softmax of rows: equal to NumPy's, and safe where the formula overflows."""

import math

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.softmax import ARGMAX_ROWS, SOFTMAX_ROWS, argmax_rows, softmax_rows

SHAPES = [(1, 1), (3, 5), (7, 33), (5, 200)]


def scores(shape, scale=3.0):
    return np.random.default_rng(1).normal(0, scale, shape).astype(np.float32)


def softmax(x):
    return SOFTMAX_ROWS.reference(x, x)[0]


def xrayed(kernel, given, out):
    out = cuda.to_device(out)
    report = gl.xray(kernel)[-(-len(given) // 4), 128](cuda.to_device(given), out)
    assert not report.findings
    return report, out.copy_to_host()


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
def test_softmax_equals_numpys(shape):
    report, out = xrayed(softmax_rows, scores(shape), np.full(shape, np.nan, np.float32))
    np.testing.assert_allclose(out, softmax(scores(shape)), rtol=1e-5)
    assert report.totals.flops64 == 0


def test_softmax_bears_scores_whose_powers_would_overflow():
    given = scores((4, 40), 100.0)
    assert (given > 88.7).any()
    _, out = xrayed(softmax_rows, given, np.zeros_like(given))
    np.testing.assert_allclose(out, softmax(given), rtol=1e-4, atol=1e-30)


@pytest.mark.parametrize("shape", SHAPES)
def test_argmax_equals_numpys(shape):
    given = np.round(scores(shape))  # with ties
    _, places = xrayed(argmax_rows, given, np.full(len(given), -1, np.int32))
    np.testing.assert_array_equal(places, *ARGMAX_ROWS.reference(given, places))


def test_argmax_of_equal_and_of_infinite_scores():
    given = np.array([[2.0] * 50, [-np.inf] * 50, [0.0] * 49 + [np.inf]], np.float32)
    _, places = xrayed(argmax_rows, given, np.full(3, -1, np.int32))
    assert places.tolist() == [0, 0, 49]
