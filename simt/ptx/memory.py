"""Addresses: from the number that an instruction forms to a place in memory, checked.

An array in global or constant memory begins at a multiple of 2⁴⁰, one in shared or local memory
at a multiple of 2²⁰, so that an address says which array was meant even where it lies outside.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from simt.core.chunk import Write
from simt.core.findings import Finding, Stop
from simt.core.masks import EMPTY, split
from simt.core.memory import Allocation, View, gather
from simt.core.undefined import Doubtful, doubtful
from simt.intrinsics.atomics import decreased, exchanged, increased, swapped, update_slots
from simt.machine.lockstep import Lockstep
from simt.ptx.parse import WINDOWS, Array

GLOBAL_BITS, LOCAL_BITS = 40, 20
MAX_ADDRESS_ARRAYS = 64  # whose properties are cached
# bytes that nobody wrote: a NaN as a float16, bfloat16, float32 and float64, and no small integer
POISON = np.frombuffer(b"\xfb\x7f", np.uint8)
WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "c8", 16: "c16"}  # types of so many bytes, as one word
UNIT = (1, 1, 1)
Lanes = Any


class _Addresses:
    """The cached properties of an array of addresses: as int64, its extremes, its words."""

    __slots__ = ("array", "high", "low", "whole", "words")

    def __init__(self, array: Lanes) -> None:
        self.array = ref(array)
        # signed: NumPy makes floats of an unsigned array and a signed one
        wide = array.dtype.itemsize == 8
        self.whole = array.view(np.int64) if wide else array.astype(np.int64)
        if array.size == 1:
            self.low = self.high = self.whole.item()
        else:
            self.low, self.high = int(self.whole.min()), int(self.whole.max())
        self.words: dict[tuple[int, int], Lanes] = {}


class MemoryAccess(Lockstep):
    """Loads, stores and atomics of a chunk of blocks at addresses."""

    def prepare(self, tables: dict[str, dict[int, Allocation]], names: dict[int, str]) -> None:
        """Begins: `tables` are the allocations of each space by the upper bits of addresses."""
        self.tables = tables
        self.names = names  # by the number of an allocation
        self.unread: tuple[Any, ...] | None = None  # what this load finds that nobody has written
        self.defers = False  # whether it matters only where the value does
        self._cache: dict[int, _Addresses] = {}
        self._views: dict[tuple[int, Any], View] = {}

    def own_array(self, array: Array, number: int, *, columns: bool) -> None:
        """Makes shared or local memory that the program declares."""
        size = -(-max(array.size, 0) // 16) * 16
        shape = (array.size if array.space == "shared" else size,)
        view = self.spaces.private(
            self, array.space, shape, np.dtype(np.uint8), array.name, columns=columns
        )
        allocation = view.allocation
        words = allocation.data[: len(allocation.data) // 2 * 2].view(np.uint16)
        words[:] = POISON.view(np.uint16)[0]
        self.names[allocation.number] = array.name
        self.tables[array.space][number] = allocation

    # --- where an address lies

    def _addresses_of(self, array: Lanes) -> _Addresses:
        entry = self._cache.get(id(array))
        if entry is None or entry.array() is not array:
            if len(self._cache) >= MAX_ADDRESS_ARRAYS:
                self._cache.clear()
            entry = self._cache[id(array)] = _Addresses(array)
        return entry

    def _view(self, allocation: Allocation, dtype: np.dtype[Any]) -> View:
        key = (allocation.number, dtype)
        view = self._views.get(key)
        if view is None:
            size = allocation.pitch if allocation.pitch else allocation.data.size
            if allocation.space == "shared" and self.limits.get(allocation.number) is not None:
                size = self.limits[allocation.number]
            shape = (size // dtype.itemsize,)
            name = self.names[allocation.number]
            view = View(allocation, dtype, shape, (dtype.itemsize,), 0, name)
            self._views[key] = view
        return view

    limits: dict[int, int]  # bytes of arrays that take more room than they have

    def _each(
        self, space: str, array: Lanes, offset: int, dtype: np.dtype[Any],
        access: Callable[[View, Any], Any],
    ) -> Any:  # fmt: skip
        """Carries out an access at addresses, array by array if they lie in several."""
        if type(array) is Doubtful:
            array = self.rely(array)
        if space == "generic":
            return self._generic(array, offset, dtype, access)
        table = self.tables[space]
        bits = GLOBAL_BITS if space in ("global", "const") else LOCAL_BITS
        entry, half = self._addresses_of(array), 1 << (bits - 1)
        number = (entry.low + offset + half) >> bits
        allocation = table.get(number)
        size = dtype.itemsize
        if allocation is not None:
            view = self._view(allocation, dtype)
            base = (number << bits) - offset
            # slots beyond the last whole word are outside
            if entry.low >= base and entry.high - base <= (view.shape[0] - 1) * size:
                slot = self._slots(entry, base, size)
                if slot is not None:
                    return access(view, slot)
        return self._access_by_array(space, entry.whole, offset, dtype, access, bits)

    def _slots(self, addresses: _Addresses, base: int, size: int) -> Any:
        """The numbers of the words at addresses; None if one lies at no multiple of its size."""
        if addresses.whole.size == 1:
            return None if (addresses.low - base) % size else (addresses.low - base) // size
        key = size, base % size
        words = addresses.words.get(key)
        if words is None:
            moved = addresses.whole - base % size if base % size else addresses.whole
            if size > 1 and (moved & (size - 1)).any():
                return None
            shift = size.bit_length() - 1
            words = addresses.words[key] = moved >> shift if shift else moved
        start = (base - base % size) // size
        return words - start if start else words

    def _access_by_array(
        self, space: str, whole: Lanes, offset: int, dtype: np.dtype[Any],
        access: Callable[[View, Any], Any], bits: int,
    ) -> Any:  # fmt: skip
        """The slow path: by array, and without inactive threads."""
        if self.mask is EMPTY:
            return np.zeros((1, 1), dtype)
        size = dtype.itemsize
        addresses = whole + offset
        spread = self.spread(addresses)
        active = spread[self.spread(self.mask)] if self.mask is not None else spread.ravel()
        numbers = np.unique((active + (1 << (bits - 1))) >> bits)

        def within(number: int) -> Any:
            allocation = self.tables[space].get(number)
            if allocation is None:
                raise self._no_allocation(space, addresses)
            return self._within(allocation, number << bits, addresses, dtype, size, access)

        whose = (addresses + (1 << (bits - 1))) >> bits
        return self._merged_parts((whose == n, partial(within, n)) for n in numbers.tolist())

    def _merged_parts(self, parts: Iterable[tuple[Lanes, Callable[[], Any]]]) -> Any:
        """Carries out each access for the threads of its condition; what all of them give."""
        before, result = self.mask, None
        for condition, access in parts:
            here, _ = split(before, condition)
            if here is EMPTY:
                continue
            self.mask = here
            try:
                part = access()
            finally:
                self.mask = before
            if part is not None:
                if result is not None:
                    part = np.where(True if here is None else here, part, result)
                result = part
        return result

    def _within(
        self, allocation: Allocation, base: int, addresses: Lanes, dtype: np.dtype[Any],
        size: int, access: Callable[[View, Any], Any],
    ) -> Any:  # fmt: skip
        """An access of the active threads, all to one array."""
        view = self._view(allocation, dtype)
        places = addresses - base
        mask = True if self.mask is None else self.mask
        last = view.shape[0] * size - size
        askew = (places & (size - 1) != 0) & (places >= 0) & (places < last + size) & mask
        if askew.any():
            raise Stop(self._misaligned(view, places, size, askew))
        outside = ((places < 0) | (places > last)) & mask
        if outside.any():
            self.pass_over(self._out_of_bounds(view, places, size, outside))
            rest, _ = split(self.mask, ~outside)
            if rest is EMPTY:
                return np.zeros((1, 1), dtype)
            self.mask = rest
            mask = True if rest is None else rest
        slot = np.where(mask, places, 0) // size if mask is not True else places // size
        return access(view, int(slot[0, 0]) if slot.size == 1 else slot)

    def _out_of_bounds(self, view: View, places: Lanes, size: int, outside: Lanes) -> Finding:
        lanes = np.flatnonzero(self.spread(outside))
        lane, count = int(lanes[0]), len(lanes)
        index = int(self.spread(places).ravel()[lane]) // size
        who = self.thread_name(lane)
        length = view.shape[0]
        message = (
            f"{self.text(who)} accesses {view.name}[{index}], out of bounds: "
            f"{view.name} has length {length}{self.further(count)}"
        )
        if view.space == "shared" and length == 0:
            message += f"; give its bytes as the {self.program.source.bytes_by}"
        threads = [self.thread_name(int(n)) for n in lanes[:2]]
        return Finding(
            "out-of-bounds", self.here(), message, threads, view.name, (index,), count=count
        )

    def _misaligned(self, view: View, places: Lanes, size: int, wrong: Lanes) -> Finding:
        lane = int(np.flatnonzero(self.spread(wrong))[0])
        byte = int(self.spread(places).ravel()[lane])
        who = self.thread_name(lane)
        message = (
            f"{self.text(who)} accesses {size} bytes at once from byte {byte} of {view.name} on, "
            f"and a GPU does so only at multiples of {size}"
        )
        return Finding("misaligned", self.here(), message, [who], view.name)

    def _no_allocation(self, space: str, addresses: Lanes) -> Stop:
        lane = int(self.lanes(self.mask)[0])
        address = int(self.spread(addresses).ravel()[lane])
        who = self.thread_name(lane)
        generic = address + WINDOWS.get(space, 0)
        what = "a null pointer" if 0 <= address < 4096 else f"the address {generic:#x}"
        message = f"{self.text(who)} goes to {what}, where no {space} array is"
        return Stop(Finding("out-of-bounds", self.here(), message, [who]))

    def _generic(
        self, array: Lanes, offset: int, dtype: np.dtype[Any], access: Callable[[View, Any], Any]
    ) -> Any:
        """An address that may lie in any space."""
        whole = self._addresses_of(array).whole
        local, shared = WINDOWS["local"], WINDOWS["shared"]
        edge, far = 1 << (LOCAL_BITS - 1), 1 << (GLOBAL_BITS - 1)
        where = {
            "global": whole >= far,
            "local": (whole >= local - edge) & (whole < far),
            "shared": (whole >= shared - edge) & (whole < local - edge),
            "nowhere": whole < shared - edge,
        }
        if self.tables["const"]:
            number = (whole + offset + far) >> GLOBAL_BITS
            constant = np.isin(number, list(self.tables["const"]))
            where |= {"global": where["global"] & ~constant, "const": constant}

        def of(space: str) -> Any:
            if space == "nowhere":
                raise self._no_allocation("global", whole + offset)
            return self._each(space, whole - WINDOWS.get(space, 0), offset, dtype, access)

        if self.mask is EMPTY:
            return np.zeros((1, 1), dtype)
        return self._merged_parts((inside, partial(of, s)) for s, inside in where.items())

    # --- accesses

    def unwritten(self, lanes: Lanes, key: Any, finding: Finding) -> None:
        """Hears of a read of memory that nobody has written, by these lanes."""
        if self.defers:
            self.unread = lanes, key, finding
        else:
            super().unwritten(lanes, key, finding)

    def _read(self, value: Any) -> Any:
        """What was read, undefined where nobody has written it."""
        unread, self.unread, self.defers = self.unread, None, False
        return value if unread is None else self.doubted(value, *unread)

    def load(
        self, space: str, array: Lanes, offset: int, dtype: Any, count: int, strong: str = ""
    ) -> Lanes:  # fmt: skip
        """The values at addresses; the parts of a vector along a last axis."""
        self.strong = 1 if strong == "volatile" else 2 * self._everywhere(space, strong)
        if count == 1:
            return self._each(space, array, offset, dtype, self._load)
        words = self._each(space, array, offset, _word(dtype, count), self._load)
        whole = np.ascontiguousarray(words)
        parts = np.asarray(whole).view(dtype).reshape(*whole.shape, count)
        if type(whole) is Doubtful and whole.origin is not None:
            return doubtful(parts, whole.origin[..., None])
        return parts

    def _load(self, view: View, slot: Any) -> Lanes:
        self.defers = True
        if self.strong:
            self.polled = view, slot, self.mask
        for callback in self.events.access:
            callback(self, view, slot, (slot,), "load")
        if type(slot) is int and view.space in ("global", "const"):
            value = view.flat[slot : slot + 1].reshape(1, 1).copy()
        else:
            value = gather(view, slot, self.lane_base(view))
        older = self.events.older
        if older is not None:
            value = older(self, view, slot, (slot,), value)
        self.defers = False
        return value if self.unread is None else self._read(value)

    def _everywhere(self, space: str, strong: str) -> bool:
        """Whether an operation is strong for all threads that can reach the memory."""
        return strong == "sys" or (strong == "cta" and (space == "shared" or self.grid == UNIT))

    def store(
        self, space: str, array: Lanes, offset: int, dtype: Any, value: Any, strong: str = ""
    ) -> None:
        """Writes at addresses; the parts of a vector come as a tuple."""
        doubts = [part for part in (value if type(value) is tuple else (value,))
                  if type(part) is Doubtful]  # fmt: skip
        if type(value) is tuple:
            value, dtype = joined(value, dtype)
        elif doubts:
            value = value.view(np.ndarray)  # numbers as they are
        relaxed = self._everywhere(space, strong)
        self.strong = 2 * relaxed

        def write(view: View, slot: Any) -> None:
            self._writable(view)
            for callback in self.events.access:
                callback(self, view, slot, (slot,), "store")
            store = Write(self, view, slot, value)
            # a strong write goes beside others as an atomic does, and publishes as one
            event = Write(self, view, slot, None) if relaxed and self.events.write else store
            event.volatile = strong == "volatile"
            if doubts and view.space == "local":  # a copy, which harms nobody yet
                event.undefined = doubts
            for part in () if event.undefined else doubts:
                self.rely(part)
            for callback in self.events.write:
                callback(self, event, (slot,))
            before = view.flat.copy() if self.watching else None
            store.carry_out()
            if before is None or (before != view.flat).any():
                self.written += 1

        if self.mask is not EMPTY:
            self._each(space, array, offset, dtype, write)

    def _writable(self, view: View) -> None:
        if view.space == "const" or view.allocation.frozen:
            what = "constant memory" if view.space == "const" else "a read-only array"
            message = f"{view.name} is {what} and cannot be written"
            raise self.stop("not-a-kernel", message, array=view.name)

    def atomic(
        self, space: str, array: Lanes, offset: int, dtype: Any, name: str, values: Any, used: bool,
        block_only: bool,
    ) -> Any:  # fmt: skip
        """An atomic operation at addresses; the old values."""

        def update(view: View, slot: Any) -> Any:
            self._writable(view)
            steady = name in ("min", "max")
            self.defers = name == "exch"
            old = update_slots(
                self, view, (slot,), slot, values, UPDATES[name], used or name == "cas", steady,
                block_only,
            )  # fmt: skip
            return self._read(old) if used else None

        return self._each(space, array, offset, dtype, update)


def joined(parts: tuple[Any, ...], dtype: np.dtype[Any]) -> tuple[Any, np.dtype[Any]]:
    """The parts of a vector as one word, and its type."""
    whole = np.ascontiguousarray(np.stack(np.broadcast_arrays(*parts), axis=-1))
    word = _word(dtype, len(parts))
    return whole.view(word)[..., 0], word


def _word(dtype: np.dtype[Any], count: int) -> np.dtype[Any]:
    return np.dtype(WORDS[dtype.itemsize * count])


UPDATES: dict[str, Any] = {
    "add": np.add, "min": np.fmin, "max": np.fmax, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "exch": exchanged, "inc": increased, "dec": decreased, "cas": swapped,
    "add2": lambda old, more: (old.view("f2") + more.view("f2")).view(old.dtype),  # of two halves
}  # fmt: skip
