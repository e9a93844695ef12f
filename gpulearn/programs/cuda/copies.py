"""Memory that a CUDA program asks for, fills and copies."""

from __future__ import annotations

import numpy as np

from gpulearn.programs.cuda.errors import ApiError
from gpulearn.programs.cuda.memory import Piece, written
from gpulearn.programs.cuda.queue import Use
from gpulearn.programs.cuda.state import Answer, State

__all__ = ["Copies"]

KINDS = (
    "cudaMemcpyHostToHost", "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost",
    "cudaMemcpyDeviceToDevice", "cudaMemcpyDefault",
)  # fmt: skip


class Copies(State):
    """`cudaMalloc` and its kin, `cudaMemcpy` and its kin, `cudaMemset`."""

    # --- memory

    def do_malloc(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMalloc(size)`."""
        return Answer(self.memory.take(values[0], line).address if values[0] else 0)

    def do_malloc_managed(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMallocManaged(size)`."""
        if not values[0]:
            raise ApiError("cudaErrorInvalidValue", "cudaMallocManaged is asked for 0 bytes")
        return self._shared("managed", line, values[0])

    def do_malloc_host(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMallocHost(size)`."""
        return self._shared("pinned", line, values[0])

    def _shared(self, kind: str, line: int, size: int) -> Answer:
        block, file = self.memory.share(kind, size, line)
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
        self.queue.wait()
        block = self.memory.at(pointer)
        if block is None or block.kind not in kinds or block.address != pointer:
            what, hint = self.memory.of_pointer(pointer), ""
            if block is not None and block.kind in ("device", "managed", "pinned"):
                other = "cudaFreeHost" if block.kind == "pinned" else "cudaFree"
                hint = f", which is {block.kind} memory: give its first address to {other}"
            raise ApiError("cudaErrorInvalidValue", f"{name} is given {what}{hint}")
        self.memory.free(block, line)
        return Answer(max(block.size, 1) if block.shared else 0)

    def do_memory(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMemGetInfo`: the bytes there are, or those that are free."""
        return Answer(self.memory.total - (self.memory.taken if values[0] else 0))

    # --- copies

    def do_memcpy(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A copy; 1 asks the program for the bytes, 2 says that both sides are its own."""
        to, of, size, kind, stream, later, sent, _ = values
        self._check_stream(stream)
        target = self._side(to, size, kind in (0, 2), "to", kind)
        origin = self._side(of, size, kind in (0, 1), "from", kind)
        self._check_direction(target, origin, kind)
        if target is None and origin is None:
            self.queue.wait()
            return Answer(2)
        if origin is None:
            assert target is not None
            if not sent:
                return Answer(1)
            content = np.frombuffer(payload, np.uint8)
            start, into = to - target.address, target
            use = Use(target, True, f"the copy of line {line}")
            self.queue.add(stream, lambda: written(into, start, content), (use,))
            if not later:
                self.queue.wait()
            return Answer()
        start = of - origin.address
        self.came_back |= origin.kind != "pinned" and not (target and target.kind == "device")
        if target is None:  # what is not pinned is there when the call returns
            self.queue.wait()
            return Answer(0, origin.allocation.data[start : start + size].tobytes())
        self._copy(line, target, to - target.address, origin, start, size, stream)
        if not later and (target.shared or origin.shared):
            self.queue.wait()
        return Answer()

    def _copy(
        self, line: int, target: Piece, to: int, origin: Piece, of: int, size: int, stream: int
    ) -> None:
        def run() -> None:
            content = origin.allocation.data[of : of + size].copy()
            written(target, to, content)
            known, source = target.allocation.written, origin.allocation.written
            if known is not None and source is not None and known.grain == source.grain == 1:
                known.done[to : to + size] = source.done[of : of + size]

        what = f"the copy of line {line}"
        self.queue.add(stream, run, (Use(target, True, what), Use(origin, False, what)))

    def _side(self, pointer: int, size: int, hosts: bool, which: str, kind: int) -> Piece | None:
        """What a side of a copy lies in; None if it is the host's own."""
        block = self.memory.at(pointer)
        if block is None:
            if self.memory.is_device(pointer) or (pointer == 0 and size):
                what = self.memory.of_pointer(pointer)
                raise ApiError("cudaErrorInvalidValue", f"the copy goes {which} {what}")
            return None
        start = pointer - block.address
        if start + size > block.size:
            behind = f" from byte {start:,} on" if start else ""
            hint = ""
            if start + size == 4 * block.size or start + size == 8 * block.size:
                hint = "; sizes are in bytes: count * sizeof(float)"
            raise ApiError(
                "cudaErrorInvalidValue",
                f"the copy takes {size:,} bytes{behind}, and it goes {which} {block}{hint}",
            )
        return block

    def _check_direction(self, target: Piece | None, origin: Piece | None, kind: int) -> None:
        if kind == 4:
            return
        found = [
            "Device" if side and not side.shared else "Host" if side is None else ""
            for side in (origin, target)
        ]
        wanted = KINDS[kind].removeprefix("cudaMemcpy").split("To")
        if any(f and f != w for f, w in zip(found, wanted, strict=True)):
            right = f"cudaMemcpy{found[0] or wanted[0]}To{found[1] or wanted[1]}"
            names = [str(side) if side else "memory of the host" for side in (origin, target)]
            raise ApiError(
                "cudaErrorInvalidValue",
                f"the copy says {KINDS[kind]}, and goes from {names[0]} to {names[1]}: "
                f"that is {right}; the target comes first",
            )

    def do_bad_pitch(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A copy of rows that are wider than what they lie in."""
        raise ApiError(
            "cudaErrorInvalidPitchValue",
            f"the copy's rows have {values[0]:,} bytes, and its pitches are {values[1]:,} and "
            f"{values[2]:,}",
        )

    def do_memset(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaMemset(pointer, value, size)`."""
        pointer, value, size, stream = values[:4]
        self._check_stream(stream)
        block = self.memory.at(pointer)
        if block is None or pointer - block.address + size > block.size:
            what = self.memory.of_pointer(pointer)
            raise ApiError("cudaErrorInvalidValue", f"cudaMemset sets {size:,} bytes of {what}")
        content = np.full(size, value & 255, np.uint8)
        start, into = pointer - block.address, block
        use = Use(block, True, f"the cudaMemset of line {line}")
        self.queue.add(stream, lambda: written(into, start, content), (use,))
        return Answer()

    def do_variable(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A variable of the device's, which the host knows by the address of its own."""
        number, shadow, _ = values[:3]
        self._shadows[shadow] = self.code.variables[self.code.names[number]]
        return Answer()

    def do_pointer(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The `cudaMemoryType` of what an address lies in."""
        block = self.memory.at(values[0])
        kinds = {"pinned": 1, "device": 2, "variable": 2, "managed": 3}
        return Answer(kinds[block.kind] if block else 0)

    def do_symbol(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The address of a variable on the device."""
        if values[0] not in self._shadows:
            raise ApiError(
                "cudaErrorInvalidSymbol",
                "this is no __device__ or __constant__ variable: give the variable itself",
            )
        return Answer(self._shadows[values[0]].address)
