"""The interactive figure of notebook 02: any GPU's roof over the work that was timed here."""

from __future__ import annotations

from collections.abc import Sequence

from gpulearn import require
from gpulearn.display import Picture
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import GPUS
from gpulearn.perf.measured_roof import RoofPoint
from gpulearn.perf.roofline import Roof, plain, roof
from gpulearn.perf.timing import format_seconds
from gpulearn.plot.controls import gpu_and_dtype
from gpulearn.plot.explorer import Explorer
from gpulearn.plot.rooflines import plot_roofline

__all__ = ["draw_roofs", "roofline_explorer"]

# two steps to each doubling, from less than an axpy to more than any product
INTENSITIES = tuple(2 ** (step / 2) for step in range(-6, 23))


def draw_roofs(
    here: Roof, points: Sequence[RoofPoint], gpu: str, dtype: str, intensity: float
) -> tuple[Picture, str]:
    """Draw a GPU's roof beside this machine's, and say what limits work of one intensity."""
    there = roof(gpu, dtype)
    return (
        plot_roofline(here, there, points=points, intensity=intensity),
        said(here, there, intensity),
    )


def said(here: Roof, there: Roof, intensity: float) -> str:
    """Who is limited by what at an intensity, and what both need for a billion bytes."""
    work = 1e9
    clauses = []
    for name, one in (("this machine", here), (there.name, there)):
        limit = one.limit(intensity * work, work)
        seconds = format_seconds(one.seconds(intensity * work, work))
        clauses.append(
            f"{name} reaches at best {plain(one.attainable(intensity) / 1e9)} GFLOP/s, limited by "
            f"{limit}, and needs {seconds} for each GB"
        )
    gain = there.attainable(intensity) / here.attainable(intensity)
    return f"At {intensity:.3g} FLOP per byte, {'; '.join(clauses)}: {plain(gain)} times as fast."


def roofline_explorer(here: Roof, points: Sequence[RoofPoint] = ()) -> Explorer:
    """Compare this machine's roofline with a GPU's interactively.

    Args:
        here: what `measured_roof` returned.
        points: work that was timed here, drawn as well.

    Raises:
        BadInput: `here` is no roof.
    """
    widgets = require.package("ipywidgets", "gl.plot.roofline_explorer")
    if not isinstance(here, Roof):
        raise BadInput(f"{require.shown(here)} is no roof: give what gl.measured_roof returns.")
    controls = {
        **gpu_and_dtype(list(GPUS), "T4"),
        "intensity": widgets.SelectionSlider(
            options=[(f"{value:.3g}", value) for value in INTENSITIES],
            value=1.0,
            description="FLOP / byte",
            continuous_update=False,
            readout=False,  # could be typed into; the sentence below says it
        ),
    }
    return Explorer(lambda **values: draw_roofs(here, points, **values), controls)
