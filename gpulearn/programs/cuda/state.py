"""The state of a CUDA program's device, and what every call of the runtime can do with it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from gpulearn.programs.cuda.errors import ApiError
from gpulearn.programs.cuda.kernels import DeviceCode
from gpulearn.programs.cuda.memory import Piece
from gpulearn.programs.cuda.queue import Queue
from gpulearn.programs.cuda.tokens import FILE, Source
from gpulearn.programs.launches import Launches
from gpulearn.simt.core.findings import Finding

__all__ = ["Answer", "State"]


class Answer(NamedTuple):
    """What a request gets: a number, and bytes."""

    value: int = 0
    content: bytes = b""
    error: int = 0


class State:
    """What there is of one program while it runs.

    A method `do_NAME` carries out the request NAME of `cuda_runtime.h`: it is given the line of the
    call, the request's numbers and its bytes.
    """

    def __init__(
        self, code: DeviceCode, source: Source, launches: Launches,
        locate: Callable[[list[int]], int],
    ) -> None:  # fmt: skip
        self.code, self.memory, self.source, self.launches = code, code.memory, source, launches
        self.locate = locate  # the line of addresses in the program's code
        self.queue = Queue()
        self.printed = ""
        self.notes: list[str] = []
        self._last = self._sticky = 0
        self._shadows: dict[int, Piece] = {}
        self._streams = {0, 1, 2}
        self._events: dict[int, float | None] = {}
        self._handles = itertools.count(1 << 12, 16)
        self.launched = False
        self.came_back = False  # whether anybody could see a result of a kernel

    def find(self, kind: str, line: int, message: str) -> None:
        """Notes what is wrong."""
        self._note(Finding(kind, line or None, message))

    def _note(self, finding: Finding) -> None:
        number, line = divmod(finding.line or 0, FILE)
        file = str(self.source.files[number]) if number else self.code.file
        message = self.source.in_words(finding.message)
        self.launches.add(file, replace(finding, line=line or None, message=message))

    def _check_stream(self, stream: int) -> None:
        if stream not in self._streams:
            raise ApiError("cudaErrorInvalidResourceHandle", "there is no such stream")

    def _say(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)
