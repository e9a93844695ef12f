"""The register-tiled product with other sizes: the same code, compiled with other constants."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gpulearn import cuda, require
from gpulearn.errors import BadInput
from gpulearn_lessons.matmul.ladder import Rung
from gpulearn_lessons.matmul.matmul_ladder import multiplies
from gpulearn_lessons.matmul.matmul_registers import matmul_register_tiled

MAX_THREADS = 1024
SHARED_BYTES = 48 * 1024

# rows × columns of a block's tile, depth along k, rows × columns of a thread's sums
TILES = ((32, 32, 8, 4, 4), (64, 64, 8, 4, 4), (64, 64, 8, 8, 8), (64, 64, 32, 8, 8),
         (128, 128, 8, 8, 8))  # fmt: skip


@require.sizes("rows", "columns", "depth", "high", "wide")
def register_tiled(rows: int, columns: int, depth: int, high: int, wide: int) -> Rung:
    """`matmul_register_tiled` with other constants: the same code, compiled anew.

    A block computes `rows` × `columns` of C in tiles of `depth` along k, a thread `high` × `wide`
    of them; `high` divides `rows`, and `wide` divides `columns`.

    Raises:
        BadInput: a size is not a whole number above zero, does not divide, or asks for more
            threads or shared memory than a block can have.

    >>> rung = register_tiled(32, 32, 8, 4, 4)
    >>> rung.block, rung.covers
    ((8, 8), (32, 32))
    """
    constants = {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth, "HIGH": high, "WIDE": wide}
    if rows % high or columns % wide:
        raise BadInput(
            f"a tile of {rows} × {columns} cannot be shared out in pieces of {high} × {wide}: "
            f"high must divide rows, and wide columns."
        )
    down, along = rows // high, columns // wide
    if along * down > MAX_THREADS:
        raise BadInput(f"{along} × {down} threads are more than the 1,024 of a block.")
    if (size := 4 * depth * (rows + columns)) > SHARED_BYTES:
        raise BadInput(f"tiles of {size:,} bytes exceed 48 KB, all that Numba gives a block.")
    constants |= {"DOWN": down, "ALONG": along}
    kernel = with_constants(matmul_register_tiled, constants)
    name = f"{rows} × {columns} × {depth}, {high} × {wide} sums"
    return Rung(name, multiplies(kernel, (along, down), columns, rows), (columns, rows))


def with_constants(kernel: Any, constants: dict[str, Any], **options: Any) -> Any:
    """A kernel, and the device functions of its module, with other values for constants.

    The constants are those of the module when the kernel is compiled: it gets a module of its
    own. `constants` may name device functions too; `options` are those of `cuda.jit`.
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


def tile_intensity(rows: int, columns: int, n: int) -> float:
    """Operations for each byte that a product of n × n float32 moves, tile by tile.

    Each block computes `rows` × `columns` elements of C; both divide n. It loads what they need of
    A and of B once, into shared memory, and stores each of them once. A multiplication and an
    addition are two operations.

    >>> round(tile_intensity(32, 32, 4096), 2), tile_intensity(64, 32, 64)
    (7.97, 8.0)
    """
    operations = 2 * rows * columns * n
    elements = rows * n + n * columns + rows * columns  # of A, of B, of C
    return operations / (4 * elements)
