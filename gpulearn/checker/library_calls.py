"""Whether an answer calls the library's own solution in place of being one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

import gpulearn

__all__ = ["borrowing"]

LIBRARY = str(Path(gpulearn.__file__).parent)


@contextmanager
def borrowing(solution: Callable[..., Any]) -> Iterator[list[str]]:
    """Notes, while the block runs, from which files outside of the library a solution is called.

    What the library itself calls does not count: an answer may use its other parts.
    """
    callers: list[str] = []
    codes = _codes(solution)
    if not codes or sys.getprofile() is not None:  # somebody measures the check itself
        yield callers
        return

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is codes[-1]:
            while frame is not None and frame.f_code in codes:
                frame = frame.f_back
            if frame is not None and not frame.f_code.co_filename.startswith(LIBRARY):
                callers.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        yield callers
    finally:
        sys.setprofile(None)


def _codes(function: Callable[..., Any] | None) -> list[CodeType]:
    """The code of a function and of those that it wraps, the innermost last."""
    found: list[CodeType] = []
    while function is not None and isinstance(
        code := getattr(function, "__code__", None), CodeType
    ):
        found.append(code)
        function = getattr(function, "__wrapped__", None)
    return found
