"""A warp for each row: the place of the maximum, and softmax, from notebook 07."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.softmax import ARGMAX_ROWS, SOFTMAX_ROWS
from gpulearn.kernels.specification import poisoned
from tools.gpu.case import Case
from tools.gpu.cases.arrays import numbers, whole_numbers
from tools.gpu.cases.lesson_kernels import SOFTMAX_UNSAFE

__all__ = ["CASES"]

Arrays = tuple[np.ndarray[Any, Any], ...]
SHAPES = {
    "small": {"odd": (45, 75), "whole": (48, 96), "narrow": (101, 3)},
    "large": {"odd": (2**15 + 5, 1003), "whole": (2**15, 1024), "narrow": (2**20, 19)},
}


def places(kind: str, fit: str, size: str) -> Arrays:
    rows, columns = SHAPES[size][fit]
    make = numbers if kind == "spread" else partial(whole_numbers, below=4, dtype=np.float32)
    return make(rows, columns), poisoned(rows, dtype=np.int32)


def shares(scale: float, fit: str, size: str) -> Arrays:
    rows, columns = SHAPES[size][fit]
    scores = numbers(rows, columns)
    scores *= np.float32(scale)
    return scores, poisoned(rows, columns)


# exp of a number near 100 multiplies the rounding of its argument by 100
ROUNDING = 1e-5
CASES = (
    *(
        Case.of(ARGMAX_ROWS, fit, "07", partial(places, "spread", fit))
        for fit in ("odd", "whole", "narrow")
    ),
    Case.of(ARGMAX_ROWS, "equals", "07", partial(places, "equals", "odd")),
    *(
        Case.of(SOFTMAX_ROWS, fit, "07", partial(shares, 3.0, fit), ROUNDING)
        for fit in ("odd", "whole", "narrow")
    ),
    *(
        Case.of(kernel, label, "07", partial(shares, scale, "odd"), ROUNDING)
        for kernel, label, scale in (
            (SOFTMAX_ROWS, "beyond 88.7", 60.0),
            (SOFTMAX_UNSAFE, "odd", 3.0),
            (SOFTMAX_UNSAFE, "beyond 88.7", 60.0),
        )
    ),
)
