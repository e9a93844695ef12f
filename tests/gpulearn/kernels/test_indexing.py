"""What a launch does, told beforehand, against what the machine counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn import cuda, xray
from gpulearn.errors import BadInput
from gpulearn.kernels.indexing import blocks_for, global_index, guard_cost, sectors_of_a_warp

SIZES = st.integers(1, 10**18)


def test_every_thread_has_the_number_that_the_machine_gives_it():
    @cuda.jit
    def numbers(block, block_size, thread, index):
        i = cuda.grid(1)
        block[i] = cuda.blockIdx.x
        block_size[i] = cuda.blockDim.x
        thread[i] = cuda.threadIdx.x
        index[i] = i

    columns = np.zeros((4, 35), dtype=np.int64)
    numbers[5, 7](*columns)
    for block, block_size, thread, index in columns.T.tolist():
        assert global_index(block, block_size, thread) == index
    assert columns[3].tolist() == list(range(35))


@given(SIZES, SIZES)
def test_blocks_are_enough_and_none_is_idle(n, block_size):
    blocks = blocks_for(n, block_size)
    assert (blocks - 1) * block_size < n <= blocks * block_size


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
