"""The timeline of a program's copies and kernels: what each engine of a GPU does when.

Modeled without a GPU: the program runs on the SIMT machine, and what it asked for is scheduled
on three engines, one that copies in, one that computes, one that copies out, in an order that
CUDA allows. Measured with one, by NVIDIA's profiling library (CUPTI) through torch's profiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.estimates import estimate
from gpulearn.perf.gpus import GpuSpec, gpu_spec
from gpulearn.perf.roofline import COPY_SECONDS, LAUNCH_SECONDS
from gpulearn.perf.series import Provenance
from gpulearn.perf.timing import format_seconds
from simt.device import selection
from simt.host.work.operations import StreamOperation, WorkRecord, record_work

if TYPE_CHECKING:
    from simt.core.findings import Finding

ENGINES = ("copy in", "compute", "copy out")
COPIES = {"Memcpy HtoD": "copy in", "Memcpy DtoH": "copy out"}  # in the profiler's names
ASSUMPTIONS = (
    "one copy in, one kernel, and one copy out run at a time; if several could begin, the one "
    "issued first does",
    "a kernel takes as long as gl.estimate says, at a rate that counts a multiply-add as two "
    "operations: arithmetic without such pairs takes twice as long",
    "a copy runs at the link's data-sheet rate, from pageable memory too, where a GPU's driver is "
    "slower; memory and link have no latency",
    f"the host needs {format_seconds(LAUNCH_SECONDS)} to launch a kernel and "
    f"{format_seconds(COPY_SECONDS)} to issue a copy; events and waits are free",
)


@dataclass(frozen=True)
class EngineTask:
    """An operation as it is scheduled."""

    engine: str  # one of `ENGINES`, or "" for what takes no time, such as an event
    seconds: float  # on its engine
    issue: float = 0.0  # seconds that it costs the host to ask for it
    after: tuple[int, ...] = ()  # the indices of earlier tasks that must have ended
    host_waits: bool = False  # whether the host goes on only when it has ended
    stream: int = 0


@dataclass(frozen=True)
class Span:
    """A task with its place in time, in seconds."""

    task: EngineTask
    issued: float  # when the host had asked for it
    begin: float
    end: float


def schedule(tasks: Sequence[EngineTask]) -> tuple[Span, ...]:
    """Place tasks in time: the host asks for them in order, each engine does one at a time.

    A task begins when the host has asked for it, the tasks before it have ended and its engine is
    free; of several that could begin, the one that was asked for first.

    >>> copy, kernel = EngineTask("copy in", 2.0), EngineTask("compute", 1.0, after=(0,))
    >>> [(span.begin, span.end) for span in schedule([copy, kernel])]
    [(0.0, 2.0), (2.0, 3.0)]
    """
    spans: dict[int, Span] = {}
    free: dict[str, float] = {}  # when an engine ended its last task
    issued: dict[int, float] = {}  # the tasks that wait → when the host had asked for them

    def start(i: int) -> float:
        """When a task whose predecessors have their place can begin."""
        ends = (spans[before].end for before in tasks[i].after)
        return max(issued[i], free.get(tasks[i].engine, 0.0), *ends)

    def go_on(until: float, ended: int | None = None) -> None:
        """Begin what begins up to a moment, or until one task has ended."""
        while issued and ended not in spans:
            ready = (i for i in issued if not any(before in issued for before in tasks[i].after))
            i = min(ready, key=start)
            begin = start(i)
            if begin > until:
                return
            spans[i] = Span(tasks[i], issued.pop(i), begin, begin + tasks[i].seconds)
            if tasks[i].engine:
                free[tasks[i].engine] = spans[i].end

    host = 0.0
    for i, task in enumerate(tasks):
        host += task.issue
        go_on(host)
        issued[i] = host
        if task.host_waits:
            go_on(math.inf, ended=i)
            host = max(host, spans[i].end)
    go_on(math.inf)
    return tuple(spans[i] for i in range(len(tasks)))


@dataclass(frozen=True)
class Timeline:
    """What each engine did when."""

    spans: tuple[Span, ...]  # as they were asked for, those that take no time too
    provenance: Provenance
    findings: tuple[Finding, ...] = ()  # races between streams

    @property
    def makespan(self) -> float:
        """Seconds from the program's first request to the end of its last operation.

        Measured times begin with the first operation on the GPU: what the host did before is not
        seen.
        """
        return max((span.end for span in self.spans), default=0.0)

    @property
    def work(self) -> dict[str, float]:
        """Seconds that each engine worked."""
        return {
            engine: sum(s.task.seconds for s in self.spans if s.task.engine == engine)
            for engine in ENGINES
        }

    @property
    def busy(self) -> dict[str, float]:
        """The part of the makespan that each engine worked."""
        return {engine: work / (self.makespan or 1.0) for engine, work in self.work.items()}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the model takes for granted, a sentence each; none where it was measured."""
        return ASSUMPTIONS if self.provenance.kind == "modeled" else ()

    def __repr__(self) -> str:
        shares = ", ".join(f"{engine} {100 * share:.0f} %" for engine, share in self.busy.items())
        return f"{format_seconds(self.makespan)}, {self.provenance}; busy: {shares}"


def timeline(program: Callable[[], object], gpu: str = "T4") -> Timeline:
    """Run a program without arguments and say what its copies and kernels did when.

    Where there is a GPU the times are measured on it, in a second run, and `gpu` is not used.
    Elsewhere the program runs on the SIMT machine, which finds races between streams, and the times
    are modeled by the named GPU's data sheet, as `assumptions` says.
    """
    gpu_spec(gpu)
    if not callable(program):
        raise BadInput(f"program is {require.shown(program)}: give a function without arguments.")
    if selection.current().kind == "gpu":
        return _measured(program)
    with record_work(counters=True) as work:
        program()
    return modeled(work, gpu)


def modeled(work: WorkRecord, gpu: str) -> Timeline:
    """The timeline of what the SIMT machine recorded with counters, on a named GPU."""
    tasks = [_task(operation, gpu_spec(gpu)) for operation in work]
    provenance = Provenance("modeled", f"the {gpu}'s data sheet")
    return Timeline(schedule(tasks), provenance, tuple(work.findings))


def _task(operation: StreamOperation, spec: GpuSpec) -> EngineTask:
    """An operation of the machine's with its times on a GPU."""
    engine, issue, seconds = "", 0.0, 0.0
    if operation.kind == "kernel":
        assert operation.report is not None
        engine, issue = "compute", LAUNCH_SECONDS
        seconds = estimate(operation.report, spec.name).seconds - LAUNCH_SECONDS
    elif operation.kind == "copy-on-device":  # read and written
        engine, issue, seconds = "compute", LAUNCH_SECONDS, 2 * operation.bytes / spec.bandwidth
    elif operation.kind in ("copy-in", "copy-out"):
        engine, issue = operation.kind.replace("-", " "), COPY_SECONDS
        seconds = operation.bytes / spec.link
    return EngineTask(
        engine, seconds, issue, operation.after, operation.host_waits, operation.stream
    )


def _measured(program: Callable[[], object]) -> Timeline:
    """The timeline of a second run on the GPU at hand; the first compiles the kernels."""
    torch = require.package("torch", "A measured timeline")
    program()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        program()
        torch.cuda.synchronize()
    return from_profiler(profiler.events(), str(torch.cuda.get_device_name()))


def from_profiler(events: Iterable[Any], device: str) -> Timeline:
    """The timeline of what torch's profiler saw on a GPU, among `profiler.events()`."""
    on_gpu = [event for event in events if event.device_type.name == "CUDA"]
    on_gpu.sort(key=lambda event: event.time_range.start)
    spans: list[Span] = []
    for event in on_gpu:
        times = event.time_range.start, event.time_range.end
        begin, end = ((time - on_gpu[0].time_range.start) * 1e-6 for time in times)
        engine = next((e for mark, e in COPIES.items() if mark in event.name), "compute")
        task = EngineTask(engine, end - begin, stream=event.device_resource_id)
        spans.append(Span(task, begin, begin, end))
    return Timeline(tuple(spans), Provenance("measured", device))
