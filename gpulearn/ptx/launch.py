"""A launch of PTX on the SIMT machine: the same observers, findings and report as Numba kernels."""

from __future__ import annotations

import math
from typing import Any

from gpulearn.ptx.machine import PtxMachine
from gpulearn.ptx.program import PtxProgram
from gpulearn.simt.core.source import Listing
from gpulearn.simt.machine.execution import LaunchResult, launch
from gpulearn.simt.observers.counters import Counters
from gpulearn.simt.observers.initialised import Initialised
from gpulearn.simt.observers.observer import Observer
from gpulearn.simt.observers.races import Races
from gpulearn.simt.observers.trace import Recorder

__all__ = ["PtxListing", "carry_out"]

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
        if math.prod(grid) * math.prod(block) > 1:  # a thread alone races with nobody
            observers.append(Races(math.prod(grid)))
    program_: Any = program
    return launch(
        program_, grid, block, values, dynamic=dynamic, observers=observers, seed=seed,
        keep_going=keep_going, machine=PtxMachine,
    )  # fmt: skip
