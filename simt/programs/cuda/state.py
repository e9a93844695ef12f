"""The state of a CUDA program's device, and what every call of the runtime can do with it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from weakref import ref

from simt.core.findings import Finding
from simt.core.places import Place
from simt.host.streams import Event
from simt.host.work.operations import WorkRecord
from simt.host.work.order import DEFAULT, PER_THREAD
from simt.host.work.program import HostProgram
from simt.host.work.queue import WorkQueue
from simt.host.work.ranges import Access
from simt.programs.cuda.binary import DeviceCode
from simt.programs.cuda.errors import ApiError
from simt.programs.cuda.held import ProtectedPages
from simt.programs.cuda.kernels import DeviceKernel
from simt.programs.cuda.memory import Piece
from simt.programs.cuda.sources import FILE, SourceFiles
from simt.programs.launches import Launches

# a call that makes something, with the variable that it fills
CREATION = re.compile(
    r"\bcuda\w+\s*\(\s*(?:\(\s*void\s*\*\s*\*\s*\)\s*)?&\s*(\w+(?:(?:\.|->)\w+|\[\w+\])*)"
)
BRANCH = "branch {} of the graph launched in line {}"  # of a graph that has several
OF_GRAPH = re.compile(r"of the graph launched in line (\d+)")


class Answer(NamedTuple):
    """What a request gets: a number, and bytes."""

    value: int = 0
    content: bytes | memoryview = b""
    error: int = 0


@dataclass(eq=False)
class CudaStream:
    """A stream of a program, by its number in the queue and the variable that it was made in.

    `apart` from the legacy default stream neither waits for the other.
    """

    number: int
    variable: str = ""
    apart: bool = False

    def __int__(self) -> int:
        return self.number


class _Line(Place):
    """A line of a program in C++."""

    def __init__(self, file: str, line: int) -> None:
        super().__init__(None)
        self.file, self.line = file, line or None

    @property
    def text(self) -> str:
        return ""

    def name_of(self, *things: Any) -> str:
        return next((t.variable for t in things if isinstance(t, CudaStream)), "")


class _CudaHost(HostProgram):
    """The host part of a program, as the queue knows it."""

    at_once = False

    def __init__(self, state: State) -> None:
        self._state = state

    def place(self) -> Place:
        return _Line(self._state.code.file, self._state.line)

    def records(self) -> list[WorkRecord]:
        return []

    def name_of(self, access: Access) -> str:
        blocks = self._state.memory.blocks.values()
        block = next((b for b in blocks if b.allocation is access.memory), None)
        return (block and block.variable) or access.name

    def order(self, first: str, second: str, line: int | None, calls: str = "") -> str:
        graphs = [OF_GRAPH.search(name) for name in (first, second)]
        if graphs[0] and graphs[1] and graphs[0][0] == graphs[1][0]:
            return "let one node of the graph depend on the other"
        if graphs[0]:
            first, line = "the graph's stream", int(graphs[0][1])
        if graphs[1]:
            second = "the graph's stream"
        record, wait = f"(event, {_handle(first)})", f"({_handle(second)}, event)"
        calls = f"cudaEventRecord{record} and cudaStreamWaitEvent{wait}"
        return super().order(first, second, line, calls)

    def wait(self, stream: str) -> str:
        return f"cudaStreamSynchronize({_handle(stream)})"

    def tell(self, findings: Sequence[tuple[str, Finding]]) -> None:
        for _, finding in findings:
            self._state.note(finding)


def _handle(name: str) -> str:
    """A stream as a call is given it."""
    literals = {"the default stream": "0", "the per-thread default stream": "cudaStreamPerThread"}
    return literals.get(name, "stream" if " " in name else name)


class State:
    """The state of one program while it runs.

    A method `do_NAME` carries out the request NAME of `cudart.cpp`: it is given the line of the
    call, the request's numbers and its bytes.
    """

    def __init__(self, code: DeviceCode, source: SourceFiles, launches: Launches) -> None:
        self.code, self.memory, self.source, self.launches = code, code.memory, source, launches
        self.line = 0  # of the call that is answered
        self.process = 0  # the number of the program's process
        self.queue = WorkQueue(_CudaHost(self))
        self.held = ProtectedPages()
        self.printed = ""
        self.notes: list[str] = []
        self._last = self._sticky = 0
        self._streams = {0: CudaStream(DEFAULT), 1: CudaStream(DEFAULT), 2: CudaStream(PER_THREAD)}
        self._events: dict[int, Event] = {}
        self._arrays: dict[int, Any] = {}  # see `arrays`
        self._pools: dict[int, Any] = {}  # see `pools`
        self._current_pool = 0
        self._graph_memory: dict[int, Piece] = {}  # that launches of graphs take, by its address
        self._defaults: dict[int, int] = {}  # of conditions, at each launch of a graph
        self._things: dict[int, Any] = {}  # graphs, their nodes, those that can be launched
        self._numbers: dict[Any, int] = {}
        # graphs whose launch needs the program
        self._launching: dict[int, Generator[Answer, Any, None]] = {}
        self._captures: dict[int, Any] = {}  # by the handle of the stream
        self._captured_events: dict[int, tuple[Any, list[Any]]] = {}
        self.host_writes: list[tuple[int, bytes]] = []  # what is to be written to the host's memory
        self._handles = itertools.count(1 << 12, 16)
        self._created: dict[int, list[ref[CudaStream | Piece]]] = {}  # by the line of the call
        self._detailed: set[DeviceKernel] = set()  # kernels of which a launch is counted
        self.launched = False
        self.came_back = False  # whether anybody could see a result of a kernel

    def line_at(self, addresses: Sequence[int]) -> int:
        """The line of the first of some addresses in the program's process; 0 if unknown."""
        return self.source.locate(self.process, addresses)

    def find(self, kind: str, line: int, message: str) -> None:
        """Notes what is wrong."""
        self.note(Finding(kind, line or None, message))

    def note(self, finding: Finding) -> None:
        """Notes a finding, with its line as the program's files count them."""
        number, line = divmod(finding.line or 0, FILE)
        file = str(self.source.files[number]) if number else self.code.file
        message = self.source.in_words(finding.message)
        self.launches.add(file, replace(finding, line=line or None, message=message))

    def take_threads_stream(self) -> None:
        """Takes stream 0 for the per-thread default stream, as the program is compiled."""
        self._streams[0] = self._streams[2]

    def _stream(self, handle: int) -> CudaStream:
        if handle not in self._streams:
            raise ApiError("there is no such stream", "cudaErrorInvalidResourceHandle")
        return self._streams[handle]

    def _handle_of(self, thing: Any) -> int:
        """The number by which the program knows a thing."""
        number = self._numbers.get(thing)
        if number is None:
            number = self._numbers[thing] = next(self._handles)
            self._things[number] = thing
        return number

    def _name(self, line: int, thing: CudaStream | Piece) -> None:
        """Names what a line creates after its variable, if it creates each only once."""
        all_of_line = self._created.setdefault(line, [])
        all_of_line.append(ref(thing))
        names = CREATION.findall(self.source.line_text(line))
        if len(all_of_line) <= len(names):
            thing.variable = names[len(all_of_line) - 1]
        else:
            for other in [it for known in all_of_line if (it := known())]:
                other.variable = ""

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
