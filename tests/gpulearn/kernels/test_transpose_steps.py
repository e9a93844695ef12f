"""The steps of notebook 05: each goes wrong, or right, exactly as the notebook says."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.kernels.transpose import TILE, TRANSPOSE_PADDED, TRANSPOSE_WHOLE

from .lesson_kernels import (
    REVERSE_HASTILY,
    REVERSE_IN_WARP,
    TRANSPOSE_BY_TILE,
    TRANSPOSE_GUARDED,
    TRANSPOSE_OVERFLOWS,
    TRANSPOSE_WAITS_FIRST,
)


def launch(step, shape, room=None):
    rows, columns = shape
    image = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    out = cuda.to_device(np.zeros(room or (columns, rows), np.float32))
    report = gl.xray(step.kernel)[step.shape(image, out)](cuda.to_device(image), out)
    return image, out.copy_to_host(), report


@pytest.mark.parametrize("step", [TRANSPOSE_BY_TILE, TRANSPOSE_WAITS_FIRST])
def test_without_a_barrier_between_only_the_diagonals_come_through(step):
    image, out, report = launch(step, (2 * TILE, 3 * TILE))
    assert [f.kind for f in report.findings] == ["race"]
    tiles = np.kron(np.ones((3, 2)), np.eye(TILE)).astype(bool)
    np.testing.assert_array_equal(out[tiles], image.T[tiles])
    assert np.isnan(out[~tiles]).all()


@pytest.mark.parametrize(("step", "conflicts"), [(TRANSPOSE_WHOLE, 31), (TRANSPOSE_PADDED, 0)])
def test_with_it_the_picture_is_whole(step, conflicts):
    image, out, report = launch(step, (2 * TILE, 3 * TILE))
    np.testing.assert_array_equal(out, image.T)
    assert not report.findings
    totals, warps = report.totals, 2 * 3 * TILE
    assert (totals.sectors_per_load, totals.sectors_per_store) == (4, 4)
    assert totals.shared_load_conflicts == conflicts * warps
    assert totals.shared_store_conflicts == 0


def test_a_guard_round_the_barrier_stops_the_launch():
    _, _, report = launch(TRANSPOSE_GUARDED, (TILE, TILE + 8))
    (finding,) = report.findings
    assert finding.kind == "barrier-divergence"
    assert "256 of 1024" in finding.message


def test_a_store_without_guard_shows_what_nobody_loaded():
    shape = (TILE - 2, TILE + 8)
    image, out, report = launch(TRANSPOSE_OVERFLOWS, shape, room=(2 * TILE, TILE))
    assert [f.kind for f in report.findings] == ["uninitialized-read"]
    np.testing.assert_array_equal(out[: shape[1], : shape[0]], image.T)
    assert np.isnan(out[shape[1] :]).all()
    assert np.isnan(out[:, shape[0] :]).all()


@pytest.mark.parametrize(("step", "kinds"), [(REVERSE_HASTILY, ["race"]), (REVERSE_IN_WARP, [])])
def test_a_warp_needs_its_barrier_too(step, kinds):
    a = np.arange(32, dtype=np.float32)
    there = cuda.to_device(a)
    report = gl.xray(step.kernel)[step.shape(a)](there)
    assert [f.kind for f in report.findings] == kinds
    assert kinds or there.copy_to_host().tolist() == a[::-1].tolist()
