"""The transpose from notebook 04 and its way through shared memory in 05, mistakes included."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import transpose_steps
from gpulearn.kernels.specification import blocks_along, poisoned
from gpulearn.kernels.transpose import TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS
from gpulearn.kernels.transpose_tiled import TILE, transpose_tiled
from tools.gpu.case import Case, Shot
from tools.gpu.cases.arrays import numbers, whole_numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Any]
SHAPES = {
    "small": {"odd": (67, 75), "whole": (64, 96)},
    "large": {"odd": (4999, 4999), "whole": (4096, 8192)},
}
FITS = ("odd", "whole")
BLOCKS = ((32, 8), (16, 16))


def by_elements(fit: str, size: str) -> tuple[Array, ...]:
    rows, columns = SHAPES[size][fit]
    return (numbers(rows, columns), poisoned(columns, rows))


def by_tiles(fit: str, dtype: str, size: str) -> Shot:
    rows, columns = SHAPES[size][fit]
    make = numbers if dtype == "float32" else whole_numbers
    args = (make(rows, columns, dtype=dtype), poisoned(columns, rows, dtype=dtype))
    return Shot(blocks_along((columns, rows), (TILE, TILE)), (TILE, TILE), args)


def with_room(size: str) -> Shot:
    """An odd image, and an output as large as the tiles that cover it."""
    rows, columns = SHAPES[size]["odd"]
    grid = blocks_along((columns, rows), (TILE, TILE))
    out = poisoned(TILE * grid[0], TILE * grid[1])
    return Shot(grid, (TILE, TILE), (numbers(rows, columns), out))


def expect_transpose(image: Array, out: Array) -> Expected:
    return {1: image.T}


def expect_in_corner(image: Array, out: Array) -> Expected:
    """The transpose, and beside it whatever a tile's unwritten cells held."""
    wanted = np.ma.masked_array(out, mask=True)
    wanted[: image.shape[1], : image.shape[0]] = image.T
    return {1: wanted}


def expect_nothing(image: Array, out: Array) -> Expected:
    return {}


SMALL = ("small",)
DIVERGENT = "a barrier that not all threads of a block reach is undefined"
OUTSIDE = "it writes outside its arrays"
# kernels that are right for sizes that tiles fill
FILLED = (
    transpose_steps.transpose_whole,
    transpose_steps.transpose_padded,
    transpose_steps.transpose_guarded,
    transpose_steps.transpose_leaves,
    transpose_steps.transpose_overflows,
)
CASES = (
    *(
        Case.of(transpose, f"{fit}, blocks of {b[0]} × {b[1]}", "04", partial(by_elements, fit),
                block=b)
        for transpose in (TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS) for b in BLOCKS for fit in FITS
    ),
    *(
        Case(f"transpose_tiled, {fit}", "05", transpose_tiled,
             partial(by_tiles, fit, "float32"), expect_transpose)
        for fit in FITS
    ),
    Case("transpose_tiled, int32", "05", transpose_tiled,
         partial(by_tiles, "odd", "int32"), expect_transpose),
    *(
        Case(f"{kernel.__name__}, whole", "05", kernel,
             partial(by_tiles, "whole", "float32"), expect_transpose)
        for kernel in FILLED
    ),
    *(
        Case(f"{kernel.__name__}, whole", "05", kernel,
             partial(by_tiles, "whole", "float32"), expect_nothing, finding="race")
        for kernel in (transpose_steps.transpose_torn, transpose_steps.transpose_waits_early)
    ),
    *(
        Case(f"{kernel.__name__}, odd", "05", kernel,
             partial(by_tiles, "odd", "float32"), expect_nothing, sizes=SMALL,
             finding="barrier-divergence", keep_off_gpu=DIVERGENT)
        for kernel in (transpose_steps.transpose_guarded, transpose_steps.transpose_leaves)
    ),
    *(
        Case(f"{kernel.__name__}, odd", "05", kernel,
             partial(by_tiles, "odd", "float32"), expect_nothing, sizes=SMALL,
             finding="out-of-bounds", keep_off_gpu=OUTSIDE)
        for kernel in (transpose_steps.transpose_whole, transpose_steps.transpose_overflows)
    ),
    Case("transpose_overflows, odd, with room", "05", transpose_steps.transpose_overflows,
         with_room, expect_in_corner, sizes=SMALL, finding="uninitialised-read"),
)  # fmt: skip
