"""How every row of a recording is made: the result is checked first, then the work is timed."""

import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.errors import BadInput, GpulearnError
from gpulearn.perf import timing
from simt.device import selection

HEAD_START = 1_000_000  # ticks of the GPU's clock, more than half a millisecond
Clock = Callable[[Callable[[], Any]], float]  # takes a call, returns its seconds


def kernels_on() -> str:
    """Where kernels run: "cuda", or "cpu" on the SIMT machine."""
    return "cuda" if selection.current().kind == "gpu" else "cpu"


def torch_on() -> str:
    """Where torch computes: "cuda" or "cpu"."""
    return "cuda" if selection.torch_gpu() else "cpu"


def launch_seconds(launch: Callable[[], object]) -> float:
    """The median seconds of a launch into the default stream, without the host's part of it."""
    if selection.torch_gpu():
        return statistics.median(_event_times(launch, 0.1))
    return timing.measure(launch, seconds=0.1).median


def _event_times(launch: Callable[[], object], seconds: float) -> list[float]:
    """Time single launches by pairs of CUDA events, in seconds: 100 at most, or until time is up.

    torch records the events in the default stream, in which numba launches too. Before the
    first of a pair the GPU is given something to wait for: else it would reach the launch before
    the host does, and the time between the events would be the host's.
    """
    torch = require.package("torch", "Recording")
    times: list[float] = []
    wait = getattr(torch.cuda, "_sleep", lambda ticks: None)
    while len(times) < 100 and (len(times) < 5 or sum(times) < seconds):
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        wait(HEAD_START)
        before.record()
        launch()
        after.record()
        torch.cuda.synchronize()
        times.append(before.elapsed_time(after) / 1e3)  # elapsed_time is in milliseconds
    return times


def timed(
    fields: dict[str, Any],
    prepare: Callable[[], Callable[[], object]],
    clock: Clock = launch_seconds,
) -> dict[str, Any]:
    r"""A row of a recording: `fields` with the `seconds` of what `prepare` returns.

    `prepare` runs the work once, checks its result, and returns the call to time. Where the
    result is wrong, or the machine refuses the work (memory runs out, a launch is too large),
    the row says so under `error`, by the error's kind and first line, and has no time.

    >>> def prepare():
    ...     raise MemoryError("too much\nof it")
    >>> timed({"n": 8}, prepare)
    {'n': 8, 'error': 'MemoryError: too much'}
    """
    try:
        with warnings.catch_warnings():
            # some launches are small on purpose
            warnings.filterwarnings("ignore", message="Grid size")
            return fields | {"seconds": clock(prepare())}
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0]
        return fields | {"error": f"{type(error).__name__}: {line}"}


def timed_launch(
    fields: dict[str, Any], launch: Callable[[], object], out: Any, expected: Any,
    tolerance: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """The row of a launch that writes `expected` into `out`, a device array that begins with 0."""

    def prepare() -> Callable[[], object]:
        out.copy_to_device(np.zeros(out.shape, out.dtype))
        launch()
        agree(str(fields), out, expected, tolerance)
        return launch

    return timed(fields, prepare)


class WrongResultError(GpulearnError):
    """A kernel or a library computed something else than its oracle."""


def agree(what: str, got: Any, expected: Any, tolerance: float = 0.0) -> None:
    """Hold an array, on the device or the host, against what NumPy says; NaN must be NaN.

    Where it holds words of several numbers, `expected` has the numbers and is as many times longer.
    `tolerance` is relative to the largest finite element; 0 is exact.
    """
    got = np.asarray(got.copy_to_host() if hasattr(got, "copy_to_host") else got)
    expected = np.asarray(expected)
    if got.shape != expected.shape and got.itemsize > expected.itemsize:
        got = got.view(expected.dtype)
    if got.shape != expected.shape:
        raise BadInput(f"{what} has shape {got.shape} where NumPy says {expected.shape}.")
    near = (got == expected) | ((got != got) & (expected != expected))
    if tolerance:
        bound = tolerance * np.abs(expected[np.isfinite(expected)]).max(initial=0)
        near |= np.isclose(got, expected.astype(np.float64), rtol=0, atol=bound)
    if not near.all():
        at = tuple(int(i) for i in np.unravel_index(int(near.argmin()), near.shape))
        raise WrongResultError(
            f"{what} is wrong in {int((~near).sum()):,} of {near.size:,} elements, first in "
            f"{at}: {require.shown(got[at])} where NumPy says {require.shown(expected[at])}."
        )
