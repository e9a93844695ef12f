"""A thread for each element, of vectors and of pictures: notebook 03, and 04's two branches."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.specification import poisoned
from gpulearn.kernels.vectors import SAXPY_GRID_STRIDE, VECTOR_ADD
from gpulearn_lessons.broken_tutorials.blur import BLUR
from gpulearn_lessons.threads.images import MIRROR, RGB_TO_GRAY
from gpulearn_lessons.threads.matrices import MATRIX_ADD_2D
from tools.gpu.case import SIZES, Case, Shot
from tools.gpu.cases.arrays import bytes_of, in_blocks_of, numbers, whole_numbers
from tools.gpu.cases.warp_kernels import STRIPES, WARPS_AND_LANES

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


def added(dtype: str, size: str) -> tuple[Array, ...]:
    n = ELEMENTS[size]
    a, b = (some(dtype, n, seed=seed) for seed in (1, 2))
    return (a, b, poisoned(n, dtype=a.dtype))


def added_2d(dtype: str, size: str) -> tuple[Array, ...]:
    a, b = (some(dtype, *SHAPES[size], seed=seed) for seed in (1, 2))
    return (a, b, poisoned(*SHAPES[size], dtype=a.dtype))


def saxpy(blocks: int, size: str) -> Shot:
    n = ELEMENTS[size]
    grid = blocks if size == "small" else 8 * 132
    args = (np.float32(-1.7), numbers(n, seed=1), numbers(n, seed=2), poisoned(n))
    return Shot(grid, SAXPY_GRID_STRIDE.block, args)


def grey(size: str) -> tuple[Array, ...]:
    return (bytes_of(*SHAPES[size], 3), poisoned(*SHAPES[size]))


def mirrored(size: str) -> tuple[Array, ...]:
    return (bytes_of(*SHAPES[size]), poisoned(*SHAPES[size], dtype=np.dtype(np.uint8)))


def blurred(size: str) -> tuple[Array, ...]:
    return (numbers(*SHAPES[size], positive=True), poisoned(*SHAPES[size]))


def lanes(size: str) -> tuple[Array, Array]:
    # no thread of this kernel may be left over: whole blocks only
    rows, columns = {"small": (64, 96), "large": (4096, 8192)}[size]
    return poisoned(rows, columns, dtype=np.int32), poisoned(rows, columns, dtype=np.int32)


def striped(width: int, size: str) -> tuple[Any, ...]:
    rows, columns = SHAPES[size]
    return numbers(rows, columns, positive=True), poisoned(rows, columns), width


CASES = (
    *(
        Case.of(VECTOR_ADD, dtype, "03", partial(added, dtype))
        for dtype in ("float32", "float64", "int32", "int64")
    ),
    Case.of(VECTOR_ADD, "blocks of 1000", "03", partial(added, "float32"), block=1000),
    *(
        Case.of(MATRIX_ADD_2D, f"{dtype}, blocks of {b[0]} × {b[1]}", "03",
                partial(added_2d, dtype), block=b)
        for b in BLOCKS for dtype in ("float32", "int64")
    ),
    *(
        Case(f"saxpy_grid_stride, {blocks} blocks", "03", SAXPY_GRID_STRIDE.kernel,
             partial(saxpy, blocks), SAXPY_GRID_STRIDE.expected, tolerance=1e-6, sizes=sizes)
        for blocks, sizes in ((7, SIZES), (40, ("small",)))
    ),
    *(
        Case.of(RGB_TO_GRAY, f"blocks of {b[0]} × {b[1]}", "03", grey, 1e-6, block=b)
        for b in BLOCKS
    ),
    Case.of(MIRROR, "blocks of 16 × 16", "03", mirrored),
    Case.of(BLUR, "blocks of 16 × 16", "22", blurred, 1e-5),
    *(
        Case.of(in_blocks_of(b, WARPS_AND_LANES), f"blocks of {b[0]} × {b[1]}", "04", lanes)
        for b in BLOCKS
    ),
    *(Case.of(STRIPES, f"{width} wide", "04", partial(striped, width)) for width in (1, 5, 32)),
)  # fmt: skip
