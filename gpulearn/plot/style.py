"""The project's look: one matplotlib style, markers beside colors, and what figures share."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpulearn import require
from gpulearn.perf.gpus import GPUS

# one line style and marker for each curve of a figure, beside the cycle's color
LINES = tuple(
    {"marker": marker, "linestyle": line}
    for marker, line in zip("osD^vP*X", ("-", "--", "-.", ":") * 2, strict=True)
)
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo")
CYCLE = 10  # colors
# what stands in several figures of the course, with its color of the cycle; the first that a
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


@contextmanager
def figure(
    width: float = 7.0, height: float = 4.2, rows: int = 1, columns: int = 1, **grid: Any
) -> Iterator[tuple[Any, Any]]:
    """Make a figure and its axes in the project's style; sizes in inches.

    The figure is not known to pyplot, so that it is shown only where it is asked for. Axes and
    `grid` are those of matplotlib's `subplots`.
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
        "figure.dpi": 110,
        "savefig.dpi": "figure",
    }
    sheets = ["default", "petroff10", extra]

    class StyledFigure(Figure):
        def savefig(self, *args: Any, **options: Any) -> None:
            # a color such as "C3" is looked up here, which may be after the block
            with style.context(sheets):
                super().savefig(*args, **options)

    with style.context(sheets):
        fig = StyledFigure(figsize=(width, height), layout="constrained")
        yield fig, fig.subplots(rows, columns, **grid)


def looks(labels: Sequence[str]) -> list[dict[str, Any]]:
    """How the curves of a figure are drawn: marker and line by their place, color by their label.

    A label that names one of SUBJECTS gets its color, in every figure, unless an earlier label
    has it; all others get what is left of the cycle.

    >>> [look["color"] for look in looks(["a", "Adam, rate 0.1", "Adam, rate 0.2", "ReLU"])]
    ['C0', 'C4', 'C1', 'C2']
    """
    colors: dict[int, int] = {}
    for place, label in enumerate(labels):
        named = (c for name, c in SUBJECTS.items() if re.search(rf"\b{name}\b", label))
        color = next(named, None)
        if color is not None and color not in colors.values():
            colors[place] = color
    free = itertools.cycle(c for c in range(CYCLE) if c not in colors.values())
    return [
        {
            **LINES[place % len(LINES)],
            "color": f"C{colors[place] if place in colors else next(free)}",
        }
        for place in range(len(labels))
    ]


def box(axes: Any, x: float, y: float, width: float, height: float, **look: Any) -> None:
    """Draw a rectangle whose corner with the least x and y is (x, y).

    It moves no limits of the axes and takes no part in the layout: hundreds are drawn at once.
    """
    from matplotlib.patches import Rectangle

    axes.add_artist(Rectangle((x, y), width, height, **look)).set_in_layout(False)


def boxes(
    axes: Any, corners: Sequence[tuple[float, float]], size: tuple[float, float],
    looks: Sequence[tuple[str, float]], edge: str, linewidth: float,
) -> None:  # fmt: skip
    """Draw many boxes of one size as `box` draws one, in a fraction of the time.

    `looks` has of each box the color within, or "none", and its opacity.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    wide, high = size
    collection = PolyCollection(
        [((x, y), (x + wide, y), (x + wide, y + high), (x, y + high)) for x, y in corners],
        facecolors=[to_rgba(*look) for look in looks],
        edgecolors=[to_rgba(edge, alpha) for _, alpha in looks],
        linewidths=linewidth, joinstyle="miter", zorder=1,
    )  # fmt: skip
    axes.add_artist(collection)
    collection.set_in_layout(False)


def centered(axes: Any, x: float, y: float, text: str, **look: Any) -> None:
    """Write a text whose middle is (x, y)."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", **look})


def note(
    axes: Any, text: str, point: Sequence[float], away: tuple[float, float], **look: Any
) -> Any:
    """Write a text beside a point, so many points of print away."""
    return axes.annotate(text, point, xytext=away, textcoords="offset points", **look)


def rows(axes: Any, labels: Sequence[str]) -> None:
    """Make the y axis rows of height 1 with a label each, counted from the top."""
    axes.set_ylim(len(labels), 0)
    axes.set_yticks([row + 0.5 for row in range(len(labels))], labels)


def bare(axes: Any, xlim: tuple[float, float], ylim: tuple[float, float], **more: Any) -> None:
    """Leave nothing of the axes but what is drawn between these limits."""
    axes.set(xlim=xlim, ylim=ylim, **more)
    axes.axis("off")


def key(where: Any, entries: Mapping[str, Mapping[str, Any]], **options: Any) -> None:
    """Explain what areas stand for, label → their look; below a figure, or on axes."""
    from matplotlib.patches import Patch

    patches = [Patch(label=label, **look) for label, look in entries.items()]
    layout = {"loc": "outside lower center", "ncols": len(patches), "fontsize": 10}
    where.legend(handles=patches, **layout | options)


def stacked_bars(
    axes: Any, bars: Mapping[str, Mapping[str, float]], scale: float, height: float, first: int = 0
) -> None:
    """Draw a bar for each name, cut into its parts in units of `scale`, and write its sum.

    All have the same parts; `first` is the color of the first part.
    """
    left = [0.0] * len(bars)
    for number, part in enumerate(next(iter(bars.values()))):
        sizes = [bar[part] / scale for bar in bars.values()]
        axes.barh(list(bars), sizes, left=left, label=part, height=height, edgecolor="white",
                  color=f"C{first + number}", hatch=HATCHES[number % len(HATCHES)])  # fmt: skip
        left = [start + size for start, size in zip(left, sizes, strict=True)]
    for row, end in enumerate(left):
        axes.annotate(f" {end:.3g}", (end, row), va="center")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 1.12 * max(left) or 1)


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


def percent(share: float) -> str:
    """A share in whole percent.

    >>> percent(0.375)
    '38 %'
    """
    return f"{share:.0%}".replace("%", " %")
