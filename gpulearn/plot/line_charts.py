"""Curves over one axis: losses over steps, rates over steps, errors over a step size."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import LINES, figure, legend_beside, looks
from gpulearn.require import shown

Numbers = np.ndarray[Any, Any]
AXES = ("", "x", "y", "xy")
ROUNDING = 1e-9  # of the largest number: a curve that moves by less stays where it is
MAX_PLACES = 8  # numbers along an axis
LONG, READABLE = 1e4, 1e9  # from here to there numbers are written out
EACH_MARKED = 40  # so many points or fewer each get their marker; more get ten in all


def curve(label: str, data: Any) -> tuple[Numbers, Numbers]:
    """The x and y of a curve, given as a pair, or as y alone, whose x counts from 0.

    >>> curve("loss", [4.0, 2.0, 1.0])
    (array([0, 1, 2]), array([4., 2., 1.]))
    """
    pair = isinstance(data, tuple) and len(data) == 2 and all(np.ndim(part) for part in data)
    parts = data if pair else (np.arange(np.size(data)), data)
    try:
        x, y = (np.asarray(part) for part in parts)
        if x.ndim == y.ndim == 1 and x.size == y.size > 0 and (x.dtype.kind + y.dtype.kind) < "v":
            return x, y.astype(float)
    except (TypeError, ValueError):
        pass  # ragged, or words: the sentence below says what is wanted
    raise BadInput(
        f"The curve {label!r} is {shown(data)}: give a list of numbers, or a pair of two lists "
        f"of the same length, x and y."
    )


def curves(
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
        curves: label → numbers of shape (n,), over 0, 1, 2, …; or a pair (x, y) of such.
        x: what is along the lower axis, with its unit.
        y: what is along the left axis, with its unit.
        log: which axes are logarithmic: "", "x", "y" or "xy".
        marks: label → a place on the x axis, drawn as a vertical line.
        dots: labels of curves that are drawn as single points, such as measurements; the others
            then have no points.
    """
    expected = f'{{"label": numbers, …}}, one to {len(LINES)} of them'
    require.named("curves", curves, expected, len(LINES))
    require.choice("choice of logarithmic axes", log, AXES)
    lines = {label: curve(label, data) for label, data in curves.items()}
    with figure(7.6, 4.0) as (fig, axes):
        for (label, (xs, ys)), look in zip(lines.items(), looks(list(lines)), strict=True):
            every = 1 if xs.size <= EACH_MARKED else max(1, xs.size // 10)
            ys = np.where(np.isfinite(ys), ys, np.nan)
            if label in dots:  # rings before all curves, which are then seen through them
                ring = {"fillstyle": "none", "markersize": 8, "markeredgewidth": 1.5, "zorder": 3}
                look, every = look | ring | {"linestyle": "none"}, 1
            elif dots:
                look = look | {"marker": ""}
            axes.plot(xs, ys, **{"label": label, "markevery": every, "markersize": 5} | look)
        for number, (label, place) in enumerate((marks or {}).items()):
            axes.axvline(
                place, color="black", linestyle=(":", "--")[number % 2], linewidth=1.5, label=label
            )
        for axis in log:
            axes.set(**{f"{axis}scale": "log"})
        if "x" in log and all(xs.min() >= 1 and xs.max() <= 1e6 for xs, _ in lines.values()):
            axes.xaxis.set_major_formatter("{x:,.0f}")  # 1,000 is read more easily than a power
            points = np.unique(np.concatenate([xs for xs, _ in lines.values()]))
            if places_apart(points):
                axes.set_xticks(points)
                axes.set_xticks([], minor=True)
        axes.set(xlabel=x, ylabel=y)
        legend_beside(axes)
    places = [f"{label}: {place:.3g}" for label, place in (marks or {}).items()]
    sentences = [curve_text(label, *line, label in dots) for label, line in lines.items()]
    over = f"{y}{',' * (',' in y)} over {x}"
    if over[1].isalpha():  # a word and no symbol
        over = over[0].upper() + over[1:]
    return show(fig, f"{over}. {'. '.join([*sentences, *places])}.")


def places_apart(x: Numbers) -> bool:
    """Whether a logarithmic axis has room for a whole number at each place, in rising order.

    >>> places_apart(np.array([1, 2, 4, 8])), places_apart(np.array([1, 10, 100, 110]))
    (True, False)
    """
    if not 1 < x.size <= MAX_PLACES or (x % 1).any():
        return False
    gaps = np.diff(np.log(x))
    return bool(gaps.min() >= gaps.sum() / MAX_PLACES)


def written(value: float, digits: int) -> str:
    """A number with so many digits; without a power of ten where that can be read.

    >>> written(0.1234, 3), written(8_598, 3), written(38_654, 3), written(2e12, 3)
    ('0.123', '8,600', '38,700', '2e+12')
    """
    rounded = float(f"{value:.{digits}g}")
    if min(LONG, 10**digits) <= abs(rounded) < READABLE:
        return f"{rounded:,.0f}"
    return f"{value:.{digits}g}"


def curve_text(label: str, x: Numbers, y: Numbers, dots: bool = False) -> str:
    """What a curve does, from left to right.

    >>> curve_text("loss", np.arange(4), np.array([8.0, 2, 1, 3]))
    'loss: from 8 at 0 to 3 at 3, lowest 1 at 2'
    >>> curve_text("rate", np.arange(3), np.array([0.5, 0.4, 0.1]))
    'rate: falls from 0.5 at 0 to 0.1 at 2'
    >>> curve_text("height", np.arange(3), np.array([0.3, 0.1 + 0.2, 0.3]))
    'height: stays at 0.3'
    """
    finite = np.isfinite(y)
    if not finite.any():
        return f"{label}: no finite number"
    x, y = x[finite], y[finite]
    if dots:
        return f"{label}: {y.size} points from {written(y.min(), 3)} to {written(y.max(), 3)}"
    points = [
        f"{written(b, 3)} at {written(a, 4 if a % 1 else 9)}" for a, b in zip(x, y, strict=True)
    ]
    first, last = points[0], points[-1]
    steps = np.diff(y)
    if np.ptp(y) <= ROUNDING * np.abs(y).max():
        return f"{label}: stays at {written(y[0], 3)}"
    if (steps <= 0).all() or (steps >= 0).all():
        return f"{label}: {'falls' if y[-1] < y[0] else 'rises'} from {first} to {last}"
    extremes = {"lowest": int(y.argmin()), "highest": int(y.argmax())}
    inner = [f"{word} {points[n]}" for word, n in extremes.items() if 0 < n < y.size - 1]
    return f"{label}: from {first} to {last}" + "".join(f", {extreme}" for extreme in inner)
