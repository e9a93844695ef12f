"""The machine's view of the launch, and every read and write that a kernel makes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.simt.counters import Counters
from gpulearn.simt.findings import Finding, Stop
from gpulearn.simt.hazards import Hazards
from gpulearn.simt.log import FindingLog
from gpulearn.simt.masks import EMPTY, Mask
from gpulearn.simt.memory import (
    Allocation,
    Record,
    View,
    full_slots,
    gather,
    poison,
    scatter,
)
from gpulearn.simt.source import KernelSource, unit
from gpulearn.simt.values import INT64, Value, cast, normal

if TYPE_CHECKING:
    from gpulearn.simt.launch import Program

__all__ = ["Access", "Dim3"]

Triple = tuple[int, int, int]
Lanes = np.ndarray[Any, Any]


class Dim3:
    """`threadIdx` and its kin, as the machine holds them."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Value, y: Value, z: Value) -> None:
        self.x, self.y, self.z = x, y, z


class Access:
    """One chunk of blocks: who the threads are, and how they reach memory."""

    def __init__(
        self,
        program: Program,
        grid: Triple,
        block: Triple,
        numbers: Lanes,
        *,
        findings: FindingLog,
        hazards: Hazards | None,
        counters: Counters | None,
        dynamic: int,
        order: Lanes | None = None,
    ) -> None:
        self.program = program
        self.source: KernelSource = program.source
        self.grid, self.block = grid, block
        self.blocks, self.threads = len(numbers), math.prod(block)
        self.warps = -(-self.threads // 32)
        self.findings, self.hazards, self.counters = findings, hazards, counters
        self.dynamic = dynamic
        self.order = order
        self.mask: Mask = None
        self.line = 0
        self.steps = 0
        self.written = 0  # stores so far; while a loop is watched, those that changed something
        self.watching = False
        self.frames: list[Any] = []
        self.arrays: dict[Any, View] = {}
        self.static_bytes = 0
        self.block_numbers = numbers
        self._place(numbers)

    def _place(self, numbers: Lanes) -> None:
        lane = np.arange(self.threads, dtype=INT64).reshape(1, -1)
        bx, by, _ = self.block
        gx, gy, _ = self.grid

        def uniform(values: Lanes, extent: int) -> Value:
            return 0 if extent == 1 else values

        self.threadIdx = Dim3(
            uniform(lane % bx, bx),
            uniform(lane // bx % by, by),
            uniform(lane // (bx * by), self.block[2]),
        )
        column = numbers.astype(INT64).reshape(-1, 1)
        if len(numbers) == 1:
            n = int(numbers[0])
            self.blockIdx = Dim3(n % gx, n // gx % gy, n // (gx * gy))
        else:
            self.blockIdx = Dim3(
                uniform(column % gx, gx),
                uniform(column // gx % gy, gy),
                uniform(column // (gx * gy), self.grid[2]),
            )
        self.blockDim = Dim3(*self.block)
        self.gridDim = Dim3(*self.grid)
        self.laneid = lane % 32 if self.threads > 1 else 0
        self.warpsize = 32
        self.rows = np.arange(self.blocks, dtype=INT64).reshape(-1, 1)
        self.thread_numbers = column * self.threads + lane

    # --- where am I, and who

    def at(self, place: int) -> None:
        """The statement that is carried out now."""
        self.line = place
        if self.counters is not None:
            self.counters.statement(self)

    def here(self) -> int:
        """The source line being carried out."""
        return unit(self.line)[1]

    def number_name(self, number: int) -> dict[str, Triple]:
        """Block and thread coordinates of a thread's number in the grid."""
        block, lane = divmod(int(number), self.threads)
        gx, gy, _ = self.grid
        bx, by, _ = self.block
        return {
            "block": (block % gx, block // gx % gy, block // (gx * gy)),
            "thread": (lane % bx, lane // bx % by, lane // (bx * by)),
        }

    def thread_name(self, lane: int) -> dict[str, Triple]:
        """Block and thread coordinates of a lane of this chunk."""
        return self.number_name(self.thread_numbers.ravel()[lane])

    def short(self, coordinates: Triple, extent: Triple) -> str:
        """Coordinates without the dimensions that the launch does not use."""
        used = 1 if extent[1] == extent[2] == 1 else 2 if extent[2] == 1 else 3
        return str(coordinates[0]) if used == 1 else str(coordinates[:used])

    def text(self, who: dict[str, Triple], *, with_block: bool = True) -> str:
        """A thread in words."""
        thread = f"thread {self.short(who['thread'], self.block)}"
        if not with_block:
            return thread
        return f"{thread} of block {self.short(who['block'], self.grid)}"

    def pair_text(self, a: dict[str, Triple], b: dict[str, Triple]) -> tuple[str, str]:
        """Two threads in words; the block is named once if it is the same."""
        same = a["block"] == b["block"]
        return self.text(a), self.text(b, with_block=not same)

    def lanes(self, mask: Mask) -> Lanes:
        """The numbers of the lanes in a mask, within the chunk."""
        if mask is None:
            return np.arange(self.blocks * self.threads)
        if mask is EMPTY:
            return np.zeros(0, np.int64)
        return np.flatnonzero(np.broadcast_to(mask, (self.blocks, self.threads)))

    def who(self, mask: Mask) -> list[dict[str, Triple]]:
        """The first two threads of a mask."""
        return [self.thread_name(int(lane)) for lane in self.lanes(mask)[:2]]

    def lane_index(self, index: tuple[Value, ...], lane: int) -> tuple[int, ...]:
        """The index that one lane used."""
        shape = (self.blocks, self.threads)
        return tuple(
            int(np.broadcast_to(i, shape).ravel()[lane]) if isinstance(i, np.ndarray) else int(i)
            for i in index
        )

    def active_slots(self, view: View, slot: Value, mask: Mask) -> tuple[Lanes, Lanes]:
        """The active lanes, and the flat slot that each touches."""
        shape = (self.blocks, self.threads)
        slots = np.broadcast_to(full_slots(view, slot, self.lane_base(view)), shape).ravel()
        if mask is None:
            return np.arange(len(slots)), slots
        chosen = self.lanes(mask)
        return chosen, slots[chosen]

    def lane_base(self, view: View) -> Any:
        """What `full_slots` needs to tell blocks or threads apart."""
        return (self.blocks, self.threads) if view.space == "local" else self.rows

    # --- indexing

    def locate(self, view: View, index: Any) -> tuple[tuple[Value, ...], Value] | View:
        """The checked index and slot of an element, or the sub-array that an index selects."""
        if type(index) is not tuple:
            index = (index,)
        whole = len(index) == len(view.shape)
        checked: list[Value] = []
        for axis, i in enumerate(index):
            kind = type(i)
            if axis >= len(view.shape) and i is not Ellipsis:
                message = f"{view.name} has {view.ndim} dimensions, {len(index)} indices given"
                raise Stop(Finding("not-a-kernel", self.here(), message, array=view.name))
            if kind is int:
                limit = view.shape[axis]
                if type(limit) is not int or not 0 <= i < limit:
                    i = self._repair(view, axis, i, index)
            elif kind is np.ndarray:
                if i.dtype is not INT64:
                    i = self._whole(view, i)
                if i.size:
                    limit = view.shape[axis]
                    if type(limit) is not int or i.min() < 0 or i.max() >= limit:
                        i = self._repair(view, axis, i, index)
            elif kind is slice or i is Ellipsis or i is None:
                return self.part(view, index)
            else:
                i = self._whole(view, i)
                i = self._repair(view, axis, int(i), index)
            checked.append(i)
        if not whole:
            return self.part(view, tuple(checked))
        place = tuple(checked)
        return place, view.slots(place)

    def _whole(self, view: View, i: Any) -> Any:
        dtype = getattr(i, "dtype", None)
        if type(i) is bool or (dtype is not None and dtype.kind in "biu"):
            return i.astype(INT64) if isinstance(i, np.ndarray) else int(i)
        what = (
            f"a number of type {dtype or type(i).__name__}"
            if dtype or type(i) is float
            else (f"a {type(i).__name__}")
        )
        message = f"{view.name} is indexed with {what}; an index must be an integer"
        raise Stop(Finding("not-a-kernel", self.here(), message, array=view.name))

    def _repair(self, view: View, axis: int, i: Value, index: tuple[Value, ...]) -> Value:
        """Wraps negative indices, stops at those out of bounds, hides inactive threads'."""
        if self.mask is EMPTY:
            return 0
        limit = view.shape[axis]
        shape = (self.blocks, self.threads)
        mask = True if self.mask is None else self.mask
        low, high = np.less(i, 0) & mask, np.greater_equal(i, limit) & mask
        beyond = high | (np.less(i, np.negative(limit)) & mask)
        if np.any(beyond):
            lane = int(np.flatnonzero(np.broadcast_to(beyond, shape))[0])
            raise Stop(self._out_of_bounds(view, axis, index, lane, beyond))
        if np.any(low):
            lane = int(np.flatnonzero(np.broadcast_to(low, shape))[0])
            self._negative(view, axis, index, lane, int(np.count_nonzero(low)))
        fixed = np.where(low, i + limit, np.where(low | (np.less(i, limit) & ~np.less(i, 0)), i, 0))
        return normal(fixed[()]) if fixed.ndim == 0 else fixed

    def _describe(self, view: View, index: tuple[Value, ...], lane: int) -> tuple[Any, str]:
        plain = tuple(
            i if isinstance(i, np.ndarray | int | np.integer | bool) else 0 for i in index
        )
        where = self.lane_index(plain, lane)
        return where, f"{view.name}[{', '.join(map(str, where))}]"

    def _out_of_bounds(
        self, view: View, axis: int, index: tuple[Value, ...], lane: int, beyond: Any
    ) -> Finding:
        where, element = self._describe(view, index, lane)
        who = self.thread_name(lane)
        shape = tuple(
            int(n) if not isinstance(n, np.ndarray) else self.lane_index((n,), lane)[0]
            for n in view.shape
        )
        count = int(np.count_nonzero(np.broadcast_to(beyond, (self.blocks, self.threads))))
        more = f" (and {count - 1:,} more threads)" if count > 1 else ""
        size = f"length {shape[0]}" if len(shape) == 1 else f"shape {shape}"
        dimension = f" in dimension {axis}" if len(shape) > 1 else ""
        message = (
            f"{self.text(who)} accesses {element}, out of bounds{dimension}: "
            f"{view.name} has {size}{more}"
        )
        threads = [self.thread_name(int(n)) for n in np.flatnonzero(
            np.broadcast_to(beyond, (self.blocks, self.threads)))[:2]]  # fmt: skip
        return Finding(
            "out-of-bounds", self.here(), message, threads, view.name, where, count=count
        )

    def _negative(
        self, view: View, axis: int, index: tuple[Value, ...], lane: int, count: int
    ) -> None:
        key = ("negative-index", view.name, self.line, axis)
        if self.findings.again(key, count):
            return
        where, element = self._describe(view, index, lane)
        who = self.thread_name(lane)
        message = (
            f"{self.text(who)} accesses {element}: a negative index counts from the end, "
            "as in Python; C would read outside the array"
        )
        finding = Finding(
            "negative-index", self.here(), message, [who], view.name, where, count=count
        )
        self.findings.add(key, finding)

    def part(self, view: View, index: tuple[Any, ...]) -> View:
        """The array that slices, or fewer indices than dimensions, select."""
        if Ellipsis in [i for i in index if i is Ellipsis]:
            at = next(n for n, i in enumerate(index) if i is Ellipsis)
            fill = view.ndim - (len(index) - 1)
            index = (*index[:at], *[slice(None)] * fill, *index[at + 1 :])
        index = (*index, *[slice(None)] * (view.ndim - len(index)))
        shape: list[Value] = []
        strides: list[int] = []
        offset = view.offset
        for axis, i in enumerate(index):
            stride, extent = view.strides[axis], view.shape[axis]
            if i is None:
                raise Stop(Finding("unsupported", self.here(), "None as an index"))
            if not isinstance(i, slice):
                i = i if type(i) is int else self._whole(view, i)
                fixed = self._repair(view, axis, i, index)
                offset = offset + fixed * stride
                continue
            start, stop, step = i.start, i.stop, 1 if i.step is None else i.step
            if all(x is None or type(x) is int for x in (start, stop)) and type(extent) is int:
                first, last, step = slice(start, stop, step).indices(extent)
                count: Value = len(range(first, last, step))
            else:
                first = _clip(0 if start is None else start, extent)
                last = _clip(extent if stop is None else stop, extent)
                count = np.maximum(-((first - last) // step), 0)
            shape.append(count)
            strides.append(stride * step)
            offset = offset + first * stride
        return View(view.allocation, view.dtype, tuple(shape), tuple(strides), offset, view.name)

    # --- reading and writing

    def load(self, thing: Any, index: Any) -> Any:
        """`thing[index]` for arrays, records and tuples."""
        if type(thing) is not View:
            return self._item(thing, index)
        if type(index) is str:
            return thing.field(index)
        found = self.locate(thing, index)
        if type(found) is View:
            return found
        place, slot = found  # type: ignore[misc]
        if thing.dtype.kind == "V":
            return Record(thing, place)
        if self.counters is not None:
            self.counters.access(self, thing, slot, "load")
        value = gather(thing, slot, self.lane_base(thing))
        if self.hazards is not None:
            if thing.space in ("shared", "local"):
                self._check_initialised(thing, slot, place)
            if thing.space != "local":
                value = self.hazards.read(self, thing, slot, place, value)
        return value

    def _item(self, thing: Any, index: Any) -> Any:
        if isinstance(thing, Record):
            return self.load(thing.field(index), thing.index)
        if isinstance(thing, tuple):
            if isinstance(index, slice) or type(index) is int:
                try:
                    return thing[index]
                except IndexError:
                    message = f"index {index} is out of bounds for a tuple of {len(thing)}"
                    raise Stop(Finding("out-of-bounds", self.here(), message)) from None
            index = self._whole(View.__new__(View) if False else _TUPLE, index)  # type: ignore[arg-type]
            if type(index) is int:
                return self._item(thing, index)
            mask = True if self.mask is None else self.mask
            wrapped = np.where(index < 0, index + len(thing), index)
            beyond = ((wrapped < 0) | (wrapped >= len(thing))) & mask
            if np.any(beyond):
                message = f"an index is out of bounds for a tuple of {len(thing)}"
                raise Stop(Finding("out-of-bounds", self.here(), message))
            return np.choose(np.clip(wrapped, 0, len(thing) - 1), thing)
        message = f"{type(thing).__name__} cannot be indexed in a kernel"
        raise Stop(Finding("not-a-kernel", self.here(), message))

    def store(self, view: Any, index: Any, value: Any) -> None:
        """`view[index] = value` by the active threads."""
        if type(view) is not View:
            if isinstance(view, Record):
                return self.store(view.field(index), view.index, value)
            message = f"{type(view).__name__} does not take item assignment"
            raise Stop(Finding("not-a-kernel", self.here(), message))
        found = self.locate(view, index)
        if type(found) is View:
            return self._fill(found, value)
        place, slot = found  # type: ignore[misc]
        if view.space == "const" or view.allocation.space == "const":
            message = f"{view.name} is constant memory and cannot be written"
            raise Stop(Finding("not-a-kernel", self.here(), message, array=view.name))
        if view.dtype.kind == "V":
            return self._store_record(view, place, value)
        value = cast(value, view.dtype)
        if not self.watching or self._changes(view, slot, value):
            self.written += 1
        if self.counters is not None:
            self.counters.access(self, view, slot, "store")
        if self.hazards is None:
            self._store_plain(view, slot, value)
            return None
        lane, slots = self.active_slots(view, slot, self.mask)
        value = self.active_values(value, lane)
        if self.order is not None:
            turn = np.argsort(self.order[lane])
            lane, slots = lane[turn], slots[turn]
            value = value[turn] if isinstance(value, np.ndarray) else value
        if view.space != "global":
            self._initialise(view, slots)
        if view.space == "local":
            scatter(view, slots, value)
        else:
            self.hazards.write(self, view, lane, slots, value, place)
        return None

    def _changes(self, view: View, slot: Value, value: Value) -> bool:
        """Whether a store would change what is there."""
        lane, slots = self.active_slots(view, slot, self.mask)
        if not view.aligned:
            return True
        return bool((view.flat[slots] != self.active_values(value, lane)).any())

    def active_values(self, value: Value, lane: Lanes) -> Value:
        """One value per active lane, or a number that they share."""
        if not isinstance(value, np.ndarray):
            return value
        values = np.broadcast_to(value, (self.blocks, self.threads)).ravel()
        return values if len(lane) == len(values) else values[lane]

    def _store_plain(self, view: View, slot: Value, value: Value) -> None:
        slots = full_slots(view, slot, self.lane_base(view))
        if view.space == "const":
            return
        if self.mask is None:
            if isinstance(slots, np.ndarray) and isinstance(value, np.ndarray):
                if value.size > slots.size:
                    slots = np.broadcast_to(slots, np.broadcast_shapes(slots.shape, value.shape))
            elif isinstance(value, np.ndarray):
                value = value.ravel()[-1]  # all write one place, the last one wins
            scatter(view, slots, value)
            return
        shape = np.broadcast_shapes(np.shape(slots), np.shape(value), np.shape(self.mask))
        mask = np.broadcast_to(self.mask, shape)
        if isinstance(value, np.ndarray):
            value = np.broadcast_to(value, shape)[mask]
        scatter(view, np.broadcast_to(slots, shape)[mask], value)

    def _fill(self, view: View, value: Any) -> None:
        """`a[...] = number` or `a[...] = b`, one element after the other."""
        for place in np.ndindex(*(int(n) for n in view.shape)):
            item = value
            if isinstance(value, View):
                item = self.load(value, place[-value.ndim :])
            self.store(view, place, item)

    def _store_record(self, view: View, place: tuple[Value, ...], value: Any) -> None:
        if not isinstance(value, Record):
            message = f"an element of {view.name} takes a record"
            raise Stop(Finding("not-a-kernel", self.here(), message))
        for name in view.dtype.names or ():
            self.store(view.field(name), place, self.load(value.field(name), value.index))

    # --- memory of the kernel's own

    def constant_array(self, data: Lanes, name: str) -> View:
        """A NumPy array among the kernel's globals, or `const.array_like`."""
        key = ("const", id(data))
        if key not in self.arrays:
            copy = np.ascontiguousarray(data)
            allocation = Allocation("const", copy.reshape(-1).view(np.uint8))
            allocation.readonly = True
            self.arrays[key] = View(allocation, copy.dtype, copy.shape, copy.strides, 0, name)
        return self.arrays[key]

    def private_array(
        self, space: str, site: object, shape: Any, dtype: np.dtype[Any], name: str
    ) -> View:
        """`shared.array` or `local.array`, made when the place is first reached."""
        key = (space, site)
        if key in self.arrays:
            return self.arrays[key]
        shape = shape if isinstance(shape, tuple) else (shape,)
        shape = tuple(int(n) for n in shape)
        count = math.prod(shape) * dtype.itemsize
        dynamic = space == "shared" and count == 0
        if dynamic:
            view = self._dynamic(dtype, name)
        else:
            size = -(-count // 16) * 16
            many = self.blocks if space == "shared" else self.blocks * self.threads
            data = np.empty(size * many, np.uint8)
            poison(data[: len(data) // dtype.itemsize * dtype.itemsize].view(_plain(dtype)))
            allocation = Allocation(space, data, size)
            strides = tuple(dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))
            if space == "shared":
                allocation.offset = self.static_bytes
                self.static_bytes += size
                self.program.check_shared(self, self.static_bytes)
            view = View(allocation, dtype, shape, strides, 0, name)
        self.arrays[key] = view
        return view

    def _dynamic(self, dtype: np.dtype[Any], name: str) -> View:
        """All dynamic shared arrays begin at the same byte."""
        if "dynamic" not in self.arrays:
            size = max(-(-self.dynamic // 16) * 16, 16)
            data = np.empty(size * self.blocks, np.uint8)
            poison(data.view(np.float32))
            allocation = Allocation("shared", data, size)
            allocation.offset = self.static_bytes
            self.arrays["dynamic"] = View(allocation, np.dtype(np.uint8), (size,), (1,), 0, name)
        allocation = self.arrays["dynamic"].allocation
        shape = (self.dynamic // dtype.itemsize,)
        return View(allocation, dtype, shape, (dtype.itemsize,), 0, name)

    def _initialise(self, view: View, slots: Lanes) -> None:
        shadow = self.hazards_init(view)
        if not shadow.complete:
            shadow.mark(view, slots)

    def hazards_init(self, view: View) -> Initialised:
        """Which bytes of an allocation have been written."""
        key = ("init", view.allocation.number)
        found = self.arrays.get(key)
        if found is None:
            found = Initialised(view)  # type: ignore[assignment]
            self.arrays[key] = found  # type: ignore[assignment]
        return found  # type: ignore[return-value]

    def _check_initialised(self, view: View, slot: Value, place: tuple[Value, ...]) -> None:
        known = self.hazards_init(view)
        if known.full():
            return
        lane, slots = self.active_slots(view, slot, self.mask)
        missing = np.flatnonzero(~known.at(view, slots))
        if not len(missing):
            return
        first = int(lane[missing[0]])
        key = ("uninitialised-read", view.name, self.line)
        if self.findings.again(key, len(missing)):
            return
        where, element = self._describe(view, place, first)
        who = self.thread_name(first)
        message = (
            f"{self.text(who)} reads {element} in {view.space} memory, "
            "which nobody has written: it holds whatever was there before"
        )
        finding = Finding(
            "uninitialised-read", self.here(), message, [who], view.name, where,
            count=len(missing),
        )  # fmt: skip
        self.findings.add(key, finding)


class Initialised:
    """Which elements of a shared or local allocation have been written."""

    def __init__(self, view: View) -> None:
        dynamic = view.space == "shared" and view.dtype.itemsize != 0 and not view.aligned
        self.grain = 1 if dynamic or view.name == "" else view.dtype.itemsize
        self.done = np.zeros(len(view.allocation.data) // self.grain, bool)
        self.complete = False
        self.fresh = False

    def _elements(self, view: View, slots: Lanes) -> tuple[Lanes, int]:
        size = view.dtype.itemsize
        if view.aligned and size == self.grain:
            return slots, 1
        if size % self.grain:
            self.done = np.repeat(self.done, self.grain)
            self.grain = 1
        start = slots * size if view.aligned else slots
        parts = size // self.grain
        return ((start // self.grain)[:, None] + np.arange(parts)).ravel(), parts

    def mark(self, view: View, slots: Lanes) -> None:
        """Notes writes to these slots."""
        self.done[self._elements(view, slots)[0]] = True
        self.fresh = True

    def full(self) -> bool:
        """Whether every element has been written."""
        if self.fresh:
            self.fresh = False
            self.complete = bool(self.done.all())
        return self.complete

    def at(self, view: View, slots: Lanes) -> Lanes:
        """For each slot, whether it has been written."""
        elements, parts = self._elements(view, slots)
        known: Lanes = self.done[elements]
        if parts == 1:
            return known
        every: Any = known.reshape(-1, parts).all(axis=1)
        return every  # type: ignore[no-any-return]


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind != "V" else np.dtype(np.uint8)


def _clip(bound: Value, extent: Value) -> Value:
    bound = np.where(np.less(bound, 0), bound + extent, bound)
    return np.clip(bound, 0, extent)


class _Named:
    name = "a tuple"


_TUPLE = _Named()
