"""The project's look: one matplotlib style, markers beside colours, and what figures share."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpulearn import require
from gpulearn.perf.gpus import GPUS

__all__ = [
    "LINES",
    "box",
    "boxes",
    "centred",
    "doublings",
    "figure",
    "legend_beside",
    "looks",
    "plain_decades",
]

# one line style and marker for each curve of a figure, beside the cycle's colour
LINES = tuple(
    {"marker": marker, "linestyle": line}
    for marker, line in zip("osD^vP*X", ("-", "--", "-.", ":") * 2, strict=True)
)
CYCLE = 10  # colours
# what stands in several figures of the course, with its colour of the cycle; the first that a
# label names counts
SUBJECTS = {
    **{"CPU": 0, "NumPy": 0, "torch": 2, "loops": 7},
    **{name: 1 + place % (CYCLE - 1) for place, name in enumerate(GPUS)},
    **{"gradient descent": 0, "plain": 0, "momentum": 1, "Nesterov": 2, "RMSProp": 3},
    **{"Adam": 4, "AdamW": 5, "Adagrad": 6},
    **{"constant": 0, "exponential": 2, "cosine": 3, "warm-up": 4},
    **{"sigmoid": 0, "tanh": 1, "ReLU": 2, "strong": 0, "weak": 1},
    **{"via one root": 0, "tree": 1, "halving and doubling": 5, "doubling": 2, "ring": 4},
    **{"float32": 0, "float16": 1, "bfloat16": 2, "TF32": 3},
}
# keeps what it has read, such as powers of ten beside an axis: each figure would read them anew
_parsers: dict[str, Any] = {}


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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
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
        "figure.dpi": 110,
        "savefig.dpi": "figure",
    }
    sheets = ["default", "petroff10", extra]

    class Styled(Figure):
        def savefig(self, *args: Any, **options: Any) -> None:
            # a colour such as "C3" is looked up here, which may be after the block
            with style.context(sheets):
                canvas: Any = FigureCanvasAgg(self)
                renderer = canvas.get_renderer()
                renderer.mathtext_parser = _parsers.setdefault("mathtext", renderer.mathtext_parser)
                layout = self.get_layout_engine()
                # else matplotlib draws the whole figure twice, once for its layout alone
                if layout is not None:
                    layout.execute(self)
                    self.set_layout_engine(None)
                try:
                    super().savefig(*args, **options)
                finally:
                    self.set_layout_engine(layout)

    with style.context(sheets):
        made = Styled(figsize=(width, height), layout="constrained")
        yield made, made.subplots(rows, columns, **grid)


def looks(labels: Sequence[str]) -> list[dict[str, Any]]:
    """How the curves of a figure are drawn: marker and line by their place, colour by their label.

    A label that names one of SUBJECTS gets its colour, in every figure, unless an earlier label
    has it; all others get what is left of the cycle.

    >>> [look["color"] for look in looks(["a", "Adam, rate 0.1", "Adam, rate 0.2", "ReLU"])]
    ['C0', 'C4', 'C1', 'C2']
    """
    colours: dict[int, int] = {}
    for place, label in enumerate(labels):
        named = (c for name, c in SUBJECTS.items() if re.search(rf"\b{name}\b", label))
        colour = next(named, None)
        if colour is not None and colour not in colours.values():
            colours[place] = colour
    free = itertools.cycle(c for c in range(CYCLE) if c not in colours.values())
    places = range(len(labels))
    drawn = [colours[place] if place in colours else next(free) for place in places]
    return [{**LINES[place % len(LINES)], "color": f"C{drawn[place]}"} for place in places]


def box(axes: Any, x: float, y: float, width: float, height: float, **look: Any) -> None:
    """Draw a rectangle whose corner with the least x and y is (x, y).

    It moves no limits of the axes and takes no part in the layout: hundreds are drawn at once.
    """
    from matplotlib.patches import Rectangle

    drawn = axes.add_artist(Rectangle((x, y), width, height, **look))
    drawn.set_in_layout(False)


def boxes(
    axes: Any, corners: Sequence[tuple[float, float]], size: tuple[float, float],
    looks: Sequence[tuple[str, float]], edge: str, linewidth: float,
) -> None:  # fmt: skip
    """Draw many boxes of one size as `box` draws one, in a fraction of the time.

    Args:
        axes: where to draw.
        corners: of each box the least x and y.
        size: their width and height.
        looks: of each box the colour within, or "none", and its opacity.
        edge: their colour at the edge.
        linewidth: of the edge.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    wide, high = size
    drawn = PolyCollection(
        [((x, y), (x + wide, y), (x + wide, y + high), (x, y + high)) for x, y in corners],
        facecolors=[to_rgba(*look) for look in looks],
        edgecolors=[to_rgba(edge, alpha) for _, alpha in looks],
        linewidths=linewidth, joinstyle="miter", zorder=1,
    )  # fmt: skip
    axes.add_artist(drawn)
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
    axes.yaxis.set_major_formatter("{x:,.10g}")
