"""Formulas that predict the launch of a kernel in CUDA C++, and what its PTX does."""

Sides = tuple[int, int]


def launch_configuration(rows: int, columns: int, tile: int) -> tuple[Sides, Sides, int]:
    """What goes between <<< and >>> for a product through two tiles of shared memory.

    Each block computes `tile` × `tile` elements of the result (rows, columns), one per thread; x
    counts columns. Its two tiles of float are declared `extern __shared__`, so the launch says how
    many bytes they take (CUDA C++ Programming Guide, "Execution Configuration").

    Returns:
        Blocks along x and y; threads of a block along x and y; bytes of shared memory.

    >>> launch_configuration(48, 64, 16)
    ((4, 3), (16, 16), 2048)
    """
    grid = (columns + tile - 1) // tile, (rows + tile - 1) // tile
    block = tile, tile
    shared_bytes = 2 * tile * tile * 4
    return grid, block, shared_bytes


def read_ptx(outputs: int, restrict: bool, suffix: str) -> tuple[int, int, int, int]:
    """What one thread does in the PTX of `y1[i] = 2.0 * x[i] + 1.0; y2[i] = 3.0 * x[i] + 1.0; …`.

    There are `outputs` arrays y. A store through one pointer may change what another points to, so
    x[i] is loaded for each of them, unless `restrict` promises that no two pointers overlap (CUDA
    C++ Programming Guide, "__restrict__"). A product and a sum become one instruction, `fma`, which
    is two operations. Each literal ends with `suffix`, "f" or nothing: without f it is a double,
    and the formula is computed in float64.

    Returns:
        Loads and stores of global memory; operations in float32 and in float64.

    >>> read_ptx(2, False, "f"), read_ptx(2, True, "")
    ((2, 2, 4, 0), (1, 2, 0, 4))
    """
    loads = 1 if restrict else outputs
    stores = outputs
    operations = 2 * outputs
    if suffix == "f":
        return loads, stores, operations, 0
    return loads, stores, 0, operations
