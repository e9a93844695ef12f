"""A launch of a Numba kernel's PTX by the package: what it left, what it cost."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simt.core.findings import Finding
from simt.core.limits import check_shape
from simt.core.memory import Allocation, View
from simt.host.work.prepared import observers_of
from simt.machine.execution import launch
from simt.numba_ptx.codegen import linked_ptx
from simt.numba_ptx.kernel import parameters
from simt.observers.counters import Counters, Counts
from simt.observers.traffic import bank_passes, sectors
from simt.ptx.machine import PtxMachine
from simt.ptx.native.launch import launch_native
from simt.ptx.parse import Instruction, parse
from simt.ptx.program import PtxListing, PtxProgram

CAPABILITY = (9, 0)
COUNTERS = (
    "global_load_requests", "global_load_sectors", "global_store_requests",
    "global_store_sectors", "shared_load_wavefronts", "shared_load_conflicts",
    "shared_store_wavefronts", "shared_store_conflicts", "atomics", "atomic_contention",
    "bytes_requested", "barriers", "flops32", "flops64",
)  # fmt: skip


@dataclass
class Run:
    """What a launch left in its arguments, what it cost, what was found."""

    results: tuple[Any, ...]
    totals: Counts
    findings: list[Finding]
    instructions: list[Instruction]
    # (what, addresses, bytes, sectors or passes and conflicts) of each request
    requests: list[tuple[str, np.ndarray, int, np.ndarray]] = field(default_factory=list)


class _Requests(Counters):
    """Counters that keep the addresses of every request."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[str, np.ndarray, int, np.ndarray]] = []

    def access(self, m: Any, view: View, slot: Any, index: Any, kind: str) -> None:
        super().access(m, view, slot, index, kind)
        if kind == "atomic" or view.space not in ("global", "shared"):
            return
        size = view.dtype.itemsize
        rows, _ = self.rows(m, np.multiply(slot, size))
        if view.space == "global":
            found: tuple[np.ndarray, ...] = (sectors(rows, size),)
        else:
            passes, ideal = bank_passes(rows, size, kind == "load")
            found = passes, passes - ideal
        self.kept.append((f"{view.space}_{kind}", rows, size, np.stack(found, axis=1)))


@functools.cache
def _linked(kernel: Callable[..., Any], types: tuple[Any, ...]) -> str:
    return linked_ptx(kernel, types, CAPABILITY)


def compiled(kernel: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The PTX that a GPU of `CAPABILITY` would get for these arguments."""
    from numba import typeof

    return _linked(kernel, tuple(typeof(a) for a in args))


class _Copies:
    """Copies of host arrays in memory of the machine's; views of one array share it."""

    def __init__(self) -> None:
        self._roots: dict[int, tuple[Any, Allocation]] = {}

    def _place(self, array: np.ndarray) -> tuple[Allocation, int]:
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if id(root) not in self._roots:
            data = np.ascontiguousarray(root).reshape(-1).view(np.uint8).copy()
            self._roots[id(root)] = root, Allocation("global", data)
        return self._roots[id(root)][1], array.ctypes.data - root.ctypes.data

    def view(self, array: np.ndarray, name: str) -> View:
        allocation, offset = self._place(array)
        return View(allocation, array.dtype, array.shape, array.strides, offset, name)

    def bits(self) -> list[bytes]:
        """What is in all of them."""
        return [allocation.data.tobytes() for _, allocation in self._roots.values()]

    def result(self, array: np.ndarray) -> np.ndarray:
        allocation, offset = self._place(array)
        data: Any = allocation.data
        made = np.ndarray(array.shape, array.dtype, data, offset, array.strides)
        return made.copy()


def _taken(text: str, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], _Copies]:
    """The program of a text, and copies of its arguments."""
    copies = _Copies()
    values = parameters(
        copies.view(value, f"a{k}") if isinstance(value, np.ndarray) else value
        for k, value in enumerate(args)
    )
    module = parse(text)
    names = [f"p{k}" for k in range(len(values))]
    kernel = module.kernels[0].name
    return PtxProgram(module, kernel, PtxListing(kernel, names)), tuple(values), copies


def engines(text: str, grid: Any, block: Any, args: tuple[Any, ...]) -> str:
    """What differs between machine code and the executor, in words; nothing if nothing does."""
    shape = check_shape(grid, block, 0)
    program, values, fast = _taken(text, args)
    if launch_native(program, *shape, values, 0) is None:
        return f"not native: {program.native.get('left', 'a fault')}"
    program, values, slow = _taken(text, args)
    stopped = launch(program, *shape, values, machine=PtxMachine).stopped
    if stopped is not None:
        return f"the executor stops: {stopped.message}"
    return "the bits differ" if fast.bits() != slow.bits() else ""


def run(text: str, grid: Any, block: Any, args: tuple[Any, ...], dynamic: int = 0) -> Run:
    """Carry PTX out for every thread of a launch, with everything on."""
    program, values, copies = _taken(text, args)
    counters = _Requests()
    shape = check_shape(grid, block, dynamic)
    observers = observers_of(program, *shape, values, counters=counters)
    result = launch(
        program, *shape, values, dynamic=dynamic, observers=observers, machine=PtxMachine
    )
    results = tuple(copies.result(a) if isinstance(a, np.ndarray) else a for a in args)
    instructions = program.function.instructions
    return Run(results, counters.totals(), result.findings, instructions, counters.kept)
