"""What travels between the launcher and a rank, and how it is packed and loaded.

It is plain data that needs no notebook to load; the notebook's own classes stay as they are.
"""

from __future__ import annotations

import functools
import io
import pickle
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from cloudpickle import cloudpickle

from gpulearn.errors import BadInput, RankError
from gpulearn.require import shown

__all__ = [
    "STUCK",
    "Call",
    "Calls",
    "Failure",
    "Job",
    "Result",
    "TraceFrame",
    "frames_of",
    "own_copy",
    "packed",
    "results_of",
    "travelling_call",
]

RANK = str(Path(__file__).with_name("rank.py"))
STUCK = "stuck"  # the kind of failure of a rank that had to be ended


@dataclass(frozen=True)
class Job:
    """What a rank is to do.

    Attributes:
        payload: the function and its arguments, by `cloudpickle`.
        rank: this rank's number, from 0.
        size: how many ranks there are.
        backend: "gloo" or "nccl".
        rendezvous: a file that does not exist yet, where the ranks find one another.
        timeout: seconds that a rank waits for the others in a collective.
        threads: threads for torch in this rank.
        debug: whether torch compares the collectives of all ranks before each.
        environment: the launcher's environment variables.
    """

    payload: bytes
    rank: int
    size: int
    backend: str
    rendezvous: str
    timeout: float
    threads: int
    debug: bool
    environment: Mapping[str, str]


@dataclass(frozen=True)
class TraceFrame:
    """One line of a stack: where, and in which function."""

    file: str
    line: int
    function: str


class Call(NamedTuple):
    """One rank's part in a collective; `numbers` says how many of which dtype, if all must."""

    name: str
    numbers: str
    frames: tuple[TraceFrame, ...]

    def __str__(self) -> str:
        return f"{self.name} with {self.numbers}" if self.numbers else self.name


Calls = Mapping[tuple[str, int], Call]  # by group, and by the place in the group's order


@dataclass(frozen=True)
class Result:
    """A rank came to its end.

    Attributes:
        payload: what its function returned, by `cloudpickle`.
        calls: the collectives that it called.
    """

    payload: bytes
    calls: Calls = field(default_factory=dict)


@dataclass(frozen=True)
class Failure:
    """A rank failed.

    Attributes:
        kind: the exception's class name.
        said: its message.
        frames: its stack, outermost first, without the launcher's own frames.
        calls: the collectives that it called.
        moment: when, on the clock that all processes of a machine share.
    """

    kind: str
    said: str
    frames: tuple[TraceFrame, ...] = ()
    calls: Calls = field(default_factory=dict)
    moment: float = field(default_factory=time.monotonic)


def frames_of(error: BaseException) -> tuple[TraceFrame, ...]:
    """The stack of an exception from the first frame that is not the launcher's."""
    found = [
        TraceFrame(frame.filename, frame.lineno or 0, frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    own = [n for n, frame in enumerate(found) if frame.file == RANK]
    return tuple(found[own[-1] + 1 :] if own else found)


def packed(value: Any) -> bytes:
    """A value as bytes that another process can load: notebooks' functions and classes too."""
    return bytes(cloudpickle.dumps(value))


def travelling_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """A function and its arguments as bytes.

    Raises:
        BadInput: one of them cannot become bytes.
    """
    for value, name in ((fn, "fn"), *((arg, f"argument {n}") for n, arg in enumerate(args, 1))):
        try:
            packed(value)
        except Exception as error:
            raise BadInput(
                f"{name}, {shown(value)}, cannot travel to another process ({error}): make it "
                f"inside the function, or pass what it is made from."
            ) from None
    return packed((fn, args))


MAKERS = ("_make_skeleton_class", "_make_skeleton_enum")


class _Unpickler(pickle.Unpickler):
    """Knows a class of the notebook by the number that `cloudpickle` gave it.

    `cloudpickle` would write the attributes of the class that travelled over those of the one
    that is here: counters, and methods, which then see another's global names.
    """

    def __init__(self, payload: bytes, copies: bool) -> None:
        super().__init__(io.BytesIO(payload))
        self._copies = copies
        self._known: set[type] = set()

    def find_class(self, module: str, name: str) -> Any:
        """What a name in the payload stands for."""
        found = super().find_class(module, name)
        if module == cloudpickle.__name__ and name in MAKERS:
            return functools.partial(self._make, found)
        if module == cloudpickle.__name__ and name == "_class_setstate":
            return functools.partial(self._fill, found)
        return found

    def _make(self, make: Callable[..., type], *described: Any) -> type:
        *what, number, extra = described
        if self._copies:
            made = make(*what, None, extra)
            # on its way back it is the notebook's again
            cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS[made] = number
            return made
        known = number in cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID
        made = make(*described)
        if known:
            self._known.add(made)
        return made

    def _fill(self, fill: Callable[[type, Any], type], made: type, state: Any) -> type:
        return made if made in self._known else fill(made, state)


def own_copy(payload: bytes) -> Any:
    """Load for a simulated rank: with copies of the notebook's classes, which are its own."""
    return _Unpickler(payload, copies=True).load()


def results_of(payloads: Sequence[bytes]) -> list[Any]:
    """Load what ranks returned; an object of a class of the notebook is one of that class.

    Raises:
        RankError: a result cannot be loaded.
    """
    results = []
    for rank, payload in enumerate(payloads):
        try:
            results.append(_Unpickler(payload, copies=False).load())
        except Exception as error:
            raise RankError(
                f"what rank {rank} returned cannot be loaded here ({type(error).__name__}: "
                f"{error}): return numbers, arrays, tensors or lists of them"
            ) from None
    return results
