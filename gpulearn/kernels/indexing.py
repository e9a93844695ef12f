"""Sums on whole numbers that tell beforehand what a launch does: its elements, warps, sectors."""

from collections.abc import Callable
from typing import Any

from gpulearn import require
from gpulearn.kernels.specification import Shape, blocks_along


def global_index(block: int, block_size: int, thread: int) -> int:
    """The number of a thread in the whole grid: block · block_size + thread.

    In a kernel it is `cuda.grid(1)` (CUDA C++ Programming Guide, "Thread Hierarchy").

    >>> global_index(2, 125, 7)
    257
    """
    return block * block_size + thread


@require.sizes("n", "block_size")
def blocks_for(n: int, block_size: int) -> int:
    """The fewest blocks that have a thread for each of n elements: ⌈n / block_size⌉.

    Whole numbers only: n / block_size as a float is wrong beyond 2⁵³.

    >>> blocks_for(500, 128), blocks_for(512, 128), blocks_for(513, 128)
    (4, 4, 5)
    """
    return (n + block_size - 1) // block_size


def blocks_over(place: int, covers: Shape | None = None) -> Callable[..., Shape]:
    """The `grid` of a `Specification` whose blocks cover argument number `place`, x over columns.

    A block covers `covers` elements, without it as many as it has threads.

    >>> import numpy as np
    >>> blocks_over(1)("image", np.zeros((75, 67)), block=(32, 8))
    (3, 10)
    """

    def grid(*args: Any, block: Any) -> Shape:
        array, each = args[place], covers or block
        elements = array.shape[::-1] if isinstance(each, tuple) else array.size
        blocks: Shape = blocks_along(elements, each)
        return blocks

    return grid


def guard_cost(n: int, block_size: int) -> tuple[int, int, int]:
    """What a guard costs: blocks, threads without an element, warps that diverge at it.

    Of a launch with no more blocks than n elements need, guarded by `if i < n`. Each block begins
    with a new warp (CUDA C++ Programming Guide, "SIMT Architecture").

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

    A thread of the block reads one aligned number at start + x · step_x + y · step_y, in bytes,
    where x and y are its `threadIdx`. Threads are numbered with x running fastest (CUDA C++
    Programming Guide, "Thread Hierarchy"). The block has `block_x` threads in x.

    >>> sectors_of_a_warp(0, 4, 2048, 32), sectors_of_a_warp(0, 2048, 4, 16)
    (4, 16)
    """
    touched = set()
    for lane in range(32):
        y, x = divmod(lane, block_x)
        touched.add((start + x * step_x + y * step_y) // 32)
    return len(touched)
