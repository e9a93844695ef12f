"""Launches: the checks when a kernel is launched, and its run, now or when its turn comes."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from simt.core.findings import Finding, Stop
from simt.core.memory import View, views
from simt.core.places import place
from simt.frontend.typecheck import argument_types
from simt.host.arguments import marshal
from simt.host.device_array import DeviceNDArray
from simt.host.overloads import error_for
from simt.host.settings import checking, current_seed, keeps_going, listeners
from simt.host.work.copies import unread
from simt.host.work.operations import open_records
from simt.host.work.order import Task
from simt.host.work.pinned import HostMemory
from simt.host.work.prepared import LaunchRequest, Prepared, arrays_of, observers_of
from simt.host.work.queue import WorkQueue, work_queue
from simt.host.work.ranges import Access, AccessRanges, of_view
from simt.machine.execution import LaunchResult, launch
from simt.observers.observer import Observer
from simt.observers.overlaps import Overlaps
from simt.report.report import Report


def counted(stream: Any) -> bool:
    """Whether a record wants the counters of a launch on a stream."""
    return not work_queue.direct(stream) and any(record.counters for record in open_records)


def tell(report: Report) -> None:
    """Warns of the findings of a launch that has ended: each mistake in one sentence."""
    mistakes = set()
    for finding in report.findings:
        if finding.kind == "no-type-check":  # said when it happened
            continue
        # `bins[k] += 1` races twice, by its read and by its write: one sentence is enough
        lines = frozenset((finding.line, finding.other_line or finding.line))
        mistake = (finding.kind, finding.array, lines, finding.function)
        if mistake not in mistakes:
            mistakes.add(mistake)
            place().warn(str(finding))


class PreparedLaunch(Prepared):
    """A launch of a `Kernel`, with its arguments as they were."""

    def __init__(self, kernel: Any, request: LaunchRequest) -> None:
        super().__init__(kernel.__name__, request.sharedmem, None, xray=request.xray)
        args = request.args
        try:
            source = self.source = kernel.source
            self.take_shape(request.grid, request.block, request.watch)
            self._overlap = self.sharedmem > 0 and _dynamic_arrays(source.tree) > 1
            if source.tree.args.vararg:
                message = (
                    "*args in a kernel is not supported by the SIMT machine: name its arguments"
                )
                raise Stop(Finding("unsupported", source.tree.lineno, message))
            self.marshalled = marshal(
                source.parameters, args, source.name, kernel.extensions, request.named
            )
            self._device_arrays = {a.gpu_data.number for a in args if isinstance(a, DeviceNDArray)}
            where = place() if self._device_arrays else None
            self._place = (where.file, where.line) if where else ("", None)
            types = argument_types(self.marshalled.typed)
            self._overload = kernel.overload(types)
            self._overload.check_launch(self.shape[1])
            self.marshalled.values = self._overload.values(types, self.marshalled.values)
        except Stop as stop:
            self.stopped = stop.finding

    def arrays(self) -> list[tuple[str, View, bool]]:
        """Name, array, whether the kernel may write it."""
        assert self.marshalled is not None
        return arrays_of(self._overload.program, self.marshalled.values)

    def run(self, further: Sequence[Observer]) -> LaunchResult:
        """Carries the kernel out."""
        overload, hazards = self._overload, self.hazards
        assert self.marshalled is not None
        assert self.source is not None
        values, program = self.marshalled.values, overload.program
        arguments = zip(self.source.parameters, values, strict=True)
        idle = program.idle(frozenset(name for name, v in arguments if views(v)))
        if self._overlap:
            further = [*further, Overlaps()]
        observers = observers_of(
            program, *self.shape, values, counters=self.counters, recorder=self.recorder,
            hazards=hazards, further=further,
        )  # fmt: skip
        if hazards or current_seed() or keeps_going():
            result = launch(
                program, *self.shape, values, dynamic=self.sharedmem, observers=observers,
                seed=current_seed(), keep_going=keeps_going(),
            )  # fmt: skip
            if hazards and all(f.severity != "error" for f in result.findings):
                overload.unchecked.mark_checked(*self.shape, values)
        else:
            result = overload.unchecked(*self.shape, values, self.sharedmem)
        overload.shared_bytes = max(overload.shared_bytes or 0, result.shared_bytes)
        result.findings[:0] = idle
        for name, view, written in self.arrays() if hazards and self._device_arrays else ():
            number = view.allocation.number
            unread.pop(number, None)
            if written and number in self._device_arrays:
                unread[number] = (*self._place, self.source.name, name)
        if overload.unjudged is not None:
            result.findings.append(replace(overload.unjudged))
        return result


def _dynamic_arrays(tree: ast.AST) -> int:
    """How many arrays of dynamic shared memory a kernel makes."""
    calls = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(bool(re.search(r"^[\w.]*shared\.array\((shape=)?0,", call)) for call in calls)


def launch_now(function: Callable[..., Any] | None, prepared: Prepared) -> None:
    """Runs a launch and reports it, to listeners too if it has a Python function."""
    report, stopped = prepared.carry_out()
    _end(function, report, stopped)


def _end(function: Callable[..., Any] | None, report: Report, stopped: Finding | None) -> None:
    if function is not None:
        for listener in listeners:
            listener.hear(function, report)
    if stopped is not None:
        raise error_for(replace(stopped), report) from None
    tell(report)


def put_on_stream(
    function: Callable[..., Any] | None, kernel: Any, prepared: Prepared, stream: Any
) -> None:
    """Puts a launch on a stream."""
    if prepared.stopped is not None:
        launch_now(function, prepared)
        return
    line = place().line

    def end(report: Report, stopped: Finding | None) -> None:
        if stopped is not None:  # told at another line than the launch's
            message = f"{stopped.message}; it was launched in line {line} of the host's program"
            stopped = replace(stopped, message=message)
        _end(function, report, stopped)

    issue_launch(work_queue, kernel, prepared, stream, end)


def carry_out_on_stream(kernel: Any, prepared: Prepared, stream: Any) -> Report:
    """Puts a launch on a stream, and waits for it; its report, whatever happened."""
    reports: list[Report] = []
    issue_launch(
        work_queue, kernel, prepared, stream, lambda report, _: reports.append(report), waits=True
    )
    return reports[0]


def issue_launch(
    queue: WorkQueue, kernel: Any, prepared: Prepared, stream: Any,
    end: Callable[[Report, Finding | None], None], *, waits: bool = False,
) -> Task:  # fmt: skip
    """Puts a launch on a stream of a queue; `end` is told what came of it when it had its turn."""
    arrays = prepared.arrays()

    def action(task: Task) -> list[Access] | None:
        watch = AccessRanges()
        report, stopped = prepared.carry_out([watch])
        if stopped is not None and stopped.kind == "no-progress" and queue.overtake(task):
            for observer in (prepared.counters, prepared.recorder, watch):
                if observer is not None:
                    observer.restart()
            report, stopped = prepared.carry_out([watch])
        for record in queue.host.records():
            record.report(task.number, report)
        end(report, stopped)
        return watch.accesses() if checking() else None

    marshalled = prepared.marshalled
    assert marshalled is not None
    # results that go to pageable memory: such copies block the host
    waits |= len(marshalled.back) > sum(HostMemory(a).pinned for a in marshalled.hosts)
    accesses = [
        Access(name, "store" if written else "load", of_view(view), view.allocation)
        for name, view, written in arrays
    ]
    grid, block = prepared.shape
    return queue.issue(
        "kernel", stream, action, accesses=accesses, name=prepared.name, waits=waits,
        kernel=kernel, grid=grid, block=block,
        arguments={name: (str(v.dtype), tuple(v.shape)) for name, v, _ in arrays},
    )  # fmt: skip
