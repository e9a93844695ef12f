"""The trace of one block: which lanes were active at each line, and what they touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from simt.core.chunk import Chunk
from simt.core.masks import EMPTY
from simt.core.memory import View
from simt.core.source import unit
from simt.core.values import Value
from simt.errors import BadInput
from simt.observers.observer import Index, Observer

LIMIT = 1_000  # steps that are kept
WARP = 32
IDLE = -1  # the element of a lane that touches nothing
_Access = tuple[str, str, str, int, Any, Any]  # as a `Touch`, but slots and the mask they are under


@dataclass
class Touch:
    """One load, store or atomic by a block: the element of each thread, IDLE for none.

    Elements are counted from the first byte of the array's memory, in units of `size` bytes.
    """

    array: str
    kind: str
    space: str
    size: int
    elements: list[int]

    def warp(self, number: int) -> list[int]:
        """The elements of the 32 lanes of one warp."""
        lanes = self.elements[number * WARP : (number + 1) * WARP]
        return lanes + [IDLE] * (WARP - len(lanes))

    def warps(self) -> list[int]:
        """The warps that take part."""
        count = -(-len(self.elements) // WARP)
        return [w for w in range(count) if any(e != IDLE for e in self.warp(w))]


@dataclass
class TraceStep:
    """One statement: its line, which threads were active, and what they touched."""

    line: int
    function: str
    active: list[bool]
    touches: list[Touch] = field(default_factory=list)


class Steps:
    """The steps of one block, in order; the first thousand are kept.

    Most reports are never asked for them: what makes the steps may stand for them until then.
    """

    def __init__(
        self, block: int, threads: int, steps: list[TraceStep] | Callable[[], list[TraceStep]]
    ) -> None:
        self.block = block
        self.threads = threads
        self._steps = steps

    @property
    def steps(self) -> list[TraceStep]:
        """All of them."""
        if callable(self._steps):
            self._steps = self._steps()
        return self._steps

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: int) -> TraceStep:
        return self.steps[index]

    def __iter__(self) -> Iterator[TraceStep]:
        return iter(self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; activity as one string of 0 and 1 per step."""
        return {
            "block": self.block,
            "threads": self.threads,
            "steps": [
                {
                    "line": s.line,
                    "function": s.function,
                    "active": "".join("01"[a] for a in s.active),
                    "touches": [vars(t) for t in s.touches],
                }
                for s in self.steps
            ],
        }


class Recorder(Observer):
    """Records the steps of one block (its number in the grid)."""

    once = True

    def __init__(self, block: int = 0) -> None:
        self.block = block
        self.threads = 0
        self._steps: list[tuple[int, Any, list[_Access]]] = []  # place, mask
        self._row = -1
        self._chunk: Any = None

    def restart(self) -> None:
        """Forgets what was recorded: the launch starts again."""
        self._steps, self._chunk = [], None

    def _is_watched(self, m: Chunk) -> bool:
        """Whether the watched block is in this chunk and takes part."""
        if self._chunk is not m:
            self._chunk = m
            rows = np.flatnonzero(m.block_numbers == self.block)
            self._row = int(rows[0]) if len(rows) else -1
            self.threads = m.threads
        if self._row < 0 or m.mask is EMPTY:
            return False
        return m.mask is None or bool(self._row_of(m, m.mask).any())

    def _row_of(self, m: Chunk, value: Any) -> Any:
        """The row of the watched block."""
        return value[self._row if value.shape[0] > 1 else 0]

    def statement(self, m: Chunk) -> None:
        """A statement begins."""
        if len(self._steps) < LIMIT and self._is_watched(m):
            mask = None if m.mask is None else self._row_of(m, m.mask).copy()
            self._steps.append((m.line, mask, []))

    def access(self, m: Chunk, view: View, slot: Value, index: Index, kind: str) -> None:
        """A load, store or atomic; those of local memory are not shown."""
        if view.space == "local" or not 0 < len(self._steps) < LIMIT or not self._is_watched(m):
            return
        if isinstance(slot, np.ndarray):
            slot = self._row_of(m, slot).copy()
        mask = None if m.mask is None else self._row_of(m, m.mask).copy()
        size = view.dtype.itemsize if view.aligned else 1
        self._steps[-1][2].append((view.name, kind, view.space, size, slot, mask))

    def finish(self) -> Steps:
        """The recorded steps."""
        places = [(unit(place), mask, touches) for place, mask, touches in self._steps]
        records = [(where.name, line, *rest) for (where, line), *rest in places]
        return Steps(self.block, self.threads, partial(_plain, records, self.threads))


def _plain(records: list[Any], threads: int) -> list[TraceStep]:
    """The recorded steps as plain data."""
    steps = []
    for name, line, mask, touches in records:
        accesses = []
        for array, kind, space, size, slot, active_here in touches:
            slots = slot if active_here is None else np.where(active_here, slot, IDLE)
            accesses.append(Touch(array, kind, space, size, _each(slots, threads)))
        active = _each(True if mask is None else mask, threads)
        steps.append(TraceStep(line, name, active, accesses))
    return steps


def _each(value: Any, threads: int) -> list[Any]:
    """A value for each thread; a single value stands for all."""
    values: list[Any] = np.ravel(value).tolist()
    return values if len(values) == threads else values * threads


def block_number(block: int | tuple[int, ...], grid: tuple[int, int, int]) -> int:
    """The number of a block in its grid, from a number or coordinates.

    >>> block_number((1, 2), (4, 4, 1))
    9
    """
    if isinstance(block, tuple):
        x, y, z = (*block, 0, 0)[:3]
        number = x + grid[0] * (y + grid[1] * z)
    else:
        number = block
    count = grid[0] * grid[1] * grid[2]
    if not 0 <= number < count:
        raise BadInput(f"there is no block {block} in a grid of {count} blocks")
    return number
