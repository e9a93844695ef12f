"""What the machine raises on purpose: one small tree.

A message quotes what the caller gave, says what was expected and what to try.
"""

from __future__ import annotations

import functools
import linecache
import re
import textwrap
import traceback
from typing import Any

WIDTH = 96  # characters that fit beside JupyterLab's file browser on a small screen
NAMES_A_LINE = re.compile(r"\bline \d")


def in_lines(error: BaseException) -> list[str]:
    """An error's name and message, as lines for IPython.

    Notebooks break a line that is too long in the middle of a word, so it is broken here.
    """
    name = type(error).__name__
    lines = [
        part
        for line in f"{name}: {error}".splitlines()
        for part in textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
    ]
    return [f"\x1b[1m{name}\x1b[0m{lines[0].removeprefix(name)}", *lines[1:]]


def raised_in(error: BaseException) -> list[str]:
    """The line of a notebook's cell that an error came from; none if the cell has no other."""
    cell, number = [""], 0
    for frame, line in traceback.walk_tb(error.__traceback__):
        if "get_ipython" in frame.f_globals:
            cell, number = linecache.getlines(frame.f_code.co_filename), line
    if sum(map(bool, map(str.strip, cell))) < 2 or not 0 < number <= len(cell):
        return []
    return [textwrap.shorten(f"in line {number}: {cell[number - 1]}", WIDTH, placeholder=" …")]


class SimtError(Exception):
    """The root of the tree."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a stack trace."""
        return in_lines(self) + ([] if NAMES_A_LINE.search(str(self)) else raised_in(self))


class BadInput(SimtError, ValueError):  # noqa: N818 - a learner's word
    """An argument has a wrong shape, dtype, size or name."""


class BadCall(BadInput, TypeError):  # noqa: N818 - a learner's word
    """A function of `cuda`'s was given what does not fit; Numba raises either class here."""


class DeviceError(SimtError, RuntimeError):
    """A device was asked for that is not here, or `GPULEARN_DEVICE` is not a known word."""


class MissingPackage(SimtError, ImportError):  # noqa: N818 - a learner's word
    """An optional package is needed that is not installed."""


class KernelError(SimtError, RuntimeError):
    """A kernel did something that cannot go on; `report` is what the launch left behind."""

    report: Any = None

    @classmethod
    def also(cls, *kinds: type[Exception]) -> type[KernelError]:
        """This class, caught by `except` clauses for other libraries' classes too.

        It keeps its name, which is what a learner reads.

        >>> issubclass(KernelError.also(TypeError), TypeError)
        True
        """
        return _both(cls, kinds)  # type: ignore[arg-type] # a class is hashable

    def __reduce__(self) -> Any:
        return _again, (*_origin(type(self)), self.args, vars(self))


@functools.cache
def _both(cls: type[KernelError], kinds: tuple[type[Exception], ...]) -> type[KernelError]:
    new = [kind for kind in dict.fromkeys(kinds) if not issubclass(cls, kind)]
    lowest = [k for k in new if not any(other is not k and issubclass(other, k) for other in new)]
    if not lowest:
        return cls
    inner = {"__module__": cls.__module__, "__doc__": cls.__doc__, "kinds": (cls, kinds)}
    return type(cls.__name__, (cls, *lowest), inner)


def _origin(cls: type[KernelError]) -> tuple[Any, Any]:
    """A class that can be found by its name, and the kinds that it is made of beside it."""
    origin: tuple[Any, Any] = vars(cls).get("kinds", (cls, ()))
    return origin


def _again(cls: type[KernelError], kinds: Any, args: Any, state: Any) -> KernelError:
    """An error that comes from another process."""
    error = cls.also(*kinds)(*args)
    vars(error).update(state)
    return error


class BadLaunch(KernelError, ValueError, TypeError):  # noqa: N818 - a learner's word
    """A kernel was called without `[blocks, threads]`, or with what is no such shape.

    Numba raises a ValueError or a TypeError here.
    """


class MachineFault(KernelError):  # noqa: N818 - whose fault it is says all
    """The SIMT machine itself failed in a check: nobody's kernel is at fault."""
