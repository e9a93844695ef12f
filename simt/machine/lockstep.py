"""A running chunk of blocks: its place, its observers and its time limit."""

import time
from typing import Any

import numpy as np

from simt.core import limits
from simt.core.chunk import Chunk
from simt.core.findings import FindingLog
from simt.machine.spaces import Spaces
from simt.observers.observer import Events

STEP_LIMIT = 4_000_000  # steps in one chunk; beyond, the clock decides
Triple = tuple[int, int, int]
Lanes = np.ndarray[Any, Any]


class Lockstep(Chunk):
    """What the executors of a kernel's source and of its PTX have in common."""

    STEPS = "loop iterations"  # what is counted
    frames: list[Any]  # of the functions that run, the kernel's first: who has left each

    def __init__(
        self, program: Any, grid: Triple, block: Triple, numbers: Lanes, *, findings: FindingLog,
        events: Events, dynamic: int, order: Lanes | None = None,
    ) -> None:  # fmt: skip
        super().__init__(program.source, grid, block, numbers, findings)
        self.program = program
        self.events = events
        self.spaces = Spaces(dynamic, program.most_shared, whole_grid=program.cooperative)
        self.order = order  # in which the threads of a statement write, if not in their own
        self.steps = 0
        self.started = time.monotonic()
        self.written = 0  # stores so far; while a loop is watched, those that changed something
        self.watching = False

    def at(self, place: int) -> None:
        """The statement that is carried out now."""
        self.line = place
        for callback in self.events.statement:
            callback(self)

    def step(self) -> None:
        """Counts a step, so that no launch goes on forever."""
        self.steps += 1
        if self.steps > STEP_LIMIT and self.steps % 1024 == 0:
            if time.monotonic() - self.started < limits.SECONDS:
                return
            message = limits.slow(f"still running after {self.steps:,} {self.STEPS}")
            raise self.stop("no-progress", message, *self.who(self.mask))
