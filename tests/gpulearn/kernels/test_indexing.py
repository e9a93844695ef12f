"""What a launch does, told beforehand, against what the machine counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn import cuda, xray
from gpulearn.errors import BadInput
from gpulearn.kernels.indexing import blocks_for, guard_cost, sectors_of_a_warp


def test_blocks_do_not_overflow():
    assert blocks_for(np.int32(2**31 - 1), np.int32(128)) == 2**24


@pytest.mark.parametrize("arguments", [(0, 128), (500, 0), (-1, 128), (1.5, 128)])
def test_blocks_for_refuses(arguments):
    with pytest.raises(BadInput, match="give a whole number above zero"):
        blocks_for(*arguments)


@cuda.jit
def guarded(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1


@pytest.mark.parametrize("n", [1, 32, 33, 75, 96, 500])
@pytest.mark.parametrize("block_size", [1, 20, 32, 125])
def test_the_cost_of_a_guard_is_what_the_machine_counts(n, block_size):
    blocks, idle, parting = guard_cost(n, block_size)
    report = xray(guarded)[blocks, block_size](cuda.to_device(np.zeros(n, np.float32)))
    assert not report.findings
    assert blocks * block_size - idle == n
    assert report.totals.divergent_branches == parting


@cuda.jit
def first_warp_reads(source, start, step_x, step_y, out):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if y * cuda.blockDim.x + x < 32:
        out[y, x] = source[start + x * step_x + y * step_y]


@given(
    st.sampled_from(["uint8", "float32", "float64"]), st.integers(0, 40), st.integers(-9, 300),
    st.integers(0, 600), st.integers(1, 70),
)  # fmt: skip
def test_the_sectors_of_a_warp_are_what_the_machine_counts(dtype, start, step_x, step_y, block_x):
    block = block_x, -(-32 // block_x)
    start += 31 * max(0, -step_x)  # none reads before the array
    source = cuda.to_device(np.zeros(32 * (300 + 600) + 1000, dtype))
    out = cuda.to_device(np.zeros(block[::-1], dtype))
    report = xray(first_warp_reads)[1, block](source, start, step_x, step_y, out)
    size = np.dtype(dtype).itemsize
    foreseen = sectors_of_a_warp(start * size, step_x * size, step_y * size, block_x)
    assert report.arrays["source"].global_load_sectors == foreseen
