"""Pictures of notebook 06: what a block needs for its tile, and which sums a thread takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.kernels import matmul_warp_tiles as seventh
from gpulearn.kernels.matmul_registers import ALONG, COLUMNS, DOWN, HIGH, ROWS, WIDE
from gpulearn.plot.style import figure

__all__ = ["product_scheme"]

SIDE = 8  # tiles along each side of a matrix of 256, of 32 each
ROW, COLUMN, STEP = 3, 5, 2  # the block that is drawn, and how far it has come along k
GAP = 1.2


def product_scheme(rung: str) -> Picture:
    """Draw how a rung of the ladder shares out the work.

    Args:
        rung: "shared tile" (what a block reads), "register tile" (what its threads compute) or
            "warp tiles" (what its warps and their lanes compute).

    Raises:
        BadInput: it is none of these.
    """
    drawn = {
        "shared tile": _shared_tile,
        "register tile": _register_tile,
        "warp tiles": _warp_tiles,
    }
    return drawn[require.choice("rung", rung, drawn)]()


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


def first_patch(lane: int) -> tuple[int, int]:
    """Row and column, in its warp's tile, at which a lane's first patch begins (`PAIRED`)."""
    down, across = lane // 2 % seventh.LANES_DOWN, lane % 2 + lane // (2 * seventh.LANES_DOWN) * 2
    return down * seventh.PATCH, across * seventh.PATCH


def _warp_tiles() -> Picture:
    high, wide = (seventh.PATCH * lanes for lanes in (seventh.LANES_DOWN, seventh.LANES_ACROSS))
    rows, columns = seventh.HIGH * seventh.LANES_DOWN, seventh.WIDE * seventh.LANES_ACROSS
    with figure(8.4, 4.5) as (fig, axes):
        axes.remove()
        block, warp = fig.subplots(1, 2)
        for number in range(seventh.THREADS // 32):
            y, x = number // 2 * rows, number % 2 * columns
            fill = "none" if number else "0.88"
            _box(block, x, y, columns, rows, facecolor=fill, edgecolor="0.3", linewidth=1.5)
            _label(block, x + columns / 2, y + rows / 2, f"warp {number}", fontsize=11)
        for top in range(0, rows, high):
            for left in range(0, columns, wide):
                _patches(warp, top, left, numbered=top == left == 0)
                _box(warp, left, top, wide, high, facecolor="none", edgecolor="0.3")
        block.set(xlim=(0, seventh.COLUMNS), ylim=(seventh.ROWS, 0), title="the block's tile of C")
        warp.set(xlim=(0, columns), ylim=(rows, 0), title="warp 0's tile: patches of the lanes")
        for panel in (block, warp):
            end = int(panel.get_xlim()[1])
            panel.set(xticks=range(0, end + 1, end // 4), yticks=range(0, end + 1, end // 4))
            panel.set(xlabel="column", ylabel="row")
            panel.set_aspect("equal")
            panel.grid(visible=False)
    return show(
        fig,
        "The block's tile of C is shared out among four warps, and a warp's tile has two rows of "
        "four equal parts. In each part every lane has one patch of 4 × 4 elements, in 8 rows of "
        "4 lanes: lane 0 has eight patches, and lane 1 stands beside it in each part.",
    )


def _patches(axes: Any, top: int, left: int, *, numbered: bool) -> None:
    """One patch of each lane; those of lanes 0 and 1 are filled."""
    for lane in range(32):
        y, x = first_patch(lane)
        fill = ("C0", "C1", "none")[min(lane, 2)]
        hatch = "///" if lane == 1 and not numbered else ""
        look = {"facecolor": fill, "hatch": hatch, "edgecolor": "0.8" if lane > 1 else "white"}
        _box(axes, left + x, top + y, seventh.PATCH, seventh.PATCH, linewidth=0.6, **look)
        if numbered:
            middle = seventh.PATCH / 2
            colour = "black" if lane else "white"
            _label(axes, left + x + middle, top + y + middle, str(lane), fontsize=7, color=colour)


def _label(axes: Any, x: float, y: float, text: str, **look: Any) -> None:
    axes.text(x, y, text, ha="center", va="center", **look)


def _box(axes: Any, x: float, y: float, width: float, height: float, **look: Any) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, **look))
