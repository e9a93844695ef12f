"""Time and rate of a matrix product over its size, on this CPU and on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf import matmul_times
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import plain
from gpulearn.perf.series import Series, crossover
from gpulearn.plot.style import LINES, doublings, figure, looks
from gpulearn.require import above_zero
from gpulearn.tables import Table, table
from simt.device.selection import cores, cpu_name


def compare_gpus(peak: float, bandwidth: float) -> Table:
    """This CPU as measured (operations per second, bytes per second) beside a T4 and an H200."""
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
        for gpu in map(gpu_spec, ("T4", "H200"))
    ]
    return table(rows, caption="In brackets: as a multiple of this CPU.")


def times(*series: Series) -> Picture:
    """Plot seconds over n for several series, with every crossover with the first circled."""
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
        _axes(axes, base.sizes, "time for one product (s)")
    clauses = [
        f"{other.name} {f'stays faster from n = {n}' if n else 'does not stay faster at any size'}"
        for other, n in zip(series[1:], crossings[1:], strict=True)
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
