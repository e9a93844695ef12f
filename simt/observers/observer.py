"""Observers: the events of a launch, and the base class for what watches them.

The machine knows no observer by name. It tells of each access, barrier, branch and operation;
who overrides a method of `Observer` is told. `m` is the chunk that runs, `m.mask` the threads
that take part, `m.line` the place in the source.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from simt.core.chunk import Chunk, Write
from simt.core.findings import Finding
from simt.core.masks import Mask
from simt.core.memory import View
from simt.core.values import Value

Lanes = np.ndarray[Any, Any]
Index = tuple[Value, ...]
Callbacks = tuple[Callable[..., None], ...]


class Observer:
    """Watches one launch; a subclass overrides the events that it wants to be told of."""

    replays = False  # may ask for another run of the launch
    once = False  # is not told of that other run

    def restart(self) -> None:
        """The launch starts again, as if nothing had happened."""

    def replay(self) -> bool:
        """Whether the launch must run once more for what was seen to show in its results."""
        return False

    # --- events

    def chunk(self, m: Chunk, last: Chunk | None) -> None:
        """Other blocks begin; `last` are those that have ended, if any of the launch have."""

    def statement(self, m: Chunk) -> None:
        """A statement begins."""

    def branch(self, m: Chunk, taken: Mask, other: Mask) -> None:
        """The active threads diverge."""

    def operation(self, m: Chunk, value: Value) -> None:
        """Arithmetic that gives this value."""

    def widened(self, m: Chunk) -> None:
        """Arithmetic in float64 on float32 data."""

    def unset(self, m: Chunk, name: str, finding: Finding) -> None:
        """A read of a variable to which nothing was assigned; the machine takes 0."""

    def access(self, m: Chunk, view: View, slot: Value, index: Index, kind: str) -> None:
        """A "load", "store" or "atomic" by the active threads, at one slot for each."""

    def older(self, m: Chunk, view: View, slot: Value, index: Index, value: Value) -> Value:
        """What a load gives instead of the value that is there; one observer may say so."""
        return value

    def write(self, m: Chunk, write: Write, index: Index) -> None:
        """What the active threads are about to write."""

    def begin(self, m: Chunk, write: Write, index: Index) -> None:
        """What a copy that goes on by itself may write from now on, and has not yet."""

    def barrier(self, m: Chunk, blocks: Value, grid: bool) -> None:
        """A barrier of each block, in all (None) or some (bool, (blocks, 1)), or of the grid."""

    def arrive(self, m: Chunk) -> None:
        """The active threads come to a barrier of some threads of their block."""

    def gathered(self, m: Chunk, arrived: Lanes, waiting: Lanes) -> None:
        """All have come to a barrier of some threads (bool, as lanes), some to wait for others."""

    def warp_barrier(self, m: Chunk, met: tuple[Lanes, Lanes, Lanes] | None) -> None:
        """`syncwarp` by all lanes of all warps (None), or by some.

        These are given as rows of 32: who came, the mask that each gave, who exists.
        """

    def fence(self, m: Chunk, block_only: bool) -> None:
        """`threadfence` by the active threads."""


@cache
def _overrides(kind: Any) -> frozenset[str]:
    """The events that an observer class overrides."""
    return frozenset(n for n, default in vars(Observer).items() if getattr(kind, n) is not default)


class Events:
    """The callbacks of each event, bound once: an event without observers costs nothing."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        kinds: list[Any] = [type(o) for o in observers]

        def callbacks(event: str) -> Any:
            pairs = zip(observers, kinds, strict=True)
            return tuple(getattr(o, event) for o, kind in pairs if event in _overrides(kind))

        self.chunk: Callbacks = callbacks("chunk")
        self.statement: Callbacks = callbacks("statement")
        self.branch: Callbacks = callbacks("branch")
        self.operation: Callbacks = callbacks("operation")
        self.widened: Callbacks = callbacks("widened")
        self.unset: Callbacks = callbacks("unset")
        self.access: Callbacks = callbacks("access")
        self.write: Callbacks = callbacks("write")
        self.begin: Callbacks = callbacks("begin")
        self.barrier: Callbacks = callbacks("barrier")
        self.arrive: Callbacks = callbacks("arrive")
        self.gathered: Callbacks = callbacks("gathered")
        self.warp_barrier: Callbacks = callbacks("warp_barrier")
        self.fence: Callbacks = callbacks("fence")
        changing: tuple[Callable[..., Value], ...] = callbacks("older")
        if len(changing) > 1:
            raise ValueError("two observers of one launch cannot both choose what a load gives")
        self.older = changing[0] if changing else None
