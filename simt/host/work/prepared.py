"""A launch whose arguments have been taken: carried out now or later, and reported in one way."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simt.core.findings import Finding, Stop
from simt.core.limits import MAX_SHARED, check_shape
from simt.core.memory import View, views
from simt.core.program import MachineProgram
from simt.core.source import Listing
from simt.host.arguments import LaunchArguments
from simt.host.settings import checking
from simt.machine.execution import LaunchResult
from simt.observers.counters import Counters
from simt.observers.initialized import UninitializedReads
from simt.observers.observer import Observer
from simt.observers.races import Races
from simt.observers.trace import Recorder, block_number
from simt.report.report import Report, make_report

Triple = tuple[int, int, int]
Outcome = tuple[Report, Finding | None]


def arrays_of(program: MachineProgram, values: Sequence[Any]) -> list[tuple[str, View, bool]]:
    """The arrays that a kernel reaches: what it calls each, and whether it may write it."""
    arguments = zip(program.source.parameters, values, strict=True)
    return [
        *((name, v, name in program.written_parameters) for name, a in arguments for v in views(a)),
        *((v.name, v, True) for v in program.captured),
    ]


def observers_of(
    program: MachineProgram, grid: Triple, block: Triple, values: tuple[Any, ...], *,
    counters: Counters | None = None, recorder: Recorder | None = None, hazards: bool = True,
    further: Sequence[Observer] = (),
) -> list[Observer]:  # fmt: skip
    """The observers of a launch, with the `further` ones where hazards are looked for."""
    observers: list[Observer] = []
    if recorder is not None:
        observers.append(recorder)
    if counters is not None:
        counters.expect(values)
        observers.append(counters)
    if hazards:
        observers.append(UninitializedReads())
        # a thread alone races with nobody but its own copies
        if math.prod(grid) * math.prod(block) > 1 or program.copies_go_on:
            observers.append(Races(math.prod(grid)))
        observers += further
    return observers


@dataclass
class LaunchRequest:
    """What a launch is asked for: its shape, its arguments, bytes of shared memory for a block.

    Arguments that are `named` make it none. With `xray` it is counted, and the block `watch` is
    followed step by step.
    """

    grid: Any
    block: Any
    args: Sequence[Any]
    sharedmem: int
    named: Sequence[str] = ()
    xray: bool = False
    watch: int | tuple[int, ...] = 0


class Prepared(ABC):
    """A launch that can be carried out later; `stopped` says why it is none, if it is none."""

    def __init__(self, name: str, sharedmem: int, source: Listing | None, *, xray: bool) -> None:
        self.name, self.sharedmem, self.source = name, sharedmem, source
        self.shape: tuple[Triple, Triple] = (1, 1, 1), (1, 1, 1)
        self.marshalled: LaunchArguments | None = None
        self.stopped: Finding | None = None
        self.counters = Counters() if xray else None
        self.recorder = Recorder() if xray else None

    def take_shape(
        self, grid: Any, block: Any, watch: int | tuple[int, ...], most: int = MAX_SHARED
    ) -> None:
        """Checks the shape, with at most `most` bytes; the recorder follows the block `watch`."""
        self.shape = check_shape(grid, block, self.sharedmem, most)
        if self.recorder is not None:
            self.recorder.block = block_number(watch, self.shape[0])

    @property
    def hazards(self) -> bool:
        """Whether races and uninitialized reads are looked for."""
        return self.counters is not None or checking()

    @abstractmethod
    def arrays(self) -> list[tuple[str, View, bool]]:
        """Name, array, whether the kernel may write it."""

    @abstractmethod
    def run(self, further: Sequence[Observer]) -> LaunchResult:
        """Carries the kernel out."""

    def in_words(self, finding: Finding) -> Finding:
        """A finding in the terms of the kernel's language."""
        return finding

    def carry_out(self, further: Sequence[Observer] = ()) -> Outcome:
        """The report, and the finding that stopped the launch if any did."""
        try:
            if self.stopped is not None:
                raise Stop(self.stopped)
            result = self.run(further)
            if not self.hazards:  # nobody has seen what was written
                for _, view, written in self.arrays():
                    if written:
                        view.allocation.written = None
            assert self.marshalled is not None
            self.marshalled.copy_back()
        except Stop as stop:
            result = LaunchResult(self.source, [stop.finding], stopped=stop.finding)
        result.findings = [self.in_words(finding) for finding in result.findings]
        if self.marshalled is not None and self.counters is not None:
            result.findings += self.marshalled.copies()
        report = make_report(
            result, *self.shape, counters=self.counters, recorder=self.recorder, name=self.name
        )
        return report, result.stopped
