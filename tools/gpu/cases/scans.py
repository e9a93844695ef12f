"""Running sums of one block and of many: notebook 07."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.kernels.specification import poisoned
from gpulearn_lessons.reductions.scan import (
    ADD_OFFSETS,
    EXCLUSIVE_SCAN,
    SCAN_BLELLOCH,
    SCAN_BLOCKS,
    SCAN_HILLIS_STEELE,
)
from tools.gpu.case import Case
from tools.gpu.cases.arrays import in_blocks_of, whole_numbers

__all__ = ["CASES"]

Arrays = tuple[np.ndarray[Any, Any], ...]
ELEMENTS = {"small": 5003, "large": 2**25 + 3}
SMALL = ("small",)  # a scan of one block has nothing to time


def one_block(n: int, size: str) -> Arrays:
    return whole_numbers(n, seed=n), poisoned(n, dtype=np.int32)


def blocks(block: int, size: str) -> Arrays:
    n = ELEMENTS[size]
    out, totals = poisoned(n, dtype=np.int32), poisoned(-(-n // block), dtype=np.int32)
    return whole_numbers(n), out, totals


def raised(block: int, size: str) -> Arrays:
    n = ELEMENTS[size]
    return whole_numbers(n), whole_numbers(-(-n // block), below=10**6, seed=1)


CASES = (
    *(
        Case.of(kernel, f"{n} values", "07", partial(one_block, n), block=threads, sizes=SMALL)
        for kernel, shapes in (
            (SCAN_HILLIS_STEELE, ((1, 1), (200, 200), (256, 256))),
            (SCAN_BLELLOCH, ((2, 2), (64, 64), (256, 256))),
            (EXCLUSIVE_SCAN, ((1, 32), (131, 200), (256, 256))),
        )
        for n, threads in shapes
    ),
    *(
        Case.of(in_blocks_of(block, usual), f"blocks of {block}", "07", partial(arguments, block))
        for usual, arguments in ((SCAN_BLOCKS, blocks), (ADD_OFFSETS, raised))
        for block in (256, 100)
    ),
)  # fmt: skip
