"""The two tiled products with other sizes: the same code, compiled with other constants."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from gpulearn import cuda, require
from gpulearn.errors import BadInput
from gpulearn.kernels import matmul_warp_words
from gpulearn.kernels.ladder import Rung
from gpulearn.kernels.matmul_ladder import multiplies
from gpulearn.kernels.matmul_registers import matmul_register_tiled
from gpulearn.kernels.matmul_warp_tiles import derived, matmul_warp_tiles

__all__ = ["TILES", "register_tiled", "warp_tiled", "with_constants"]

MOST_THREADS = 1024
SHARED_BYTES = 48 * 1024

# rows × columns of a block's tile, depth along k, rows × columns of a thread's sums
TILES = ((32, 32, 8, 4, 4), (64, 64, 8, 4, 4), (64, 64, 8, 8, 8), (64, 64, 32, 8, 8),
         (128, 128, 8, 8, 8))  # fmt: skip


def register_tiled(rows: int, columns: int, depth: int, high: int, wide: int) -> Rung:
    """`matmul_register_tiled` with other constants: the same code, compiled anew.

    Args:
        rows: of C that a block computes.
        columns: of C that a block computes.
        depth: of a tile along k.
        high: rows of a thread's sums; divides `rows`.
        wide: columns of a thread's sums; divides `columns`.

    Raises:
        BadInput: a size is not a whole number above zero, does not divide, or asks for more
            threads or shared memory than a block can have.

    >>> rung = register_tiled(32, 32, 8, 4, 4)
    >>> rung.block, rung.covers
    ((8, 8), (32, 32))
    """
    sizes = {"rows": rows, "columns": columns, "depth": depth, "high": high, "wide": wide}
    for name, size in sizes.items():
        require.whole(name, size)
    if rows % high or columns % wide:
        raise BadInput(
            f"a tile of {rows} × {columns} cannot be shared out in pieces of {high} × {wide}: "
            f"high must divide rows, and wide columns."
        )
    down, along = rows // high, columns // wide
    if along * down > MOST_THREADS:
        raise BadInput(f"{along} × {down} threads are more than the 1,024 of a block.")
    if 4 * depth * (rows + columns) > SHARED_BYTES:
        raise BadInput(f"tiles of {4 * depth * (rows + columns):,} bytes exceed a block's 48 KB.")
    constants = {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth, "HIGH": high, "WIDE": wide}
    constants |= {"DOWN": down, "ALONG": along}
    kernel = with_constants(matmul_register_tiled, constants)
    name = f"{rows} × {columns} × {depth}, {high} × {wide} sums"
    return Rung(name, multiplies(kernel, (along, down), columns, rows), (columns, rows))


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
        constants |= {name: getattr(matmul_warp_words, name) for name in matmul_warp_words.__all__}
    kernel = with_constants(matmul_warp_tiles, constants, **options)
    name = f"{rows} × {columns} × {depth}, {high} × {wide} sums"
    elements = columns // 2 if words else columns
    specification = multiplies(kernel, (threads, 1), elements, rows)
    return Rung(name, specification, (columns, rows), pairs=words)


def with_constants(kernel: Any, constants: dict[str, Any], **options: Any) -> Any:
    """A kernel, and the device functions of its module, with other values for constants.

    The constants are those of the module when the kernel is compiled: it gets a module of its
    own.

    Args:
        kernel: what `cuda.jit` made.
        constants: name → value, in the place of the module's own; device functions too.
        options: for `cuda.jit`.
    """
    plain = kernel.py_func
    scope = plain.__globals__ | constants
    for name, thing in list(scope.items()):
        function = getattr(thing, "py_func", None)
        if function is None or thing is kernel:
            continue
        if name in constants or function.__globals__ is plain.__globals__:
            # with what the function refers to and the kernel's module has not got
            scope |= {n: v for n, v in function.__globals__.items() if n not in scope}
            scope[name] = cuda.jit(device=True)(FunctionType(function.__code__, scope, name))
    return cuda.jit(**options)(FunctionType(plain.__code__, scope, plain.__name__))
