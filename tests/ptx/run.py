"""A launch of PTX on the CPU: all threads, warp by warp in step, barrier by barrier.

The lanes of a warp part and meet as `flow` says. All warps that stand at the same instruction
go on in one step: what they do is independent, save for what a barrier orders.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.gpu.codegen import linked_ptx

from .flow import ENDS, Graph, Warp, warps_of
from .instructions import Executor
from .memory import Memory
from .parse import NotCovered, Program, parse
from .tally import Tally
from .values import Array, Threads

GRID_BARRIER = "cudaCGSynchronize"
CAPABILITY = (9, 0)
STEPS = 2_000_000


@dataclass
class Run:
    """What a launch left in its arguments, and what it cost."""

    results: tuple[Any, ...]
    tally: Tally
    program: Program


def triple(shape: int | tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*(shape if isinstance(shape, tuple) else (shape,)), 1, 1)[:3]
    return int(x), int(y), int(z)


@functools.cache
def _linked(kernel: Callable[..., Any], types: tuple[Any, ...]) -> str:
    return linked_ptx(kernel, types, CAPABILITY)


def compiled(kernel: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The PTX that a GPU of `CAPABILITY` would get for these arguments."""
    from numba import typeof

    return _linked(kernel, tuple(typeof(a) for a in args))


def parameters(args: tuple[Any, ...], memory: Memory) -> list[Any]:
    """The arguments as Numba hands them over: an array is seven or more of them.

    These are meminfo and parent (both null), the number of elements, the bytes of each, the
    address, then a length and a stride for each axis.
    """
    found: list[Any] = []
    for value in args:
        if isinstance(value, np.ndarray):
            found += [0, 0, value.size, value.itemsize, memory.address(value)]
            found += [*value.shape, *value.strides]
        else:
            found.append(value)
    return found


def run(
    text: str,
    grid: Any,
    block: Any,
    args: tuple[Any, ...],
    *,
    keep_requests: bool = False,
    alone: bool = False,
) -> Run:
    """Carry PTX out for every thread of a launch.

    Args:
        text: what `compiled` gave.
        grid: as a launch takes it.
        block: likewise.
        args: host arrays, which stay as they are, and numbers.
        keep_requests: whether the tally keeps the addresses of every request.
        alone: whether one warp goes as far as it can before the next one starts. Then what no
            barrier orders comes in another order than where all warps go in step.

    Raises:
        NotCovered: an instruction that the executor does not know.
        MemoryFault: an address that belongs to no argument.
    """
    program = parse(text)
    threads = Threads(program, triple(grid), triple(block))
    memory = Memory(program, threads)
    params = parameters(args, memory)
    if len(params) != len(program.params):
        raise NotCovered(f"{len(params)} parameters for a kernel with {len(program.params)}")
    memory.start()
    tally = Tally(threads.count // 32)
    tally.requests = [] if keep_requests else None
    with np.errstate(all="ignore"):
        _Launch(program, threads, Executor(threads, memory, tally, params), tally).go(alone)
    results = tuple(memory.result(a) if isinstance(a, np.ndarray) else a for a in args)
    return Run(results, tally, program)


class _Launch:
    """The warps of a launch on their way through the program, and who waits at a barrier."""

    def __init__(
        self, program: Program, threads: Threads, executor: Executor, tally: Tally
    ) -> None:
        self._code, self._graph = program.instructions, Graph(program)
        self._threads, self._executor, self._tally = threads, executor, tally
        self._alive = threads.exists.copy()
        self._waits = np.zeros(threads.count, bool)
        self._whole_grid = False
        self._warps = list(warps_of(threads.exists))

    def go(self, alone: bool) -> None:
        """All warps that are at the same place go on together: nothing orders them."""
        for _ in range(STEPS):
            self._warps = [warp for warp in self._warps if warp.settle(self._alive)]
            if not self._warps:
                return
            ready = [warp for warp in self._warps if not warp.waits]
            ready = ready[-1:] if alone else ready
            if ready:
                first = min(warp.ways[-1].at for warp in ready)
                self._block(first, [warp for warp in ready if warp.ways[-1].at == first])
            else:
                self._release()
        raise RuntimeError(f"not done after {STEPS:,} steps")

    def _block(self, first: int, warps: list[Warp]) -> None:
        """Carry out one basic block in the top ways of some warps."""
        lanes = np.concatenate([warp.ways[-1].lanes for warp in warps])
        stop = self._graph.stops[first]
        for pc in range(first, stop):
            instruction = self._code[pc]
            acting = lanes
            if instruction.guard:
                yes = self._threads.read(instruction.guard, "pred", lanes)
                acting = lanes[yes != instruction.negated]
            if instruction.op[0] in ENDS:
                self._turn(first, pc, warps, lanes, acting)
                return
            if len(acting):
                self._executor.step(pc, instruction, acting)
        for warp in warps:
            warp.ways[-1].at = self._graph.place(stop)

    def _turn(self, first: int, pc: int, warps: list[Warp], lanes: Array, acting: Array) -> None:
        """The instruction that ends a block: a jump, an end, a barrier or a call."""
        instruction = self._code[pc]
        after = self._graph.place(pc + 1)
        name = instruction.op[0]
        if name == "bra":
            self._jump(
                self._graph.target(instruction), after, self._graph.meets[first], warps, acting
            )
            return
        for warp in warps:
            warp.ways[-1].at = after
        if name in ("ret", "exit"):
            self._alive[acting] = False
        elif name == "bar" and instruction.op[1] == "sync" and instruction.operands == ("0",):
            self._tally.barrier(pc, acting)
            self._wait(warps)
        elif name == "call" and GRID_BARRIER in instruction.operands:
            self._whole_grid = True
            self._wait(warps)
        elif "cudaCGGetIntrinsicHandle" not in instruction.operands and instruction.op[1] != "warp":
            raise NotCovered(str(instruction))

    def _jump(self, target: int, after: int, meet: int, warps: list[Warp], acting: Array) -> None:
        jumps = np.zeros(self._threads.count, bool)
        jumps[acting] = True
        for warp in warps:
            warp.branch(jumps[warp.ways[-1].lanes], target, after, meet)
        if self._graph.dies(target):
            self._alive[acting] = False

    def _wait(self, warps: list[Warp]) -> None:
        for warp in warps:
            warp.waits = True
            self._waits[warp.ways[-1].lanes] = True

    def _release(self) -> None:
        """All warps wait: those go on whose block is there, or the grid if they wait for it."""
        of = self._threads.block_of
        missing = np.zeros(self._threads.blocks, bool)
        missing[of[self._alive & ~self._waits]] = True
        if self._whole_grid and missing.any():
            raise RuntimeError("the grid waits for threads that wait for each other")
        free = [warp for warp in self._warps if not missing[of[warp.ways[-1].lanes[0]]]]
        if not free:
            raise RuntimeError("the threads of a block wait for each other")
        for warp in free:
            warp.waits = False
            self._waits[warp.ways[-1].lanes] = False
        self._whole_grid = False
