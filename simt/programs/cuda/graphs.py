"""CUDA graphs: work that is recorded, as nodes with what each comes after, and launched later.

A node holds the requests that `cudart.cpp` would send for the same work on a stream. A launch puts
them on the queue: a chain of nodes on one stream, the first on the stream of the launch, and waits
where a node comes after one of another chain. So what races with what is told as of plain streams.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from simt.host.work.order import Action, Task, nothing
from simt.programs.cuda.copies import CopyCalls
from simt.programs.cuda.errors import ApiError, number_of
from simt.programs.cuda.state import BRANCH, Answer, CudaStream
from simt.programs.cuda.work import LaunchCalls

REQUEST = struct.Struct("<16sq8QQ")
# where a request that may be recorded has its stream, and the cudaGraphNodeType of what it becomes
HANDLE_AT = {
    "launch": 6, "memcpy": 4, "memset": 3, "callback": 0, "wait_event": 1, "record": 1,
    "graph_alloc": 1, "graph_free": 1,
}  # fmt: skip
KINDS = {
    "launch": 0, "memcpy": 1, "memset": 2, "callback": 3, "graph_child": 4, "graph_empty": 5,
    "wait_event": 6, "record": 7, "graph_alloc": 10, "graph_free": 11, "graph_if": 13,
}  # fmt: skip
TOPOLOGY, TYPE = 2, 3  # why an update fails, as a cudaGraphExecUpdateResult
WHILE, SWITCH = 1, 2  # of cudaGraphConditionalNodeType, beside a plain choice
ASKS_BYTES, CALLS = 1, 2  # what a launch wants of the program before it goes on
Steps = Generator[Answer, bytes, None]
T = TypeVar("T")


class Request(NamedTuple):
    """What is to be carried out, as the runtime library asks for it."""

    name: str
    line: int
    values: tuple[int, ...]
    payload: bytes


@dataclass(eq=False)
class Node:
    """A part of a graph: requests that are carried out in order, or another graph."""

    graph: Graph
    requests: list[Request]
    after: list[Node] = field(default_factory=list)
    child: Graph | None = None
    bodies: list[Graph] = field(default_factory=list)  # of which a condition chooses
    copies: list[Node] = field(default_factory=list)  # of it, in clones

    @property
    def kind(self) -> int:
        """The `cudaGraphNodeType`."""
        return KINDS[self.requests[0].name]


class Graph:
    """Nodes, each after those that it depends on."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, requests: list[Request], after: Iterable[Node]) -> Node:
        """A new node."""
        node = Node(self, requests, list(after))
        self.nodes.append(node)
        return node

    def clone(self) -> Graph:
        """The same nodes once more; each knows its copies."""
        made, copies = Graph(), {}
        for node in self.nodes:
            same = copies[node] = made.add(list(node.requests), [])
            same.child = node.child and node.child.clone()
            same.bodies = [body.clone() for body in node.bodies]
            node.copies.append(same)
        for node, same in copies.items():
            same.after = [copies[other] for other in node.after]
        return made

    def in_order(self) -> list[Node]:
        """The nodes in an order that their dependencies allow; not all, if there is a circle."""
        order: dict[Node, None] = {}
        waiting = self.nodes
        while ready := [n for n in waiting if all(d in order for d in n.after)]:
            order.update(dict.fromkeys(ready))
            waiting = [n for n in waiting if n not in order]
        return list(order)

    def leaves(self) -> list[Node]:
        """The nodes after which there is none."""
        before = {d for n in self.nodes for d in n.after}
        return [n for n in self.nodes if n not in before]


class _Launchable:
    """A graph that can be launched, with the streams of its branches."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph.clone()
        self.branches: list[int] = []  # handles of streams; the first is that of the launch
        self.last: Task | None = None  # the end of the launch before


def _flat(graph: Graph, before: Sequence[Node] = ()) -> list[tuple[Node, list[Node]]]:
    """The nodes of a graph and of those inside it, each with those that it comes after."""
    flat = []
    for node in graph.in_order():
        after = node.after or list(before)
        if node.child is not None and node.child.nodes:
            flat += _flat(node.child, after)
            after = node.child.leaves()
        flat.append((node, after))
    return flat


def _conditions(graph: Graph) -> set[int]:
    """What the nodes of a graph and of those inside it go by."""
    nodes = [node for node, _ in _flat(graph) if node.bodies]
    inside = [_conditions(body) for node in nodes for body in node.bodies]
    return {node.requests[0].values[0] for node in nodes}.union(*inside)


def _changed(old: Graph, new: Graph) -> int:
    """Gives a graph the requests of another of the same shape; else why that cannot be."""
    if len(old.nodes) != len(new.nodes):
        return TOPOLOGY
    places = [{node: k for k, node in enumerate(g.nodes)} for g in (old, new)]
    for mine, other in zip(old.nodes, new.nodes, strict=True):
        if mine.kind != other.kind:
            return TYPE
        if {places[0][d] for d in mine.after} != {places[1][d] for d in other.after}:
            return TOPOLOGY
    for mine, other in zip(old.nodes, new.nodes, strict=True):
        mine.requests = list(other.requests)
        other.copies.append(mine)
        why = _changed(mine.child, other.child) if mine.child and other.child else 0
        if why:
            return why
    return 0


class GraphCalls(CopyCalls, LaunchCalls):
    """`cudaGraph…`: making, changing and launching graphs."""

    def _graph(self, handle: int) -> Graph:
        return self._thing(handle, Graph, "graph")

    def _node(self, handle: int) -> Node:
        return self._thing(handle, Node, "node of a graph")

    def _executable(self, handle: int) -> _Launchable:
        return self._thing(handle, _Launchable, "graph that has been instantiated")

    def _thing(self, handle: int, kind: type[T], what: str) -> T:
        thing = self._things.get(handle)
        if not isinstance(thing, kind):
            raise ApiError(f"this is no {what}, or one that was destroyed")
        return thing

    def _nodes(self, payload: bytes) -> list[Node]:
        return [self._node(h) for h in struct.unpack(f"<{len(payload) // 8}Q", payload)]

    # --- making

    def do_graph(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGraphCreate`, or `cudaGraphClone` of a graph."""
        return Answer(self._handle_of(self._graph(values[0]).clone() if values[0] else Graph()))

    def do_graph_add(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A node, or one more request of a node: dependencies and the request itself follow."""
        graph, count, old = self._graph(values[0]), values[1], values[2]
        after, request = self._nodes(payload[: 8 * count]), self._request(payload[8 * count :])
        if old:
            self._node(old).requests.append(request)
            return Answer(old)
        node = graph.add([request], after)
        if request.name == "graph_child":
            node.child = self._graph(request.values[0]).clone()
        elif request.name == "graph_if":
            node.bodies = [Graph() for _ in range(request.values[2])]
        return Answer(self._handle_of(node))

    def do_graph_set(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Another request for a node, in an instantiated graph if one is given."""
        node = self._node(values[0])
        if values[1]:
            node = self._copy_in(node, self._executable(values[1]).graph)
        request = self._request(payload)
        if KINDS[request.name] != node.kind:
            raise ApiError("these parameters are of another kind of node")
        if values[2]:
            node.requests.append(request)
        else:
            node.requests = [request]
        if request.name == "graph_child" and node.child is not None:
            _changed(node.child, self._graph(request.values[0]))
        return Answer(values[0])

    def _request(self, content: bytes) -> Request:
        name, line, *values, size = REQUEST.unpack_from(content)
        payload = content[REQUEST.size : REQUEST.size + size]
        return self.checked(Request(name.rstrip(b"\0").decode(), line, tuple(values), payload))

    def checked(self, request: Request) -> Request:
        """A request that is recorded, unless it is a launch that no GPU accepts."""
        if request.name == "launch":
            self.prepared(request.values, request.payload)
        return request

    def _copy_in(self, node: Node, graph: Graph) -> Node:
        waiting = [node]
        inside = {n for n, _ in _flat(graph)}
        while waiting:
            found = waiting.pop()
            if found in inside:
                return found
            waiting += found.copies
        raise ApiError("the node is none of this graph's")

    def do_graph_edges(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaGraphAddDependencies`, or `cudaGraphRemoveDependencies`: from and to in turn."""
        nodes = self._nodes(payload)
        for first, second in zip(nodes[::2], nodes[1::2], strict=True):
            if values[0]:
                second.after.remove(first)
            else:
                second.after.append(first)

    def do_graph_find(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGraphNodeFindInClone`."""
        node = self._copy_in(self._node(values[0]), self._graph(values[1]))
        return Answer(self._handle_of(node))

    def do_graph_list(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Nodes, roots or edges of a graph; what a node comes after, or before."""
        what, handle = values[:2]
        if what < 3:
            graph = self._graph(handle)
            nodes = (
                graph.nodes if what == 0
                else [n for n in graph.nodes if not n.after] if what == 1
                else [n for second in graph.nodes for d in second.after for n in (d, second)]
            )  # fmt: skip
        else:
            node = self._node(handle)
            nodes = node.after if what == 3 else [n for n in node.graph.nodes if node in n.after]
        handles = [self._handle_of(n) for n in nodes]
        return Answer(len(handles), struct.pack(f"<{len(handles)}Q", *handles))

    def do_graph_node(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The kind of a node, the graph that it is, or one of those that it has, from 2 on."""
        node = self._node(values[0])
        if values[1] == 0:
            return Answer(node.kind)
        if values[1] > 1:
            return Answer(self._handle_of(node.bodies[values[1] - 2]))
        if node.child is None:
            raise ApiError("the node is no graph")
        return Answer(self._handle_of(node.child))

    def do_graph_kernel(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGraphKernelNodeGetParams`: the numbers and bytes of a launch."""
        name, _, numbers, arguments = self._node(values[0]).requests[0]
        if name != "launch":
            raise ApiError("the node launches no kernel")
        return Answer(0, struct.pack("<8Q", *numbers) + arguments)

    def do_graph_destroy(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaGraphDestroy`, `cudaGraphExecDestroy` or `cudaGraphDestroyNode`."""
        thing = self._thing(values[0], (Graph, _Launchable, Node)[values[1]], "such thing")
        if isinstance(thing, Node):
            thing.graph.nodes.remove(thing)
            for node in thing.graph.nodes:
                node.after = [d for d in node.after if d is not thing]
        del self._things[values[0]]

    def do_graph_handle(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGraphConditionalHandleCreate`: a condition, and its value at each launch if any."""
        handle = next(self._handles)
        self.code.conditions[handle] = values[0]
        if values[1]:
            self._defaults[handle] = values[0]
        return Answer(handle)

    def do_graph_memory(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Memory that a node of a graph takes: its address now, its bytes at each launch."""
        piece = self.memory.take(values[0], line)
        self._graph_memory[piece.address] = piece
        self.memory.free(piece, line)
        return Answer(piece.address)

    def do_graph_alloc(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """The memory of a graph is there from this point of a stream on."""
        piece = self._graph_memory[values[0]]
        if self.memory.at(piece.address) is piece:
            raise ApiError("memory of its last launch was not freed")
        self.memory.keep(piece)
        self.taken(piece, self._stream(values[1]))

    def do_graph_used(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The bytes that graphs have taken and nobody has freed."""
        return Answer(sum(p.size for p in self._graph_memory.values() if not p.freed))

    do_graph_free = CopyCalls.do_free_async

    # --- launching

    def do_graph_ready(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGraphInstantiate`."""
        graph = self._graph(values[0])
        if len(graph.in_order()) < len(graph.nodes):
            raise ApiError("the graph's nodes depend on each other")
        return Answer(self._handle_of(_Launchable(graph)))

    def do_graph_update(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGraphExecUpdate`; the answer is a `cudaGraphExecUpdateResult`."""
        why = _changed(self._executable(values[0]).graph, self._graph(values[1]))
        error = number_of("cudaErrorGraphExecUpdateFailure") if why else 0
        return Answer(why, error=error)

    def do_graph_launch(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaGraphLaunch`: all is put on the queue, or up to where the program has to act."""
        number, launched = next(self._handles), self._executable(values[0])
        first = {k: self._defaults[k] for k in _conditions(launched.graph) & self._defaults.keys()}
        self._order(values[1], [launched.last], lambda _: self.code.conditions.update(first))
        self._launching[number] = self._steps(launched, values[1])
        return self._go_on(number, None)

    def do_graph_go_on(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The program has done what the launch of a graph needed of it."""
        return self._go_on(values[0], payload)

    def _go_on(self, number: int, payload: bytes | None) -> Answer:
        try:
            answer = self._launching[number].send(payload)
        except BaseException as error:
            del self._launching[number]
            if isinstance(error, StopIteration):
                return Answer()
            raise
        return answer._replace(content=struct.pack("<Q", number) + answer.content)

    def _steps(self, launched: _Launchable, handle: int) -> Steps:
        """Puts a graph on a stream; what it yields is what it wants of the program."""
        flat = _flat(launched.graph)
        branch_of, tails = _branches(flat)
        while len(launched.branches) < len(tails):
            stream = CudaStream(self.queue.new_stream(apart=True))
            launched.branches.append(next(self._handles))
            self._streams[launched.branches[-1]] = stream
        handles = launched.branches
        self._streams[handles[0]] = copy(self._stream(handle))
        for number, one in enumerate(handles[: len(tails)] if len(tails) > 1 else [], 1):
            self._streams[one].variable = BRANCH.format(number, self.line)
        crossing = {d for node, after in flat for d in after if branch_of[d] != branch_of[node]}
        crossing.update(node for node in tails[1:] if node is not None)
        ends: dict[Node, Task] = {}
        begin, started = self._order(handle, [launched.last]), {0}
        for node, after in flat:
            branch = branch_of[node]
            waits = [ends[d] for d in after if branch_of[d] != branch]
            if branch not in started:
                waits.append(begin)
                started.add(branch)
            if waits:
                self._order(handles[branch], waits)
            for request in node.requests:
                yield from self._perform(request, handles[branch])
            yield from self._choose(node, handles[branch])
            if node in crossing:
                ends[node] = self._order(handles[branch], [])
        launched.last = self._order(handle, [ends[n] for n in tails[1:] if n is not None])

    def _choose(self, node: Node, handle: int) -> Steps:
        """Puts the graph on a stream that a node's condition chooses, as long as it does."""
        bodies = node.bodies
        while bodies:
            key, kind = node.requests[0].values[:2]
            self.queue.progress(self._order(handle, []))  # what comes before may set it
            value = self.code.conditions[key]
            number = value if kind == SWITCH else 0 if value else 1
            for body in node.bodies[number : number + 1]:
                yield from self._steps(_Launchable(body), handle)
            bodies = bodies if kind == WHILE and value else []

    def _order(self, handle: int, after: Iterable[Task | None], action: Action = nothing) -> Task:
        tasks = [task for task in after if task is not None and not task.seen]
        return self.queue.issue("wait", self._stream(handle), action, after=tasks)

    def _perform(self, request: Request, handle: int) -> Steps:
        """Puts the work of a request on a stream, with the line where it was recorded."""
        name, line, values, payload = request
        if name not in HANDLE_AT:
            return
        at, outer = HANDLE_AT[name], self.line
        values = (*values[:at], handle, *values[at + 1 :])
        self.line = line
        if name == "memcpy":
            if self.memory.at(values[1]) is None:  # it takes bytes that are the program's own
                self.queue.progress(self._order(handle, []))  # it may have written them
                payload = yield Answer(ASKS_BYTES, struct.pack("<2Q", *values[1:3]))
            self.copy_later(values, payload)
        else:
            getattr(self, f"do_{name}")(line, values, payload)
            if name == "callback":
                yield Answer(CALLS, struct.pack("<2Q", *values[1:3]))
                self.held.viewer = None
        self.line = outer


def _branches(flat: list[tuple[Node, list[Node]]]) -> tuple[dict[Node, int], list[Node | None]]:
    """The branch of each node, and the last node of each: a node goes on where it comes from."""
    branch_of: dict[Node, int] = {}
    tails: list[Node | None] = [None]
    for node, after in flat:
        goes_on = (branch_of[d] for d in after if tails[branch_of[d]] is d)
        branch = next(goes_on, 0 if tails[0] is None else len(tails))
        tails[branch:] = [node, *tails[branch + 1 :]]
        branch_of[node] = branch
    return branch_of, tails
