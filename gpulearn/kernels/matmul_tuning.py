"""The register-tiled product with other tile sizes, and what each of them costs."""

from __future__ import annotations

from types import FunctionType

from gpulearn import _require, cuda
from gpulearn.errors import BadInput
from gpulearn.kernels.ladder import Rung
from gpulearn.kernels.matmul_registers import matmul_register_tiled

__all__ = ["TILES", "register_tiled"]

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
    >>> rung.block, rung.grid(100, 64)
    ((8, 8), (2, 4))
    """
    sizes = {"rows": rows, "columns": columns, "depth": depth, "high": high, "wide": wide}
    for name, size in sizes.items():
        _require.whole(name, size)
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
    plain = matmul_register_tiled.py_func
    constants = {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth, "HIGH": high, "WIDE": wide}
    constants |= {"DOWN": down, "ALONG": along}
    # a kernel's constants are those of its module when it is compiled: give it a module of its own
    kernel = cuda.jit(FunctionType(plain.__code__, plain.__globals__ | constants, plain.__name__))
    name = f"{rows} × {columns} × {depth}, {high} × {wide} sums"
    return Rung(name, kernel, (along, down), (columns, rows))
