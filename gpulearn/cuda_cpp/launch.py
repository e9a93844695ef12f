"""A launch of a CUDA C++ kernel: its arguments taken, to be carried out when its turn comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpulearn.cuda_cpp.wording import in_words
from gpulearn.ptx.launch import carry_out
from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.limits import check_shape
from gpulearn.simt.core.memory import View
from gpulearn.simt.host.arguments import Marshalled
from gpulearn.simt.host.settings import checking, current_seed, keeps_going
from gpulearn.simt.host.work.launches import arrays_of
from gpulearn.simt.machine.execution import LaunchResult
from gpulearn.simt.observers.counters import Counters
from gpulearn.simt.observers.observer import Observer
from gpulearn.simt.observers.trace import Recorder, block_number
from gpulearn.simt.report.report import Report, make_report

if TYPE_CHECKING:
    from gpulearn.cuda_cpp.module import CppKernel

__all__ = ["PreparedCpp"]

Triple = tuple[int, int, int]


class PreparedCpp:
    """What `host.work.launches` calls a prepared launch."""

    def __init__(self, kernel: CppKernel, sharedmem: int, *, xray: bool) -> None:
        self.kernel, self.name, self.sharedmem = kernel, kernel.__name__, sharedmem
        self._counters = Counters() if xray else None
        self._recorder = Recorder() if xray else None
        self.shape: tuple[Triple, Triple] = (1, 1, 1), (1, 1, 1)
        self.marshalled: Marshalled | None = None
        self.stopped: Finding | None = None

    def take(
        self, grid: Any, block: Any, watch: int | tuple[int, ...], arguments: Callable[[], Any]
    ) -> None:
        """Checks the shape of the launch, and takes its arguments."""
        try:
            self.shape = check_shape(grid, block, self.sharedmem)
            if self._recorder is not None:
                self._recorder.block = block_number(watch, self.shape[0])
            self.marshalled = arguments()
        except Stop as stop:
            self.stopped = stop.finding

    def arrays(self) -> list[tuple[str, View, bool]]:
        """Name, array, whether the kernel may write it."""
        assert self.marshalled is not None
        program: Any = self.kernel.program
        return arrays_of(program, self.marshalled.values)

    def carry_out(self, observers: Sequence[Observer] = ()) -> tuple[Report, Finding | None]:
        """The report, and the finding that stopped the launch if any did."""
        kernel, marshalled = self.kernel, self.marshalled
        try:
            if self.stopped is not None:
                raise Stop(self.stopped)
            assert marshalled is not None
            result = carry_out(
                kernel.program, *self.shape, marshalled.values, dynamic=self.sharedmem,
                hazards=self._counters is not None or checking(), counters=self._counters,
                recorder=self._recorder, further=observers, seed=current_seed(),
                keep_going=keeps_going(),
            )  # fmt: skip
            marshalled.copy_back()
        except Stop as stop:
            result = LaunchResult(kernel.listing, [stop.finding], stopped=stop.finding)
        result.findings = [in_words(f, kernel.module.shapes) for f in result.findings]
        if marshalled is not None and self._counters is not None:
            result.findings += marshalled.copies()
        report = make_report(
            result, *self.shape, counters=self._counters, recorder=self._recorder, name=self.name
        )
        return report, result.stopped
