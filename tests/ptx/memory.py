"""The memory that a launch sees: global arrays with guards between them, shared, local.

An address of global memory is GLOBAL_BASE plus a place in one long buffer. Arrays start at
multiples of 256 bytes, as CUDA allocates them; the bytes between them belong to nobody, and
touching one is an error. Shared and local memory are a stretch for each block or thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .parse import Program
from .values import GLOBAL_BASE, TYPES, Array, Lanes, Threads

ALIGNED = 256  # bytes
POISON = 0xA5


class MemoryFault(Exception):
    """An address that is nobody's, or not a multiple of what is loaded."""


class Memory:
    """All spaces of one launch; `arrays` come in and go out with `result`."""

    def __init__(self, program: Program, threads: Threads, dynamic_shared: int = 0) -> None:
        self._threads = threads
        self._places: dict[int, int] = {}  # where the memory under an argument begins
        self._used: list[tuple[int, int]] = []
        self._contents: list[tuple[int, Array]] = []
        self._end = ALIGNED
        for name, (_, content) in program.globals.items():
            threads.symbols[name] = self._reserve(np.frombuffer(content, np.uint8))
        self._strides = {
            "shared": -(-(program.shared_bytes + dynamic_shared) // ALIGNED) * ALIGNED,
            "local": -(-program.local_bytes // 8) * 8,
        }
        self._limits = {
            "shared": program.shared_bytes + dynamic_shared,
            "local": program.local_bytes,
        }
        self._buffers: dict[str, Array] = {}

    def _reserve(self, content: Array) -> int:
        start = self._end
        self._contents.append((start, content))
        self._used.append((start, start + content.nbytes))
        self._end = -(-(start + content.nbytes + 1) // ALIGNED) * ALIGNED
        return GLOBAL_BASE + start

    def address(self, array: Array) -> int:
        """Where an argument lies; views of one array share its memory."""
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if id(root) not in self._places:
            flat = np.ascontiguousarray(root).reshape(-1).view(np.uint8)
            self._places[id(root)] = self._reserve(flat)
        return self._places[id(root)] + array.ctypes.data - root.ctypes.data

    def start(self) -> None:
        """Fill the buffers; from now on there are no new arrays."""
        whole = np.full(-(-self._end // 8) * 8, POISON, np.uint8)
        self._belongs = np.zeros(whole.size, bool)
        for place, content in self._contents:
            whole[place : place + content.size] = content
            self._belongs[place : place + content.size] = True
        counts = {"shared": self._threads.blocks, "local": self._threads.count}
        self._buffers = {"global": whole, "const": whole}
        for space, stride in self._strides.items():
            self._buffers[space] = np.full(max(stride * counts[space], 8), POISON, np.uint8)

    def result(self, array: Array) -> Array:
        """What an argument holds now, in a new array."""
        place = self.address(array) - GLOBAL_BASE
        made: Array = np.ndarray(
            array.shape, array.dtype, self._buffers["global"], place, array.strides
        )
        return made.copy()

    def _where(self, space: str, addresses: Array, size: int, lanes: Lanes) -> Array:
        """Places in a buffer of words of `size` bytes."""
        signed = addresses.astype(np.int64)
        if (signed % size).any():
            raise MemoryFault(
                f"{space} address {signed[signed % size != 0][0]:#x} for {size} bytes"
            )
        if space in ("global", "const"):
            place = signed - GLOBAL_BASE
            inside = (place >= 0) & (place < len(self._belongs))
            if not inside.all() or not self._belongs[place].all():
                raise MemoryFault(f"a global address belongs to nobody: {signed[:4]}")
            return place // size
        if ((signed < 0) | (signed + size > self._limits[space])).any():
            raise MemoryFault(f"{space} address beyond {self._limits[space]}: {signed[:4]}")
        numbers = self._threads.block_of[lanes] if space == "shared" else lanes
        return (signed + numbers * self._strides[space]) // size

    def _words(self, space: str, kind: str) -> Array:
        return self._buffers[space].view(TYPES[kind])

    def load(self, space: str, addresses: Array, kind: str, lanes: Lanes) -> Array:
        size = np.dtype(TYPES[kind]).itemsize
        return self._words(space, kind)[self._where(space, addresses, size, lanes)]

    def store(self, space: str, addresses: Array, kind: str, value: Array, lanes: Lanes) -> None:
        """Of several threads that write to one address the last wins."""
        size = np.dtype(TYPES[kind]).itemsize
        self._words(space, kind)[self._where(space, addresses, size, lanes)] = value

    def atomic(
        self, space: str, name: str, addresses: Array, kind: str, value: Array, lanes: Lanes,
        other: Array | None = None,
    ) -> Array:  # fmt: skip
        """One thread after the other; returns what each found."""
        size = np.dtype(TYPES[kind]).itemsize
        words = self._words(space, kind)
        places = self._where(space, addresses, size, lanes)
        value = np.broadcast_to(value, places.shape)
        found = np.empty(places.shape, words.dtype)
        for k, place in enumerate(places):
            old = found[k] = words[place]
            if name == "cas":
                if old == value[k] and other is not None:
                    words[place] = np.broadcast_to(other, places.shape)[k]
            else:
                words[place] = UPDATE[name](old, value[k])
        return found


UPDATE: dict[str, Any] = {
    "add": lambda old, v: old + v,
    "min": min,
    "max": max,
    "exch": lambda old, v: v,
    "and": lambda old, v: old & v,
    "or": lambda old, v: old | v,
    "xor": lambda old, v: old ^ v,
    "inc": lambda old, v: 0 if old >= v else old + 1,
    "dec": lambda old, v: v if old == 0 or old > v else old - 1,
}
