"""Which thread does which element: two sums on whole numbers that every launch needs."""

from __future__ import annotations

from gpulearn import require

__all__ = ["blocks_for", "global_index"]


def global_index(block: int, block_size: int, thread: int) -> int:
    """The number of a thread in the whole grid: block · block_size + thread.

    It is what `cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x` gives in a kernel, and
    `cuda.grid(1)` for short (CUDA C++ Programming Guide, "Thread Hierarchy").

    Args:
        block: the number of the thread's block, from 0.
        block_size: how many threads each block has.
        thread: the number of the thread in its block, from 0 to block_size − 1.

    >>> global_index(2, 125, 7)
    257
    """
    return block * block_size + thread


@require.sizes("n", "block_size")
def blocks_for(n: int, block_size: int) -> int:
    """The fewest blocks that have a thread for each of n elements: ⌈n / block_size⌉.

    Whole numbers only: n / block_size as a float is wrong beyond 2⁵³.

    Raises:
        BadInput: an argument is not a whole number above zero.

    >>> blocks_for(500, 128), blocks_for(512, 128), blocks_for(513, 128)
    (4, 4, 5)
    """
    return (n + block_size - 1) // block_size
