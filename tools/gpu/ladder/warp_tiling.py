"""The warp-tiled product with other sizes and other ways to its tiles: what the ideas try."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn_lessons.matmul.ladder import Rung
from gpulearn_lessons.matmul.matmul_ladder import multiplies
from gpulearn_lessons.matmul.matmul_tuning import MOST_THREADS, SHARED_BYTES, with_constants
from gpulearn_lessons.matmul.matmul_warp_tiles import derived, matmul_warp_tiles
from tools.gpu.ladder import warp_words

__all__ = ["warp_tiled"]


def warp_tiled(
    rows: int = 128,
    columns: int = 128,
    depth: int = 8,
    high: int = 8,
    wide: int = 16,
    *,
    lanes_down: int = 8,
    patch: int = 4,
    paired: bool = True,
    ahead: bool = True,
    words: bool = False,
    **options: Any,
) -> Rung:
    """`matmul_warp_tiles` with other constants: the same code, compiled anew.

    Args:
        rows: of C that a block computes.
        columns: of C that a block computes; a multiple of 32.
        depth: of a tile along k, 8 or 16.
        high: rows of a thread's sums.
        wide: columns of a thread's sums.
        lanes_down: of the 32 lanes of a warp, how many stand below each other.
        patch: rows and columns of a patch of neighbouring sums.
        paired: whether neighbouring lanes stand two by two, or in rows.
        ahead: whether the next tile's loads come before this tile's products.
        words: whether loads and stores of global memory take two neighbours as one word; then
            `depth` is 16.
        options: for `cuda.jit`, such as max_registers=128.

    Raises:
        BadInput: the sizes do not fit together.

    >>> rung = warp_tiled(128, 128, 8, 8, 8, lanes_down=4)
    >>> rung.block, rung.covers
    ((256, 1), (128, 128))
    """
    across = 32 // require.whole("lanes_down", lanes_down)
    tile = f"a tile of {rows} × {columns} × {depth} with {high} × {wide} sums for each thread"
    fits = (
        depth in (8, 16)
        and not (high % patch or wide % patch or 32 % lanes_down or columns % 32)
        and not (rows % (high * lanes_down) or columns % (wide * across))
    )
    threads, a_loads, b_loads, a_tiles, b_tiles = derived(rows, columns, depth, high, wide)
    if not fits or 8 * rows % threads or depth % (threads // 32) or (words and depth < 16):
        raise BadInput(
            f"{tile}, in warps of {lanes_down} × {across} lanes, cannot be shared out evenly."
        )
    if threads > MOST_THREADS or 8 * depth * (rows + columns + 8) > SHARED_BYTES:
        raise BadInput(f"{tile} needs more than a block's 1,024 threads or its 48 KB.")
    constants: dict[str, Any] = {
        "ROWS": rows, "COLUMNS": columns, "DEPTH": depth, "HIGH": high, "WIDE": wide,
        "PATCH": patch, "LANES_DOWN": lanes_down, "LANES_ACROSS": across,
        "AHEAD": ahead, "PAIRED": paired,
        "THREADS": threads, "A_LOADS": a_loads, "B_LOADS": b_loads,
        "A_TILES": a_tiles, "B_TILES": b_tiles,
    }  # fmt: skip
    if words:
        constants |= {"ELEMENT": np.int64, "NUMBERS": 2}
        constants |= {"A_LOADS": a_loads // 2, "B_LOADS": b_loads // 2}
        constants |= {name: getattr(warp_words, name) for name in warp_words.__all__}
    kernel = with_constants(matmul_warp_tiles, constants, **options)
    name = f"{rows} × {columns} × {depth}, {high} × {wide} sums"
    elements = columns // 2 if words else columns
    specification = multiplies(kernel, (threads, 1), elements, rows)
    return Rung(name, specification, (columns, rows), pairs=words)
