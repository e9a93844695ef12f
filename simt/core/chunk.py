"""A chunk: blocks that run together, who their threads are and which of them are active."""

import math
from collections.abc import Hashable
from functools import cached_property, lru_cache
from typing import Any
from weakref import ref

import numpy as np

from simt.core.findings import Finding, FindingLog, Stop
from simt.core.masks import EMPTY, Mask
from simt.core.memory import View, full_slots, scatter
from simt.core.source import Listing, unit
from simt.core.undefined import Doubtful, doubtful
from simt.core.values import INT64, Value

Triple = tuple[int, int, int]
Lanes = np.ndarray[Any, Any]
MAX_INDEX_ARRAYS = 16  # whose properties are cached
Who = dict[str, Triple]  # the block and the thread of one thread


class Dim3:
    """`threadIdx` and its kin, as the machine holds them."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Value, y: Value, z: Value) -> None:
        self.x, self.y, self.z = x, y, z


def _coordinates(number: Value, extent: Triple) -> Dim3:
    """The places of blocks in a grid, or of threads in a block, by their numbers."""
    x, y, z = extent
    return Dim3(
        0 if x == 1 else number % x,
        0 if y == 1 else number // x % y,
        0 if z == 1 else number // (x * y),
    )


@lru_cache(maxsize=64)
def _lanes(block: Triple) -> tuple[Lanes, Value, Dim3]:
    """The numbers of the threads of a block, their lanes, and their places in it."""
    number = np.arange(math.prod(block), dtype=INT64).reshape(1, -1)
    number.flags.writeable = False
    return number, number % 32 if number.size > 1 else 0, _coordinates(number, block)


class IndexArrays:
    """A cache of the properties of index arrays: a loop uses the same ones again."""

    def __init__(self) -> None:
        # by the id of an array: the array, its extremes, its products
        self._cache: dict[int, tuple[Any, int, int, dict[int, Lanes]]] = {}

    def _of(self, index: Lanes) -> tuple[Any, int, int, dict[int, Lanes]]:
        entry = self._cache.get(id(index))
        if entry is None or entry[0]() is not index:
            if len(self._cache) >= MAX_INDEX_ARRAYS:
                self._cache.clear()
            entry = ref(index), index.min(initial=0), index.max(initial=-1), {}
            self._cache[id(index)] = entry
        return entry

    def within(self, index: Lanes, limit: int) -> bool:
        """Whether all numbers are from 0 to below `limit`."""
        _, least, most, _ = self._of(index)
        return bool(least >= 0 and most < limit)

    def times(self, index: Lanes, step: int) -> Lanes:
        """The numbers times `step`."""
        products = self._of(index)[3]
        if step not in products:
            products[step] = index * step
        return products[step]


class Chunk:
    """The threads of some blocks, by their numbers in the grid, and their state."""

    def __init__(
        self, source: Listing, grid: Triple, block: Triple, numbers: Lanes, findings: FindingLog
    ) -> None:
        self.source = source
        self.grid, self.block = grid, block
        self.blocks, self.threads = len(numbers), math.prod(block)
        self.warps = -(-self.threads // 32)
        self.alone = self.blocks * self.threads == 1  # there is one thread only
        self.findings = findings
        self.mask: Mask = None
        self.order: Lanes | None = None  # in which threads write, if not in their own
        self.indices = IndexArrays()
        self.copying = False  # a record as a whole, set or not
        # a read that may go beside atomics: a volatile one (1), or beside volatile writes too (2)
        self.strong = 0
        self.polled: tuple[View, Value, Mask] | None = None  # the last strong read: where, by whom
        self.line = 0  # the place of the statement that is carried out
        self.doubts: dict[Hashable, Finding] = {}  # about values, which are none until they matter
        self.block_numbers = numbers
        self.axes: dict[int, tuple[Value, ...]] = {}  # the threads' places in the grid, by `ndim`
        _, self.laneid, self.threadIdx = _lanes(self.block)
        column = numbers.astype(INT64).reshape(-1, 1) if len(numbers) > 1 else int(numbers[0])
        self.blockIdx = _coordinates(column, self.grid)
        self.blockDim = Dim3(*self.block)
        self.gridDim = Dim3(*self.grid)
        self.warpsize = 32
        self.rows = np.arange(self.blocks, dtype=INT64).reshape(-1, 1)

    @cached_property
    def thread_numbers(self) -> Lanes:
        """The numbers of the threads in the grid, for observers."""
        column = self.block_numbers.astype(INT64).reshape(-1, 1)
        return column * self.threads + _lanes(self.block)[0]

    def here(self) -> int:
        """The source line being carried out."""
        return unit(self.line)[1]

    def locate(self, finding: Finding) -> None:
        """Names the device function of a finding, if it is in another cell or file."""
        where = unit(self.line)[0] if self.line else self.source
        if where.file != self.source.file:
            finding.function, finding.file = where.name, where.file

    def stop(
        self, kind: str, message: str, *threads: Who, array: str | None = None, detail: str = ""
    ) -> Stop:
        """The exception that ends the launch at this line."""
        finding = Finding(kind, self.here(), message, list(threads), array)
        finding.detail = (detail,) * bool(detail)
        return Stop(finding)

    def note(self, key: Hashable, finding: Finding) -> None:
        """Adds a finding at this line and goes on; `key` tells mistakes apart."""
        self.locate(finding)
        self.findings.add(key, finding)

    def pass_over(self, finding: Finding) -> None:
        """Notes an access that the launch skips."""
        if not self.findings.keep_going:
            raise Stop(finding)
        key = finding.kind, finding.array, self.line
        if not self.findings.again(key, finding.count):
            self.note(key, finding)

    def unwritten(self, lanes: Lanes, key: Hashable, finding: Finding) -> None:
        """Hears of a read of memory that nobody has written, by these lanes."""
        self.note(key, finding)

    def doubted(self, value: Value, lanes: Lanes, key: Hashable, finding: Finding) -> Value:
        """A value that is undefined in some lanes, which is a finding where something needs it."""
        if self.findings.again(key, len(lanes)):
            return value
        self.locate(finding)
        self.doubts.setdefault(key, finding)
        origin = np.zeros((self.blocks, self.threads), np.int32)
        origin.ravel()[lanes] = [*self.doubts].index(key) + 1
        return doubtful(self.spread(value), origin)

    def rely(self, value: Value) -> Value:
        """A value on which a store, a branch or an address depends for the active threads."""
        if type(value) is not Doubtful:
            return value
        if value.origin is not None:
            origin = value.origin if value.ndim == 2 else value.origin.max(axis=2)
            origins = self.spread(origin).ravel()[self.lanes(self.mask)]
            for number in np.unique(origins[origins > 0]).tolist():
                key, finding = [*self.doubts.items()][number - 1]
                self.findings.add(key, finding)
        return value.view(np.ndarray)

    def number_name(self, number: int) -> Who:
        """Block and thread coordinates of a thread's number in the grid."""
        block, lane = divmod(int(number), self.threads)
        gx, gy, _ = self.grid
        bx, by, _ = self.block
        return {
            "block": (block % gx, block // gx % gy, block // (gx * gy)),
            "thread": (lane % bx, lane // bx % by, lane // (bx * by)),
        }

    def thread_name(self, lane: int) -> Who:
        """Block and thread coordinates of a lane of this chunk."""
        return self.number_name(self.thread_numbers.ravel()[lane])

    def short(self, coordinates: Triple, extent: Triple) -> str:
        """Coordinates without the dimensions that the launch does not use."""
        used = 1 if extent[1] == extent[2] == 1 else 2 if extent[2] == 1 else 3
        return str(coordinates[0]) if used == 1 else str(coordinates[:used])

    def text(self, who: Who, *, with_block: bool = True) -> str:
        """A thread in words."""
        thread = f"thread {self.short(who['thread'], self.block)}"
        if not with_block:
            return thread
        return f"{thread} of block {self.short(who['block'], self.grid)}"

    def pair_text(self, a: Who, b: Who) -> tuple[str, str]:
        """Two threads in words; the block is named once if it is the same."""
        same = a["block"] == b["block"]
        return self.text(a), self.text(b, with_block=not same)

    def further(self, count: int) -> str:
        """How many more threads did the same; blocks of other chunks may do so too."""
        least = "at least " if self.blocks < math.prod(self.grid) else ""
        threads = "thread" if count == 2 else "threads"
        return f" (and {least}{count - 1:,} more {threads})" if count > 1 else ""

    def spread(self, value: Value) -> Lanes:
        """A value for each thread, (blocks, threads)."""
        shape = self.blocks, self.threads
        if isinstance(value, np.ndarray) and value.shape == shape:
            return value  # most are, and NumPy takes microseconds to see it
        return np.broadcast_to(value, shape)

    @cached_property
    def all_lanes(self) -> Lanes:
        """The numbers of all lanes."""
        return np.arange(self.blocks * self.threads)

    def lanes(self, mask: Mask) -> Lanes:
        """The numbers of the lanes in a mask, within the chunk."""
        if mask is None:
            return self.all_lanes
        if mask is EMPTY:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.spread(mask))

    def who(self, mask: Mask) -> list[Who]:
        """The first two threads of a mask."""
        return [self.thread_name(int(lane)) for lane in self.lanes(mask)[:2]]

    def lane_index(self, index: tuple[Value, ...], lane: int) -> tuple[int, ...]:
        """The index that one lane used."""
        return tuple(
            int(self.spread(i).ravel()[lane] if isinstance(i, np.ndarray) else i) for i in index
        )

    def element(self, view: View, index: tuple[Value, ...], lane: int) -> tuple[Any, str]:
        """The index that one lane used, and the element of the array in words."""
        plain = tuple(
            i if isinstance(i, np.ndarray | int | np.integer | bool) else 0 for i in index
        )
        where = self.lane_index(plain, lane)
        return where, f"{view.name}[{', '.join(map(str, where))}]"

    def active_slots(self, view: View, slot: Value, mask: Mask) -> tuple[Lanes, Lanes]:
        """The active lanes, and the flat slot that each touches."""
        slots = self.spread(full_slots(view, slot, self.lane_base(view))).ravel()
        lanes = self.lanes(mask)
        return lanes, slots if mask is None else slots[lanes]

    def in_each_block(self, view: View, slot: Value, mask: Mask) -> tuple[Lanes, Lanes] | None:
        """The active threads of a block and their slots in it, if all blocks do the same."""
        if view.space != "shared" or not view.allocation.columns or mask is EMPTY:
            return None
        if (np.ndim(slot) and len(slot) > 1) or (mask is not None and len(mask) > 1):
            return None
        threads = self.all_lanes[: self.threads]
        slots = np.broadcast_to(slot, (1, self.threads))[0]
        if mask is None:
            return threads, slots
        threads = np.flatnonzero(np.broadcast_to(mask, (1, self.threads)))
        return threads, slots[threads]

    def lane_base(self, view: View) -> Any:
        """What `full_slots` needs to tell blocks or threads apart."""
        return (self.blocks, self.threads) if view.space == "local" else self.rows

    def active_values(self, value: Value, lane: Lanes) -> Value:
        """One value per active lane, or a number that they share."""
        if not isinstance(value, np.ndarray):
            return value
        values = self.spread(value).ravel()
        return values if len(lane) == len(values) else values[lane]


class Write:
    """What the active threads write into an array, each into its slot; no values: an atomic.

    `used` says of an atomic whether each thread goes by what it has found there, `swaps` that it
    is a compare-and-swap, `block_only` that it is atomic for the threads of its block only.
    """

    def __init__(
        self, m: Chunk, view: View, slot: Value, values: Value, *, used: bool = False,
        swaps: bool = False, block_only: bool = False, volatile: bool = False,
    ) -> None:  # fmt: skip
        self.m, self.view, self.slot, self.values, self.used = m, view, slot, values, used
        self.swaps, self.block_only, self.volatile = swaps, block_only, volatile
        self.undefined: list[Doubtful] = []  # values that leave what they are written to unwritten
        self.in_each_block = m.in_each_block(view, slot, m.mask)

    @cached_property
    def lanes(self) -> tuple[Lanes, Lanes, Value]:
        """Lanes, slots and values in the order in which they are written."""
        m = self.m
        lane, slots = m.active_slots(self.view, self.slot, m.mask)
        values = m.active_values(self.values, lane)
        if m.order is None:
            return lane, slots, values
        turn = np.argsort(m.order[lane])
        return lane[turn], slots[turn], values[turn] if isinstance(values, np.ndarray) else values

    def carry_out(self) -> None:
        """Writes."""
        m, view, values = self.m, self.view, self.values
        if view.space == "local" and type(self.slot) is int and view.allocation.columns:
            mine = view.flat.reshape(-1, m.blocks, m.threads)[self.slot]
            if m.mask is not EMPTY:
                np.copyto(mine, values, where=True if m.mask is None else m.mask)
        elif type(self.slot) is int and m.alone and view.aligned and view.space == "global":
            if m.mask is not EMPTY:
                bits = values.ravel() if isinstance(values, np.ndarray) else values
                view.flat[self.slot : self.slot + 1] = bits  # as they are, those of a NaN too
        elif self.in_each_block is None or m.order is not None:
            _, slots, values = self.lanes
            scatter(view, slots, values)
        else:
            threads, slots = self.in_each_block
            if isinstance(values, np.ndarray):
                values = m.spread(values).T
                values = values if m.mask is None else values[threads]
            assert view.rows is not None
            view.rows.T[slots] = values
