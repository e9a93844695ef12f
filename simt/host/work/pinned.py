"""Pinned host memory: which it is, whether its owner still lives, whether the host changed it."""

import ctypes
import zlib
from typing import Any
from weakref import ref

import numpy as np
from numpy.lib.array_utils import byte_bounds

Array = np.ndarray[Any, Any]


class _Region:
    """Bytes that are pinned: `memory` keeps them where their owner may go before a copy does."""

    def __init__(self, low: int, high: int, owner: Any, memory: Array | None) -> None:
        self.low, self.high = low, high
        self.owner, self.memory = owner, memory


_regions: list[_Region] = []


def pinned_empty(shape: Any, dtype: Any, order: Any) -> Array:
    """A new array in pinned memory, which is pinned as long as it lives, or a view of it."""
    storage = np.empty(shape, dtype, order=order)
    if not storage.size:
        return storage
    memory = storage.reshape(-1, order="A").view(np.uint8)
    # a view refers to the array at the end of a chain of arrays: to what is given, therefore, if
    # no array lies below it
    buffer: Any = (ctypes.c_uint8 * storage.nbytes).from_buffer(memory.data)
    array: Array = np.ndarray(storage.shape, storage.dtype, buffer, 0, storage.strides)
    region = _Region(*byte_bounds(storage), None, memory)
    region.owner = ref(array, lambda _: _regions.remove(region))
    _regions.append(region)
    return array


def pin(array: Array) -> _Region:
    """Pins an array; `unpin` ends that."""
    region = _Region(*byte_bounds(array), lambda: array, None)
    _regions.append(region)
    return region


def unpin(region: Any) -> None:
    """The memory is pageable again."""
    _regions.remove(region)


class HostMemory:
    """The host's side of a copy: an array, and whether it was freed or changed since."""

    def __init__(self, array: Array) -> None:
        low, high = byte_bounds(array)
        regions = [r for r in _regions if r.low <= low and high <= r.high] if array.size else []
        self.pinned = bool(regions)
        self.array = array
        self._owner: Any = lambda: array
        self._checksum: int | None = None
        memory = regions[0].memory if regions else None
        if memory is not None:
            # over the same bytes, without what would keep their owner alive
            start = array.__array_interface__["data"][0] - regions[0].low
            self.array = np.ndarray(array.shape, array.dtype, memory.data, start, array.strides)
            self._owner = regions[0].owner

    @property
    def freed(self) -> bool:
        """Whether nobody holds the array any more."""
        return self._owner() is None

    def _sum(self) -> int:
        flat = self.array if self.array.flags.c_contiguous else self.array.T
        return zlib.crc32(np.ascontiguousarray(flat).reshape(-1).view(np.uint8).data)

    def remember(self) -> None:
        """Records a checksum: from here on the host must not change the bytes."""
        self._checksum = self._sum()

    @property
    def remembered(self) -> bool:
        """Whether they are pinned, and somebody looks after them."""
        return self._checksum is not None

    @property
    def changed(self) -> bool:
        """Whether the bytes have changed since."""
        return self.remembered and self._sum() != self._checksum
