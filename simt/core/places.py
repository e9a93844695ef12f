"""Places in a program: the line that asks for an operation, and what it calls its arrays."""

import linecache
import re
import sys
import warnings
from types import FrameType
from typing import Any

import simt
from simt.core.findings import SimtWarning

_SKIPPED_FILES = ("contextlib.py", "functools.py")


class Place:
    """A line of a program, and the names that it knows there."""

    def __init__(self, frame: FrameType | None) -> None:
        self.file = frame.f_code.co_filename if frame else ""
        self.line = frame.f_lineno if frame else None
        self._frame = frame

    @property
    def text(self) -> str:
        """The line itself."""
        if self.line is None:
            return ""
        module = self._frame.f_globals if self._frame else None
        return linecache.getline(self.file, self.line, module).strip()

    @property
    def assigned(self) -> str:
        """The name that the line gives to what it makes."""
        match = re.match(r"(\w+)\s*=[^=]", self.text)
        return match[1] if match else ""

    def name_of(self, *things: Any) -> str:
        """What the program calls the first of these that it has a name for.

        A device array is known by its memory too, `gpu_data`.
        """
        if self._frame is None:
            return ""
        spaces = self._frame.f_locals, self._frame.f_globals
        for thing in things:
            if thing is None:
                continue
            for space in spaces:
                for name, value in space.items():
                    owns = type(value).__name__ == "DeviceNDArray" and value.gpu_data is thing
                    if (value is thing or owns) and not name.startswith("_"):
                        return name
        return ""

    def warn(self, message: str) -> None:
        """Warns the program, as of this line."""
        warnings.warn_explicit(message, SimtWarning, self.file or "<unknown>", self.line or 1)

    def forget(self) -> None:
        """Lets go of what the program holds; the line is read first."""
        self._frame = None


def place() -> Place:
    """Where the program, not this package, is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not (file.startswith((*simt.internal.values(),)) or file.endswith(_SKIPPED_FILES)):
            break
        frame = frame.f_back
    return Place(frame)
