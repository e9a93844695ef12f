"""A thread for each element, of vectors and of pictures: notebook 03, and 04's two branches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import images, matrices, vectors
from gpulearn.kernels.specification import blocks_along, poisoned
from gpulearn.kernels.warps import STRIPES, WARPS_AND_LANES
from tools.gpu.case import SIZES, Case, Shot
from tools.gpu.cases.arrays import bytes_of, in_blocks_of, numbers, whole_numbers

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
Expected = dict[int, Array]
Pair = tuple[int, int]
ELEMENTS = {"small": 4099, "large": 2**25}
SHAPES = {"small": (67, 75), "large": (4096, 8192)}
BLOCKS = ((32, 8), (16, 16))


def some(dtype: str, *shape: int, seed: int) -> Array:
    make: Any = numbers if dtype.startswith("float") else whole_numbers
    made: Array = make(*shape, seed=seed, dtype=np.dtype(dtype))
    return made


def added(dtype: str, block: int, size: str) -> Shot:
    n = ELEMENTS[size]
    a, b = (some(dtype, n, seed=seed) for seed in (1, 2))
    return Shot(-(-n // block), block, (a, b, poisoned(n, dtype=a.dtype)))


def added_2d(dtype: str, block: Pair, size: str) -> Shot:
    rows, columns = SHAPES[size]
    a, b = (some(dtype, rows, columns, seed=seed) for seed in (1, 2))
    out = poisoned(rows, columns, dtype=a.dtype)
    return Shot(blocks_along((columns, rows), block), block, (a, b, out))


def expect_added(a: Array, b: Array, out: Array) -> Expected:
    return {2: a + b}


def saxpy(blocks: int, size: str) -> Shot:
    n = ELEMENTS[size]
    grid = blocks if size == "small" else 8 * 132
    args = (np.float32(-1.7), numbers(n, seed=1), numbers(n, seed=2), poisoned(n))
    return Shot(grid, 128, args)


def expect_saxpy(alpha: Any, x: Array, y: Array, out: Array) -> Expected:
    return {3: alpha * x.astype(np.float64) + y}


def grey(block: Pair, size: str) -> Shot:
    rows, columns = SHAPES[size]
    args = bytes_of(rows, columns, 3), poisoned(rows, columns)
    return Shot(blocks_along((columns, rows), block), block, args)


def expect_grey(rgb: Array, gray: Array) -> Expected:
    return {1: rgb @ np.array([0.299, 0.587, 0.114], np.float32)}


def lanes(size: str) -> tuple[Array, Array]:
    # no thread of this kernel may be left over: whole blocks only
    rows, columns = {"small": (64, 96), "large": (4096, 8192)}[size]
    return poisoned(rows, columns, dtype=np.int32), poisoned(rows, columns, dtype=np.int32)


def striped(width: int, size: str) -> tuple[Any, ...]:
    rows, columns = SHAPES[size]
    return numbers(rows, columns, positive=True), poisoned(rows, columns), width


CASES = (
    *(
        Case(f"vector_add, {dtype}", "03", vectors.vector_add,
             partial(added, dtype, 128), expect_added)
        for dtype in ("float32", "float64", "int32", "int64")
    ),
    Case("vector_add, blocks of 1000", "03", vectors.vector_add,
         partial(added, "float32", 1000), expect_added),
    *(
        Case(f"matrix_add_2d, {dtype}, blocks of {b[0]} × {b[1]}", "03", matrices.matrix_add_2d,
             partial(added_2d, dtype, b), expect_added)
        for b in BLOCKS for dtype in ("float32", "int64")
    ),
    *(
        Case(f"saxpy_grid_stride, {blocks} blocks", "03", vectors.saxpy_grid_stride,
             partial(saxpy, blocks), expect_saxpy, tolerance=1e-6, sizes=sizes)
        for blocks, sizes in ((7, SIZES), (40, ("small",)))
    ),
    *(
        Case(f"rgb_to_gray, blocks of {b[0]} × {b[1]}", "03", images.rgb_to_gray,
             partial(grey, b), expect_grey, tolerance=1e-6)
        for b in BLOCKS
    ),
    *(
        Case.of(in_blocks_of(b, WARPS_AND_LANES), f"blocks of {b[0]} × {b[1]}", "04", lanes)
        for b in BLOCKS
    ),
    *(Case.of(STRIPES, f"{width} wide", "04", partial(striped, width)) for width in (1, 5, 32)),
)  # fmt: skip
