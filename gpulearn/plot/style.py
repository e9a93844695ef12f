"""The project's look: one matplotlib style, markers beside colours, and what figures share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpulearn import require

__all__ = ["LINES", "box", "centred", "doublings", "figure", "legend_beside", "plain_decades"]

# one line style and marker for each curve of a figure, beside the cycle's colour
LINES = tuple(
    {"marker": marker, "linestyle": line}
    for marker, line in zip("osD^vP*X", ("-", "--", "-.", ":") * 2, strict=True)
)


@contextmanager
def figure(
    width: float = 7.0, height: float = 4.2, rows: int = 1, columns: int = 1, **grid: Any
) -> Iterator[tuple[Any, Any]]:
    """Make a figure and its axes in the project's style; sizes in inches.

    The figure is not known to pyplot, so that it is shown only where it is asked for. With
    several rows or columns the axes are an array, as matplotlib's `subplots` returns them;
    `grid` is what else it takes.
    """
    style = require.package("matplotlib.style", "A figure")
    from matplotlib.figure import Figure

    extra = {
        "axes.grid": True,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "font.size": 11.0,
        "grid.alpha": 0.3,
        # no frame, and a ground that keeps words legible where a curve has no room beside them
        "legend.edgecolor": "none",
        "legend.fancybox": False,
        "legend.framealpha": 0.85,
        "lines.linewidth": 2.0,
        "savefig.dpi": 110,
    }
    with style.context(["default", "petroff10", extra]):
        made = Figure(figsize=(width, height), layout="constrained")
        yield made, made.subplots(rows, columns, **grid)


def box(axes: Any, x: float, y: float, width: float, height: float, **look: Any) -> None:
    """Draw a rectangle whose corner with the least x and y is (x, y).

    It moves no limits of the axes and takes no part in the layout: hundreds are drawn at once.
    """
    from matplotlib.patches import Rectangle

    drawn = axes.add_artist(Rectangle((x, y), width, height, **look))
    drawn.set_in_layout(False)


def centred(axes: Any, x: float, y: float, text: str, **look: Any) -> None:
    """Write a text whose middle is (x, y)."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", **look})


def legend_beside(axes: Any, size: float = 9) -> None:
    """Set a legend right of the axes, where no curve comes to lie under it."""
    axes.legend(fontsize=size, loc="center left", bbox_to_anchor=(1.01, 0.5))


def doublings(axes: Any, ticks: Sequence[int], form: str = "{:,}") -> None:
    """Make the x axis logarithmic to base 2, with whole numbers at these ticks alone."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [form.format(tick) for tick in ticks])
    axes.minorticks_off()


def plain_decades(axes: Any, subs: Sequence[int]) -> None:
    """Make the y axis logarithmic, with plain numbers at these multiples of powers of ten."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")
