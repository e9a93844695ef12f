"""Every error that gpulearn raises on purpose: one small tree.

A message quotes what the caller gave, says what was expected and what to try.
"""

from typing import Any, TypeVar

from simt.errors import (
    BadCall,
    BadInput,
    BadLaunch,
    DeviceError,
    KernelError,
    MachineFault,
    MissingPackage,
    in_lines,
)
from simt.errors import SimtError as GpulearnError  # one root: a kernel's errors are ours, too

__all__ = [
    "BadCall",
    "BadInput",
    "BadLaunch",
    "CheckpointError",
    "DataError",
    "DeviceError",
    "GpulearnError",
    "KernelError",
    "MachineFault",
    "MissingPackage",
    "NotSolvedYet",
    "RankError",
    "RecordingError",
    "TrainingError",
    "WrongAnswer",
]

AnyError = TypeVar("AnyError", bound=Exception)


class RecordingError(GpulearnError, ValueError):
    """A recording is missing, damaged or of another schema."""


class DataError(GpulearnError, ValueError):
    """A data set that comes with the package is damaged."""


class CheckpointError(GpulearnError, ValueError):
    """A checkpoint is missing, cut short, or of another model; the last good one stays."""


class TrainingError(GpulearnError, RuntimeError):
    """Training cannot go on: the loss is no finite number, or a batch does not fit the model."""


class RankError(GpulearnError, RuntimeError):
    """A rank failed.

    Attributes:
        rank: the first that did.
        kind: the class of what it raised; "deadlock" where ranks wait forever; "" where they
            ended in another way.
        message: what it said there, on one line.
        about: what that is about, in a word, where it is a mistake in the use of ranks.
        waits: in a deadlock of simulated ranks, who waits: its number, such as "sends to", for
            which rank, and whether that one has ended; the first few ranks.
        traceback: what Python said there, in full, with the causes; empty if it raised nothing.
        messages: in a deadlock of simulated ranks, how many messages had gone before.
        late: where ranks waited for a collective, the rank that did not reach it, its number
            among the function's collectives, and the call, as far as the flight record tells.
    """

    rank: int = -1
    kind: str = ""
    message: str = ""
    about: str = ""
    waits: tuple[tuple[int, str, int, bool], ...] | None = None
    traceback: str = ""
    messages: int = 0
    late: Any = None


def about(topic: str, error: AnyError) -> AnyError:
    """The error, with a word on what it is about, for code that has to tell it from others."""
    vars(error)["about"] = topic
    return error


class NotPassed(GpulearnError):  # noqa: N818 - what an answer is told, not the line that asks
    """What `gl.check` says of an answer that does not pass."""

    def _render_traceback_(self) -> list[str]:
        return in_lines(self)


class NotSolvedYet(NotPassed):
    """The exercise still holds its stub."""


class WrongAnswer(NotPassed):
    """The exercise was answered, and the answer is wrong; the message is the diagnosis."""

    share: float = 0.0  # of the cases in which it is right
