"""Curves over one axis: losses over steps, rates over steps, errors over a step size."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import LINES, figure, legend_beside
from gpulearn.require import shown

__all__ = ["curves"]

Numbers = np.ndarray[Any, Any]
AXES = ("", "x", "y", "xy")
FEW = 40  # so many points or fewer each get their marker; more get ten in all


def curve(label: str, given: Any) -> tuple[Numbers, Numbers]:
    """The x and y of a curve, given as a pair, or as y alone, whose x counts from 0.

    Raises:
        BadInput: it is neither, or x and y differ in length.

    >>> curve("loss", [4.0, 2.0, 1.0])
    (array([0, 1, 2]), array([4., 2., 1.]))
    """
    pair = isinstance(given, tuple) and len(given) == 2 and all(np.ndim(part) for part in given)
    parts = given if pair else (np.arange(np.size(given)), given)
    try:
        x, y = (np.asarray(part) for part in parts)
        if x.ndim == y.ndim == 1 and x.size == y.size > 0 and (x.dtype.kind + y.dtype.kind) < "v":
            return x, y.astype(float)
    except (TypeError, ValueError):
        pass  # ragged, or words: the sentence below says what is wanted
    raise BadInput(
        f"The curve {label!r} is {shown(given)}: give a list of numbers, or a pair of two lists "
        f"of the same length, x and y."
    )


def curves(
    alt: str,
    curves: Mapping[str, Any],
    x: str,
    y: str,
    *,
    log: str = "",
    marks: Mapping[str, float] | None = None,
    dots: Collection[str] = (),
) -> Picture:
    """Draw curves over one axis, each with a line style and a marker of its own.

    What is no finite number is left out, so that a run that exploded ends where it exploded.

    Args:
        alt: one sentence that states what is seen, for whoever cannot see it.
        curves: label → numbers of shape (n,), over 0, 1, 2, …; or a pair (x, y) of such.
        x: what is along the lower axis, with its unit.
        y: what is along the left axis, with its unit.
        log: which axes are logarithmic: "", "x", "y" or "xy".
        marks: label → a place on the x axis, drawn as a vertical line.
        dots: labels of curves that are drawn as single points, such as measurements.

    Raises:
        BadInput: there is no curve or there are more than eight, or one is no list of numbers.
    """
    most = len(LINES)
    require.named("curves", curves, f'{{"label": numbers, …}}, one to {most} of them', most)
    require.choice("choice of logarithmic axes", log, AXES)
    found = {label: curve(label, given) for label, given in curves.items()}
    with figure(7.6, 4.0) as (made, axes):
        for (label, (xs, ys)), look in zip(found.items(), LINES, strict=False):
            every = 1 if xs.size <= FEW else max(1, xs.size // 10)
            ys = np.where(np.isfinite(ys), ys, np.nan)
            if label in dots:
                look, every = look | {"linestyle": "none"}, 1
            axes.plot(xs, ys, label=label, markevery=every, markersize=5, **look)
        for number, (label, place) in enumerate((marks or {}).items()):
            axes.axvline(
                place, color="black", linestyle=(":", "--")[number % 2], linewidth=1.5, label=label
            )
        axes.set_xscale("log" if "x" in log else "linear")
        axes.set_yscale("log" if "y" in log else "linear")
        if "x" in log and all(one.min() >= 1 and one.max() <= 1e6 for one, _ in found.values()):
            axes.xaxis.set_major_formatter("{x:,.0f}")  # 1,000 is read more easily than a power
        axes.set(xlabel=x, ylabel=y)
        legend_beside(axes)
    return show(made, alt)
