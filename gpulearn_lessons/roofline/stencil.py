"""A five-point stencil on a grid, and what it needs by the roofline."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require

Grid = np.ndarray[tuple[int, int], Any]


@require.shapes(grid="rows columns")
def smooth(grid: Grid) -> Grid:
    """Replace each inner number by the mean of its four neighbors; the edge stays as it is.

    A step of Jacobi's method for the heat equation at rest. `grid` is float32 (rows, columns), at
    least 3 of each; the result is a new one.

    >>> smooth(np.array([[0, 4, 0], [8, 0, 0], [0, 0, 0]], np.float32))[1, 1]
    np.float32(3.0)
    """
    out = grid.copy()
    out[1:-1, 1:-1] = (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) * 0.25
    return out


@require.positive("rows", "columns", "peak", "bandwidth")
def analyse_stencil(
    rows: int, columns: int, peak: float, bandwidth: float
) -> tuple[int, int, str, float]:
    """What `smooth` needs on a machine: operations, bytes moved, the limit, and the least seconds.

    An inner number costs three additions and one product. Each grid counts once: one is read
    and one is written, whole. The machine does `peak` operations and moves `bandwidth` bytes per
    second; the limit is "memory" or "arithmetic". Source: the roofline (Williams, Waterman,
    Patterson, 2009).

    >>> analyse_stencil(1002, 1002, peak=8e12, bandwidth=320e9)[:3]
    (4000000, 8032032, 'memory')
    """
    flops = 4 * (rows - 2) * (columns - 2)
    bytes_moved = 2 * 4 * rows * columns
    computing, moving = flops / peak, bytes_moved / bandwidth
    limit = "arithmetic" if computing >= moving else "memory"
    return flops, bytes_moved, limit, max(computing, moving)
