"""Tiles of shared memory and of matrix products: transposed, with a halo, shared by threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.plot.style import bare, box, centered, figure
from gpulearn_lessons.matmul.matmul_registers import ALONG, COLUMNS, DOWN, HIGH, ROWS, WIDE

LIGHT = "#f6ddb5"
SIDE = 8  # rows and columns of the tile that is drawn
TILES = 8  # tiles along each side of a matrix of 256, of 32 each
ROW, COLUMN, STEP = 3, 5, 2  # the block that is drawn, and how far it has come along k
GAP = 1.2


def _cell(axes: Any, x: float, y: float, label: str, fill: str) -> None:
    box(axes, x, y, 1, 1, facecolor=fill, edgecolor="0.4", linewidth=0.8)
    color = "white" if fill == "C0" else "black"
    centered(axes, x + 0.5, y + 0.5, label, fontsize=8, color=color)


def tile() -> Picture:
    """Draw how a tile is transposed: in by rows, out by columns; numbers are lanes of one warp.

    >>> tile().alt.partition(":")[0]
    'A tile of 8 rows and 8 columns on its way through shared memory'
    """
    marked = 2  # the row of the image, and the column of the tile, that a warp takes
    with figure(9.5, 3.9) as (fig, axes):
        for left, title in ((0, "image"), (12, "tile, in shared memory"), (24, "out")):
            axes.text(left, -0.6, title, fontsize=11)
            for y in range(SIDE):
                for x in range(SIDE):
                    fill, label = "white", ""
                    if y == marked:
                        fill, label = (LIGHT if left == 24 else "C0"), str(x)
                    if left == 12 and x == marked:
                        fill, label = LIGHT, str(y)
                    _cell(axes, left + x, y, label, fill)
        for start, text in ((8.3, "load"), (20.3, "store")):
            axes.annotate(
                "", (start + 3.4, 2.5), (start, 2.5), arrowprops={"arrowstyle": "->", "lw": 1.8}
            )
            axes.text(start + 1.7, 2.2, text, ha="center", va="bottom", fontsize=10)
        axes.text(16, 8.9, "dark: written by rows\nlight: read by columns", ha="center", va="top")
        axes.text(4, 8.9, "one warp reads a row", ha="center", va="top")
        axes.text(28, 8.9, "one warp writes a row", ha="center", va="top")
        bare(axes, (-0.3, 32.3), (10.8, -1.6), aspect="equal")
    return show(
        fig,
        "A tile of 8 rows and 8 columns on its way through shared memory: a warp reads a row of "
        "the image and writes it to a row of the tile; then a warp reads a column of the tile "
        "and writes it to a row of out. Only the tile is accessed by columns, too.",
    )


def halo() -> Picture:
    """Draw which of 8 threads loads which cell of their window, and what an output needs.

    >>> halo().alt.count("halo")
    2
    """
    threads, radius = 8, 2  # one thread for each output; neighbors that it needs on each side
    cells = threads + 2 * radius
    middle, needed = threads // 2, 2 * radius + 1  # the thread whose inputs are drawn
    with figure(9.5, 3.2) as (fig, axes):
        for cell in range(cells):
            _cell(axes, cell, 0, str(cell % threads), LIGHT if cell >= threads else "C0")
            outside = cell < radius or cell >= threads + radius
            _cell(axes, cell, -1.25, "halo" if outside else "", "white" if outside else "0.88")
        for t in range(threads):
            _cell(axes, radius + t, 3, str(t), "0.88" if t != middle else "white")
        for cell in range(middle, middle + needed):
            axes.plot([cell + 0.5, radius + middle + 0.5], [1.05, 2.95], color="0.2", lw=1.2)
        for y, text in (
            (-0.75, "its stretch of the vector"),
            (0.5, "window: loaded by thread"),
            (3.5, "output: written by thread"),
        ):
            axes.text(-0.4, y, text, ha="right", va="center", fontsize=10)
        axes.text(cells + 0.3, 0.5, "dark: first round\nlight: second round", va="center",
                  fontsize=9)  # fmt: skip
        bare(axes, (-7.5, cells + 5.5), (4.4, -1.6), aspect="equal")
    return show(
        fig,
        f"The window of a block of {threads} threads has {cells} cells: {radius} of halo, "
        f"{threads} of its own, {radius} of halo. Threads 0 to {threads - 1} load the first "
        f"{threads} cells, threads 0 to {2 * radius - 1} the last {2 * radius} in a second "
        f"round. Output {middle} needs {needed} cells that {needed} threads loaded.",
    )


def product_scheme(rung: str) -> Picture:
    """Draw what a block of the "shared tile" reads, or what threads of the "register tile" do."""
    schemes = {"shared tile": _shared_tile, "register tile": _register_tile}
    return schemes[require.choice("rung", rung, schemes)]()


def _shared_tile() -> Picture:
    with figure(6.6, 5.2) as (fig, axes):
        far = TILES + GAP  # where B begins on the x axis, A on the y axis and C on both
        for x, y, name in ((0, far, "A"), (far, 0, "B"), (far, far, "C")):
            box(axes, x, y, TILES, TILES, facecolor="none", edgecolor="0.3")
            axes.text(x + 0.2, y + 0.2, name, va="top", fontsize=15, weight="bold")
        row, column = far + ROW, far + COLUMN
        box(axes, 0, row, TILES, 1, facecolor="C0", alpha=0.25)
        box(axes, column, 0, 1, TILES, facecolor="C1", alpha=0.25)
        box(axes, STEP, row, 1, 1, facecolor="C0", hatch="///", edgecolor="white")
        box(axes, column, STEP, 1, 1, facecolor="C1", hatch="///", edgecolor="white")
        box(axes, column, row, 1, 1, facecolor="0.25", edgecolor="0.25")
        arrow = {"arrowstyle": "->", "linewidth": 1.6}
        axes.annotate("", (STEP + 4, row + 0.5), (STEP + 1.1, row + 0.5), arrowprops=arrow)
        axes.annotate("", (column + 0.5, STEP + 4), (column + 0.5, STEP + 1.1), arrowprops=arrow)
        axes.text(STEP + 0.5, row - 0.2, "tile_a", ha="center", va="bottom")
        axes.text(column - 0.2, STEP + 0.5, "tile_b", ha="right", va="center")
        axes.text(column + 0.5, row + 1.2, "the block's\nelements", ha="center", va="top")
        axes.text(STEP + 2.5, row + 1.15, "along k", ha="center", va="top")
        axes.text(
            0, TILES - 0.4, "32 × 32 elements\nin each small square", va="bottom", color="0.3"
        )
        end = TILES + far + 0.3
        bare(axes, (-0.3, end), (end, -0.3), aspect="equal")
    return show(
        fig,
        "A is to the left of C and B above it: a block's 32 × 32 elements of C need a band of 32 "
        "rows of A and a band of 32 columns of B, through which the block goes tile by tile.",
    )


def _register_tile() -> Picture:
    ways: dict[str, Callable[[int], tuple[Sequence[int], Sequence[int]]]] = {
        "patch": lambda t: (range(HIGH), [t * WIDE + s for s in range(WIDE)]),
        "comb": lambda t: ([r * DOWN for r in range(HIGH)], [t + s * ALONG for s in range(WIDE)]),
    }
    with figure(8.4, 4.3, columns=2) as (fig, panels):
        for panel, (name, elements) in zip(panels, ways.items(), strict=True):
            for thread, marker in enumerate("sx"):
                rows, columns = elements(thread)
                spots = [(j, i) for i in rows for j in columns]
                panel.scatter(*zip(*spots, strict=True), s=13, label=f"thread ({thread}, 0)",
                              marker=marker)  # fmt: skip
            panel.set(xlim=(-1, COLUMNS), ylim=(ROWS, -1), title=f"{name}: 64 sums of each thread")
            panel.set(xticks=range(0, COLUMNS + 1, 8), yticks=range(0, ROWS + 1, 8))
            panel.set(xlabel="column in the block's tile of C", ylabel="row in the tile")
            panel.set_aspect("equal")
            if name == "patch":  # the other panel has no room for a legend
                panel.legend(loc="lower right", fontsize=9)
    return show(
        fig,
        "Two threads side by side: with patches, each has 8 × 8 neighboring elements of C, so in "
        "each step the two are 8 columns apart; with combs, the elements of each are 8 apart in "
        "both directions, and in each step the two are in neighboring columns.",
    )
