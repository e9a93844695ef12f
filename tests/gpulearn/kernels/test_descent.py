"""A thread per starting point: equal to NumPy's form, right minima, and nothing but float32."""

from __future__ import annotations

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn.kernels.descent import (
    DESCEND_ON_GPU,
    ESCAPED,
    MINIMA,
    UNSETTLED,
    basins,
    descend_all,
    descend_all_numpy,
)

from .launched import launched as against_reference


def grid(n, reach=6.0):
    """n starts, in rows of a square of side 2 · reach as far as they go."""
    side = int(np.ceil(np.sqrt(n)))
    axis = np.linspace(-reach, reach, side, dtype=np.float32)
    xs, ys = np.meshgrid(axis, axis)
    return xs.ravel()[:n], ys.ravel()[:n]


def launched(xs, ys, rate, momentum=0.0, most=300):
    basin, taken = (cuda.to_device(np.full(xs.size, -9, np.int32)) for _ in range(2))
    numbers = np.float32(rate), np.float32(momentum), most
    report = gl.xray(descend_all)[gl.blocks_for(xs.size, 96), 96](
        cuda.to_device(xs), cuda.to_device(ys), *numbers, basin, taken
    )
    assert not report.findings, report
    assert report.totals.flops64 == 0
    return report, basin.copy_to_host(), taken.copy_to_host()


def test_the_minima_are_minima():
    for x, y in MINIMA:
        a, b = x * x + y - 11, x + y * y - 7
        assert a * a + b * b < 1e-9
    _, basin, taken = launched(*np.array(MINIMA, np.float32).T.copy(), 0.01)
    assert basin.tolist() == [0, 1, 2, 3]
    assert taken.tolist() == [0] * 4


def test_a_step_is_the_one_of_the_formula():
    """One start, walked in float64 by a gradient from differences of J."""

    def j(p):
        return (p[0] ** 2 + p[1] - 11) ** 2 + (p[0] + p[1] ** 2 - 7) ** 2

    p, v, h = np.array([-0.5, 4.0]), np.zeros(2), 1e-6
    for step in range(200):
        if j(p) < 1e-4:
            break
        slope = [(j(p + h * e) - j(p - h * e)) / (2 * h) for e in np.eye(2)]
        v = 0.5 * v + slope
        p = p - 0.004 * v
    arrays = (np.array([start], np.float32) for start in (-0.5, 4.0))
    _, basin, taken = launched(*arrays, 0.004, 0.5)
    assert basin.tolist() == [np.abs(np.array(MINIMA) - p).sum(axis=1).argmin()]
    assert taken.tolist() == [step]
    assert 20 < step < 100


def test_who_leaves_and_who_does_not_settle_is_told_apart():
    xs = np.array([90.0, 3.1, np.inf, np.nan], np.float32)
    ys = np.array([90.0, 2.0, 0.0, 0.0], np.float32)
    _, basin, taken = launched(xs, ys, 1e-5, most=7)
    assert basin.tolist() == [UNSETTLED, UNSETTLED, ESCAPED, ESCAPED]
    assert taken.tolist() == [7, 7, 1, 1]
    _, basin, taken = launched(xs[:1], ys[:1], 0.01)
    assert (basin[0], taken[0]) == (ESCAPED, 1)


def test_neighbors_keep_their_warp_together_and_shuffled_starts_do_not():
    xs, ys = grid(2500)
    order = np.random.default_rng(0).permutation(xs.size)
    together, basin, taken = launched(xs, ys, 0.01)
    shuffled, other, steps = launched(xs[order], ys[order], 0.01)
    np.testing.assert_array_equal(other, basin[order])
    np.testing.assert_array_equal(steps, taken[order])
    assert shuffled.totals.instructions > 1.2 * together.totals.instructions


def test_basins_are_a_picture_with_y_upwards():
    found = basins(0.012)
    x, y = np.meshgrid(np.linspace(-6, 6, 240), np.linspace(-6, 6, 240))
    expected, _ = descend_all_numpy(x, y, 0.012, 0.0, 300)
    np.testing.assert_array_equal(found, expected)
    for number, (column, row) in enumerate(MINIMA):
        assert found[np.abs(y[:, 0] - row).argmin(), np.abs(x[0] - column).argmin()] == number


def test_bad_input_is_told_in_a_sentence():
    with pytest.raises(BadInput, match="rate is -1: give a number above zero"):
        basins(-1)


def test_walks_to_an_end_load_their_start_and_store_their_end_once():
    ends = np.full(250, np.nan, np.float32), np.full(250, np.nan, np.float32)
    args = *grid(250, reach=3.0), np.float32(0.01), 40, *ends
    totals = against_reference(DESCEND_ON_GPU, *args, block=96).totals
    assert totals.flops64 == 0
    assert totals.global_load_requests == totals.global_store_requests == 2 * 8


def test_the_ends_of_long_walks_are_minima():
    x, y = DESCEND_ON_GPU.reference(*grid(100, reach=2.5), 0.01, 400, None, None)
    near = np.abs(np.stack([x, y], axis=1)[:, None] - np.array(MINIMA)).max(axis=2)
    assert near.min(axis=1).max() < 1e-3
