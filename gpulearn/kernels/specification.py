"""The specification of a kernel: its NumPy reference, its usual launch, and what it may write.

The only copy: exercises, tests and the runs on real GPUs launch a kernel by it and hold the
result against it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Shape = int | tuple[int, ...]

_NANS = {2: 0x7E5D, 4: 0x7FC5D5D5, 8: 0x7FF8_5D5D_5D5D_5D5D}  # bytes of a float → quiet NaN


@dataclass(frozen=True)
class Specification:
    """What a kernel computes, and how it is usually launched."""

    kernel: Any  # what `cuda.jit` made
    # the same in NumPy: takes the kernel's arguments and returns what each output and each updated
    # argument must hold afterwards, in their order
    reference: Callable[..., tuple[Any, ...]]
    grid: Callable[..., Shape]  # takes the arguments and the block, returns the blocks they need
    block: Shape  # threads per block
    outputs: tuple[int, ...] = ()  # positions of the arguments that are filled; they start poisoned
    updated: tuple[int, ...] = ()  # of those that are read and changed; they start as given

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.__name__)

    @property
    def results(self) -> tuple[int, ...]:
        """Positions of all arguments that the kernel may write, in order."""
        return tuple(sorted({*self.outputs, *self.updated}))

    def expected(self, *args: Any) -> dict[int, Any]:
        """Position of each argument that the kernel writes → what it must hold afterwards."""
        copies = (a.copy() if isinstance(a, np.ndarray) else a for a in args)
        return dict(zip(self.results, self.reference(*copies), strict=True))

    def shape(self, *args: Any, block: Shape | None = None) -> tuple[Shape, Shape]:
        """Grid and block of the usual launch on these arguments, or with another block."""
        block = self.block if block is None else block
        return self.grid(*args, block=block), block


def blocks_along(elements: Any, covers: Any) -> Any:
    """The fewest blocks along x, y, … that cover all elements.

    >>> blocks_along((75, 67), (32, 8))
    (3, 9)
    >>> blocks_along(100, 32)
    4
    """
    if isinstance(elements, int):
        return -(-elements // covers)
    return tuple(-(-n // c) for n, c in zip(elements, covers, strict=True))


def poison(dtype: np.dtype[Any]) -> Any:
    """The value that an output holds before anybody has written it.

    A float's is a NaN of its own, with bits that no arithmetic gives: an answer may write NaN.
    """
    if dtype.kind in "iu":
        return np.iinfo(dtype).max // 3 | 1
    return np.array(_NANS[dtype.itemsize], f"u{dtype.itemsize}").view(dtype)[()]


def poisoned(*shape: int, dtype: Any = np.float32) -> Array:
    """An output that nobody has written yet.

    >>> poisoned(2, dtype=np.int32)
    array([715827883, 715827883], dtype=int32)
    """
    return np.full(shape, poison(np.dtype(dtype)), dtype)
