"""Dynamic shared arrays begin at the same byte: fine one after the other, wrong side by side."""

import numpy as np
from numba import float32, int32

from simt import cuda

from .harness import line, only, xray


def side_by_side(out):
    weights = cuda.shared.array(0, float32)
    places = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    weights[t] = out[t]
    places[t] = t
    out[t] = weights[t] + places[t]


def one_after_the_other(out):
    weights = cuda.shared.array(0, float32)
    places = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    weights[t] = out[t]
    out[t] = weights[t] + 1
    cuda.syncthreads()
    places[t] = t
    out[t] += places[t]


def parts_of_one(out):
    weights = cuda.shared.array(0, float32)[:8]
    places = cuda.shared.array(0, int32)[8:]
    t = cuda.threadIdx.x
    weights[t] = out[t]
    places[t] = t
    out[t] = weights[t] + places[t]


def test_a_read_of_what_another_array_has_overwritten_names_both_lines() -> None:
    found = only(xray(side_by_side, 1, 8, np.ones(8, np.float32), shared=64), "overlap")
    assert found.line == line(side_by_side, "out[t] = weights[t] + places[t]")
    assert found.other_line == line(side_by_side, "places[t] = t")
    assert found.array == "weights"
    assert f"which line {found.other_line} has overwritten as places" in found.message


def test_arrays_used_one_after_the_other_or_apart_are_right() -> None:
    for kernel, wanted in ((one_after_the_other, 2), (parts_of_one, 1)):
        out = np.ones(8, np.float32)
        assert xray(kernel, 1, 8, out, shared=64).ok
        np.testing.assert_array_equal(out, np.arange(8) + wanted)
