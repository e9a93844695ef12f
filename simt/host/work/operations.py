"""Operations on streams: the record of what a program has asked the device for, in order."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, overload

from simt.core.findings import Finding
from simt.report.report import Report

Triple = tuple[int, int, int]


@dataclass
class StreamOperation:
    """One thing that a program asked for.

    Attributes:
        kind: "copy-in", "copy-out", "copy-on-device" or "kernel"; "event" records an event, "wait"
            lets a stream wait for one, "host" is a callback; "synchronize" is not on the stream:
            the host waits for it. In CUDA C++ also "set", "allocate" and "free".
        stream: the number of its stream: 0 is the default stream, -1 all streams together.
        stream_name: what the program calls the stream, if it has a name for it.
        name: of the kernel, or of the array that is copied.
        bytes: how many are copied or set; 0 for other kinds.
        pinned: whether the host memory of a copy is pinned; None where there is none.
        host_waits: whether the call returns when the operation is done; for a copy to the device
            from pageable memory on a stream, when its bytes have been staged.
        after: the indices, in the record, of operations that it must come after: the one before
            it on its stream, an event, the rule of the default stream, what the host waited for.
            What comes before one of these may be left out.
        line: of the program, where it was asked for; `text` is that line.
        kernel, grid, block, arguments: of a kernel; `arguments` are dtype and shape by name.
        report: of a kernel that has been carried out; with counters if they were asked for.
    """

    kind: str
    stream: int
    stream_name: str
    name: str = ""
    bytes: int = 0
    pinned: bool | None = None
    host_waits: bool = False
    after: tuple[int, ...] = ()
    line: int | None = None
    text: str = ""
    kernel: Any = None
    grid: Triple | None = None
    block: Triple | None = None
    arguments: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    report: Report | None = None


class WorkRecord(Sequence[StreamOperation]):
    """The operations of a program in the order in which it asked for them.

    `findings` are the stream races among them, which are not warned of then.
    """

    def __init__(self, counters: bool) -> None:
        self.counters = counters
        self.operations: list[StreamOperation] = []
        self.findings: list[Finding] = []
        self._places: dict[int, int] = {}  # of the numbers that operations have for all records

    def add(self, number: int, operation: StreamOperation, after: Sequence[int]) -> None:
        """The next operation; the numbers are those that all records share."""
        operation.after = tuple(sorted({self._places[n] for n in after if n in self._places}))
        self._places[number] = len(self.operations)
        self.operations.append(operation)

    def report(self, number: int, report: Report) -> None:
        """A kernel has been carried out."""
        if number in self._places:
            self.operations[self._places[number]].report = report

    @overload
    def __getitem__(self, index: int) -> StreamOperation: ...
    @overload
    def __getitem__(self, index: slice) -> list[StreamOperation]: ...
    def __getitem__(self, index: int | slice) -> StreamOperation | list[StreamOperation]:
        return self.operations[index]

    def __len__(self) -> int:
        return len(self.operations)


open_records: list[WorkRecord] = []  # that are being written, for all threads


@contextmanager
def record_work(*, counters: bool = False) -> Iterator[WorkRecord]:
    """Records what a program asks the device for while a block runs.

    At the end of the block all work is waited for, as by `cuda.synchronize()`, so that each
    kernel has its report; this is no operation of the record. With `counters` kernels are counted
    as by `xray`.

    Example:
        >>> import numpy as np
        >>> from simt.host import api as cuda
        >>> stream = cuda.stream()
        >>> with record_work() as work:
        ...     x = cuda.to_device(np.zeros(4), stream=stream)
        ...     stream.synchronize()
        >>> [(op.kind, op.name, op.bytes, op.after) for op in work]
        [('copy-in', 'x', 32, ()), ('synchronize', '', 0, (0,))]
    """
    from simt.host.work.queue import work_queue  # which asks for the records

    work_queue.finish()
    work = WorkRecord(counters)
    open_records.append(work)
    try:
        yield work
        work_queue.finish()
    finally:
        open_records.remove(work)
