"""Time and rate of a matrix product over its size, on this CPU and on GPUs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf import gpus, matmul_times, recordings
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.matmul_times import gpu_times, modelled_times, runs_here
from gpulearn.perf.roofline import plain
from gpulearn.perf.series import Series, crossover
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.controls import Explorer, choices, dtypes, gpu_and_dtype
from gpulearn.plot.style import LINES, doublings, figure, looks
from gpulearn.require import above_zero
from gpulearn.tables import Table, table
from simt.device.selection import cores, cpu_name


def compare_gpus(peak: float, bandwidth: float, gpus: Sequence[str] = ("T4", "H200")) -> Table:
    """This CPU as measured (operations per second, bytes per second) beside named GPUs."""
    above_zero("peak", peak)
    above_zero("bandwidth", bandwidth)
    rows = [
        {
            "device": f"{cpu_name()}, {cores()} cores",
            "float32 (TFLOP/s)": f"{peak / 1e12:.3g}",
            "memory (GB/s)": f"{bandwidth / 1e9:.3g}",
            "source": "measured here: product, copy of an array",
        }
    ]

    def beside(rate: float, cpu: float, unit: float) -> str:
        return f"{plain(rate / unit)} ({plain(rate / cpu)}×)"

    rows += [
        {
            "device": f"{gpu.name} GPU",
            "float32 (TFLOP/s)": beside(gpu.peak["float32"], peak, 1e12),
            "memory (GB/s)": beside(gpu.bandwidth, bandwidth, 1e9),
            "source": gpu.source,
        }
        for gpu in map(gpu_spec, gpus)
    ]
    return table(rows, caption="In brackets: as a multiple of this CPU.")


def times(
    *series: Series, n: int | None = None, span: tuple[float, float] | None = None
) -> Picture:
    """Plot seconds over n for several series, with every crossover with the first circled.

    Args:
        series: the first is what the others are compared with. Each legend entry says where
            its numbers come from.
        n: a size to mark with a line.
        span: the least and the most seconds of the axis; all of the data by default.
    """
    _check(series)
    base = series[0]
    crossings = [None, *(_crossover(base, other) for other in series[1:])]
    with figure(height=5.2) as (fig, axes):
        styles = looks([curve.name for curve in series])
        for curve, size, look in zip(series, crossings, styles, strict=True):
            lead = f"ahead from n = {size}; " if size else ""
            axes.plot(curve.sizes, curve.seconds, label=_label(curve, lead), **look)
            if size:
                at = base.seconds[base.sizes.index(size)]
                axes.plot(size, at, "o", markersize=15, fillstyle="none", color="black", zorder=5)
        if n is not None:
            axes.axvline(n, color="grey", linestyle=":", linewidth=1.5)
        _axes(axes, base.sizes, "time for one product (s)")
        if span is not None:
            axes.set_ylim(*span)
    clauses = [
        f"{other.name} stays faster from n = {size}"
        if size
        else f"{other.name} does not stay faster at any size"
        for other, size in zip(series[1:], crossings[1:], strict=True)
    ]
    text = "; ".join(clauses) or "one curve"
    return show(fig, f"Time over n on logarithmic axes; against {base.name}: {text}.")


def rates(*series: Series, peak: float | None = None) -> Picture:
    """Plot GFLOP/s over n for several series, and `peak` (operations per second) as a line."""
    _check(series)
    if peak is not None:
        above_zero("peak", peak)
    clauses = []
    with figure(height=5.2) as (fig, axes):
        for curve, look in zip(series, looks([curve.name for curve in series]), strict=True):
            rates = [rate / 1e9 for rate in matmul_times.rates(curve)]
            axes.plot(curve.sizes, rates, label=_label(curve), **look)
            clauses.append(
                f"{curve.name} goes from {plain(rates[0])} at n = {curve.sizes[0]} to "
                f"{plain(rates[-1])} at n = {curve.sizes[-1]}"
            )
        if peak is not None:
            axes.axhline(peak / 1e9, color="black", linestyle=":", label="measured peak")
        _axes(axes, series[0].sizes, "rate (GFLOP/s)")
    return show(fig, f"GFLOP/s over n on logarithmic axes: {'; '.join(clauses)}.")


def _check(series: Sequence[Series]) -> None:
    if not series:
        raise BadInput("There is nothing to plot: give at least one series.")
    if len(series) > len(LINES):
        raise BadInput(
            f"{len(series)} series are too many to tell apart: give {len(LINES)} at most."
        )
    maker = "gl.perf.cpu_times and gl.perf.gpu_times return, one after the other"
    require.all_of(Series, series, "series", f"what {maker}")


def _axes(axes: Any, sizes: Sequence[int], y: str) -> None:
    doublings(axes, sizes, "{}")
    axes.set(xlabel="size n of the n × n matrices", ylabel=y, yscale="log")
    # below the axes: a curve may come to lie anywhere in them
    axes.figure.legend(loc="outside lower center", fontsize=9)


def _label(series: Series, lead: str = "") -> str:
    return f"{series.name}\n({lead}{series.provenance})"


def _crossover(base: Series, other: Series) -> int | None:
    if base.sizes != other.sizes:
        raise BadInput(
            f"{other.name} has the sizes {other.sizes} and {base.name} {base.sizes}: time both at "
            f"the same sizes."
        )
    return crossover(base.sizes, base.seconds, other.seconds)


def compare_at(cpu: Series, gpu: Series, n: int) -> str:
    """One sentence that compares two series at one size."""
    c, g = (s.seconds[s.sizes.index(n)] for s in (cpu, gpu))
    who, factor = ("GPU", c / g) if g < c else ("CPU", g / c)
    best = "at best " if gpu.provenance.kind == "modelled" else ""
    return (
        f"n = {n}: {cpu.name} {format_seconds(c)}, {gpu.name} {format_seconds(g)}: "
        f"the {who} is {best}{plain(factor)} times as fast."
    )


MIN_SECONDS = 3e-7
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
    span = (MIN_SECONDS, 3 * max(max(curve.seconds) for curve in cpu.values()))
    return times(ours, theirs, n=n, span=span), compare_at(ours, theirs, n)


@functools.cache  # so that a GPU is timed once for each choice, not at each step of the slider
def gpu_series(sizes: tuple[int, ...], dtype: str, copies: bool, gpu: str) -> Series:
    """The series of a choice: as above, or modelled."""
    if gpu == BEST:
        return gpu_times(sizes, dtype, copies)
    return modelled_times(sizes, dtype, copies, gpu)


def offered(gpu: str) -> Sequence[str]:
    """The arithmetic that a GPU offers, widest first; "as above", what is measured or recorded."""
    if gpu != BEST:
        return dtypes(gpu)
    if live := [dtype for dtype in gpus.BYTES if runs_here(dtype)]:
        return live
    recording = recordings.find("matmul")
    known = {row["dtype"] for row in recording.rows} if recording else set()
    return [dtype for dtype in gpus.BYTES if dtype in known | {"float64", "float32"}]


def matmul_explorer(*cpu: Series) -> Explorer:
    """Compare this CPU, by measured series named for their dtype, with GPUs interactively."""
    widgets = require.package("ipywidgets", "cpu_vs_gpu.matmul_explorer")
    if not any(isinstance(curve, Series) and curve.name.endswith("float32") for curve in cpu):
        raise BadInput("There is no float32 series: give one that gl.perf.cpu_times returned.")
    by_dtype = {series.name.rpartition(" ")[2]: series for series in cpu}
    sizes = cpu[0].sizes
    if any(curve.sizes != sizes for curve in cpu):
        raise BadInput("The series have other sizes: time all of them at the same.")
    controls = {
        "n": choices("size n", sizes, sizes[len(sizes) // 2]),
        **gpu_and_dtype([BEST, *gpus.GPUS], BEST, offered),
        "copies": widgets.Checkbox(value=False, description="count the copies"),
    }
    return Explorer(lambda **values: draw(by_dtype, **values), controls)
