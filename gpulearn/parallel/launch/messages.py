"""What the launcher and a rank say to each other; plain data that needs no notebook to load."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle

from gpulearn.errors import BadInput
from gpulearn.require import shown

__all__ = [
    "STUCK",
    "Call",
    "Calls",
    "Failure",
    "Frame",
    "Job",
    "Result",
    "frames_of",
    "packed",
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
class Frame:
    """One line of a stack: where, and in which function."""

    file: str
    line: int
    function: str


class Call(NamedTuple):
    """One rank's part in a collective; `numbers` says how many of which dtype, if all must."""

    name: str
    numbers: str
    frames: tuple[Frame, ...]

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
    frames: tuple[Frame, ...] = ()
    calls: Calls = field(default_factory=dict)
    moment: float = field(default_factory=time.monotonic)


def frames_of(error: BaseException) -> tuple[Frame, ...]:
    """The stack of an exception from the first frame that is not the launcher's."""
    found = [
        Frame(frame.filename, frame.lineno or 0, frame.name)
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
