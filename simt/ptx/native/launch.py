"""Launches carried out by machine code of this computer, where only the result is asked for.

Whatever goes wrong in one (an access out of bounds, threads that do not meet, a trap) ends it; its
memory is put back and the executor carries out the launch, which says what it is.
"""

from __future__ import annotations

import math
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, partial
from typing import Any

import numpy as np

from simt.core import limits
from simt.core.memory import Allocation, View, aligned
from simt.device.selection import cores
from simt.machine.execution import CHUNK, LaunchResult, launch, written_allocations
from simt.ptx.lanes import formatted, text_at
from simt.ptx.machine import PtxMachine
from simt.ptx.native.build import compiled
from simt.ptx.native.emitter import NotNative
from simt.ptx.native.scheduler import MASKS, Kernel
from simt.ptx.native.textures import object_table, ways
from simt.ptx.native.translator import FAULTS, FRAME, MOST_PRINTED, OWN, SAID, Triple
from simt.ptx.program import PtxProgram

Line = tuple[int, int, int, bytes]  # block, thread, text and values of what a thread prints
Array = np.ndarray[Any, Any]
SHARES_EACH = 8  # parts of the grid for each worker
FEW = 1 << 14  # threads; fewer are not worth a second core
MOST_TOLD = 100  # launches of a kernel of which something is told
MAX_REASON = 300  # characters of what LLVM says
PART = 1 << 23  # bytes that one core copies at once
left_to_executor: dict[str, str] = {}  # the kernels that always are, and why
_spare: list[Array] = []  # the last large copies, for the next launches to overwrite
LARGE, SPARE = 1 << 17, 1 << 27  # bytes of one that is kept, and of all of them at most


def launch_native(
    program: PtxProgram, grid: Triple, block: Triple, values: tuple[Any, ...], dynamic: int,
    executor: Callable[..., LaunchResult] | None = None,
) -> LaunchResult | None:  # fmt: skip
    """A launch by machine code; None if the executor has to carry it out.

    `program.native["left"]` says why it always has to, if it has. `executor` carries out the
    blocks `only` of this launch, of which something is to be told, from another form of the kernel.
    """
    native = program.native
    try:
        if "left" in native:
            raise NotNative(native["left"])
        for even in (True, False):
            together = program.cooperative or (grid, block) in native.get("together", ())
            how = {"even": even, "together": together, "apart": "apart" in native}
            key = block, *how.values(), *ways(program)
            code = native.get(key) or _Code(program, block, **how)
            native[key], common = code, _Common(program, code.kernel, values)
            if common.even:
                break
        if common.fixed:
            return None
    except (NotNative, RuntimeError) as reason:  # or LLVM's: what it cannot do, the executor can
        _leave(program, " ".join(str(reason).split())[:MAX_REASON])
        return None
    untyped: Any = program  # the machine takes both kinds
    executor = executor or partial(
        launch, untyped, grid, block, values, dynamic=dynamic, machine=PtxMachine
    )
    saved: dict[Allocation, Array] = {}
    try:
        saved = _copies(written_allocations(untyped, values))
        status, noted, lines = code.run(program, common, grid, block, dynamic)
    except RuntimeError:  # Python is ending and starts no threads: the executor needs none
        _put_back(saved)
        return None
    except BaseException:  # an interrupt
        _put_back(saved)
        raise
    try:
        printed = common.printed(code.kernel, lines)
    except KeyError:  # text in a thread's own memory
        status = FAULTS["trap"]
    if status:
        _put_back(saved)
        if status == FAULTS["waits"] and not code.kernel.together:  # maybe for a later block
            native.setdefault("together", set()).add((grid, block))
            return launch_native(program, grid, block, values, dynamic, executor)
        if status == FAULTS["barrier"] and "apart" not in native and _one_barrier(program):
            native["apart"] = True  # PTX ISA, "barrier": it has a number, and no place
            return launch_native(program, grid, block, values, dynamic, executor)
        if status == FAULTS["trap"]:
            _leave(program, "its threads launch, allocate, recurse, trap, print much or own text")
        return None
    if noted:  # of the same numbers once
        told = native.setdefault("told", [])
        launched = grid, block, *(repr(v) for v in values if not isinstance(v, View | bytes))
    if not noted or launched in told or len(told) > MOST_TOLD:
        _spare[:0] = (copy for copy in saved.values() if copy.size >= LARGE)
        while sum(copy.size for copy in _spare) > SPARE:
            _spare.pop()
        print(printed, end="")
        return LaunchResult(program.source, [], shared_bytes=code.kernel.sizes["shared"])
    told.append(launched)
    after = {a: a.data.copy() for a in saved}
    _put_back(saved)
    if code.kernel.texts:  # the executor prints, too
        return None
    result = executor(only=None if code.kernel.together else np.array([min(noted)]))
    if result.stopped and result.stopped.kind == "barrier-divergence":
        result.stopped = None  # they met elsewhere, or have ended: no GPU since Volta waits then
    _put_back(saved if result.stopped else after)
    return None if result.stopped else result


def _one_barrier(program: PtxProgram) -> bool:
    """Whether all barriers of the kernel are `__syncthreads`."""
    every = [i for f in program.used for i in f.instructions if i.op[0] in ("bar", "barrier")]
    return all(i.operands == ("0",) for i in every if "warp" not in i.op)


def _leave(program: PtxProgram, reason: str) -> None:
    program.native["left"] = left_to_executor[program.source.name] = reason


def _copies(allocations: list[Allocation]) -> dict[Allocation, Array]:
    """Copies of memory, of much of it by all cores."""
    copies = {}
    for a in allocations:
        fits = (k for k, copy in enumerate(_spare) if copy.size == a.data.size)
        copies[a] = np.empty_like(a.data) if (k := next(fits, -1)) < 0 else _spare.pop(k)
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
    """A kernel's machine code, with what a launch has to hand it."""

    def __init__(self, program: PtxProgram, block: Triple, **how: bool) -> None:
        self.kernel = Kernel(program, block, **how)
        self.go = compiled(self.kernel.text, self.kernel.functions)

    def run(
        self, program: PtxProgram, common: _Common, grid: Triple, block: Triple, dynamic: int
    ) -> tuple[int, list[int], list[Line]]:
        """A launch: 0 or a fault's number, blocks of which to tell something, what is printed."""
        kernel = self.kernel
        blocks, threads = math.prod(grid), math.prod(block)
        if (
            kernel.sizes["shared"] + dynamic > program.most_shared
            or kernel.sizes["local"] > limits.MAX_LOCAL
            or (kernel.together and blocks > limits.MULTIPROCESSORS * limits.resident(threads))
        ):
            return FAULTS["memory"], [], []
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
        return max(statuses), noted, [line for f in frames for line in f.printed()]


class _Common:
    """What all workers of a launch read: arguments, arrays, the places of threads."""

    def __init__(self, program: PtxProgram, kernel: Kernel, values: tuple[Any, ...]) -> None:
        self.memory = memory = program.launch_memory(values)
        content, symbols = program.parameters(values), {**program.memory.allocations}
        every = {a.address: a for table in memory.tables.values() for a in table.values()}
        self.params = np.zeros(kernel.parameter_bytes + 16, np.uint8)
        for name, start in kernel.parameters.items():
            part = self.params[start : start + len(content[name])]
            part[:] = np.frombuffer(content[name], np.uint8)
            if ("symbol", name) in kernel.slots:
                symbols[name] = Allocation("const", part)
                every[symbols[name].address] = symbols[name]
        self.grid = 0
        if kernel.together:
            word = Allocation("global", np.zeros(16, np.uint8))
            self.grid, every[word.address] = word.address, word
        rows = [_row(every[address]) for address in sorted(every)]
        self.count = len(rows)
        self.table = np.array([*rows, (0, 0, 0, 0)], np.uint64)
        slots, addresses, self.fixed = [(0, 0, 0)], [0], False
        for root in kernel.slots:
            if root[0] == "symbol":
                pointer = symbols[root[1]].address
            else:
                pointer = int.from_bytes(content[root[1]][int(root[2]) :][:8], "little")
            found = every.get(pointer >> 40 << 40)
            address, size, free, data = _row(found) if found else (pointer, 0, 1, 0)
            self.fixed |= root in kernel.written and not free
            slots.append((pointer - address, size, data))
            addresses.append(pointer)
        self.even = not any(into % 16 for into, _, _ in slots)
        self.slots = np.array(slots[1:], np.int64)
        self.addresses = np.array(addresses[1:], np.uint64)
        self.objects = object_table(program, memory.tables["global"])
        x, y, z = (np.arange(n) for n in kernel.block)
        tids = x[None, None, :] | y[None, :, None] << 11 | z[:, None, None] << 22
        self.tids = tids.ravel().astype(np.int32)

    def printed(self, kernel: Kernel, records: list[Line]) -> str:
        """What threads have printed, as if all of a chunk of blocks went on together."""
        chunk = max(1, CHUNK // kernel.threads) if not kernel.together else 1 << 31
        turns: Counter[tuple[int, int]] = Counter()
        lines, out = [], []
        for block, thread, text, raw in records:
            turns[block, thread] += 1
            lines.append((block // chunk, turns[block, thread], text, block, thread, raw))
        for *_, text, _, _, raw in sorted(lines):
            pieces = kernel.texts[text]
            values = [int.from_bytes(raw[at : at + size], "little", signed=True)
                      for _, form, at, size in pieces if form]  # fmt: skip
            out.append(formatted(pieces, values, partial(text_at, self.memory.tables)))
        return "".join(out)


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
            "published": 8 * 32, "caches": 32 * kernel.caches,
            "prints": MOST_PRINTED if kernel.texts else 0,
            "shared": kernel.sizes["shared"] + aligned(dynamic) + 16,
            "local": kernel.sizes["local"] * each, "state": kernel.state_bytes * each,
            "points": 4 * whole, "warps": 4 * 32 * len(MASKS), "values": 8 * whole,
            "masks": 4 * whole, "said": 4 * len(SAID),
        }  # fmt: skip
        own = sum(aligned(sizes[name]) for name in OWN)
        further = own * (math.prod(grid) - 1) if kernel.together else 0
        self.memory = np.zeros(sum(map(aligned, sizes.values())) + further + 64, np.uint8)
        self.common, self._texts = common, kernel.texts
        place, words = -(-self.memory.ctypes.data // 64) * 64, dict.fromkeys(FRAME, 0)
        for name, size in sizes.items():
            words[name] = place
            place += aligned(size)
        words |= dict(zip(("gx", "gy", "gz"), grid, strict=True))
        self.spaces = _spaces(kernel, dynamic)
        words |= {
            "noted": -1, "block": -1, "dynamic": dynamic, "own": own, "grid": common.grid,
            "count": common.count, "tids": common.tids.ctypes.data,
            "table": common.table.ctypes.data, "slots": common.slots.ctypes.data,
            "addresses": common.addresses.ctypes.data,
            "params": common.params.ctypes.data, "spaces": self.spaces.ctypes.data,
            "objects": common.objects.ctypes.data,
        }  # fmt: skip
        self.words = np.array(list(words.values()), np.int64)
        self.address = self.words.ctypes.data
        self._block = -1

    def printed(self) -> Iterator[Line]:
        """Block, thread, text and values of each line that it has printed."""
        at = self.words[FRAME.index("prints")] - self.memory.ctypes.data
        end = at + self.words[FRAME.index("printed")]
        while at < end:
            block, thread, text = struct.unpack_from("<qii", self.memory.data, at)
            pieces = self._texts[text]
            size = pieces[-1][2] + pieces[-1][3]
            yield block, thread, text, self.memory[at + 16 : at + 16 + size].tobytes()
            at += 16 + aligned(size)

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
