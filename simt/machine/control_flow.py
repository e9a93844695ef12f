"""Loops in which each thread may stop on its own.

A loop goes on while any thread goes on. Threads that have finished, left by `break` or
skipped by `continue` wait outside the mask, as lanes of a warp do.
"""

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from simt.core import limits
from simt.core.arithmetic import COMPARE
from simt.core.masks import EMPTY, Mask, split, union
from simt.core.values import Range, Value, truth
from simt.machine.iteration import item, length
from simt.machine.lockstep import Lockstep
from simt.machine.machine import Machine

WHILE_LIMIT = 1 << 30  # iterations of one `while` loop
MIN_ITERATIONS = 10_000  # that every loop may run, however long they take
CHECK_INTERVAL = 1_000  # iterations between two checks of the clock and of what changes
ENDLESS_LIMIT = 100_000  # iterations of a loop whose condition nothing in it changes
WAIT_LIMIT = 1_000  # iterations of a loop that changes nothing


class _DivergentLoop:
    """What all loops share: the masks of threads that wait outside."""

    def __init__(self, machine: Machine, place: int, leaves: bool) -> None:
        self.machine = machine
        self.place = place
        self.leaves = leaves
        self.entry: Mask = machine.mask
        self.done: Mask = EMPTY
        self.left: Mask = EMPTY
        self.skipped: Mask = EMPTY

    def leave(self) -> None:
        """`break` for the active threads."""
        self.left = union(self.left, self.machine.mask)
        self.machine.mask = EMPTY

    def skip(self) -> None:
        """`continue` for the active threads."""
        self.skipped = union(self.skipped, self.machine.mask)
        self.machine.mask = EMPTY

    def gathered(self) -> Mask:
        """The threads that are still in the loop after an iteration."""
        mask = union(self.machine.mask, self.skipped)
        self.skipped = EMPTY
        return mask

    def finish(self) -> None:
        """Ends the loop: threads that did not break run the `else` suite."""
        self.machine.mask = self.done if self.leaves else self.entry

    def close(self) -> None:
        """After the loop: threads that broke out rejoin the others."""
        if self.leaves:
            machine = self.machine
            machine.mask = machine.whole(union(machine.mask, self.left), self.entry)


class WhileLoop(_DivergentLoop):
    """`while`: `again()` begins an iteration, `test(condition)` says who takes part.

    A loop ends with a finding when it has shown that it is endless: an iteration leaves
    every variable and all memory as they were. Anything else may only be slow, and has time.
    """

    def __init__(
        self, machine: Machine, place: int, leaves: bool, waits: bool, endless: bool = False
    ) -> None:
        super().__init__(machine, place, leaves)
        self.count = 0
        self.started = time.monotonic()
        self.waits = waits  # nothing is assigned inside: only memory can end it
        self.endless = endless  # nothing inside can change the condition or leave
        self.sample: tuple[Any, ...] | None = None
        self.written = -1
        self.last_change = 0

    def again(self, *state: Any) -> bool:
        """Begins an iteration; False when no thread is left.

        `state` holds the variables that the loop assigns.
        """
        machine = self.machine
        machine.mask = mask = self.gathered()
        if mask is EMPTY:
            return False
        machine.at(self.place)
        machine.step()
        self.count += 1
        if self.waits:
            self._watch()
        elif self.sample is not None:
            self._compare(state)
        if self.count % CHECK_INTERVAL == 0:
            self._look(state)
        return True

    def _look(self, state: tuple[Any, ...]) -> None:
        """Ends a loop that has run too long; else samples what the next iteration begins with."""
        machine = self.machine
        if self.endless and self.count >= ENDLESS_LIMIT:
            self._stuck(
                f"this loop never ends: after {self.count:,} iterations, nothing in it has "
                "changed its condition"
            )
        spent = time.monotonic() - self.started
        if self.count >= WHILE_LIMIT or (self.count >= MIN_ITERATIONS and spent > limits.SECONDS):
            self._stuck(limits.slow(f"this loop is still running after {self.count:,} iterations"))
        if self.waits:
            return
        machine.watching = True
        self.written = machine.written
        copies = (v.copy() if isinstance(v, np.ndarray) else v for v in state)
        self.sample = (machine.mask, *copies)

    def _compare(self, state: tuple[Any, ...]) -> None:
        machine = self.machine
        sample, self.sample = self.sample, None
        machine.watching = False
        if machine.written == self.written and _same(sample, (machine.mask, *state)):
            self._stuck("this loop never ends: an iteration of it changes nothing")

    def _watch(self) -> None:
        machine = self.machine
        machine.watching = self.count > WAIT_LIMIT  # from now on, only changes count
        if machine.written != self.written:
            self.written, self.last_change = machine.written, self.count
        elif self.count - self.last_change > WAIT_LIMIT:
            self._stuck(waiting(machine))

    def _stuck(self, message: str) -> None:
        machine = self.machine
        raise machine.stop("no-progress", message, *machine.who(machine.mask))

    def test(self, condition: Value) -> bool:
        """Keeps the threads for which the condition holds."""
        machine = self.machine
        going, stopped = split(machine.mask, machine.rely(truth(condition)))
        for callback in machine.events.branch:
            callback(machine, going, stopped)
        self.done = union(self.done, stopped)
        machine.mask = going
        return going is not EMPTY


class ForLoop(_DivergentLoop):
    """`for`: iterating over it gives the loop variable, with the mask set."""

    def __init__(self, machine: Machine, items: Any, place: int, leaves: bool) -> None:
        super().__init__(machine, place, leaves)
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        items = self.items
        is_range = isinstance(items, Range)  # its items are the numbers that are counted
        if is_range and items.uniform:
            return self._count(range(items.start, items.stop, items.step), None)
        if is_range:
            return self._own_ranges(items)
        count, pick = length(self.machine, items), partial(item, self.machine, items)
        if type(count) is int:
            return self._count(range(count), pick)
        return map(pick, self._own_ranges(Range(0, count, 1)))

    def _count(self, numbers: range, pick: Callable[[Value], Any] | None) -> Iterator[Any]:
        steps = self._together(numbers) if self.leaves else self._simply(numbers)
        return steps if pick is None else map(pick, steps)

    def _simply(self, items: range) -> Iterator[Any]:
        machine, place = self.machine, self.place
        for number in items:
            machine.step()
            yield number
            if machine.events.statement:
                machine.at(place)

    def _together(self, items: range) -> Iterator[Any]:
        """All threads run over the same items, but may leave on the way."""
        machine = self.machine
        mask = self.entry
        for number in items:
            machine.mask = mask
            machine.step()
            yield number
            mask = self.gathered()
            if mask is EMPTY:
                break
            if machine.events.statement:
                machine.mask = mask
                machine.at(self.place)
        self.done = mask

    def _own_ranges(self, items: Range) -> Iterator[Value]:
        """Each thread counts through its own range."""
        machine = self.machine
        mask = self.entry
        i, stop, step = items.start, items.stop, items.step
        up = COMPARE["Gt"](step, 0)
        while True:
            if up is True:
                going = COMPARE["Lt"](i, stop)
            elif up is False:
                going = COMPARE["Gt"](i, stop)
            else:
                going = np.where(up, np.less(i, stop), np.greater(i, stop))
            mask, stopped = split(mask, going)
            for callback in machine.events.branch:
                callback(machine, mask, stopped)
            self.done = union(self.done, stopped)
            if mask is EMPTY:
                return
            machine.mask = mask
            machine.step()
            yield i
            mask = self.gathered()
            if mask is EMPTY:
                return
            i = i + step
            if machine.events.statement:
                machine.mask = mask
                machine.at(self.place)


def waiting(m: Lockstep, *, others_go_on: bool = False) -> str:
    """The message for a loop that waits: on a GPU threads outside it go on meanwhile.

    `others_go_on`: here too, if their whole warp is outside and their block has begun.
    """
    others = _who_else(m, others_go_on)
    how = "does not end here" if others else "waits forever"
    return f"this loop {how}: while it runs, no thread changes what it waits for{others}"


def _who_else(m: Lockstep, others_go_on: bool) -> str:
    inside = union(m.mask, m.frames[0].left)  # or returned from the kernel
    outside = np.setdiff1d(m.lanes(None), m.lanes(inside))
    more_chunks = m.block_numbers[-1] + 1 < math.prod(m.grid)
    warps = (n // m.threads * m.warps + n % m.threads // 32 for n in (outside, m.lanes(m.mask)))
    own = np.isin(*warps)
    if len(outside) and (own.any() if others_go_on else own.all()):
        return (
            ". Others of its warp go on only after it, as on GPUs before Volta; newer ones "
            "let them go on meanwhile, which may end it if each round reads by an atomic"
        )
    if (len(outside) and not others_go_on) or more_chunks:
        return (
            ". Other warps go on only after it here; on a GPU they go on meanwhile, since "
            "Volta other threads of its warp too, which may end it if each round reads by an atomic"
        )
    return ""


def _same(a: Any, b: Any) -> bool:
    """Whether two values are certainly the same."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, bool | int | float | complex | np.generic):
        return type(a) is type(b) and bool(a == b)
    return a is b
