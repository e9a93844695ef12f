"""Launch settings: what is looked for and what stops, and which of the allowed outcomes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import numpy as np

from simt.errors import BadInput
from simt.wording import shown

T = TypeVar("T")
_checked: ContextVar[bool] = ContextVar("simt_checked", default=True)
_going: ContextVar[bool] = ContextVar("simt_keep_going", default=False)
_seed: ContextVar[int] = ContextVar("simt_seed", default=0)
checking = _checked.get  # whether plain launches look for races and uninitialized reads
keeps_going = _going.get  # whether a launch goes on after an access out of bounds
current_seed = _seed.get  # which allowed outcome is chosen; 0 is the fixed default order


class Listener(Protocol):
    """An object that is notified of each launch."""

    def wants_detail(self, kernel: Callable[..., Any]) -> bool:
        """Whether the next launch of a kernel is to be counted."""

    def hear(self, kernel: Callable[..., Any], report: Any) -> None:
        """A kernel was launched, and this is its report."""

    def hear_race(self, file: str, finding: Any) -> None:
        """Nothing orders two operations on streams; `file` is that of the program's lines."""


listeners: list[Listener] = []  # for all threads that launch
replacements: list[object] = []  # what puts the machine in the place of Numba's `cuda`, for all too


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Notifies a listener of each launch while the block runs."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)


@contextmanager
def _set(setting: ContextVar[T], value: T) -> Iterator[None]:
    token = setting.set(value)
    try:
        yield
    finally:
        setting.reset(token)


@contextmanager
def unchecked() -> Iterator[None]:
    """Launches run faster, and do not look for races or uninitialized reads.

    Indices are still checked: no launch ever writes out of an array. Kernels run as machine code,
    a Numba kernel where `numba-cuda` and libNVVM are installed; it says so, unless a checked launch
    of the same shapes has been clean. On a GPU nothing changes.

    >>> with unchecked():
    ...     checking()
    False
    """
    with _set(_checked, False):
        yield


@contextmanager
def keep_going() -> Iterator[None]:
    """Launches skip accesses out of bounds and go on, so that all findings are listed.

    A skipped read gives 0, a skipped write or atomic changes nothing. An index of a whole row,
    or of a record, still stops: what is done with it cannot be skipped.

    >>> with keep_going():
    ...     keeps_going()
    True
    """
    with _set(_going, True):
        yield


@contextmanager
def block_order(number: int) -> Iterator[None]:
    """Launches choose another allowed outcome: the order of blocks, and who wins a race.

    Raises:
        BadInput: the number is not whole, or below zero.

    >>> with block_order(3):
    ...     current_seed()
    3
    """
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise BadInput(f"block_order is {shown(number)}: give a whole number, 0 or more.")
    with _set(_seed, int(number)):
        yield
