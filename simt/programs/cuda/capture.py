"""Stream capture: calls on a stream that become a graph in place of work."""

import struct
from dataclasses import dataclass, field

from simt.programs.cuda.errors import ApiError
from simt.programs.cuda.graphs import HANDLE_AT, Graph, GraphCalls, Node, Request
from simt.programs.cuda.state import Answer

NONE, ACTIVE, INVALID = 0, 1, 2  # cudaStreamCaptureStatus
RELAXED = 2  # of cudaStreamCaptureMode
LEGACY = (0, 1)  # handles of the default stream
# where a request has its stream, if it has one; what waits, or may
ON_STREAM = HANDLE_AT | {
    "synchronize": 0, "query": 0, "graph_launch": 1, "malloc_async": 1, "free_async": 1,
}  # fmt: skip
UNSAFE = {"malloc", "malloc_managed", "malloc_host", "free", "free_host", "wait_for_all"}


@dataclass(eq=False)
class _Capture:
    """A graph that is being captured; of each stream the nodes that the next one comes after."""

    graph: Graph
    origin: int
    mode: int
    line: int
    tails: dict[int, list[Node]] = field(default_factory=dict)
    status: int = ACTIVE


class CaptureCalls(GraphCalls):
    """`cudaStreamBeginCapture`, and what calls do until `cudaStreamEndCapture`."""

    def captured(self, request: Request) -> Answer | None:
        """What a call gives that becomes part of a graph, or must not be made now; else None."""
        name, line, values, _ = request
        if name == "wait_event" and values[0] in self._captured_events:
            return self._join(*self._captured_events[values[0]], values[1])
        if name in ("wait", "ask_event") and values[0] in self._captured_events:
            raise ApiError(
                "the event stands for a point of a graph: the host cannot wait for it",
                "cudaErrorCapturedEvent",
            )
        if name == "record":
            self._captured_events.pop(values[0], None)
        at = ON_STREAM.get(name)
        handle = -1 if at is None else values[at]
        capture = self._captures.get(handle)
        if capture is None:
            self._check_others(name, handle, values)
            return None
        if capture.status == INVALID:
            raise ApiError(
                "the capture of this stream has failed before", "cudaErrorStreamCaptureInvalidated"
            )
        if name == "record":
            self._captured_events[values[0]] = capture, list(capture.tails[handle])
            return Answer()
        if name == "wait_event":
            raise self._spoiled(
                capture, "cudaErrorStreamCaptureIsolation",
                "a stream that is captured waits for an event that was recorded outside",
            )  # fmt: skip
        if name == "graph_launch":
            child = self._executable(values[0]).graph.clone()
            request = Request("graph_child", line, values, b"")
        elif name in HANDLE_AT:
            child, request = None, self.checked(request)
        elif name == "malloc_async":
            child, made = None, self.do_graph_memory(line, values, b"").value
            request = Request("graph_alloc", line, (made, *values[1:]), b"")
        elif name == "free_async":
            child, request = None, Request("graph_free", line, values, b"")
        else:
            raise self._spoiled(
                capture, "cudaErrorStreamCaptureUnsupported",
                "this call waits, or is none that a graph can hold, and its stream is captured "
                f"since line {capture.line % 100_000}: call cudaStreamEndCapture before",
            )  # fmt: skip
        node = capture.graph.add([request], capture.tails[handle])
        node.child = child
        capture.tails[handle] = [node]
        return Answer(made if name == "malloc_async" else 3 if name == "callback" else 0)

    def _spoiled(self, capture: _Capture, name: str, why: str) -> ApiError:
        """The error of a call that ends a capture."""
        capture.status = INVALID
        return ApiError(why, name)

    def _check_others(self, name: str, handle: int, values: tuple[int, ...]) -> None:
        """Refuses what must not be done while any stream is captured."""
        for capture in set(self._captures.values()):
            at_once = name in ("memcpy", "memset") and not values[{"memcpy": 5, "memset": 4}[name]]
            if (handle in LEGACY and not self._streams[capture.origin].apart) or at_once:
                raise self._spoiled(
                    capture, "cudaErrorStreamCaptureImplicit",
                    "the default stream would wait for a stream that is captured: give the call "
                    "that stream, or make streams with cudaStreamNonBlocking",
                )  # fmt: skip
            if name in UNSAFE and capture.mode != RELAXED:
                raise self._spoiled(
                    capture, "cudaErrorStreamCaptureUnsupported",
                    "this call may wait for a stream that is captured: make it before "
                    "cudaStreamBeginCapture, or capture with cudaStreamCaptureModeRelaxed",
                )  # fmt: skip

    def _join(self, capture: _Capture, nodes: list[Node], handle: int) -> Answer:
        """A stream comes after a point of a capture, and is captured with it from now on."""
        other = self._captures.setdefault(handle, capture)
        if other is not capture:
            raise self._spoiled(
                capture, "cudaErrorStreamCaptureMerge", "an event would join two captures"
            )
        tail = capture.tails.setdefault(handle, [])
        tail += [n for n in nodes if n not in tail]
        return Answer()

    def do_capture_begin(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaStreamBeginCapture`, into a graph and after some of its nodes if one is given."""
        handle, mode, graph = values[:3]
        self._stream(handle)
        if handle in LEGACY or handle in self._captures:
            why = "the default stream cannot be" if handle in LEGACY else "the stream is already"
            raise ApiError(f"{why} captured", "cudaErrorStreamCaptureUnsupported")
        capture = _Capture(self._graph(graph) if graph else Graph(), handle, mode, line)
        capture.tails[handle] = self._nodes(payload)
        self._captures[handle] = capture

    def do_capture_after(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaStreamUpdateCaptureDependencies`: the nodes that the next one comes after."""
        capture = self._captures.get(values[0])
        if capture is None:
            raise ApiError("the stream is not captured", "cudaErrorIllegalState")
        tails = capture.tails[values[0]] if values[1] == 0 else []
        capture.tails[values[0]] = tails + self._nodes(payload)

    def do_capture_end(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaStreamEndCapture`: the graph."""
        handle = values[0]
        capture = self._captures.get(handle)
        if capture is None or capture.origin != handle:
            raise ApiError(
                "the capture did not begin on this stream", "cudaErrorStreamCaptureUnmatched"
            )
        for one in [h for h, other in self._captures.items() if other is capture]:
            del self._captures[one]
        self._captured_events = {
            e: known for e, known in self._captured_events.items() if known[0] is not capture
        }
        if capture.status == INVALID:
            raise ApiError(
                "a call before has spoiled the capture", "cudaErrorStreamCaptureInvalidated"
            )
        joined, waiting = set(), list(capture.tails[handle])
        while waiting:
            node = waiting.pop()
            if node not in joined:
                joined.add(node)
                waiting += node.after
        lost = [n for tail in capture.tails.values() for n in tail if n not in joined]
        if lost:
            where = self.source.place(lost[0].requests[0].line)
            raise ApiError(
                f"what another stream was given at {where} is not joined: record an event behind "
                "it and let the stream on which the capture began wait for it",
                "cudaErrorStreamCaptureUnjoined",
            )
        return Answer(self._handle_of(capture.graph))

    def do_capture_info(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The status of a stream; its graph, and the nodes that the next one comes after."""
        self._stream(values[0])
        capture = self._captures.get(values[0])
        if capture is None:
            return Answer(NONE)
        nodes = [self._handle_of(n) for n in capture.tails[values[0]]]
        handles = [id(capture), self._handle_of(capture.graph), *nodes]
        return Answer(capture.status, struct.pack(f"<{len(handles)}Q", *handles))
