"""Memory that a CUDA program asks for, fills and copies."""

from typing import Any, NamedTuple

import numpy as np

from simt.host.work.order import Action, Task, nothing
from simt.host.work.ranges import Access, of_array
from simt.programs.cuda.errors import ApiError
from simt.programs.cuda.held import Use
from simt.programs.cuda.memory import Piece, mark_written, written
from simt.programs.cuda.state import Answer, CudaStream, State

KINDS = (
    "cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost",
    "cudaMemcpyDeviceToDevice", "cudaMemcpyDefault",
)  # fmt: skip


Bytes = np.ndarray[Any, Any]


class _Part(NamedTuple):
    """Bytes of a piece of memory that an operation reads or writes."""

    piece: Piece
    start: int
    size: int
    writes: bool

    @property
    def data(self) -> Bytes:
        """The bytes themselves."""
        return self.piece.allocation.data[self.start : self.start + self.size]

    @property
    def access(self) -> Access:
        name, kind = self.piece.variable or str(self.piece), "store" if self.writes else "load"
        return Access(name, kind, of_array(self.data), self.data)


class CopyCalls(State):
    """`cudaMalloc` and its kin, `cudaMemcpy` and its kin, `cudaMemset`.

    When they return is what "API synchronization behavior" of the CUDA runtime says. Where it
    leaves it open, a copy from the device to pageable memory waits, and one from pageable memory
    may be under way when the call returns, though its bytes have been staged.
    """

    def _issue(
        self, kind: str, stream: CudaStream, what: str, parts: list[_Part], action: Action, *,
        waits: bool = False,
    ) -> Task:  # fmt: skip
        """Puts an operation on a stream."""
        accesses, size = [part.access for part in parts], parts[0].size
        purpose = f"the {what} of line {self.line}"
        task = self.queue.issue(
            kind, stream, action, accesses=accesses, name=accesses[0].name, size=size, waits=waits
        )
        self.held.add(
            task, [Use(p.piece, p.start, p.start + p.size, p.writes, purpose) for p in parts]
        )
        return task

    # --- memory

    def do_malloc(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMalloc(size)`."""
        if not values[0]:
            return Answer()
        block = self.memory.take(values[0], line)
        self._name(line, block)
        return Answer(block.address)

    def taken(self, block: Piece, stream: CudaStream) -> None:
        """Memory is there from this point of a stream on."""
        part = _Part(block, 0, block.size, True)
        self._issue("allocate", stream, "cudaMallocAsync", [part], nothing)

    def do_malloc_managed(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMallocManaged(size)`."""
        if not values[0]:
            raise ApiError("cudaMallocManaged is asked for 0 bytes")
        return self._shared("managed", line, values[0])

    def do_malloc_host(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMallocHost(size)`."""
        return self._shared("pinned", line, values[0])

    def _shared(self, kind: str, line: int, size: int) -> Answer:
        block, file = self.memory.share(kind, size, line)
        self._name(line, block)
        return Answer(block.address, str(file).encode())

    def do_free(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaFree(pointer)`: it waits for all work before."""
        return self._free("cudaFree", ("device", "managed"), line, values[0])

    def do_free_host(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaFreeHost(pointer)`."""
        return self._free("cudaFreeHost", ("pinned",), line, values[0])

    def _free(self, name: str, kinds: tuple[str, ...], line: int, pointer: int) -> Answer:
        if pointer == 0:
            return Answer()
        self.queue.synchronize()
        block = self._piece_at(name, kinds, pointer)
        self._given_back(block, line)
        return Answer(max(block.size, 1) if block.shared else 0)

    def do_free_async(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaFreeAsync(pointer, stream)`: nobody has it from this point of the stream on."""
        stream = self._stream(values[1])
        if values[0] == 0:
            return
        block = self._piece_at("cudaFreeAsync", ("device",), values[0])
        part = _Part(block, 0, block.size, True)
        self._issue("free", stream, "cudaFreeAsync", [part], nothing)
        self._given_back(block, line)

    def _given_back(self, block: Piece, line: int) -> None:
        self.memory.free(block, line)

    def _piece_at(self, name: str, kinds: tuple[str, ...], pointer: int) -> Piece:
        """The piece of memory that begins at an address."""
        block = self.memory.at(pointer)
        if block is None or block.kind not in kinds or block.address != pointer:
            what, hint = self.memory.of_pointer(pointer), ""
            if block is not None and block.kind == "array":
                hint = ": give it to cudaFreeArray"
            elif block is not None and block.kind in ("device", "managed", "pinned"):
                other = "cudaFreeHost" if block.kind == "pinned" else "cudaFree"
                hint = f", which is {block.kind} memory: give its first address to {other}"
            raise ApiError(f"{name} is given {what}{hint}")
        return block

    def do_memory(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMemGetInfo`: the bytes there are, or those that are free."""
        return Answer(self.memory.total - (self.memory.used_bytes if values[0] else 0))

    # --- copies

    def do_memcpy(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A copy; 1 asks the program for the bytes, 2 says that both sides are its own."""
        stream, size, asynchronous, has_payload = self._stream(values[4]), values[2], *values[5:7]
        if not size:
            return Answer()
        target, source = self._sides(values)
        if source is None:
            if target is None:
                self.queue.synchronize(stream)
                return Answer(2)
            if not has_payload:
                return Answer(1)
            if not asynchronous:
                self.queue.synchronize(stream)
            into = target.piece
            waits = into.kind == "pinned" or (into.shared and not asynchronous)
            content = np.frombuffer(payload, np.uint8)
            task = self._put(stream, target, content, waits=waits)
            task.operation.host_waits = True  # until its bytes are staged
            if not waits and not asynchronous:  # nothing is before it: a GPU has all but done it
                self.queue.progress(task)
            return Answer()
        self.came_back |= source.piece.kind != "pinned" and not (
            target and target.piece.kind == "device"
        )
        if target is not None:
            self._copy(stream, target, source, asynchronous)
            return Answer()
        self._issue("copy-out", stream, "copy", [source], nothing, waits=True)
        return Answer(0, source.data.data)

    def copy_later(self, values: tuple[int, ...], payload: bytes) -> None:
        """A copy of a graph's, for which nobody waits; what it takes of the program's own follows.

        What goes to the program's own memory is written by the next answer.
        """
        to, stream = values[0], self._stream(values[4])
        target, source = self._sides(values)
        if target is not None and source is not None:
            self._copy(stream, target, source, 2)
        elif target is not None:
            content = np.frombuffer(payload, np.uint8)
            self._put(stream, target, content, waits=False)
        elif source is not None:
            self.came_back, part = True, source.data

            def write(_: Task) -> None:
                self.host_writes.append((to, part.tobytes()))

            self._issue("copy-out", stream, "copy", [source], write)
        else:
            self.host_writes.append((to, payload))

    def _put(self, stream: CudaStream, target: _Part, content: Bytes, *, waits: bool) -> Task:
        write = lambda _: written(target.piece.allocation, target.start, content)  # noqa: E731
        return self._issue("copy-in", stream, "copy", [target], write, waits=waits)

    def _copy(self, stream: CudaStream, target: _Part, source: _Part, asynchronous: int) -> None:
        into, origin = target.piece, source.piece
        to, of, size = target.start, source.start, target.size

        def action(_: Task) -> None:
            written(into.allocation, to, source.data.copy())
            to_map, of_map = into.allocation.written, origin.allocation.written
            if to_map is not None and of_map is not None and to_map.grain == of_map.grain == 1:
                to_map.done[to : to + size] = of_map.done[of : of + size]

        pinned = into.kind == "pinned", origin.kind == "pinned"
        kind = {(False, True): "copy-in", (True, False): "copy-out"}.get(pinned, "copy-on-device")
        waits = (all(pinned) and asynchronous < 2) or (
            not asynchronous and (into.shared or origin.shared)
        )
        self._issue(kind, stream, "copy", [target, source], action, waits=waits)

    def _sides(self, values: tuple[int, ...]) -> tuple[_Part | None, _Part | None]:
        """What a copy writes and what it reads; None for what is the host's own."""
        to, of, size, kind = values[:4]
        target, origin = self._side(to, size, "to"), self._side(of, size, "from")
        self._check_direction(target, origin, kind)
        return (
            None if target is None else _Part(target, to - target.address, size, True),
            None if origin is None else _Part(origin, of - origin.address, size, False),
        )

    def _side(self, pointer: int, size: int, which: str) -> Piece | None:
        """What a side of a copy lies in; None if it is the host's own."""
        block = self.memory.at(pointer)
        if block is None:
            if self.memory.is_device(pointer) or pointer == 0:
                what = self.memory.of_pointer(pointer)
                raise ApiError(f"the copy goes {which} {what}")
            return None
        start = pointer - block.address
        if start + size > block.size:
            behind = f" from byte {start:,} on" if start else ""
            hint = ""
            if block.kind == "array":
                hint = ", which is no pointer: copy with cudaMemcpy2DToArray and its kin"
            elif start + size == 4 * block.size or start + size == 8 * block.size:
                hint = "; sizes are in bytes: count * sizeof(float)"
            raise ApiError(
                f"the copy takes {size:,} bytes{behind}, and it goes {which} {block}{hint}",
            )
        return block

    def _check_direction(self, target: Piece | None, origin: Piece | None, kind: int) -> None:
        if kind == 4:
            return
        sides = [
            "Device" if side and not side.shared else "Host" if side is None else ""
            for side in (origin, target)
        ]
        expected = KINDS[kind].removeprefix("cudaMemcpy").split("To")
        if any(f and f != w for f, w in zip(sides, expected, strict=True)):
            right = f"cudaMemcpy{sides[0] or expected[0]}To{sides[1] or expected[1]}"
            names = [str(side) if side else "memory of the host" for side in (origin, target)]
            raise ApiError(
                f"the copy says {KINDS[kind]}, and goes from {names[0]} to {names[1]}: "
                f"that is {right}; the target comes first",
            )

    def do_bad_pitch(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A copy of rows that are wider than what they lie in."""
        raise ApiError(
            f"the copy's rows have {values[0]:,} bytes, and its pitches are {values[1]:,} and "
            f"{values[2]:,}",
            "cudaErrorInvalidPitchValue",
        )

    def do_memset(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaMemset(pointer, value, size)`."""
        pointer, value, size, handle, asynchronous, element = values[:6]
        stream = self._stream(handle)
        if not size:
            return
        block = self.memory.at(pointer)
        if block is None or pointer - block.address + size > block.size:
            what = self.memory.of_pointer(pointer)
            raise ApiError(f"cudaMemset sets {size:,} bytes of {what}")
        unit, start = max(element, 1), pointer - block.address
        part = _Part(block, start, size // unit * unit, True)

        def fill(_: Task) -> None:
            part.data.view(f"u{unit}")[:] = value & (1 << 8 * unit) - 1
            mark_written(block.allocation, start, start + part.size)

        waits = block.shared and not asynchronous
        self._issue("set", stream, "cudaMemset", [part], fill, waits=waits)

    def do_pointer(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The `cudaMemoryType` of what an address lies in."""
        block = self.memory.at(values[0])
        kinds = {"pinned": 1, "device": 2, "variable": 2, "managed": 3}
        return Answer(kinds.get(block.kind, 0) if block else 0)
