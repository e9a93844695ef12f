"""The figures of notebook 01: time and rate of a matrix product over its size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulearn.device.selection import cores, cpu_name
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.matmul_times import rates
from gpulearn.perf.roofline import plain
from gpulearn.perf.series import Series, crossover
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.style import LINES, figure
from gpulearn.require import above_zero, shown
from gpulearn.tables import Table, table

__all__ = ["compare_at", "compare_gpus", "plot_rates", "plot_times"]


def compare_gpus(peak: float, bandwidth: float, gpus: Sequence[str] = ("T4", "H200")) -> Table:
    """This CPU as measured (operations per second, bytes per second) beside named GPUs.

    Raises:
        BadInput: a number is not above zero, or a GPU is not known.
    """
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
    for gpu in map(gpu_spec, gpus):
        rows.append(
            {
                "device": f"{gpu.name} GPU",
                "float32 (TFLOP/s)": _beside(gpu.peak["float32"], peak, 1e12),
                "memory (GB/s)": _beside(gpu.bandwidth, bandwidth, 1e9),
                "source": gpu.source,
            }
        )
    return table(rows, caption="In brackets: as a multiple of this CPU.")


def _beside(rate: float, cpus: float, unit: float) -> str:
    return f"{plain(rate / unit)} ({plain(rate / cpus)}×)"


def plot_times(
    *series: Series, n: int | None = None, span: tuple[float, float] | None = None
) -> Picture:
    """Plot seconds over n for several series, with every crossover with the first circled.

    Args:
        series: the first is what the others are compared with. Each legend entry says where
            its numbers come from.
        n: a size to mark with a line.
        span: the least and the most seconds of the axis; all of the data by default.
    """
    _need(series)
    base = series[0]
    crossings = [_crossover(base, other) for other in series[1:]]
    with figure(height=5.2) as (fig, axes):
        for one, size, look in zip(series, [None, *crossings], LINES, strict=False):
            lead = f"ahead from n = {size}; " if size else ""
            axes.plot(one.sizes, one.seconds, label=_label(one, lead), **look)
            if size:
                at = base.seconds[base.sizes.index(size)]
                axes.plot(size, at, "o", markersize=15, fillstyle="none", color="black", zorder=5)
        if n is not None:
            axes.axvline(n, color="grey", linestyle=":", linewidth=1.5)
        _finish(axes, base.sizes, "time for one product (s)")
        axes.set_yscale("log")
        if span is not None:
            axes.set_ylim(*span)
    said = [
        f"{other.name} {_said(size)}" for other, size in zip(series[1:], crossings, strict=True)
    ]
    return show(fig, _sentence(f"Time over n on logarithmic axes; against {base.name}:", said))


def plot_rates(*series: Series, peak: float | None = None) -> Picture:
    """Plot GFLOP/s over n for several series, and `peak` (operations per second) as a line."""
    _need(series)
    if peak is not None:
        above_zero("peak", peak)
    with figure(height=5.2) as (fig, axes):
        for one, look in zip(series, LINES, strict=False):
            axes.plot(one.sizes, [r / 1e9 for r in rates(one)], label=_label(one), **look)
        if peak is not None:
            axes.axhline(peak / 1e9, color="black", linestyle=":", label="measured peak")
        _finish(axes, series[0].sizes, "rate (GFLOP/s)")
        axes.set_yscale("log")
    said = [
        f"{one.name} goes from {plain(rates(one)[0] / 1e9)} at n = {one.sizes[0]} "
        f"to {plain(rates(one)[-1] / 1e9)} at n = {one.sizes[-1]}"
        for one in series
    ]
    return show(fig, _sentence("GFLOP/s over n on logarithmic axes:", said))


def _need(series: Sequence[Series]) -> None:
    if not series:
        raise BadInput("There is nothing to plot: give at least one series.")
    if len(series) > len(LINES):
        raise BadInput(
            f"{len(series)} series are too many to tell apart: give {len(LINES)} at most."
        )
    for one in series:
        if not isinstance(one, Series):
            raise BadInput(
                f"{shown(one)} is no series: give what gl.perf.cpu_times and gl.perf.gpu_times "
                f"return, one after the other."
            )


def _finish(axes: Any, sizes: Sequence[int], y: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, labels=[str(n) for n in sizes])
    axes.minorticks_off()
    axes.set_xlabel("size n of the n × n matrices")
    axes.set_ylabel(y)
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


def _said(size: int | None) -> str:
    return f"stays faster from n = {size}" if size else "does not stay faster at any size"


def _sentence(start: str, said: Sequence[str]) -> str:
    return f"{start} {'; '.join(said)}." if said else f"{start} one curve."


def compare_at(cpu: Series, gpu: Series, n: int) -> str:
    """One sentence that compares two series at one size."""
    c, g = (s.seconds[s.sizes.index(n)] for s in (cpu, gpu))
    who, factor = ("GPU", c / g) if g < c else ("CPU", g / c)
    best = "at best " if gpu.provenance.kind == "modelled" else ""
    return (
        f"n = {n}: {cpu.name} {format_seconds(c)}, {gpu.name} {format_seconds(g)}: "
        f"the {who} is {best}{plain(factor)} times as fast."
    )
