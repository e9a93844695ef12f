"""Work for the device of a CUDA program: launches, and the streams and events that order them."""

import struct
from typing import Any

from simt.core.findings import Finding
from simt.core.limits import MAX_SHARED, MAX_SHARED_OPTIN, RESERVED_SHARED, resident
from simt.host.devices import Device
from simt.host.streams import Event
from simt.host.work.launches import issue_launch
from simt.host.work.order import nothing
from simt.programs.cuda.errors import ApiError, KernelFailure, NotSupported, number_of
from simt.programs.cuda.held import Use
from simt.programs.cuda.kernels import DeviceKernel, PreparedKernel
from simt.programs.cuda.state import Answer, CudaStream, State
from simt.report.report import Report

MACHINE_FINDINGS = {"unsupported", "machine-fault"}  # findings that are no fault of the program's


class LaunchCalls(State):
    """`<<<...>>>`, what one can ask of a kernel, waiting, streams and events."""

    # --- launches

    def do_launch(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`kernel<<<grid, block, shared, stream>>>(...)`: an error waits for who asks for it."""
        stream = self._stream(values[6])
        prepared = self.prepared(values, payload)
        kernel = prepared.kernel
        if prepared.counters is not None:
            self._detailed.add(kernel)

        def end(*_: Any) -> None:
            while prepared.family:  # which holds itself, and with it what it has reached
                self._end(*prepared.family.pop(0))

        task = issue_launch(self.queue, kernel, prepared, stream, end)
        marshalled, what = prepared.arguments, f"{kernel.__name__}, launched in line {line},"
        uses = [Use(b, 0, b.size, True, what) for b in marshalled.writes]
        uses += [Use(b, 0, b.size, True, what, sure=False) for b in marshalled.others.values()]
        reads = [*marshalled.reads, *marshalled.fetched.values()]
        self.held.add(task, uses + [Use(b, 0, b.size, False, what) for b in reads])

    def prepared(self, values: tuple[int, ...], payload: bytes) -> PreparedKernel:
        """The launch of a kernel."""
        kernel, arguments = self._kernel(values[0], payload, values[7])
        self._check_shared(kernel, values[5])
        detail = self.launches.wants_detail(kernel) and kernel not in self._detailed
        prepared = PreparedKernel(kernel, *_shape(values), arguments, values[5], xray=detail)
        if prepared.stopped is not None:
            why = f"the launch of {kernel.__name__} fails, {prepared.stopped.message}"
            raise ApiError(why, "cudaErrorInvalidConfiguration")
        return prepared

    def _kernel(
        self, number: int, payload: bytes, together: int = 0
    ) -> tuple[DeviceKernel, list[bytes]]:
        arguments, at = [], 0
        while at < len(payload):
            (size,) = struct.unpack_from("<I", payload, at)
            arguments.append(payload[at + 4 : at + 4 + size])
            at += 4 + size
        return self.code.kernel(number, together=bool(together)), arguments

    def _end(self, prepared: PreparedKernel, report: Report, stopped: Finding | None) -> None:
        """Collects the results of a kernel that has run."""
        arguments = prepared.arguments
        self.launched |= bool(arguments.writes or arguments.others)
        self.printed += prepared.printed
        touches_shared = any(b.shared for b in (*arguments.writes, *arguments.others.values()))
        managed = any(unit.managed for unit in self.code.modules)  # variables, of the host's too
        self.came_back |= touches_shared or bool(prepared.printed) or managed
        if stopped is not None and stopped.kind in MACHINE_FINDINGS:
            raise NotSupported(f"{self.source.place(stopped.line or 1)}: {stopped.message}")
        if prepared.counters is not None or not self.launches.in_detail:
            self.launches.keep(prepared.kernel, report)
        for finding in report.findings:
            finding.message = self._explain(finding.message)
            self.note(finding)
        if stopped is not None:
            raise KernelFailure(stopped)

    def _explain(self, message: str) -> str:
        """A message with what lies at an address that belongs to no array."""
        head, address, rest = message.partition("the address 0x")
        if not address:
            return message
        digits, _, rest = rest.partition(",")
        pointer = int(digits, 16)
        what = self.memory.of_pointer(pointer)
        beyond = not self.memory.is_device(pointer)
        hint = ", which this kernel cannot reach: copy it to global memory" if beyond else ""
        where = f"where no array is{rest.partition(' array is')[2]}"
        return f"{head}the address 0x{digits}, {where}: it is {what}{hint}"

    def do_blocks(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaOccupancyMaxActiveBlocksPerMultiprocessor`: by threads and shared memory."""
        kernel, _ = self._kernel(values[0], payload)
        threads = values[3] & 0xFFFFFFFF
        each = kernel.static_shared + values[5]
        if not 0 < threads <= Device.MAX_THREADS_PER_BLOCK:
            raise ApiError(f"a block of {threads:,} threads is asked for")
        if each > kernel.most_shared:
            return Answer(0)
        room = Device.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR // (each + RESERVED_SHARED)
        return Answer(min(resident(threads), room))

    def _check_shared(self, kernel: DeviceKernel, dynamic: int) -> None:
        """Whether a block of a kernel may have so many bytes of dynamic shared memory."""
        wanted = kernel.static_shared + dynamic
        if wanted <= kernel.most_shared:
            return
        hint = (
            f": let cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize allow "
            f"{dynamic:,}"
            if wanted <= MAX_SHARED_OPTIN
            else f", and this device has {MAX_SHARED_OPTIN:,}"
        )
        raise ApiError(
            f"the launch of {kernel.__name__} fails, a block has at most {kernel.most_shared:,} "
            f"bytes of shared memory as it is, got {wanted:,}{hint}",
        )

    def do_limit(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaFuncSetAttribute`: how much dynamic shared memory a kernel may be given."""
        dynamic = values[7]
        for together in (False, True):
            kernel = self.code.kernel(values[0], together=together)
            if kernel.static_shared + dynamic > MAX_SHARED_OPTIN:
                static = f" beside {kernel.static_shared:,} static ones"
                raise ApiError(
                    f"{dynamic:,} bytes of dynamic shared memory are asked for"
                    f"{static if kernel.static_shared else ''}, and this device has "
                    f"{MAX_SHARED_OPTIN:,} for a block",
                )
            kernel.most_shared = max(MAX_SHARED, kernel.static_shared + dynamic)

    # --- waiting, streams, events

    def do_synchronize(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """Waits for the work of a stream."""
        self.queue.synchronize(self._stream(values[0]))

    def do_wait_for_all(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaDeviceSynchronize()`."""
        self.queue.synchronize()

    def do_query(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """Whether the work of a stream is done; if not, it is when one asks again."""
        return _query_answer(self.queue.query(self._stream(values[0])))

    def do_stream(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A new stream; 1 sets it apart from the legacy default stream."""
        apart, handle = values[0] == 1, next(self._handles)
        new = CudaStream(self.queue.new_stream(apart=apart), apart=apart)
        self._streams[handle] = new
        self._name(line, new)
        return Answer(handle)

    def do_no_stream(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """The end of a stream, which does not wait for its work."""
        self._stream(values[0])
        del self._streams[values[0]]

    def do_callback(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """A function of the host's has its turn on a stream: what comes before it is done.

        That is at once, since nobody may ever wait for the stream; the host knows of nothing.
        """
        task = self.queue.issue("host", self._stream(values[0]), nothing)
        self.queue.progress(task)
        self.held.viewer = task

    def do_callback_end(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """The function has ended."""
        self.held.viewer = None

    def do_inside(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A call from a function on a stream."""
        raise ApiError(
            "a function on a stream calls CUDA: let it tell the host, which can then ask for more",
            "cudaErrorNotPermitted",
        )

    def do_event(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """A new event."""
        handle = next(self._handles)
        self._events[handle] = Event(self.queue)
        return Answer(handle)

    def do_no_event(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """The end of an event."""
        self._event(values[0])
        del self._events[values[0]]

    def _event(self, handle: int) -> Event:
        event = self._events.get(handle)
        if event is None:
            raise ApiError("there is no such event", "cudaErrorInvalidResourceHandle")
        return event

    def do_record(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaEventRecord(event, stream)`."""
        self._event(values[0]).record(self._stream(values[1]))

    def do_wait(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaEventSynchronize(event)`."""
        self._event(values[0]).synchronize()

    def do_ask_event(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaEventQuery(event)`."""
        return _query_answer(self._event(values[0]).query())

    def do_wait_event(self, line: int, values: tuple[int, ...], payload: bytes) -> None:
        """`cudaStreamWaitEvent(stream, event)`."""
        self._event(values[0]).wait(self._stream(values[1]))

    def do_elapsed(self, line: int, values: tuple[int, ...], payload: bytes) -> Answer:
        """`cudaEventElapsedTime`, in nanoseconds."""
        start, end = (self._event(handle) for handle in values[:2])
        if not (start.recorded and end.recorded):
            why = "an event that was never recorded is asked for its time"
            raise ApiError(why, "cudaErrorInvalidResourceHandle")
        if not (start.happened and end.happened):
            why = "an event is asked for its time before it is reached: call cudaEventSynchronize"
            raise ApiError(why, "cudaErrorNotReady")
        self._say("times between events are those of this computer, not of a GPU")
        return Answer(max(int((end.time - start.time) * 1e9), 0))


def _query_answer(done: bool) -> Answer:
    return Answer(error=0 if done else number_of("cudaErrorNotReady"))


def _shape(values: tuple[int, ...]) -> tuple[Any, Any]:
    low = 0xFFFFFFFF
    grid = (values[1] & low, values[1] >> 32, values[2])
    return grid, (values[3] & low, values[3] >> 32, values[4])
