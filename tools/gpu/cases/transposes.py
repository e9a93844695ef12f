"""The transpose from notebook 04 and its way through shared memory in 05, mistakes included."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels import transpose_steps as steps
from gpulearn.kernels.specification import blocks_along, poisoned
from gpulearn.kernels.transpose import TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS
from gpulearn.kernels.transpose_tiled import TILE, TRANSPOSE_TILED
from tools.gpu.case import Case
from tools.gpu.cases import lesson_kernels as lessons
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


def by_tiles(fit: str, dtype: str, size: str) -> tuple[Array, ...]:
    rows, columns = SHAPES[size][fit]
    make = numbers if dtype == "float32" else whole_numbers
    return (make(rows, columns, dtype=dtype), poisoned(columns, rows, dtype=dtype))


def with_room(size: str) -> tuple[Array, ...]:
    """An odd image, and an output as large as the tiles that cover it."""
    rows, columns = SHAPES[size]["odd"]
    across, down = blocks_along((columns, rows), (TILE, TILE))
    return (numbers(rows, columns), poisoned(TILE * across, TILE * down))


def expect_in_corner(image: Array, out: Array) -> Expected:
    """The transpose, and beside it whatever a tile's unwritten cells held."""
    wanted = np.ma.masked_array(out, mask=True)
    wanted[: image.shape[1], : image.shape[0]] = image.T
    return {1: wanted}


def expect_nothing(image: Array, out: Array) -> Expected:
    return {}


SMALL = ("small",)
RACE: dict[str, Any] = {"finding": "race"}
DIVERGENT: dict[str, Any] = {
    "sizes": SMALL,
    "finding": "barrier-divergence",
    "keep_off_gpu": "a barrier that not all threads of a block reach is undefined",
}
OUTSIDE: dict[str, Any] = {
    "sizes": SMALL,
    "finding": "out-of-bounds",
    "keep_off_gpu": "it writes outside its arrays",
}
# kernels that are right for sizes that tiles fill
FILLED = (
    steps.TRANSPOSE_WHOLE,
    steps.TRANSPOSE_PADDED,
    steps.TRANSPOSE_SWIZZLED,
    lessons.TRANSPOSE_GUARDED,
    lessons.TRANSPOSE_LEAVES,
    lessons.TRANSPOSE_OVERFLOWS,
)
CASES = (
    *(
        Case.of(transpose, f"{fit}, blocks of {b[0]} × {b[1]}", "04", partial(by_elements, fit),
                block=b)
        for transpose in (TRANSPOSE_NAIVE, TRANSPOSE_TO_ROWS) for b in BLOCKS for fit in FITS
    ),
    *(Case.of(TRANSPOSE_TILED, fit, "05", partial(by_tiles, fit, "float32")) for fit in FITS),
    Case.of(TRANSPOSE_TILED, "int32", "05", partial(by_tiles, "odd", "int32")),
    *(
        Case.of(specification, "whole", "05", partial(by_tiles, "whole", "float32"))
        for specification in FILLED
    ),
    *(
        Case.of(
            specification,
            fit,
            "05",
            partial(by_tiles, fit, "float32"),
            expect=expect_nothing,
            **more,
        )
        for specification, fit, more in (
            (lessons.TRANSPOSE_BY_TILE, "whole", RACE),
            (lessons.TRANSPOSE_WAITS_FIRST, "whole", RACE),
            (lessons.TRANSPOSE_GUARDED, "odd", DIVERGENT),
            (lessons.TRANSPOSE_LEAVES, "odd", OUTSIDE),
            (steps.TRANSPOSE_WHOLE, "odd", OUTSIDE),
            (lessons.TRANSPOSE_OVERFLOWS, "odd", OUTSIDE),
        )
    ),
    Case.of(lessons.TRANSPOSE_OVERFLOWS, "odd, with room", "05", with_room, sizes=SMALL,
            expect=expect_in_corner, finding="uninitialised-read"),
)  # fmt: skip
