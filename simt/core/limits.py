"""Launch limits: how large a launch may be on the hardware, how long it may take here."""

import math
from typing import Any

import numpy as np

from simt.core.findings import Finding, Stop
from simt.errors import BadLaunch

Triple = tuple[int, int, int]
MAX_THREADS = 1024
MAX_BLOCK: Triple = (1024, 1024, 64)
MAX_GRID: Triple = ((1 << 31) - 1, 65_535, 65_535)
MAX_SHARED = 48 * 1024  # bytes of a block
MAX_SHARED_OPTIN = 163 * 1024  # of a kernel that asks for more, as a program in CUDA C++ can
OPT_IN = "unless a CUDA C++ program asks for more by cudaFuncSetAttribute"
RESERVED_SHARED = 1024  # of each block, for the system
MAX_LOCAL = 512 * 1024  # bytes of a thread
# what the largest GPU holds at once: multiprocessors of a B200, warps and blocks on each; the
# machine takes itself for one such multiprocessor
MULTIPROCESSORS, WARPS_EACH, BLOCKS_EACH = 148, 64, 32
SECONDS = 60.0  # for loops that change something at each round, in one chunk of blocks


def slow(message: str) -> str:
    """The message for a loop that may be endless or slow, with advice."""
    return f"{message}; if it is only slow, use more threads"


def triple(shape: Any, what: str) -> Triple:
    """The shape of a grid or a block in full, (x, y, z)."""
    if isinstance(shape, (int, np.integer)) and not isinstance(shape, bool):
        shape = (shape,)
    several = isinstance(shape, (tuple, list)) and 1 <= len(shape) <= 3
    if several and all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in shape):
        full = (*map(int, shape), 1, 1)[:3]
        return (full[0], full[1], full[2])
    hint = "; use // for a whole number" if isinstance(shape, float) else ""
    raise BadLaunch(f"{what} must be an integer or a tuple of 1 to 3 integers, got {shape!r}{hint}")


def check_shape(
    grid: Any, block: Any, dynamic: int = 0, most: int = MAX_SHARED
) -> tuple[Triple, Triple]:
    """The shape of a launch in full, (x, y, z) each; `most` is what `dynamic` may be, in bytes."""
    g, b = triple(grid, "the grid"), triple(block, "the block")
    count = math.prod(b)
    problem = None
    if min(*g, *b) < 1:
        problem = f"a launch needs at least one block of one thread, got grid {g}, block {b}"
    elif count > MAX_THREADS:
        problem = f"a block has at most {MAX_THREADS:,} threads, got {count:,} in block {b}"
    elif any(n > limit for n, limit in zip(b, MAX_BLOCK, strict=True)):
        problem = f"a block is at most {MAX_BLOCK} in x, y, z, got {b}"
    elif any(n > limit for n, limit in zip(g, MAX_GRID, strict=True)):
        problem = f"a grid is at most {MAX_GRID} in x, y, z, got {g}"
    elif dynamic < 0 or dynamic > most:
        problem = f"a block has at most {most:,} bytes of shared memory {OPT_IN}, got {dynamic:,}"
    if problem is not None:
        raise Stop(Finding("launch-limit", None, problem))
    return g, b


def resident(threads: int) -> int:
    """How many blocks of so many threads a multiprocessor holds at once, at most."""
    return min(BLOCKS_EACH, WARPS_EACH // -(-threads // 32))


def check_together(blocks: int, threads: int) -> None:
    """All blocks of a grid that synchronizes as a whole have to be on the GPU at once."""
    most = MULTIPROCESSORS * resident(threads)
    if blocks > most:
        message = (
            f"a grid that syncs as a whole must be on the GPU all at once: a B200 holds at most "
            f"{most:,} blocks of {threads:,} threads, and these are {blocks:,}; give each thread "
            "more to do"
        )
        raise Stop(Finding("launch-limit", None, message))
