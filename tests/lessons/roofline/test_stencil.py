"""The stencil against a loop, and its analysis against a count of what the loop does."""

import numpy as np
import pytest

from gpulearn.errors import BadInput
from gpulearn.perf.roofline import Roof
from gpulearn.perf.series import Provenance
from gpulearn_lessons.roofline.stencil import analyse_stencil, smooth

SIZES = [(3, 4), (3, 8), (9, 4), (17, 23)]


class Counted(float):
    """A number that counts the operations it takes part in."""

    operations = 0

    def __add__(self, other):
        Counted.operations += 1
        return Counted(float(self) + float(other))

    def __mul__(self, other):
        Counted.operations += 1
        return Counted(float(self) * float(other))


def by_loop(grid):
    """The same, number by number, and which places are read and written."""
    rows, columns = grid.shape
    out, read, written = np.empty_like(grid), set(), set()

    def at(y, x):
        read.add((y, x))
        return Counted(grid[y, x])

    for y in range(rows):
        for x in range(columns):
            written.add((y, x))
            if 0 < y < rows - 1 and 0 < x < columns - 1:
                out[y, x] = (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1)) * 0.25
            else:
                out[y, x] = at(y, x)
    return out, read, written


@pytest.mark.parametrize(("rows", "columns"), SIZES)
def test_the_analysis_is_what_a_loop_does(rows, columns):
    grid = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    Counted.operations = 0
    out, read, written = by_loop(grid)
    np.testing.assert_allclose(smooth(grid), out, atol=1e-6)
    assert smooth(grid).dtype == np.float32
    flops, moved, _, _ = analyse_stencil(rows, columns, 1.0, 1.0)
    assert flops == Counted.operations
    assert moved == 4 * (len(read) + len(written))


@pytest.mark.parametrize(("peak", "bandwidth"), [(8e12, 3.2e11), (1e9, 8e9), (1e9, 1e9)])
def test_limit_and_seconds_are_those_of_a_roof(peak, bandwidth):
    roof = Roof("a machine", peak, bandwidth, Provenance("measured", "here"))
    flops, moved, limit, seconds = analyse_stencil(100, 50, peak, bandwidth)
    assert limit == roof.limit(flops, moved)
    assert seconds == roof.seconds(flops, moved)


def test_bad_input_gets_a_sentence():
    with pytest.raises(BadInput, match="peak is 0"):
        analyse_stencil(3, 3, 0, 1.0)
    with pytest.raises(BadInput, match="grid"):
        smooth(np.zeros(3))
