"""Rooflines, and measured work under them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import BYTES, GPUS
from gpulearn.perf.measured_roof import RoofPoint
from gpulearn.perf.roofline import Roof, plain, roof
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.controls import Explorer, choices, dropdown
from gpulearn.plot.style import CYCLE, LINES, figure, legend_beside, looks
from gpulearn.tables import Table, table

ABOVE = 1.05  # of what a roof allows; less is noise
WHY_ABOVE = (
    "Either the roof was measured while other programs held it up, or not all of these bytes came "
    "from the memory that was measured."
)
# where a point's name may stand, the best first: points to the right and up, the side it begins at
LABEL_OFFSETS = (
    *((6, -13, "left"), (-6, 6, "right"), (-6, -13, "right"), (6, 6, "left")),
    *((0, 8, "center"), (0, -18, "center"), (-10, 8, "left"), (10, -18, "right")),
    *((6, -27, "left"), (-6, -27, "right")),
)
# two steps to each doubling, from less than an axpy to more than any product
INTENSITIES = tuple(2 ** (step / 2) for step in range(-6, 23))


def roofline(
    *roofs: Roof, points: Sequence[RoofPoint] = (), intensity: float | None = None
) -> Picture:
    """Draw rooflines over the arithmetic intensity, and timed work as points.

    The caption compares `points`, which `roof_point` returned, with the first roof. `intensity`,
    in operations per byte, is marked with a line.
    """
    require.all_of(Roof, roofs, "roof", "what gl.measured_roof and gl.roof return")
    if not isinstance(points, Sequence):
        raise BadInput(f"points is {require.shown(points)}: give a list of points.")
    require.all_of(RoofPoint, points, "point", "what gl.perf.roof_point returns")
    if intensity is not None:
        require.above_zero("intensity", intensity)
    if not roofs:
        raise BadInput("There is nothing to plot: give at least one roof.")
    if max(len(roofs), len(points)) > len(LINES):
        raise BadInput(f"That is too much to tell apart: give {len(LINES)} of a kind at most.")
    marks = [] if intensity is None else [intensity]
    places = [roof.ridge for roof in roofs] + [point.intensity for point in points] + marks
    # from left of everything to right of everything
    low, high = min(0.1, min(places) / 2), max(1000.0, max(places) * 3)
    with figure(7.6, 4.6) as (fig, axes):
        styles = looks([roof.name for roof in roofs])
        for roof, look in zip(roofs, styles, strict=True):
            xs = [low, roof.ridge, high]
            ys = [roof.attainable(x) / 1e9 for x in xs]
            axes.plot(xs, ys, linestyle=look["linestyle"], color=look["color"],
                      label=f"{roof.name}\n({roof.origin})")  # fmt: skip
        if len(roofs) == 1:  # with several, a place belongs to one side for one and not for others
            _regions(axes, roofs[0], low, high)
        for number, point in enumerate(points):
            axes.plot([point.intensity], [point.rate / 1e9], linestyle="none",
                      marker=LINES[number]["marker"], markersize=8, markeredgecolor="black",
                      color=f"C{CYCLE - 1 - number}",  # the same beside one roof and beside two
                      label=f"{point.name} ({point.share(roofs[0]):.0%} of its roof)")  # fmt: skip
        for mark in marks:
            axes.axvline(mark, color="gray", linestyle=":", linewidth=1.5)
        rates = [roof.attainable(x) for roof in roofs for x in (low, high)]
        rates += [point.rate for point in points]
        # whole decades, so that the axis has round numbers, and room for the markers at the edge
        bottom, top = (math.log10(limit(rates) / 1e9) for limit in (min, max))
        axes.set(xscale="log", yscale="log", xlim=(low, high))
        axes.set_ylim(10 ** math.floor(bottom - 0.1), 10 ** math.ceil(top + 0.1))
        axes.set(xlabel="arithmetic intensity (operations per byte)", ylabel="rate (GFLOP/s)")
        legend_beside(axes, 8.5)
        _names(fig, axes, points)
    clauses = [
        f"the roof of {roof.name} rises to {plain(roof.peak / 1e9)} GFLOP/s at "
        f"{roof.ridge:.3g} operations per byte"
        for roof in roofs
    ]
    clauses += [
        f"{point.name} at {point.intensity:.3g} reaches {plain(point.rate / 1e9)} of "
        f"{plain(roofs[0].attainable(point.intensity) / 1e9)} GFLOP/s, limited by "
        f"{roofs[0].limit(point.flops, point.bytes_moved)}"
        for point in points
    ]
    return show(
        fig, f"GFLOP/s over operations per byte, both axes logarithmic: {'; '.join(clauses)}."
    )


def _regions(axes: Any, roof: Roof, low: float, high: float) -> None:
    """Say on which side of a roof's ridge what is the limit."""
    axes.axvspan(low, roof.ridge, color="C0", alpha=0.08, linewidth=0)
    height = axes.get_xaxis_transform()
    for x, words, side in ((low, "memory-bound", "left"), (high, "compute-bound", "right")):
        axes.text(x, 0.97, f" {words} ", transform=height, ha=side, va="top", color="0.35")
    axes.annotate(f"ridge {plain(roof.ridge)}", (roof.ridge, roof.peak / 1e9), (-6, 5),
                  textcoords="offset points", ha="right", fontsize=8.5)  # fmt: skip


def _names(fig: Any, axes: Any, points: Sequence[RoofPoint]) -> None:
    """Write each point's name beside it, where it lies on no line, marker or other name."""
    from matplotlib.path import Path

    fig.draw_without_rendering()  # it lays out the axes; at another size they move a little
    inner = axes.bbox.padded(-4)
    lines = [line.get_transform().transform(line.get_xydata()) for line in axes.lines]
    occupied = [text.get_window_extent() for text in axes.texts]
    for point in points:
        place = (point.intensity, point.rate / 1e9)
        names = [
            axes.annotate(
                point.name, place, away, textcoords="offset points", ha=side, fontsize=8.5
            )
            for *away, side in LABEL_OFFSETS
        ]
        boxes = [name.get_window_extent().padded(1) for name in names]
        collisions = [
            (not inner.x0 < box.x0 < box.x1 < inner.x1)
            + box.count_overlaps(occupied)
            + sum(box.count_contains(line) for line in lines)
            + sum(Path(line).intersects_bbox(box, filled=False) for line in lines)
            for box in boxes
        ]
        best = collisions.index(min(collisions))
        occupied.append(boxes[best])
        for name in names[:best] + names[best + 1 :]:
            name.remove()


def compare_points(roof: Roof, *points: RoofPoint) -> Table:
    """A table of timed work: what it needs, what it reached, what a roof allows."""
    require.all_of(Roof, [roof], "roof", "what gl.measured_roof returns")
    require.all_of(RoofPoint, points, "point", "what gl.perf.roof_point returns")
    if not points:
        raise BadInput("There is nothing to compare: give at least one point.")
    rows = [
        {
            "work": point.name,
            "FLOP per byte": f"{point.intensity:.3g}",
            "limit": roof.limit(point.flops, point.bytes_moved),
            "time": format_seconds(point.seconds),
            "GFLOP/s": plain(point.rate / 1e9),
            "roof (GFLOP/s)": plain(roof.attainable(point.intensity) / 1e9),
            "reached": f"{point.share(roof):.0%}",
        }
        for point in points
    ]
    recorded = [point.provenance for point in points if point.provenance.kind == "recorded"]
    busy = ", while busy" if any(point.provenance.busy for point in points) else ""
    times = str(recorded[0]) if recorded else f"measured here{busy}"
    above = [point.name for point in points if point.share(roof) > ABOVE]
    why = f" Above the roof: {'; '.join(above)}. {WHY_ABOVE}" if above else ""
    return table(rows, caption=f"Times: {times}. Roof: {roof.name}, {roof.origin}.{why}")


def compare_roofs(*roofs: Roof) -> Table:
    """A table of rooflines: peak, bandwidth, ridge point, and where they are from."""
    require.all_of(Roof, roofs, "roof", "what gl.measured_roof and gl.roof return")
    if not roofs:
        raise BadInput("There is nothing to compare: give at least one roof.")
    return table(
        [
            {
                "machine": roof.name,
                "peak (TFLOP/s)": plain(roof.peak / 1e12),
                "memory (GB/s)": plain(roof.bandwidth / 1e9),
                "ridge (FLOP/byte)": plain(roof.ridge),
                # the row begins with the name, and has to fit
                "from": roof.origin.replace(f"the {roof.name.partition(',')[0]}'s", "its"),
            }
            for roof in roofs
        ]
    )


def draw_roofs(
    here: Roof, points: Sequence[RoofPoint], gpu: str, dtype: str, intensity: float
) -> tuple[Picture, str]:
    """Draw a GPU's roof beside this machine's, and say what limits work of one intensity.

    The sentence says what both need for a billion bytes.
    """
    there, work = roof(gpu, dtype), 1e9
    clauses = []
    for name, machine in (("this machine", here), (there.name, there)):
        clauses.append(
            f"{name} reaches at best {plain(machine.attainable(intensity) / 1e9)} GFLOP/s, limited "
            f"by {machine.limit(intensity * work, work)}, and needs "
            f"{format_seconds(machine.seconds(intensity * work, work))} for each GB"
        )
    gain = plain(there.attainable(intensity) / here.attainable(intensity))
    text = f"At {intensity:.3g} FLOP per byte, {'; '.join(clauses)}: {gain} times as fast."
    return roofline(here, there, points=points, intensity=intensity), text


def roofline_explorer(here: Roof, points: Sequence[RoofPoint] = ()) -> Explorer:
    """Compare this machine's roofline with a GPU's; `points` are work that was timed here."""
    require.all_of(Roof, [here], "roof", "what gl.measured_roof returns")
    gpu, dtype = dropdown("GPU", list(GPUS), "T4"), dropdown("arithmetic", [], None)

    def offer(change: object = None) -> None:
        """Offer the arithmetic that the GPU has, widest first; every GPU has float32."""
        before = dtype.value
        dtype.options = [name for name in BYTES if name in GPUS[gpu.value].peak]
        dtype.value = before if before in dtype.options else "float32"

    offer()
    gpu.observe(offer, names="value")
    intensity = choices("FLOP / byte", INTENSITIES, 1.0, "{:.3g}")
    controls = {"gpu": gpu, "dtype": dtype, "intensity": intensity}
    return Explorer(lambda **values: draw_roofs(here, points, **values), controls)
