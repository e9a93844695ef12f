"""A launch of PTX on the SIMT machine: the same observers, findings and report as Numba kernels."""

from collections.abc import Callable, Sequence
from typing import Any

from simt.core.findings import Finding, Stop
from simt.core.limits import MAX_SHARED
from simt.core.memory import View
from simt.core.source import Listing
from simt.host.arguments import LaunchArguments
from simt.host.settings import current_seed, keeps_going
from simt.host.work.prepared import LaunchRequest, Prepared, arrays_of, observers_of
from simt.machine.execution import LaunchResult, launch
from simt.observers.observer import Observer
from simt.ptx.machine import PtxMachine
from simt.ptx.native.launch import launch_native
from simt.ptx.program import PtxProgram


class PreparedPtx(Prepared):
    """A launch of PTX with its arguments taken.

    `take` gives the program, the arguments of the call, and the values of the PTX's parameters;
    `words` says a finding in the terms of the kernel's language.
    """

    def __init__(
        self, name: str, request: LaunchRequest,
        take: Callable[[], tuple[PtxProgram, LaunchArguments, tuple[Any, ...]]],
        words: Callable[[Finding], Finding], *, listing: Listing | None = None,
        most_shared: int = MAX_SHARED,
    ) -> None:  # fmt: skip
        super().__init__(name, request.sharedmem, listing, xray=request.xray)
        self._words = words
        try:
            self.take_shape(request.grid, request.block, request.watch, most_shared)
            program, self.marshalled, self._values = take()
            self._program: Any = program  # the machine takes both kinds
        except Stop as stop:
            self.stopped = stop.finding

    def in_words(self, finding: Finding) -> Finding:
        """A finding in the terms of the kernel's language."""
        return self._words(finding)

    def arrays(self) -> list[tuple[str, View, bool]]:
        """Name, array, whether the kernel may write it."""
        constants = [(view.name, view, False) for view in self._program.constants]
        return [*arrays_of(self._program, self._values), *constants]

    def run(self, further: Sequence[Observer]) -> LaunchResult:
        """Carries the kernel out."""
        result = None
        if not (self.hazards or current_seed() or keeps_going()):
            result = launch_native(self._program, *self.shape, self._values, self.sharedmem)
        if result is None:
            observers = observers_of(
                self._program, *self.shape, self._values, counters=self.counters,
                recorder=self.recorder, hazards=self.hazards, further=further,
            )  # fmt: skip
            result = launch(
                self._program, *self.shape, self._values, dynamic=self.sharedmem,
                observers=observers, seed=current_seed(), keep_going=keeps_going(),
                machine=PtxMachine,
            )  # fmt: skip
        return result
