"""A chunk of blocks that run together: who its threads are, and where they are."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.simt.core.masks import EMPTY, Mask
from gpulearn.simt.core.memory import View, full_slots
from gpulearn.simt.core.values import INT64, Value
from gpulearn.simt.frontend.source import KernelSource, unit

if TYPE_CHECKING:
    from gpulearn.simt.core.log import FindingLog
    from gpulearn.simt.frontend.program import Program
    from gpulearn.simt.machine.own_arrays import Initialised
    from gpulearn.simt.observers.counters import Counters
    from gpulearn.simt.observers.races import Hazards

__all__ = ["Chunk", "Dim3"]

Triple = tuple[int, int, int]
Lanes = np.ndarray[Any, Any]


class Dim3:
    """`threadIdx` and its kin, as the machine holds them."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Value, y: Value, z: Value) -> None:
        self.x, self.y, self.z = x, y, z


class Chunk:
    """The threads of some blocks, with the launch they belong to."""

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
        self.begun = time.monotonic()
        self.written = 0  # stores so far; while a loop is watched, those that changed something
        self.watching = False
        self.frames: list[Any] = []
        self.arrays: dict[Any, View] = {}
        self.initialised: dict[int, Initialised] = {}
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

    def at(self, place: int) -> None:
        """The statement that is carried out now."""
        self.line = place
        if self.counters is not None:
            self.counters.statement(self)

    def here(self) -> int:
        """The source line being carried out."""
        return unit(self.line)[1]

    def elsewhere(self) -> str | None:
        """The device function being carried out, if it stands in another cell or file."""
        where = unit(self.line)[0] if self.line else self.source
        return None if where.file == self.source.file else where.name

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

    def active_values(self, value: Value, lane: Lanes) -> Value:
        """One value per active lane, or a number that they share."""
        if not isinstance(value, np.ndarray):
            return value
        values = np.broadcast_to(value, (self.blocks, self.threads)).ravel()
        return values if len(lane) == len(values) else values[lane]
