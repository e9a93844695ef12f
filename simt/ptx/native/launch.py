"""Launches carried out by machine code of this computer, where only the result is asked for.

Whatever goes wrong in one (an access out of bounds, threads that do not meet, a trap) ends it; its
memory is put back and the executor carries out the launch, which says what it is.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

import numpy as np

from simt.core import limits
from simt.core.memory import Allocation, aligned
from simt.device.selection import cores
from simt.machine.execution import LaunchResult, launch, written_allocations
from simt.ptx.machine import PtxMachine
from simt.ptx.native.build import compiled
from simt.ptx.native.emitter import NotNative
from simt.ptx.native.registers import UNKNOWN
from simt.ptx.native.scheduler import MASKS, Kernel
from simt.ptx.native.translator import FAULTS, FRAME
from simt.ptx.program import PtxProgram

__all__ = ["launch_native", "left_to_executor"]

Triple = tuple[int, int, int]
Array = np.ndarray[Any, Any]
SHARES_EACH = 8  # parts of the grid for each worker
FEW = 1 << 14  # threads; fewer are not worth a second core
MAX_REASON = 300  # characters of what LLVM says
PART = 1 << 23  # bytes that one core copies at once
left_to_executor: dict[str, str] = {}  # the kernels that always are, and why
PRINTS = "trap"  # the fault of a thread that does what only the executor can


def launch_native(
    program: PtxProgram, grid: Triple, block: Triple, values: tuple[Any, ...], dynamic: int
) -> LaunchResult | None:
    """A launch by machine code; None if the executor has to carry it out.

    `program.native["left"]` says why it always has to, if it has.
    """
    native = program.native
    try:
        if "left" in native or program.cooperative:
            raise NotNative(native.get("left", "its whole grid waits"))
        code = _code(program, block, even=True)
        common = _Common(program, code.kernel, values)
        if not common.even:
            code = _code(program, block, even=False)
        if common.fixed:
            return None
    except NotNative as reason:
        _leave(program, str(reason))
        return None
    except RuntimeError as error:  # of LLVM's: what it cannot do, the executor can
        _leave(program, " ".join(str(error).split())[:MAX_REASON])
        return None
    untyped: Any = program  # the machine takes both kinds
    changed = written_allocations(untyped, values)
    saved = _copies([a for a in changed if common.read is None or a in common.read])
    status, noted = code.run(program, common, grid, block, dynamic)
    if status:
        _put_back(saved)
        if status == FAULTS[PRINTS]:
            _leave(program, "its threads print, allocate memory, trap, or call by address")
        return None
    shared = code.kernel.sizes["shared"]
    if not noted or (grid, block) in native.setdefault("told", []):
        return LaunchResult(program.source, [], shared_bytes=shared)
    native["told"].append((grid, block))
    after = {a: a.data.copy() for a in saved}
    _put_back(saved)
    result = launch(
        untyped, grid, block, values, dynamic=dynamic, only=np.array([min(noted)]),
        machine=PtxMachine,
    )  # fmt: skip
    _put_back(saved if result.stopped else after)
    return None if result.stopped else result


def _leave(program: PtxProgram, reason: str) -> None:
    program.native["left"] = left_to_executor[program.source.name] = reason


def _code(program: PtxProgram, block: Triple, *, even: bool) -> _Code:
    if (block, even) not in program.native:
        program.native[block, even] = _Code(program, block, even=even)
    code: _Code = program.native[block, even]
    return code


def _copies(allocations: list[Allocation]) -> dict[Allocation, Array]:
    """Copies of memory, of much of it by all cores."""
    copies = {a: np.empty_like(a.data) for a in allocations}
    parts = [
        (copy[k : k + PART], a.data[k : k + PART])
        for a, copy in copies.items()
        for k in range(0, a.data.size, PART)
    ]
    each = map if len(parts) < 2 else _pool(os.getpid()).map
    list(each(lambda part: np.copyto(*part), parts))
    return copies


def _put_back(saved: dict[Allocation, Array]) -> None:
    for allocation, data in saved.items():
        allocation.data[:] = data


class _Code:
    """A kernel's machine code, with what a launch has to hand it.

    Raises:
        NotNative: it is not translated.
    """

    def __init__(self, program: PtxProgram, block: Triple, *, even: bool) -> None:
        self.kernel = Kernel(program, block, even=even)
        self.go = compiled(self.kernel.text, self.kernel.functions)

    def run(
        self, program: PtxProgram, common: _Common, grid: Triple, block: Triple, dynamic: int
    ) -> tuple[int, list[int]]:
        """A launch: 0 or the number of a fault, and the blocks of which something is to be told."""
        kernel = self.kernel
        if kernel.sizes["shared"] + dynamic > program.most_shared or (
            kernel.sizes["local"] > limits.MAX_LOCAL
        ):
            return FAULTS["memory"], []
        blocks, threads = math.prod(grid), math.prod(block)
        alone = kernel.in_order or blocks * threads < FEW
        workers = 1 if alone else min(cores(), blocks)
        share = blocks if alone else max(1, blocks // (workers * SHARES_EACH))
        shares = iter(range(0, blocks, share))
        frames = [_Frame(kernel, common, grid, dynamic) for _ in range(workers)]

        def work(frame: _Frame) -> int:
            for first in shares:
                status = int(self.go(frame.address, first, min(first + share, blocks)))
                if status:
                    for other in frames:
                        other.words[0] = 1
                    return status
            return 0

        pool = _pool(os.getpid())
        running = [pool.submit(work, frame) for frame in frames]
        try:
            while wait(running, limits.SECONDS).not_done:
                if not any(frame.progressed() for frame in frames):
                    break  # an endless loop, of which the executor tells
        finally:
            if not all(future.done() for future in running):
                for frame in frames:
                    frame.words[0] = 1
            wait(running)
        statuses = [future.result() for future in running]
        noted = [int(f.words[1]) for f in frames if f.words[1] >= 0]
        return max(statuses), noted


class _Common:
    """What all workers of a launch read: arguments, arrays, the places of threads."""

    def __init__(self, program: PtxProgram, kernel: Kernel, values: tuple[Any, ...]) -> None:
        memory = program.launch_memory(values)
        content = program.parameters(values)
        self.params = np.zeros(kernel.parameter_bytes + 16, np.uint8)
        for name, start in kernel.parameters.items():
            raw = content[name]
            self.params[start : start + len(raw)] = np.frombuffer(raw, np.uint8)
        every = memory.tables["const"] | memory.tables["global"]
        rows = [_row(every[number]) for number in sorted(every)]
        self.count = len(rows)
        self.table = np.array([*rows, (0, 0, 0, 0)], np.uint64)
        slots, addresses, self.fixed = [(0, 0, 0)], [0], False
        # what a launch reads, if that is known: what it only writes, it can write again
        self.read: set[Allocation] | None = None if UNKNOWN in kernel.reads else set()
        for root in kernel.slots:
            if root[0] == "symbol":
                found: Allocation | None = program.memory.allocations[root[1]]
                pointer = program.memory.allocations[root[1]].address
            else:
                start = int(root[2])
                pointer = int.from_bytes(content[root[1]][start : start + 8], "little")
                found = every.get(pointer >> 40)
            slot = (0, 0, 0)
            if found is not None:
                address, size, free, data = _row(found)
                slot = pointer - address, size, data
                self.fixed |= root in kernel.written and not free
                if self.read is not None and root in kernel.reads:
                    self.read.add(found)
            slots.append(slot)
            addresses.append(pointer)
        self.even = not any(into % 16 for into, _, _ in slots)
        self.slots = np.array(slots[1:], np.int64)
        self.addresses = np.array(addresses[1:], np.uint64)
        x, y, z = (np.arange(n) for n in kernel.block)
        tids = x[None, None, :] | y[None, :, None] << 11 | z[:, None, None] << 22
        self.tids = tids.ravel().astype(np.int32)


def _row(allocation: Allocation) -> tuple[int, int, int, int]:
    """What the code has to know of memory: its address, its size, what may be written, where."""
    size = int(allocation.data.size)
    fixed = allocation.space == "const" or allocation.frozen
    return allocation.address, size, 0 if fixed else size, allocation.device_pointer


class _Frame:
    """What one worker is handed, and its memory."""

    def __init__(self, kernel: Kernel, common: _Common, grid: Triple, dynamic: int) -> None:
        threads = kernel.threads
        whole, each = -(-threads // 32) * 32, threads if kernel.points else 1
        sizes = {
            "shared": kernel.sizes["shared"] + aligned(dynamic) + 16,
            "local": kernel.sizes["local"] * each, "state": kernel.state_bytes * each,
            "points": 4 * whole, "warps": 4 * 32 * len(MASKS), "values": 8 * whole,
            "masks": 4 * whole, "published": 8 * 32, "caches": 32 * kernel.caches,
        }  # fmt: skip
        self.memory = np.zeros(sum(map(aligned, sizes.values())) + 64, np.uint8)
        self.common = common
        place, words = -(-self.memory.ctypes.data // 64) * 64, dict.fromkeys(FRAME, 0)
        for name, size in sizes.items():
            words[name] = place
            place += aligned(size)
        for letter, shape in (("b", kernel.block), ("g", grid)):
            words.update({letter + axis: n for axis, n in zip("xyz", shape, strict=True)})
        self.spaces = _spaces(kernel, dynamic)
        words |= {
            "noted": -1, "block": -1, "threads": threads, "dynamic": dynamic,
            "count": common.count, "tids": common.tids.ctypes.data,
            "table": common.table.ctypes.data, "slots": common.slots.ctypes.data,
            "addresses": common.addresses.ctypes.data,
            "params": common.params.ctypes.data, "spaces": self.spaces.ctypes.data,
        }  # fmt: skip
        self.words = np.array(list(words.values()), np.int64)
        self.address = self.words.ctypes.data
        self._block = -1

    def progressed(self) -> bool:
        """Whether it has begun another block since the last call."""
        before, self._block = self._block, int(self.words[FRAME.index("block")])
        return before != self._block


def _spaces(kernel: Kernel, dynamic: int) -> Array:
    """The shared and local arrays by their numbers: the size of each and where it begins."""
    rows = np.zeros((len(kernel.arrays) + 1, 2, 2), np.int64)
    for number, array in kernel.arrays.values():
        side = 0 if array.space == "shared" else 1
        size = array.size if side == 0 else aligned(array.size)
        rows[number, side] = size or dynamic, kernel.offsets[array.space][array.name]
    return np.concatenate([[len(rows)], rows.ravel()])


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads to work in; a process that was forked has none of its parent's."""
    return ThreadPoolExecutor(cores())
