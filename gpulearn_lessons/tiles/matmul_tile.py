"""The product of two matrices of any sizes as a Triton kernel, a program for each tile of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import blocks_for
from gpulearn.judge.exercise import Case
from gpulearn_lessons.tiles.launches import STAND_INS
from gpulearn_lessons.tiles.trial import tile_exercise

triton, tl = STAND_INS  # a launch puts Triton's own in their place


@triton.jit
def matmul_tile(
    a: Any, b: Any, c: Any, m: Any, n: Any, p: Any,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,  # type: ignore[name-defined]
) -> None:  # fmt: skip
    """Matrix product c = a · b of float32 (m, n) and (n, p), a program for each ROWS × COLUMNS."""
    i = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    j = (tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS))[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, n, DEPTH):
        k = start + tl.arange(0, DEPTH)
        mask_a = (i < m) & (k[None, :] < n)
        mask_b = (k[:, None] < n) & (j < p)
        tile_a = tl.load(a + i * n + k[None, :], mask=mask_a, other=0.0)
        tile_b = tl.load(b + k[:, None] * p + j, mask=mask_b, other=0.0)
        total += tl.dot(tile_a, tile_b, input_precision="ieee")
    tl.store(c + i * p + j, total, mask=(i < m) & (j < p))


def cases() -> list[Case]:
    """Sizes that the tiles divide and that they do not, oblong matrices and oblong tiles."""
    rng = np.random.default_rng(0)

    def case(m: int, n: int, p: int, rows: int, columns: int, depth: int) -> Case:
        a, b = (rng.standard_normal(shape, np.float32) for shape in ((m, n), (n, p)))
        label = f"{m} × {n} times {n} × {p}, tiles of {rows} × {columns} in steps of {depth}"
        c = np.full((m, p), np.nan, np.float32)
        return Case(label, (a, b, c, m, n, p, rows, columns, depth))

    return [
        case(32, 32, 32, 32, 32, 32), case(64, 96, 32, 16, 32, 32), case(40, 50, 60, 16, 32, 16),
        case(17, 100, 5, 32, 16, 64), case(1, 1, 1, 16, 16, 16), case(48, 20, 64, 16, 16, 16),
        case(33, 64, 47, 32, 16, 16), case(16, 8, 100, 16, 64, 32),
    ]  # fmt: skip


EXERCISE = tile_exercise(
    matmul_tile,
    task="Write the product of two matrices of any sizes, with a program for each tile of it.",
    cases=cases,
    inputs=2,
    grid=lambda a, b, c, m, n, p, *tile: (blocks_for(m, tile[0]), blocks_for(p, tile[1])),
    expected=lambda a, b: a @ b,
)
