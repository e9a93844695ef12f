"""Work for the device of a CUDA program: launches, and the streams and events that order them."""

from __future__ import annotations

import struct
import time
from typing import Any

from gpulearn.programs.cuda.errors import ApiError, Failed, Unable, number_of
from gpulearn.programs.cuda.kernels import Arguments, DeviceKernel
from gpulearn.programs.cuda.queue import Use
from gpulearn.programs.cuda.state import Answer, State
from gpulearn.simt.core.findings import Stop
from gpulearn.simt.core.limits import MAX_SHARED, check_shape, resident
from gpulearn.simt.host.devices import Device

__all__ = ["Launching"]

OURS = {"unsupported", "machine-fault"}  # findings that are no fault of the program's


class Launching(State):
    """`<<<...>>>`, what one can ask of a kernel, waiting, streams and events."""

    # --- launches

    def do_launch(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`kernel<<<grid, block, shared, stream>>>(...)`: an error waits for who asks for it."""
        kernel, arguments = self._kernel(line, values[0], payload)
        grid, block = _shape(values)
        shared, stream = values[5], values[6]
        try:
            self._check_stream(stream)
            check_shape(grid, block, shared)
        except Stop as stop:
            beyond = "shared memory" in stop.finding.message
            name = "cudaErrorInvalidValue" if beyond else "cudaErrorInvalidConfiguration"
            raise ApiError(
                name, f"the launch of {kernel.__name__} fails, {stop.finding.message}"
            ) from None
        given = kernel.given(arguments)
        what = f"{kernel.__name__}, launched in line {line},"
        uses = [Use(b, True, what) for b in (*given.writes, *given.others.values())]
        uses += [Use(b, False, what) for b in given.reads]
        self.queue.add(
            stream, lambda: self._carry_out(kernel, grid, block, given, shared), tuple(uses)
        )
        return Answer()

    def _kernel(self, line: int, number: int, payload: bytes) -> tuple[DeviceKernel, list[bytes]]:
        types, arguments, at = [], [], 0
        while at < len(payload):
            tag, size = struct.unpack_from("<II", payload, at)
            content = payload[at + 8 : at + 8 + size]
            at += 8 + size
            if chr(tag) == "T":
                types.append(_type_in(content.decode()))
                if "lambda" in types[-1]:
                    raise Unable(
                        f"{self.source.place(line)}: a kernel that takes a lambda is not covered: "
                        "write a struct with __device__ operator() in its place"
                    )
            elif chr(tag) == "V":  # after its type
                types.append(f"({types.pop()}){int.from_bytes(content, 'little', signed=True)}")
            else:
                arguments.append(content)
        return self.code.kernel(number, types), arguments

    def _carry_out(
        self, kernel: DeviceKernel, grid: Any, block: Any, given: Arguments, shared: int
    ) -> None:
        """A kernel's turn.

        Raises:
            Failed: it cannot go on.
            Unable: it needs what the machine does not have.
        """
        self.launched = True
        self.came_back |= any(b.shared for b in (*given.writes, *given.others.values()))
        detail = self.launches.wants_detail(kernel)
        done = kernel.launch(grid, block, given, shared, detail=detail)
        self.printed += done.printed
        self.came_back |= bool(done.printed)
        stopped = done.result.stopped
        if stopped is not None and stopped.kind in OURS:
            raise Unable(f"{self.source.place(stopped.line or 1)}: {stopped.message}")
        self.launches.keep(kernel, done.report)
        for finding in done.report.findings:
            finding.message = self._explained(finding.message)
            self._note(finding)
        if stopped is not None:
            raise Failed(stopped)

    def _explained(self, message: str) -> str:
        """What lies at an address that no array has."""
        head, said, rest = message.partition("the address 0x")
        if not said:
            return message
        digits, comma, _ = rest.partition(",")
        pointer = int(digits, 16)
        what = self.memory.of_pointer(pointer)
        hint = (
            ""
            if self.memory.is_device(pointer)
            else ", which no kernel can reach: copy it to the device"
        )
        return f"{head}the address 0x{digits}{comma} where no array is: it is {what}{hint}"

    def do_blocks(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaOccupancyMaxActiveBlocksPerMultiprocessor`: by threads and shared memory."""
        kernel, _ = self._kernel(line, values[0], payload)
        threads = values[3] & 0xFFFFFFFF
        static = sum(a.size for _, a in kernel.program.own_arrays if a.space == "shared")
        each = static + values[5]
        if not 0 < threads <= Device.MAX_THREADS_PER_BLOCK:
            raise ApiError("cudaErrorInvalidValue", f"a block of {threads:,} threads is asked for")
        if each > MAX_SHARED:
            return Answer(0)
        room = Device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR // each if each else resident(threads)
        return Answer(min(resident(threads), room))

    def do_limit(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaFuncSetAttribute`: more dynamic shared memory than usual, which is not here."""
        if values[7] > MAX_SHARED:
            raise ApiError(
                "cudaErrorInvalidValue",
                f"{values[7]:,} bytes of shared memory are asked for, and this device has "
                f"{MAX_SHARED:,} for a block",
            )
        return Answer()

    def do_no_kernel(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A launch by an address that is no kernel's."""
        raise ApiError("cudaErrorInvalidDeviceFunction", "cudaLaunchKernel is given no kernel")

    # --- waiting, streams, events

    def do_synchronize(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Waits for all work, or for that of a stream."""
        self._check_stream(values[0])
        self.queue.wait()
        return Answer()

    def do_query(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Whether all work is done; if not, it is when one asks again."""
        busy = bool(self.queue)
        self.queue.wait()
        return Answer(error=number_of("cudaErrorNotReady") if busy else 0)

    def do_stream(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A new stream."""
        made = next(self._handles)
        self._streams.add(made)
        return Answer(made)

    def do_no_stream(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The end of a stream."""
        self._check_stream(values[0])
        self._streams.discard(values[0])
        return Answer()

    def do_event(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A new event."""
        made = next(self._handles)
        self._events[made] = None
        return Answer(made)

    def do_no_event(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """The end of an event."""
        self._check_event(values[0])
        self.queue.wait()
        del self._events[values[0]]
        return Answer()

    def _check_event(self, event: int) -> None:
        if event not in self._events:
            raise ApiError("cudaErrorInvalidResourceHandle", "there is no such event")

    def do_record(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaEventRecord(event, stream)`."""
        event, stream = values[:2]
        self._check_event(event)
        self._check_stream(stream)
        self._events[event] = 0.0  # recorded, not reached

        def reached() -> None:
            self._events[event] = time.perf_counter()

        self.queue.add(stream, reached)
        return Answer()

    def do_wait(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaEventSynchronize(event)`."""
        self._check_event(values[0])
        self.queue.wait()
        return Answer()

    def do_wait_event(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaStreamWaitEvent`: work comes in its order in any case."""
        self._check_event(values[0])
        self._check_stream(values[1])
        return Answer()

    def do_elapsed(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaEventElapsedTime`, in nanoseconds."""
        times = []
        for event in values[:2]:
            self._check_event(event)
            reached = self._events[event]
            if reached is None:
                why = "an event that was never recorded is asked for its time"
                raise ApiError("cudaErrorInvalidResourceHandle", why)
            times.append(reached)
        if not all(times):
            why = "an event is asked for its time before it is reached: call cudaEventSynchronize"
            raise ApiError("cudaErrorNotReady", why)
        self._say("times between events are those of this computer, not of a GPU")
        return Answer(max(int((times[1] - times[0]) * 1e9), 0))


def _shape(values: tuple[int, ...]) -> tuple[Any, Any]:
    low = 0xFFFFFFFF
    grid = (values[1] & low, values[1] >> 32, values[2])
    return grid, (values[3] & low, values[3] >> 32, values[4])


def _type_in(pretty: str) -> str:
    """The type that a compiler names at the end of a function's signature.

    >>> _type_in("const char* gpulearn::pretty() [with T = long unsigned int]")
    'long unsigned int'
    """
    inside = pretty[pretty.index("T = ") + 4 :].rstrip("]")
    inside = inside.partition("; ")[0]
    return inside.replace("{anonymous}::", "").replace("(anonymous namespace)::", "")
