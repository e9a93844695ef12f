"""The clock of all recordings, and the checks that come before it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput, GpulearnError
from gpulearn.perf import timing
from simt.device import selection

__all__ = [
    "WrongResultError",
    "agree",
    "fault",
    "host_seconds",
    "kernels_on",
    "launch_seconds",
    "timed",
    "torch_on",
]

BLOCK_SECONDS = 5e-3  # long against the reading of a clock, short enough for hundreds of rows
BLOCKS = 5

Array = np.ndarray[Any, Any]


def kernels_on() -> str:
    """Where kernels run: "cuda", or "cpu" on the SIMT machine."""
    return "cuda" if selection.current().kind == "gpu" else "cpu"


def torch_on() -> str:
    """Where torch computes: "cuda" or "cpu"."""
    return "cuda" if selection.torch_gpu() else "cpu"


def launch_seconds(launch: Callable[[], object], seconds: float = 0.1) -> float:
    """The median seconds of a launch, without the host's part of it where a GPU has timers.

    Args:
        launch: what to time; the work must go to the default stream.
        seconds: the most time to spend on repeats.
    """
    torch = require.package("torch", "Recording")
    clock = "events" if torch.cuda.is_available() else "host"
    return timing.measure(launch, seconds=seconds, clock=clock).median


def host_seconds(call: Callable[[], object], block: float = BLOCK_SECONDS) -> float:
    """The median seconds of a call, as the host sees it: launches and copies are counted.

    `timing.measure` spends up to a second on each call. Recordings have hundreds of them, so
    that here five blocks of calls, each about `block` seconds long, have to do.
    """
    call()  # compiles, allocates and wakes up
    many = max(1, math.ceil(block / _block(call, 1)))
    return median(_block(call, many) for _ in range(BLOCKS))


def _block(call: Callable[[], object], many: int) -> float:
    """Seconds of each of `many` calls in a row."""
    start = timing.now()
    for _ in range(many):
        call()
    return (timing.now() - start) / many


def fault(error: Exception) -> dict[str, str]:
    r"""What a row says of an error in place of a time: its kind and its first line.

    >>> fault(ValueError("too large\nfor this GPU"))
    {'error': 'ValueError: too large'}
    """
    said = (str(error).strip().splitlines() or [""])[0]
    return {"error": f"{type(error).__name__}: {said}"}


def timed(
    fields: dict[str, Any],
    prepare: Callable[[], Callable[[], object]],
    clock: Callable[[Callable[[], object]], float] = launch_seconds,
) -> dict[str, Any]:
    """A row of a recording: `fields` with the `seconds` of what `prepare` returns.

    `prepare` runs the work once, checks its result, and returns the call to time. Where the
    result is wrong, or the machine refuses the work (memory runs out, a launch is too large),
    the row says so under `error` and has no time.
    """
    try:
        with warnings.catch_warnings():
            # some launches are small on purpose
            warnings.filterwarnings("ignore", message="Grid size")
            return fields | {"seconds": clock(prepare())}
    except Exception as error:
        return fields | fault(error)


class WrongResultError(GpulearnError):
    """A kernel or a library computed something else than its oracle."""


def agree(
    what: str, got: Any, wanted: Any, tolerance: float = 0.0, says: str = "NumPy says"
) -> None:
    """Hold an array against what it must be.

    Args:
        what: what was computed, for the message.
        got: the array, on the device or the host. Where it holds words of several numbers,
            `wanted` has the numbers, and is as many times longer.
        wanted: the array that it must be; a masked element may be anything, and NaN must be NaN.
        tolerance: of each element, relative to the largest finite one; 0 for exact.
        says: by whom, for the message.

    Raises:
        WrongResultError: an element is further off than `tolerance`.
        BadInput: the arrays have different shapes.
    """
    got = np.asarray(got.copy_to_host() if hasattr(got, "copy_to_host") else got)
    free = np.ma.getmaskarray(wanted) if np.ma.isMaskedArray(wanted) else np.False_
    wanted = np.asarray(np.ma.getdata(wanted))
    if got.shape != wanted.shape and got.itemsize > wanted.itemsize:
        got = got.view(wanted.dtype)
    if got.shape != wanted.shape:
        raise BadInput(f"{what} has shape {got.shape} where {says} {wanted.shape}.")
    wrong = ~(_near(got, wanted, tolerance) | free)
    if wrong.any():
        first = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        raise WrongResultError(
            f"{what} is wrong in {int(wrong.sum()):,} of {wrong.size:,} elements, first in "
            f"{first}: {require.shown(got[first])} where {says} {require.shown(wanted[first])}."
        )


def _near(got: Array, wanted: Array, tolerance: float) -> Array:
    """Where two arrays agree; NaN agrees with NaN alone."""
    equal: Array = (got == wanted) | ((got != got) & (wanted != wanted))
    if tolerance:
        finite = wanted[np.isfinite(wanted)]
        bound = tolerance * float(np.abs(finite).max(initial=0))
        with np.errstate(invalid="ignore"):  # infinity less infinity
            equal |= np.abs(got.astype(np.float64) - wanted) <= bound
    return equal
