"""Two pictures of notebook 06: what a block needs for its tile, and which sums a thread takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpulearn import _require
from gpulearn.figures.show import Picture, show
from gpulearn.figures.style import figure
from gpulearn.kernels.matmul_registers import ALONG, COLUMNS, DOWN, HIGH, ROWS, WIDE

__all__ = ["product_scheme"]

SIDE = 8  # tiles along each side of a matrix of 256, of 32 each
ROW, COLUMN, STEP = 3, 5, 2  # the block that is drawn, and how far it has come along k
GAP = 1.2


def product_scheme(rung: str) -> Picture:
    """Draw how a rung of the ladder shares out the work.

    Args:
        rung: "shared tile" (what a block reads) or "register tile" (what its threads compute).

    Raises:
        BadInput: it is neither.
    """
    _require.choice("rung", rung, ("shared tile", "register tile"))
    return _shared_tile() if rung == "shared tile" else _register_tile()


def _shared_tile() -> Picture:
    with figure(6.6, 5.2) as (fig, axes):
        far = SIDE + GAP
        a, b, c = (0.0, far), (far, 0.0), (far, far)
        for (x, y), name in ((a, "A"), (b, "B"), (c, "C")):
            _box(axes, x, y, SIDE, SIDE, facecolor="none", edgecolor="0.3")
            axes.text(x + 0.2, y + 0.2, name, va="top", fontsize=15, weight="bold")
        _box(axes, a[0], a[1] + ROW, SIDE, 1, facecolor="C0", alpha=0.25)
        _box(axes, b[0] + COLUMN, b[1], 1, SIDE, facecolor="C1", alpha=0.25)
        _box(axes, a[0] + STEP, a[1] + ROW, 1, 1, facecolor="C0", hatch="///", edgecolor="white")
        _box(axes, b[0] + COLUMN, b[1] + STEP, 1, 1, facecolor="C1", hatch="///", edgecolor="white")
        _box(axes, c[0] + COLUMN, c[1] + ROW, 1, 1, facecolor="0.25", edgecolor="0.25")
        arrow = {"arrowstyle": "->", "linewidth": 1.6}
        middle = a[1] + ROW + 0.5
        axes.annotate("", (STEP + 4, middle), (STEP + 1.1, middle), arrowprops=arrow)
        middle = b[0] + COLUMN + 0.5
        axes.annotate("", (middle, STEP + 4), (middle, STEP + 1.1), arrowprops=arrow)
        axes.text(a[0] + STEP + 0.5, a[1] + ROW - 0.2, "tile_a", ha="center", va="bottom")
        axes.text(b[0] + COLUMN - 0.2, b[1] + STEP + 0.5, "tile_b", ha="right", va="center")
        axes.text(c[0] + COLUMN + 0.5, c[1] + ROW + 1.2, "the block's\nelements", ha="center",
                  va="top")  # fmt: skip
        axes.text(a[0] + STEP + 2.5, a[1] + ROW + 1.15, "along k", ha="center", va="top")
        axes.text(0, SIDE - 0.4, "32 × 32 elements\nin each small square", va="bottom", color="0.3")
        axes.set(xlim=(-0.3, 2 * SIDE + GAP + 0.3), ylim=(2 * SIDE + GAP + 0.3, -0.3))
        axes.set_aspect("equal")
        axes.axis("off")
    return show(
        fig,
        "A stands to the left of C and B above it: a block's 32 × 32 elements of C need a band of "
        "32 rows of A and a band of 32 columns of B, through which the block goes tile by tile.",
    )


def _register_tile() -> Picture:
    ways: dict[str, Callable[[int], tuple[Sequence[int], Sequence[int]]]] = {
        "patch": lambda t: (range(HIGH), [t * WIDE + s for s in range(WIDE)]),
        "comb": lambda t: ([r * DOWN for r in range(HIGH)], [t + s * ALONG for s in range(WIDE)]),
    }
    with figure(8.4, 4.3) as (fig, axes):
        axes.remove()
        for panel, (name, elements) in zip(fig.subplots(1, 2), ways.items(), strict=True):
            for thread, look in enumerate(({"marker": "s"}, {"marker": "x"})):
                rows, columns = elements(thread)
                spots = [(j, i) for i in rows for j in columns]
                panel.scatter(
                    *zip(*spots, strict=True), s=13, label=f"thread ({thread}, 0)", **look
                )
            panel.set(xlim=(-1, COLUMNS), ylim=(ROWS, -1), title=f"{name}: 64 sums of each")
            panel.set_xticks(range(0, COLUMNS + 1, 8))
            panel.set_yticks(range(0, ROWS + 1, 8))
            panel.set_xlabel("column in the block's tile of C")
            panel.set_ylabel("row in the tile")
            panel.set_aspect("equal")
            if name == "patch":  # the other panel has no room for a legend
                panel.legend(loc="lower right", fontsize=9)
    return show(
        fig,
        "Two threads side by side: with patches each has 8 × 8 neighbouring elements of C, so "
        "that at each step the two stand 8 columns apart; with combs their elements lie 8 apart "
        "in both directions, and at each step the two stand on neighbouring columns.",
    )


def _box(axes: Any, x: float, y: float, width: float, height: float, **look: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, **look))
