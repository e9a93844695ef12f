"""What an answer may do to its surroundings: shared state, output, the solution."""

# ruff: noqa: NPY002 - the generator that NumPy shares is what an answer might use

from __future__ import annotations

import contextlib
import cProfile
import io
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from gpulearn.checker.limits import LIBRARY

__all__ = ["Printed", "borrowing", "undisturbed"]

MOST_CHARACTERS = 4000  # printed, of one case

# from Python 3.12 on; there a second profiler in a process is an error
MONITORING: Any = getattr(sys, "monitoring", None)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Undo what the block does to shared settings and random numbers.

    An answer that switches torch's gradients off, say, would otherwise falsify all that is
    tried after it, and the learner's notebook too.

    >>> with undisturbed():
    ...     _ = np.seterr(all="raise")
    >>> np.geterr()["divide"]
    'warn'
    """
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    try:
        with np.errstate(), _torch_undisturbed():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def _torch_undisturbed() -> Iterator[None]:
    """The same for torch, where it is loaded."""
    if "torch" not in sys.modules:
        yield
        return
    import torch

    numbers, threads = torch.get_rng_state(), torch.get_num_threads()
    dtype, gradients = torch.get_default_dtype(), torch.is_grad_enabled()
    strict = torch.get_deterministic_debug_mode()
    try:
        yield
    finally:
        torch.set_rng_state(numbers)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(gradients)
        if torch.get_deterministic_debug_mode() != strict:  # to set it loads the compiler
            torch.set_deterministic_debug_mode(strict)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


class _Short(io.StringIO):
    """Keeps the beginning of what is written."""

    def write(self, text: str) -> int:
        """Write text, as long as there is room."""
        room = MOST_CHARACTERS - self.tell()
        if room > 0:
            super().write(text[:room] + "…\n" * (len(text) > room))
        return len(text)


class Printed:
    """What came to standard output, by case.

    A check runs an answer on many cases, and on several ranks each: were all prints shown,
    those that matter would not be found.

    >>> printed = Printed()
    >>> with printed.during("a vector"):
    ...     print("here")
    >>> printed.show("a vector")
    For a vector, your function prints:
    here
    """

    def __init__(self) -> None:
        self._texts: dict[str, _Short] = {}

    @contextlib.contextmanager
    def during(self, label: str) -> Iterator[None]:
        """Keep what is printed, under the case's label."""
        with contextlib.redirect_stdout(self._texts.setdefault(label, _Short())):
            yield

    def show(self, label: str) -> None:
        """Print what was kept, if anything was."""
        text = self._texts[label].getvalue() if label in self._texts else ""
        if text:
            print(f"For {label}, your function prints:", text.rstrip("\n"), sep="\n")


@contextmanager
def borrowing(solution: Callable[..., Any]) -> Iterator[list[str]]:
    """Notes, while the block runs, from which files outside of the library a solution is called.

    What the library itself calls does not count: an answer may use its other parts. The files
    are there once the block has ended.
    """
    callers: list[str] = []
    codes = _codes(solution)
    if codes and MONITORING is not None:
        with _told_of_calls(codes, callers):
            yield callers
    elif codes and sys.getprofile() is None:  # else somebody measures the check itself
        with _profiled(codes, callers):
            yield callers
    else:
        yield callers


@contextmanager
def _profiled(codes: list[CodeType], callers: list[str]) -> Iterator[None]:
    """The calls as a profiler sees them, one in C: an answer calls many functions."""
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        callers += [
            caller.code.co_filename
            for caller in profile.getstats()
            if isinstance(caller.code, CodeType)
            and not _among(caller.code, codes)
            and not caller.code.co_filename.startswith(LIBRARY)
            and any(_among(called.code, codes) for called in caller.calls or ())
        ]


@contextmanager
def _told_of_calls(codes: list[CodeType], callers: list[str]) -> Iterator[None]:
    """The calls as Python tells of them, for this function alone, whoever profiles meanwhile."""
    tool = next((one for one in (3, 4) if MONITORING.get_tool(one) is None), None)
    if tool is None:  # others have taken both that Python leaves to anybody
        yield
        return

    def note(code: CodeType, place: int) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _among(frame.f_code, codes):
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(LIBRARY):
            callers.append(frame.f_code.co_filename)

    start = MONITORING.events.PY_START
    MONITORING.use_tool_id(tool, "gpulearn")
    MONITORING.register_callback(tool, start, note)
    MONITORING.set_local_events(tool, codes[-1], start)
    try:
        yield
    finally:
        MONITORING.set_local_events(tool, codes[-1], 0)
        MONITORING.register_callback(tool, start, None)
        MONITORING.free_tool_id(tool)


def _among(code: Any, codes: list[CodeType]) -> bool:
    """Whether it is one of these itself: equal code may be another function's."""
    return any(code is one for one in codes)


def _codes(function: Callable[..., Any] | None) -> list[CodeType]:
    """The code of a function and of those that it wraps, the innermost last.

    What a decorator puts around functions shares one code, by which a profiler knows them: this
    function's wrappers get a copy of their own.
    """
    found: list[CodeType] = []
    while function is not None and isinstance(
        code := getattr(function, "__code__", None), CodeType
    ):
        inside = getattr(function, "__wrapped__", None)
        if inside is not None:
            code = function.__code__ = code.replace()
        found.append(code)
        function = inside
    return found
