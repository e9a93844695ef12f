"""Kernels of a CUDA program, launched with the bytes that the host sends."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from copy import copy
from dataclasses import dataclass, field
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from simt.core.findings import Finding
from simt.core.limits import MAX_SHARED
from simt.core.memory import Allocation, View
from simt.cpp.wording import in_words
from simt.host.arguments import LaunchArguments
from simt.host.work.prepared import LaunchRequest, Outcome
from simt.host.work.ptx import PreparedPtx
from simt.host.work.ranges import Access, AccessRanges, conflict
from simt.machine.execution import LaunchResult
from simt.observers.observer import Observer
from simt.programs.cuda.memory import Piece, written
from simt.ptx.memory import GLOBAL_BITS
from simt.ptx.program import ChildGrid, PtxProgram
from simt.ptx.textures import Texels, Texture
from simt.report.report import Report

if TYPE_CHECKING:
    from simt.programs.cuda.binary import DeviceCode

Triple = tuple[int, int, int]
BYTES = np.dtype(np.uint8)
HALF = 1 << GLOBAL_BITS - 1  # an address so far before an array or behind it is still its
MAX_DEPTH, MAX_PARTS = 24, 16  # of grids that threads launch; of what one touches between launches
MOST_BESIDE = 64  # grids of one parent, the last ones, with which another is compared
# how deep, what, what others do meanwhile, and who has launched it
Child = tuple[int, ChildGrid, list[Access], "PreparedKernel"]


@dataclass
class Arguments:
    """The arguments of a launch: each as bytes or as an array, and the memory they reach."""

    values: tuple[Any, ...]
    reads: list[Piece] = field(default_factory=list)
    writes: list[Piece] = field(default_factory=list)
    written: set[str] = field(default_factory=set)  # arguments, also by a structure's pointer
    polls: list[Piece] = field(default_factory=list)  # reads what the host may write meanwhile
    others: dict[str, Piece] = field(default_factory=dict)  # by pointers in memory, in structures
    further: dict[str, Piece] = field(default_factory=dict)  # all else, of which it may read some
    fetched: dict[str, Piece] = field(default_factory=dict)  # by textures
    textures: dict[int, Texture | Texels] = field(default_factory=dict)


class DeviceKernel:
    """One kernel, or one of what a template stands for.

    `elements` has the type of what each parameter is or points to, where it is known.
    """

    def __init__(
        self, code: DeviceCode, program: PtxProgram, elements: dict[str, np.dtype[Any] | None]
    ) -> None:
        self.code, self.program = code, program
        self.__name__ = program.source.name
        self.names = program.source.parameters
        self.static_shared = sum(a.size for _, a in program.own_arrays if a.space == "shared")
        self.most_shared = MAX_SHARED  # bytes that a block may have
        self._elements = elements

    def marshal(self, arguments: Sequence[bytes]) -> Arguments:
        """Arguments as the machine takes them: a pointer into memory of the device as an array."""
        memory, result = self.code.memory, Arguments(())
        values: list[Any] = []
        loose, wide = self.program.follows_pointers, any(len(raw) > 8 for raw in arguments)
        writes: dict[int, bool] = {}  # what arguments point to, and whether it is written through
        for word in self.program.uses_plainly - {-1}:
            raw = arguments[word >> 16][word & 0xFFFF :][:8]
            number = int.from_bytes(raw, "little") + HALF >> GLOBAL_BITS
            writes[number] = word in self.program.writes_through or writes.get(number, False)
        for name, raw, kind in zip(self.names, arguments, self.program.function.kinds, strict=True):
            pointer = int.from_bytes(raw, "little") if len(raw) == 8 and kind != "f64" else 0
            block = memory.at(pointer + HALF)
            if block is None:
                values.append(raw)
                continue
            block.name = block.name or name
            element = self._elements.get(name) or BYTES
            size = element.itemsize
            values.append(
                View(block.allocation, element, (max(block.size // size, 0),), (size,),
                     pointer - block.address, name)
            )  # fmt: skip
            plain = name in self.program.plain_parameters
            through = writes.get(pointer + HALF >> GLOBAL_BITS)
            written = -1 in self.program.writes_through or through
            (result.writes if written else result.reads if plain else result.polls).append(block)
            if through:
                result.written.add(name)
        direct = {id(b) for b in (*result.reads, *result.writes, *result.polls)}
        if loose or wide:
            for number, block in memory.blocks.items():
                if block.kind not in ("variable", "array") and id(block) not in direct:
                    given = loose or writes.get(number, False)
                    self._reach(result.others if given else result.further, block, result)
                    if number in writes:
                        (result.writes if writes[number] else result.reads).append(block)
        if self.program.fetches:
            starts = ((raw, at) for raw in arguments for at in range(len(raw) - 7))
            words = {int.from_bytes(raw[at : at + 8], "little") for raw, at in starts}
            result.textures = {h: t for h, t in memory.textures.items() if loose or h in words}
            for thing in result.textures.values():
                texels = thing.texels if isinstance(thing, Texture) else thing
                block = memory.at(texels.address)
                known = (*result.others.values(), *result.fetched.values())
                if block is not None and id(block) not in direct and block not in known:
                    sets = self.program.sets_texels and block.kind == "array" and block.surfaces
                    self._reach(result.others if sets else result.fetched, block, result)
        result.values = tuple(values)
        return result

    def _reach(self, group: dict[str, Piece], block: Piece, result: Arguments) -> None:
        """Names a piece of memory that no argument points to."""
        name = block.name or block.variable or f"array_of_line_{block.line}"
        variables = self.program.memory.allocations
        groups = (result.others, result.further, result.fetched, self.names, variables)
        while any(name in known for known in groups):
            name += "_"
        group[name] = block


@dataclass
class _Touched(Observer):
    """What a grid touches, in parts: each after its threads have launched so many grids."""

    launched: Sequence[ChildGrid] = ()
    parts: list[tuple[int, AccessRanges]] = field(default_factory=list)

    def restart(self) -> None:
        self.parts.clear()

    def access(self, *access: Any) -> None:
        count = len(self.launched)
        if not self.parts or (self.parts[-1][0] < count and len(self.parts) < MAX_PARTS):
            self.parts.append((count, AccessRanges()))
        self.parts[-1][1].access(*access)

    def after(self, launch: int) -> list[Access]:
        return [a for count, part in self.parts if count > launch for a in part.accesses()]


class PreparedKernel(PreparedPtx):
    """A launch of a program's kernel: its arguments, and what it has printed."""

    def __init__(
        self, kernel: DeviceKernel, grid: Triple, block: Triple, arguments: Sequence[bytes],
        shared: int, *, xray: bool,
    ) -> None:  # fmt: skip
        self.kernel, self.arguments, self.printed = kernel, Arguments(()), ""
        self.beside: list[Access] = []  # what grids that have launched it do meanwhile
        self.origin: tuple[ChildGrid, PreparedKernel] | None = None  # its launch, and by whom
        self.children: list[tuple[ChildGrid, list[Access]]] = []  # with what those touch
        self.touched = _Touched()
        # with what its threads have launched: each launch, and what came of it
        self.family: list[tuple[PreparedKernel, Report, Finding | None]] = []

        def take() -> tuple[PtxProgram, LaunchArguments, tuple[Any, ...]]:
            marshalled = self.arguments = kernel.marshal(arguments)
            program = copy(kernel.program)  # what it reaches is this launch's own
            program.launched = []
            program.written_parameters = program.written_parameters | marshalled.written
            program.most_shared = kernel.most_shared
            program.reached = {name: b.allocation for name, b in marshalled.others.items()}
            program.further = {name: b.allocation for name, b in marshalled.further.items()}
            program.fetched = {name: b.allocation for name, b in marshalled.fetched.items()}
            program.textures = marshalled.textures
            return program, LaunchArguments(marshalled.values), marshalled.values

        super().__init__(
            kernel.__name__, LaunchRequest(grid, block, arguments, shared, xray=xray), take,
            lambda finding: in_words(finding, kernel.code.shapes), listing=kernel.program.source,
            most_shared=kernel.most_shared,
        )  # fmt: skip

    def carry_out(self, further: Sequence[Observer] = ()) -> Outcome:
        """The report, and the finding that stopped the launch if any did."""
        printed = StringIO()
        with redirect_stdout(printed):
            outcome = super().carry_out(further)
            self.family = [(self, *outcome)]
            waiting = self._children(1)
            while waiting and self.family[-1][2] is None:
                depth, launch, beside, parent = waiting.pop()
                numbers = [int.from_bytes(word, "little") for word in launch.arguments]
                if launch.kernel:
                    waiting += self._child(depth, launch, beside, parent, further)
                elif len(numbers) == 2:
                    self.kernel.code.conditions[numbers[0]] = numbers[1]
                else:
                    self._copy(launch.line, *numbers)
        self.printed = printed.getvalue()
        return outcome

    def run(self, further: Sequence[Observer]) -> LaunchResult:
        """Carries the kernel out; what it touches is noted where it launches or was launched."""
        if self.hazards and (self.origin or self._program.launches):
            self.touched = _Touched(self._program.launched)
            further = [*further, self.touched]
        return super().run(further)

    def _children(self, depth: int) -> list[Child]:
        """What its threads have launched, the first at the end."""
        children = [
            (depth - c.last, c, self.beside + ([] if c.last else self.touched.after(k)), self)
            for k, c in enumerate(self._program.launched)
        ]
        return sorted(children, key=lambda child: child[1].last)[::-1]

    def _child(
        self, depth: int, launch: ChildGrid, beside: list[Access], parent: PreparedKernel,
        further: Sequence[Observer],
    ) -> list[Child]:  # fmt: skip
        """Carries out what a thread has launched; gives what that has launched, as `_children`."""
        kernel = self.kernel.code.launched(self._program.module, launch.kernel)
        x, y, z, u, v, w, shared = launch.shape
        detail = self.counters is not None
        child = PreparedKernel(kernel, (x, y, z), (u, v, w), launch.arguments, shared, xray=detail)
        if depth > MAX_DEPTH:
            message = f"grids launch grids deeper than the {MAX_DEPTH} levels that a GPU allows"
            child.stopped = Finding("launch-limit", None, message)
        child.beside, child.origin = beside, (launch, parent)
        report, stopped = super(PreparedKernel, child).carry_out(further)
        for finding in report.findings:
            if finding.line is None:
                finding.line = launch.line
            else:
                finding.message += f", in the grid launched on line {launch.line}"
        if (race := conflict(child.touched.after(-1), beside)) is not None:
            message = (
                f"race on {race[1].name}: the grid launched here {race[0].verb} it, a parent of it "
                f"{race[1].verb} it after the launch: no grid waits for those that it launches"
            )
            report.findings.append(Finding("race", launch.line, message, array=race[1].name))
        report.findings += child._races_with_siblings()
        # a launch that no GPU accepts fails, and the threads of its parent have gone on
        self.family.append((child, report, None if child.stopped else stopped))
        return child._children(depth + 1) if stopped is None else []

    def _races_with_siblings(self) -> list[Finding]:
        """Notes what it touches; a race with what its parent, or theirs, launched beside."""
        findings: list[Finding] = []
        mine, origin = self.touched.after(-1), self.origin
        while origin is not None and self.hazards:
            launch, parent = origin
            ordered = launch.last or parent._program.waits_for_events
            for other, accesses in [] if ordered else parent.children:
                race = conflict(mine, accesses) if other.stream != launch.stream else None
                if race is not None and not findings:
                    message = (
                        f"race on {race[0].name}: the grid launched here {race[0].verb} it, and "
                        f"that of line {other.line} on another stream {race[1].verb} it: nothing "
                        "orders the two"
                    )
                    findings = [Finding("race", launch.line, message, array=race[0].name)]
            parent.children = [*parent.children[-MOST_BESIDE:], (launch, mine)]
            origin = parent.origin
        return findings

    def _copy(self, line: int | None, to: int, start: int, count: int) -> None:
        """A copy that a thread has put on a stream."""
        memory = self.kernel.code.memory
        parts: list[tuple[Allocation, int]] = []
        for pointer in (to, start) if count else ():
            piece = memory.at(pointer)
            heap = self.kernel.program.memory.heap.get(pointer >> GLOBAL_BITS)
            allocation = piece.allocation if piece else heap
            first = pointer - allocation.address if allocation else 0
            if allocation is None or not 0 <= first <= first + count <= allocation.data.size:
                message = (
                    f"a thread has {count} bytes copied {'from' if parts else 'to'} "
                    f"{memory.of_pointer(pointer)}, which "
                    f"{'has not that many' if allocation else 'no copy reaches'}"
                )
                self.family[0][1].findings.append(Finding("out-of-bounds", line, message))
                return
            parts.append((allocation, first))
        if parts:
            (target, first), (source, second) = parts
            written(target, first, source.data[second : second + count].copy())
