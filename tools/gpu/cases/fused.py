"""Notebook 08: work for a pipeline, and kernels one after the other, then fused into one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.between_kernels.attention import (
    ATTENTION_PRODUCT,
    ATTENTION_SCORES,
    ATTENTION_TILED,
    HEAD,
)
from gpulearn_lessons.between_kernels.elementwise import RELU, SCALE, SCALE_ADD_RELU
from gpulearn_lessons.between_kernels.normalisation import (
    FUSED_NORMALISE,
    NORMALISE_ROWS,
    ROW_MEANS,
    ROW_VARIANCES,
)
from gpulearn_lessons.between_kernels.populations import AFTER_SEASONS
from gpulearn_lessons.between_kernels.softmax_fused import (
    ONLINE_SOFTMAX,
    ROW_MAXIMA,
    ROW_SHARES,
    ROW_SUMS,
)
from tools.gpu.case import Case
from tools.gpu.cases.arrays import numbers

__all__ = ["CASES"]

Arguments = tuple[Any, ...]
ELEMENTS = {"small": 4099, "large": 2**25}
ROWS = {"small": (101, 75), "large": (2**17 + 5, 251)}
# queries: the straight way stores a number for each pair of them
QUERIES = {"small": 75, "large": 8192 + 5}
FACTOR = np.float32(-1.7)
# exp of a number near 30 multiplies the rounding of its argument by 30
ROUNDING = 1e-5


def elements(reads: int, size: str) -> Arguments:
    n = ELEMENTS[size]
    return (*(numbers(n, seed=seed) for seed in range(reads)), poisoned(n))


def populations(size: str) -> Arguments:
    return (numbers(ELEMENTS[size], dtype=np.float64, positive=True),)


def scaled(reads: int, size: str) -> Arguments:
    return (FACTOR, *elements(reads, size))


def rows(of_rows: int, written: str, size: str) -> Arguments:
    """A matrix, some numbers for each row, and outputs: "m" for each matrix, "r" for each row."""
    m, n = ROWS[size]
    each = (1 + numbers(m, seed=1 + seed, positive=True) for seed in range(of_rows))
    outputs = (poisoned(m, n) if one == "m" else poisoned(m) for one in written)
    return (numbers(m, n), *each, *outputs)


def sums(size: str) -> Arguments:
    scores, _, *outputs = rows(1, "mr", size)
    return (scores, scores.max(axis=1), *outputs)


def queries(given: int, size: str) -> Arguments:
    n = QUERIES[size]
    return (*(numbers(n, HEAD, seed=seed) for seed in range(given)), poisoned(n, HEAD))


def scores(size: str) -> Arguments:
    n = QUERIES[size]
    return (numbers(n, HEAD, seed=1), numbers(n, HEAD, seed=2), poisoned(n, n))


def shares(size: str) -> Arguments:
    n = QUERIES[size]
    return (numbers(n, n, positive=True), numbers(n, HEAD, seed=1), poisoned(n, HEAD))


CASES = (
    # what is rounded otherwise grows from season to season
    Case.of(AFTER_SEASONS, "odd", "08", populations, 1e-6),
    Case.of(SCALE, "odd", "08", partial(scaled, 1)),
    Case.of(RELU, "odd", "08", partial(elements, 1)),
    Case.of(SCALE_ADD_RELU, "odd", "08", partial(scaled, 2), 1e-6),
    Case.of(ROW_MAXIMA, "odd", "08", partial(rows, 0, "r")),
    Case.of(ROW_SUMS, "odd", "08", sums, ROUNDING),
    Case.of(ROW_SHARES, "odd", "08", partial(rows, 1, "m"), 1e-6),
    Case.of(ONLINE_SOFTMAX, "odd", "08", partial(rows, 0, "m"), ROUNDING),
    Case.of(ROW_MEANS, "odd", "08", partial(rows, 0, "r"), 1e-6),
    Case.of(ROW_VARIANCES, "odd", "08", partial(rows, 1, "r"), 1e-6),
    Case.of(NORMALISE_ROWS, "odd", "08", partial(rows, 2, "m"), 1e-6),
    Case.of(FUSED_NORMALISE, "odd", "08", partial(rows, 0, "m"), ROUNDING),
    *(
        Case.of(specification, label, "08", make, ROUNDING, block=block)
        for specification, make in (
            (ATTENTION_SCORES, scores),
            (ATTENTION_PRODUCT, shares),
            (ATTENTION_TILED, partial(queries, 3)),
        )
        for label, block in (("blocks of 32 queries", (32, 32)), ("blocks of 5", (32, 5)))
    ),
)
