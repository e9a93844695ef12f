"""The stencil against a loop, and its analysis against a count of what the loop does."""

import numpy as np
import pytest

from gpulearn.errors import BadInput
from gpulearn.perf.roofline import Roof
from gpulearn.perf.series import Provenance
from gpulearn_lessons.roofline.stencil import analyze_stencil

SIZES = [(3, 4), (3, 8), (9, 4), (17, 23)]


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_the_analysis_is_what_a_loop_does(rows, columns):
    grid = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    out, operations = grid.copy(), 0
    for y, x in np.ndindex(rows - 2, columns - 2):
        around = [grid[y, x + 1], grid[y + 2, x + 1], grid[y + 1, x], grid[y + 1, x + 2]]
        out[y + 1, x + 1] = sum(map(float, around)) * 0.25
        operations += 3 + 1
    assert analyze_stencil(rows, columns, 1.0, 1.0)[:2] == (operations, grid.nbytes + out.nbytes)


@pytest.mark.parametrize(("peak", "bandwidth"), [(8e12, 3.2e11), (1e9, 8e9), (1e9, 1e9)])
def test_limit_and_seconds_are_those_of_a_roof(peak, bandwidth):
    roof = Roof("a machine", peak, bandwidth, Provenance("measured", "here"))
    flops, moved, limit, seconds = analyze_stencil(100, 50, peak, bandwidth)
    assert limit == roof.limit(flops, moved)
    assert seconds == roof.seconds(flops, moved)


def test_bad_input_gets_a_sentence():
    with pytest.raises(BadInput, match="peak is 0"):
        analyze_stencil(3, 3, 0, 1.0)
