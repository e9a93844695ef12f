"""Memory spaces of a chunk: the shared, local and constant arrays that a kernel makes."""

import math
from typing import Any

import numpy as np

from simt.core.chunk import Chunk
from simt.core.limits import MAX_LOCAL, OPT_IN
from simt.core.memory import Allocation, View, aligned, poison

# bytes of a chunk; shared memory has shadows several times its size
BUDGET = {"shared": 16 << 20, "local": 256 << 20}

Lanes = np.ndarray[Any, Any]


class TooLarge(Exception):  # noqa: N818 - asks for another attempt
    """The chunk's own arrays would take too much memory; `blocks` blocks would fit."""

    def __init__(self, blocks: int) -> None:
        super().__init__(blocks)
        self.blocks = blocks


class Spaces:
    """Shared, local and constant memory of a chunk.

    `dynamic` are the launch's own bytes of shared memory, `most` those that a block may have.
    """

    def __init__(self, dynamic: int, most: int, *, whole_grid: bool) -> None:
        self.dynamic, self.most = dynamic, most
        self.whole_grid = whole_grid  # all blocks must run together, whatever they take
        self.arrays: dict[Any, View] = {}
        self.static_bytes = 0

    def private(
        self, m: Chunk, space: str, shape: tuple[int, ...], dtype: np.dtype[Any], name: str,
        *, columns: bool,
    ) -> View:  # fmt: skip
        """A new `shared.array` or `local.array`; `columns` is how it is stored."""
        count = math.prod(shape) * dtype.itemsize
        if space == "shared" and count == 0:
            return self._dynamic(m.blocks, dtype, name)
        size = aligned(count)
        copies = m.blocks if space == "shared" else m.blocks * m.threads
        self._affordable(m, space, size, size * copies)
        data = np.empty(size * copies, np.uint8)
        poison(data[: len(data) // dtype.itemsize * dtype.itemsize].view(_plain(dtype)))
        allocation = Allocation(space, data, size)
        allocation.columns = columns
        strides = tuple(dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))
        if space == "shared":
            allocation.offset = aligned(self.static_bytes)
            self.static_bytes = allocation.offset + count
            self._check_shared(m)
        return View(allocation, dtype, shape, strides, 0, name)

    def _affordable(self, m: Chunk, space: str, size: int, total: int) -> None:
        """Keeps the memory of a chunk bounded, and that of a thread within the hardware's."""
        if space == "local" and size > MAX_LOCAL:
            message = f"a thread wants {size:,} bytes of local memory; there are {MAX_LOCAL:,}"
            raise m.stop("launch-limit", message)
        excess = -(-total // BUDGET[space])
        if excess > 1 and m.blocks > 1 and not self.whole_grid:
            raise TooLarge(max(1, m.blocks // excess))

    def _check_shared(self, m: Chunk) -> None:
        """Stops a launch whose blocks want more shared memory than there is."""
        total = self.static_bytes + self.dynamic
        if total > self.most:
            message = f"a block wants {total:,} bytes of shared memory; there are {self.most:,}"
            raise m.stop("launch-limit", f"{message} {OPT_IN}")

    def _dynamic(self, blocks: int, dtype: np.dtype[Any], name: str) -> View:
        """All dynamic shared arrays begin at the same byte."""
        if "dynamic" not in self.arrays:
            size = max(aligned(self.dynamic), 16)
            data = np.empty(size * blocks, np.uint8)
            poison(data.view(np.float32))
            allocation = Allocation("shared", data, size)
            allocation.offset = aligned(self.static_bytes)
            allocation.dynamic = True
            self.arrays["dynamic"] = View(allocation, np.dtype(np.uint8), (size,), (1,), 0, name)
        allocation = self.arrays["dynamic"].allocation
        shape = (self.dynamic // dtype.itemsize,)
        return View(allocation, dtype, shape, (dtype.itemsize,), 0, name)


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind != "V" else np.dtype(np.uint8)
