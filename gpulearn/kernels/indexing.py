"""Sums on whole numbers that tell beforehand what a launch does: its elements, warps, sectors."""

from __future__ import annotations

from gpulearn import require

__all__ = ["blocks_for", "global_index", "guard_cost", "sectors_of_a_warp"]


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


@require.sizes("n", "block_size")
def guard_cost(n: int, block_size: int) -> tuple[int, int, int]:
    """What a guard costs: blocks, threads without an element, warps that diverge at it.

    Of a launch with no more blocks than n elements need, guarded by `if i < n`. At most one warp
    diverges: the one that holds both the last element and a thread beyond it. Each block begins
    with a new warp (CUDA C++ Programming Guide, "SIMT Architecture").

    Raises:
        BadInput: an argument is not a whole number above zero.

    >>> guard_cost(500, 128), guard_cost(480, 128)
    ((4, 12, 1), (4, 32, 0))
    """
    blocks = (n + block_size - 1) // block_size
    idle = blocks * block_size - n
    last = block_size - idle  # threads of the last block that have an element
    parting = idle > 0 and last % 32 > 0
    return blocks, idle, int(parting)


def sectors_of_a_warp(start: int, step_x: int, step_y: int, block_x: int) -> int:
    """How many sectors of 32 bytes the first warp of a block asks for with one request.

    A thread of the block reads one number at start + x · step_x + y · step_y, in bytes, where x
    and y are its `threadIdx`. Threads are numbered with x running fastest (CUDA C++ Programming
    Guide, "Thread Hierarchy"). No number lies across two sectors, as none does that is aligned.

    Args:
        start: where thread (0, 0) reads.
        step_x: how many bytes farther its neighbour in x reads.
        step_y: how many bytes farther its neighbour in y reads.
        block_x: how many threads the block has in x; in y there are enough for a warp.

    >>> sectors_of_a_warp(0, 4, 2048, 32), sectors_of_a_warp(0, 2048, 4, 16)
    (4, 16)
    """
    touched = set()
    for lane in range(32):
        y, x = divmod(lane, block_x)
        touched.add((start + x * step_x + y * step_y) // 32)
    return len(touched)
