"""The interactive figure of notebook 01: size, GPU, arithmetic, copies counted or not."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from gpulearn import require
from gpulearn.display import Picture
from gpulearn.errors import BadInput
from gpulearn.perf import gpus, recordings
from gpulearn.perf.matmul_times import gpu_times, modelled_times, runs_here
from gpulearn.perf.series import Series
from gpulearn.plot import controls
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.matmul import compare_at, plot_times

__all__ = ["draw", "matmul_explorer"]

LEAST_SECONDS = 3e-7
BEST = "as above"  # live, else recorded, else modelled


def draw(
    cpu: Mapping[str, Series], n: int, gpu: str, dtype: str, copies: bool
) -> tuple[Picture, str]:
    """Draw CPU against GPU and compare them at one size; the explorer's whole logic.

    `cpu` has a series for each dtype; a dtype that it lacks is held against float32.
    """
    ours = cpu.get(dtype, cpu["float32"])
    theirs = gpu_series(ours.sizes, dtype, copies, gpu)
    # Every choice is drawn on the same axis, so that what it changes can be seen.
    span = (LEAST_SECONDS, 3 * max(max(one.seconds) for one in cpu.values()))
    return plot_times(ours, theirs, n=n, span=span), compare_at(ours, theirs, n)


@functools.cache  # so that a GPU is timed once for each choice, not at each step of the slider
def gpu_series(sizes: tuple[int, ...], dtype: str, copies: bool, gpu: str) -> Series:
    """The series of a choice: as above, or modelled."""
    if gpu == BEST:
        return gpu_times(sizes, dtype, copies)
    return modelled_times(sizes, dtype, copies, gpu)


def dtypes(gpu: str) -> Sequence[str]:
    """The arithmetic that a GPU offers, widest first; "as above", what is measured or recorded."""
    if gpu != BEST:
        return controls.dtypes(gpu)
    if live := [dtype for dtype in gpus.BYTES if runs_here(dtype)]:
        return live
    recording = recordings.find("matmul")
    known = {row["dtype"] for row in recording.rows} if recording else set()
    return [dtype for dtype in gpus.BYTES if dtype in known | {"float64", "float32"}]


def matmul_explorer(*cpu: Series) -> Explorer:
    """Compare this CPU with GPUs interactively.

    Args:
        cpu: measured series of the same sizes, their names ending in the dtype.
    """
    widgets = require.package("ipywidgets", "gl.plot.matmul_explorer")
    if not any(isinstance(one, Series) and one.name.endswith("float32") for one in cpu):
        raise BadInput("There is no float32 series: give one that gl.perf.cpu_times returned.")
    by_dtype = {series.name.rpartition(" ")[2]: series for series in cpu}
    sizes = cpu[0].sizes
    if any(one.sizes != sizes for one in cpu):
        raise BadInput("The series have other sizes: time all of them at the same.")
    made = {
        "n": widgets.SelectionSlider(
            options=sizes,
            value=sizes[len(sizes) // 2],
            description="size n",
            continuous_update=False,
            readout=False,  # could be typed into; the sentence below says n
        ),
        **controls.gpu_and_dtype([BEST, *gpus.GPUS], BEST, dtypes),
        "copies": widgets.Checkbox(value=False, description="count the copies"),
    }

    return Explorer(lambda **values: draw(by_dtype, **values), made)
