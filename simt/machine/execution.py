"""A launch: runs the grid chunk by chunk, again if it must, and collects the findings."""

import math
import re
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simt.core import limits
from simt.core.arithmetic import leak_hook
from simt.core.chunk import Chunk
from simt.core.findings import Finding, FindingLog, Stop
from simt.core.limits import check_together
from simt.core.memory import Allocation, views
from simt.core.program import MachineProgram, Translation
from simt.core.source import Listing
from simt.machine.machine import Machine
from simt.machine.spaces import TooLarge
from simt.observers.observer import Events, Observer
from simt.wording import project_page

Triple = tuple[int, int, int]
Lanes = np.ndarray[Any, Any]
MAX_SHUFFLED = 1 << 22  # blocks; the order of more is only reversed
SETTERS = 64  # blocks that are tried, the last and the next ones, when one waits for another
CHUNK = 32_768  # threads carried out together: small enough for the processor's caches


@dataclass
class LaunchResult:
    """The result of a launch: its findings, and the one that stopped it if any did."""

    source: Listing | None
    findings: list[Finding]
    stopped: Finding | None = None
    shared_bytes: int = 0  # of a block's static arrays


def launch(
    program: MachineProgram, grid: Triple, block: Triple, args: tuple[Any, ...], *,
    dynamic: int = 0, observers: Sequence[Observer] = (), seed: int = 0,
    only: Lanes | None = None, keep_going: bool = False, machine: Callable[..., Any] = Machine,
) -> LaunchResult:  # fmt: skip
    """Runs a kernel over views and numbers (see `arguments` for what makes them).

    `grid` and `block` are what `check_shape` gives.
    `only` are the numbers of the blocks to run, ascending, if not all. With `keep_going`,
    accesses out of bounds are skipped. `machine` makes what carries out a chunk of blocks,
    from what `Machine` is made of.
    """
    log = FindingLog(keep_going=keep_going)
    result = LaunchResult(program.source, [])
    try:
        started = _Launch(program, grid, block, args, log, observers, dynamic, seed, only, machine)
        started.run()
        result.shared_bytes = started.shared_bytes
    except Stop as stop:
        result.stopped = stop.finding
        log.add(("stop",), stop.finding)
    result.findings = log.findings
    return result


@dataclass
class _Launch:
    """A launch that may need more than one attempt: memory is put back before the next."""

    program: MachineProgram
    grid: Triple
    block: Triple
    args: tuple[Any, ...]
    log: FindingLog
    observers: Sequence[Observer]
    dynamic: int
    seed: int
    only: Lanes | None
    make: Callable[..., Any]
    saved: dict[Allocation, Lanes] = field(default_factory=dict)
    shared_bytes: int = 0
    machine: Any = None

    def __post_init__(self) -> None:
        self.total, self.threads = math.prod(self.grid), math.prod(self.block)

    def run(self) -> None:
        """Runs all blocks, with other chunks if the first do not fit; again if an observer asks."""
        program, total = self.program, self.total
        chunk = max(1, CHUNK // self.threads)
        if program.cooperative:
            chunk = total
            check_together(total, self.threads)
        allocations = written_allocations(program, self.args)
        if program.makes_arrays or program.may_wait or any(o.replays for o in self.observers):
            self.saved = {a: a.data.copy() for a in allocations}
        while True:
            try:
                self._attempt(chunk, self.observers)
                break
            except TooLarge as large:
                chunk = large.blocks
            except Stop as stop:
                alone = chunk == 1 or total == 1 or not self.saved or program.cooperative
                if stop.finding.kind != "no-progress":
                    raise
                if alone:
                    self._name_setter(stop.finding)
                    self._put_back()  # for another attempt, after work on other streams
                    raise
                chunk = 1  # blocks may wait for each other: one by one, some such kernels end
            self._put_back()
            self.log.clear()
            for observer in self.observers:
                observer.restart()
        if any(observer.replay() for observer in self.observers):
            self._put_back()
            self._attempt(chunk, [o for o in self.observers if not o.once])

    def _name_setter(self, finding: Finding) -> None:
        """Says of a block that waits for a store of a later block which one that is, if it can."""
        m, total, size = self.machine, self.total, self.threads
        if m.polled is None or m.polled[0].space != "global" or m.blocks > 1:
            return
        view, slot, mask = m.polled
        (lane, *_), (place, *_) = m.active_slots(view, slot, mask)
        before, name = view.flat[place], m.element(view, (slot,), lane)[1]
        self.log, later = FindingLog(), range(m.block_numbers[0] + 1, total)
        for other in dict.fromkeys((*later[::-1][:SETTERS], *later[:SETTERS][::-1])):
            if time.monotonic() - m.started > limits.SECONDS:
                return
            self.only = np.array([other])
            with suppress(Stop, TooLarge):
                self._attempt(1, ())
            if view.flat[place] != before:
                break
        else:
            return
        me, most = m.block_numbers[0], limits.MULTIPROCESSORS * limits.resident(size)
        first, second = (m.short(m.number_name(n * size)["block"], self.grid) for n in (me, other))
        finding.message = (
            f"block {first} waits forever for {name}, which block {second} sets: nothing orders "
            f"blocks, and they may run one after the other. A B200 holds {min(most, total):,} of "
            f"these {total:,} blocks at once, "
        ) + (
            "which only a cooperative launch makes sure of"
            if total <= most
            else "and a block may wait for those only that are there already"
        )

    def _put_back(self) -> None:
        for allocation, data in self.saved.items():
            allocation.data[:] = data

    def _attempt(self, size: int, observers: Sequence[Observer]) -> None:
        """All blocks, `size` at a time."""
        events = Events(observers)
        telling = bool(events.statement or events.operation)
        translation = self.program.kernel(counting=telling)
        self.machine = None
        for numbers in self._chunks(size):
            order = None
            if self.seed:
                rng = np.random.default_rng((self.seed, int(numbers[0])))
                order = rng.permutation(len(numbers) * self.threads)
            last, self.machine = self.machine, self.make(
                self.program, self.grid, self.block, numbers, findings=self.log, events=events,
                dynamic=self.dynamic, order=order,
            )  # fmt: skip
            for callback in events.chunk:
                callback(self.machine, last)
            del last  # and with it its arrays
            _run_chunk(self.machine, translation, self.args)
            self.shared_bytes = max(self.shared_bytes, self.machine.spaces.static_bytes)

    def _chunks(self, size: int) -> Iterator[Lanes]:
        """The numbers of the blocks that run together."""
        total = self.total
        starts = range(0, total, size)
        if self.only is not None:
            for start in range(0, len(self.only), size):
                yield self.only[start : start + size]
        elif self.seed and total <= MAX_SHUFFLED:
            order = np.random.default_rng(self.seed).permutation(total)
            for start in starts:
                yield np.sort(order[start : start + size])
        else:
            for start in reversed(starts) if self.seed else starts:
                yield np.arange(start, min(start + size, total))


def _run_chunk(m: Machine, translation: Translation, args: tuple[Any, ...]) -> None:
    """Runs a chunk; turns what goes wrong in it into a finding."""

    def widened() -> None:
        for callback in m.events.widened:
            callback(m)

    if m.events.widened:
        leak_hook.append(widened)
    try:
        with np.errstate(all="ignore"):
            translation(m, *args)
    except Stop as stop:
        m.locate(stop.finding)
        raise
    except RecursionError:
        message = "a device function calls itself without end"
        raise m.stop("no-progress", message) from None
    except MemoryError:
        raise m.stop("launch-limit", "not enough memory") from None
    except TooLarge:
        raise
    except Exception as error:
        raise Stop(_misuse(m, error) or _fault(m, error)) from error
    finally:
        if m.events.widened:
            leak_hook.pop()


def _misuse(m: Chunk, error: Exception) -> Finding | None:
    """The finding for a mistake of the kernel's; None if no line of a kernel can cause it."""
    text = str(error).partition("\n")[0]
    if "undefined" in text.lower():
        text = "a variable is used before anything was assigned to it"
    elif keyword := re.search(r"unexpected keyword argument '(\w+)'", text):
        text = f"{keyword[1]}= cannot be given to the function that it calls"
    elif "View" in text:
        text = "a whole array stands where one number is needed"
    else:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        misfit = isinstance(error, TypeError) and last.startswith("<simt ")  # a call of the line
        if not misfit and not text.endswith("is not a number"):
            return None
    return Finding("not-a-kernel", m.here(), f"this line does not work in a kernel: {text}")


def _fault(m: Chunk, error: Exception) -> Finding:
    """The machine's own failure, and where to report it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = str(error).partition("\n")[0]
    problem = f"{type(error).__name__}: {text}" if text else type(error).__name__
    page = project_page()
    message = (
        "the SIMT machine failed here, this is not your mistake: "
        f"{problem} ({Path(place.filename).name}, line {place.lineno}). "
        f"Please report it, with the kernel{f': {page}/issues' if page else ''}"
    )
    return Finding("machine-fault", m.here(), message)


def written_allocations(program: MachineProgram, args: tuple[Any, ...]) -> list[Allocation]:
    """The allocations that the kernel may write; the others are marked read-only."""
    written_names = program.written_parameters
    names = program.source.parameters
    allocations: dict[int, Allocation] = {}
    arrays = [(name, v) for name, arg in zip(names, args, strict=False) for v in views(arg)]
    for _, view in arrays:
        view.allocation.readonly = True
    for name, view in arrays:
        if name in written_names:
            view.allocation.readonly = False
            allocations[view.allocation.number] = view.allocation
    for view in program.captured:
        view.allocation.readonly = False
        allocations[view.allocation.number] = view.allocation
    return list(allocations.values())
