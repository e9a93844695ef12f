"""The number of a thread, and the number of blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulearn import cuda
from gpulearn.errors import BadInput
from gpulearn.kernels.indexing import blocks_for, global_index

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
