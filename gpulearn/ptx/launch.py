"""A launch of PTX on the SIMT machine: the same observers, findings and report as Numba kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gpulearn.ptx.machine import PtxMachine
from gpulearn.ptx.program import PtxProgram
from gpulearn.simt.core.findings import Finding, Stop
from gpulearn.simt.core.limits import check_shape
from gpulearn.simt.core.memory import View
from gpulearn.simt.core.source import Listing
from gpulearn.simt.host.arguments import Marshalled
from gpulearn.simt.host.settings import checking, current_seed, keeps_going
from gpulearn.simt.host.work.launches import arrays_of
from gpulearn.simt.machine.execution import LaunchResult, launch
from gpulearn.simt.observers.counters import Counters
from gpulearn.simt.observers.initialised import Initialised
from gpulearn.simt.observers.observer import Observer
from gpulearn.simt.observers.races import Races
from gpulearn.simt.observers.trace import Recorder, block_number
from gpulearn.simt.report.report import Report, make_report

__all__ = ["PreparedPtx", "PtxListing", "carry_out"]

Triple = tuple[int, int, int]


class PtxListing(Listing):
    """The source of a kernel that is only known as PTX, or the text that it was compiled from."""

    def __init__(
        self, name: str, parameters: list[str], lines: dict[int, str] | None = None, file: str = ""
    ) -> None:
        self._name, self._parameters, self._lines = name, parameters, lines or {}
        self._file = file or f"<{name}>"
        super().__init__()

    @property
    def file(self) -> str:
        """The cell, or a name that stands for it."""
        return self._file

    @property
    def name(self) -> str:
        """The kernel's own name."""
        return self._name

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        return self._parameters

    @property
    def lines(self) -> dict[int, str]:
        """The text by line."""
        return self._lines


def carry_out(
    program: PtxProgram,
    grid: Triple,
    block: Triple,
    values: tuple[Any, ...],
    *,
    dynamic: int = 0,
    hazards: bool = True,
    counters: Counters | None = None,
    recorder: Recorder | None = None,
    further: Sequence[Observer] = (),
    seed: int = 0,
    keep_going: bool = False,
) -> LaunchResult:
    """Runs a kernel over views and numbers, one for each parameter, watched as is asked for."""
    observers: list[Observer] = []
    if counters is not None:
        counters.expect(values)
        observers.append(counters)
    if recorder is not None:
        observers.insert(0, recorder)
    if hazards:
        observers.append(Initialised())
        # a thread alone races with nobody but its own copies
        if math.prod(grid) * math.prod(block) > 1 or program.copies_go_on:
            observers.append(Races(math.prod(grid)))
        observers += further
    program_: Any = program
    return launch(
        program_, grid, block, values, dynamic=dynamic, observers=observers, seed=seed,
        keep_going=keep_going, machine=PtxMachine,
    )  # fmt: skip


class PreparedPtx:
    """A launch of PTX with its arguments taken: what `host.work.launches` calls prepared.

    `take` gives the program, the arguments of the call, and the values of the PTX's parameters;
    `words` says a finding in the terms of the kernel's language.
    """

    def __init__(
        self, name: str, grid: Any, block: Any, sharedmem: int,
        take: Callable[[], tuple[PtxProgram, Marshalled, tuple[Any, ...]]], *,
        listing: Listing | None = None, words: Callable[[Finding], Finding],
        xray: bool = False, watch: int | tuple[int, ...] = 0,
    ) -> None:  # fmt: skip
        self.name, self.sharedmem = name, sharedmem
        self.shape: tuple[Triple, Triple] = (1, 1, 1), (1, 1, 1)
        self.marshalled: Marshalled | None = None
        self.stopped: Finding | None = None
        self._listing, self._words = listing, words
        self._counters = Counters() if xray else None
        self._recorder = Recorder() if xray else None
        try:
            self.shape = check_shape(grid, block, sharedmem)
            if self._recorder is not None:
                self._recorder.block = block_number(watch, self.shape[0])
            self._program, self.marshalled, self._values = take()
        except Stop as stop:
            self.stopped = stop.finding

    def arrays(self) -> list[tuple[str, View, bool]]:
        """Name, array, whether the kernel may write it."""
        program: Any = self._program
        return arrays_of(program, self._values)

    def carry_out(self, observers: Sequence[Observer] = ()) -> tuple[Report, Finding | None]:
        """The report, and the finding that stopped the launch if any did."""
        try:
            if self.stopped is not None:
                raise Stop(self.stopped)
            result = carry_out(
                self._program, *self.shape, self._values, dynamic=self.sharedmem,
                hazards=self._counters is not None or checking(), counters=self._counters,
                recorder=self._recorder, further=observers, seed=current_seed(),
                keep_going=keeps_going(),
            )  # fmt: skip
            assert self.marshalled is not None
            self.marshalled.copy_back()
        except Stop as stop:
            result = LaunchResult(self._listing, [stop.finding], stopped=stop.finding)
        result.findings = [self._words(finding) for finding in result.findings]
        if self.marshalled is not None and self._counters is not None:
            result.findings += self.marshalled.copies()
        report = make_report(
            result, *self.shape, counters=self._counters, recorder=self._recorder, name=self.name
        )
        return report, result.stopped
