"""Memory: allocations, and the views through which a kernel reads and writes them.

An `Allocation` is a run of bytes in one memory space. A `View` is an array in it: dtype, shape
and strides as in NumPy. Shared memory holds one column per block of the chunk, local memory one
per thread (rows where bytes are read as several types), so that what all of them do alike runs
along memory. An element's *slot* is its number in the allocation's flat storage.
"""

from __future__ import annotations

import itertools
import math
from typing import Any
from weakref import WeakSet

import numpy as np

from simt.core.values import INT64, Value, cast, normal

_ids = itertools.count(1 << 20)  # beyond those that a whole program's memory has of its own
_known: WeakSet[Allocation] = WeakSet()  # what an address that comes from outside may lie in


def aligned(count: int) -> int:
    """A number of bytes up to where the next array may begin."""
    return -(-count // 16) * 16


def poison(words: np.ndarray[Any, Any]) -> None:
    """Fills memory that nobody has written with what nobody could mistake for a result."""
    if words.dtype.kind in "fc":
        words.fill(np.nan)
    else:
        words.view(np.uint8).fill(0xA5)


CODES = "keep numbers in arrays, such as codes that stand for the strings"


def no_strings(name: str, dtype: np.dtype[Any]) -> str:
    """The message about an array or a field of strings."""
    return f"{name} holds strings ({dtype}), which the SIMT machine does not support: {CODES}"


class Allocation:
    """Bytes in one memory space.

    `space` is "global", "shared", "local" or "const"; `pitch` is the number of bytes that
    belong to one block (shared) or one thread (local), 0 for memory that all threads see.
    """

    def __init__(self, space: str, data: np.ndarray[Any, Any], pitch: int = 0) -> None:
        self.space = space
        self.data = data  # flat uint8
        self.pitch = pitch
        self.columns = space == "local"  # the threads' or blocks' elements stand side by side
        self.number = next(_ids)
        self.address = self.number << 40  # virtual; far from any other allocation
        self.offset = 0  # of a shared array within its block's shared memory
        self.readonly = False  # this kernel does not write it
        self.tiled = False  # a GPU lays it out as it likes: its sectors are not counted
        self.dynamic = False  # shared memory of which several arrays are made
        self.frozen = False  # no kernel may write it: a read-only array of NumPy's
        self.written: Any = None  # what an observer knows to be written, if not all is
        self._words: dict[np.dtype[Any], np.ndarray[Any, Any]] = {}

    @property
    def device_pointer(self) -> int:
        """Where the bytes lie, as a number that a program may hand to a kernel."""
        return int(self.data.ctypes.data)

    def know(self) -> None:
        """Registers the allocation, so that an address leads to it."""
        _known.add(self)

    def words(self, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """The whole allocation as a flat array of one type."""
        array = self._words.get(dtype)
        if array is None:
            usable = len(self.data) // dtype.itemsize * dtype.itemsize
            array = self._words[dtype] = self.data[:usable].view(dtype)
        return array


def at_address(address: int) -> tuple[Allocation, int] | None:
    """The allocation in which a byte lies, and the byte's number there."""
    for allocation in _known:
        offset = address - allocation.device_pointer
        if 0 <= offset < allocation.data.size:
            return allocation, offset
    return None


class View:
    """An array that a kernel can index; never changed once made.

    `shape` and `offset` may hold per-thread values, as in `row = a[i]`.
    """

    __slots__ = (
        "aligned", "allocation", "base", "dtype", "flat", "name", "offset", "rows", "shape",
        "space", "steps", "strides", "width",
    )  # fmt: skip

    def __init__(
        self, allocation: Allocation, dtype: np.dtype[Any], shape: tuple[Value, ...],
        strides: tuple[int, ...], offset: Value, name: str,
    ) -> None:  # fmt: skip
        self.allocation = allocation
        self.space = allocation.space
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.name = name
        size = dtype.itemsize
        apart = offset % size
        divisible = not (apart.any() if isinstance(apart, np.ndarray) else apart)
        divisible = divisible and not any(s % size for s in strides)
        self.aligned = divisible and dtype.kind != "V"
        if self.aligned:
            self.flat = allocation.words(dtype)
            self.steps = tuple(s // size for s in strides)
            self.base = normal(offset // size)
            self.width = allocation.pitch // size
            self.rows = None  # of each block
            if self.space == "shared" and self.width:
                rows = self.flat.reshape(-1, self.width)
                self.rows = rows.reshape(rows.shape[::-1]).T if allocation.columns else rows
        else:
            self.flat = allocation.data
            self.steps = strides
            self.base = offset
            self.width = allocation.pitch
            self.rows = None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> Value:
        """The number of elements."""
        return math.prod(self.shape)

    def transposed(self) -> View:
        """The array with its dimensions in reverse."""
        shape, strides = self.shape[::-1], self.strides[::-1]
        return View(self.allocation, self.dtype, shape, strides, self.offset, self.name)

    def first(self, count: Value) -> View:
        """The first elements of an array of one dimension."""
        return View(self.allocation, self.dtype, (count,), self.strides, self.offset, self.name)

    def field(self, name: str) -> View:
        """The array of one field of a structured array."""
        fields: Any = self.dtype.fields or {}
        if name not in fields:
            raise KeyError(name)
        dtype, offset = fields[name][:2]
        shape, strides = self.shape, self.strides
        if dtype.subdtype is not None:
            dtype, extra = dtype.subdtype
            step = tuple(dtype.itemsize * math.prod(extra[i + 1 :]) for i in range(len(extra)))
            shape, strides = shape + extra, strides + step
        offset, name = self.offset + offset, f"{self.name}.{name}"
        return View(self.allocation, dtype, shape, strides, offset, name)

    def part(self, name: str) -> View:
        """The real or the imaginary parts of an array: `a.real`, `a.imag`."""
        if self.dtype.kind != "c":
            return self
        half = np.dtype(f"f{self.dtype.itemsize // 2}")
        offset = self.offset + (half.itemsize if name == "imag" else 0)
        return View(self.allocation, half, self.shape, self.strides, offset, f"{self.name}.{name}")

    def alike(self, other: View) -> bool:
        """Whether two views differ in shape and offset alone."""
        alike = self.dtype == other.dtype and self.strides == other.strides
        return alike and self.allocation is other.allocation

    def elements(self, slots: np.ndarray[Any, Any], grain: int) -> tuple[np.ndarray[Any, Any], int]:
        """Which elements of `grain` bytes the flat `slots` cover, and how many each does."""
        size = self.dtype.itemsize
        if self.aligned and size == grain:
            return slots, 1
        start = slots * size if self.aligned else slots
        parts = size // grain
        return ((start // grain)[:, None] + np.arange(parts)).ravel(), parts

    def __repr__(self) -> str:
        return f"<{self.space} array {self.name} {self.dtype} {self.shape}>"


def constant_view(data: np.ndarray[Any, Any], name: str) -> View:
    """An array in constant memory, with a copy of `data` as it is now, in its own order."""
    copy = data.copy(order="A")
    allocation = Allocation("const", copy.reshape(-1, order="A").view(np.uint8))
    allocation.readonly = True
    return View(allocation, copy.dtype, copy.shape, copy.strides, 0, name)


class Record:
    """One element of a structured array: fields are read and written through it."""

    __slots__ = ("index", "view")

    def __init__(self, view: View, index: tuple[Value, ...]) -> None:
        self.view = view
        self.index = index

    def field(self, name: str | int) -> View:
        """The array of a field, which has a name and a number."""
        names = self.view.dtype.names or ()
        return self.view.field(name if isinstance(name, str) else names[name])


def gather(view: View, slot: Value, lanes: Value) -> Value:
    """The values in the slots; `lanes` is what tells blocks or threads apart.

    For shared memory `lanes` is the block numbers (blocks, 1); for local memory the
    threads' numbers and their count.
    """
    space = view.space
    if not view.aligned:
        return _gather_bytes(view, slot, lanes)
    if space == "shared":
        assert view.rows is not None
        if type(slot) is int:
            return view.rows[: len(lanes), slot : slot + 1].copy()
        if slot.shape[0] == 1:
            if view.allocation.columns:  # the blocks' elements one after the other
                return view.rows.T.take(slot[0], axis=0).T
            return view.rows[: len(lanes)].take(slot[0], axis=1)
    if space == "local" and type(slot) is int and view.allocation.columns:
        return view.flat.reshape(-1, *lanes)[slot].copy()
    if space in ("shared", "local"):
        return view.flat.take(full_slots(view, slot, lanes))
    if type(slot) is int:
        return normal(view.flat[slot])
    return view.flat.take(slot, mode="clip")  # they are within: not to look again saves a quarter


def full_slots(view: View, slot: Value, lanes: Value) -> Value:
    """Slots in the flat storage, with the block or thread taken into account."""
    if view.space not in ("shared", "local"):
        return slot
    if view.space == "local":
        lanes = np.arange(math.prod(lanes)).reshape(lanes)
    return slot * lanes.size + lanes if view.allocation.columns else slot + lanes * view.width


def scatter(view: View, slots: Value, values: Value) -> None:
    """Writes values to flat slots (one-dimensional, the last of equal slots wins)."""
    if not view.aligned:
        values = np.ascontiguousarray(np.broadcast_to(cast(values, view.dtype), np.shape(slots)))
        size = view.dtype.itemsize
        places = np.asarray(slots)[..., None] + np.arange(size)
        view.flat[places] = values[..., None].view(np.uint8).reshape(places.shape)
        return
    view.flat[slots] = values


def _gather_bytes(view: View, slot: Value, lanes: Value) -> Value:
    """Elements whose address is not a multiple of their size, byte by byte."""
    slots = np.asarray(full_slots(view, slot, lanes), dtype=INT64)
    size = view.dtype.itemsize
    raw = view.flat[slots[..., None] + np.arange(size)]
    values = np.ascontiguousarray(raw).view(view.dtype)[..., 0]
    return normal(values[()]) if values.ndim == 0 else values


def views(arg: Any) -> list[View]:
    """The arrays in an argument of a launch: itself, or the parts of a tuple."""
    if isinstance(arg, View):
        return [arg]
    if isinstance(arg, tuple):
        return [v for a in arg for v in views(a)]
    return []
