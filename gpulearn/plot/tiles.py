"""The still figures of notebook 05: the way of a tile, and the halo of a block."""

from __future__ import annotations

from typing import Any

from gpulearn import require
from gpulearn.display import Picture, show
from gpulearn.errors import BadInput
from gpulearn.plot.style import figure

__all__ = ["show_halo", "show_tile"]

LIGHT = "#f6ddb5"
SIDE = 8  # rows and columns of the tile that is drawn


def _cell(axes: Any, x: float, y: float, label: str, fill: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=fill, edgecolor="0.4", linewidth=0.8))
    axes.text(x + 0.5, y + 0.5, label, ha="center", va="center", fontsize=8,
              color="white" if fill == "C0" else "black")  # fmt: skip


def _bare(axes: Any) -> None:
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(visible=False)


def show_tile() -> Picture:
    """Draw how a tile is turned: in by rows, out by columns; numbers are lanes of one warp.

    >>> show_tile().alt.partition(":")[0]
    'A tile of 8 rows and 8 columns on its way through shared memory'
    """
    marked = 2  # the row of the image, and the column of the tile, that a warp takes
    with figure(9.5, 3.9) as (made, axes):
        for left, title in ((0, "image"), (12, "tile, in shared memory"), (24, "out")):
            axes.text(left, -0.6, title, fontsize=11)
            for y in range(SIDE):
                for x in range(SIDE):
                    row, column = y == marked, x == marked
                    fill, label = "white", ""
                    if (left == 0 and row) or (left == 12 and row):
                        fill, label = "C0", str(x)
                    if left == 24 and row:
                        fill, label = LIGHT, str(x)
                    if left == 12 and column:
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
        axes.set_xlim(-0.3, 32.3)
        axes.set_ylim(10.8, -1.6)
        _bare(axes)
    alt = (
        "A tile of 8 rows and 8 columns on its way through shared memory: a warp reads a row of "
        "the image and writes it to a row of the tile; then a warp reads a column of the tile "
        "and writes it to a row of out. Rows are touched in both pictures, columns in the tile "
        "alone."
    )
    return show(made, alt)


def show_halo(threads: int = 8, radius: int = 2) -> Picture:
    """Draw which thread of a block loads which cell of its window, and what an output needs.

    Args:
        threads: threads of the block, one for each output.
        radius: neighbours that an output needs on each side.

    Raises:
        BadInput: a size is not a whole number above zero, or the halo is wider than the block.

    >>> show_halo(8, 2).alt.count("halo")
    2
    """
    threads = require.whole("threads", threads)
    radius = require.whole("radius", radius)
    if 2 * radius > threads:
        raise BadInput(f"radius is {radius}: with {threads} threads, give at most {threads // 2}.")
    cells = threads + 2 * radius
    shown = threads // 2  # the thread whose inputs are drawn
    with figure(9.5, 3.2) as (made, axes):
        for cell in range(cells):
            halo = cell < radius or cell >= threads + radius
            again = cell >= threads
            fill = LIGHT if again else "C0"
            _cell(axes, cell, 0, str(cell % threads), fill)
            if halo:
                _cell(axes, cell, -1.25, "halo", "white")
            else:
                _cell(axes, cell, -1.25, "", "0.88")
        for t in range(threads):
            _cell(axes, radius + t, 3, str(t), "0.88" if t != shown else "white")
        for cell in range(shown, shown + 2 * radius + 1):
            axes.plot([cell + 0.5, radius + shown + 0.5], [1.05, 2.95], color="0.2", lw=1.2)
        for y, text in (
            (-0.75, "its part of the vector"),
            (0.5, "window: loaded by thread"),
            (3.5, "output: written by thread"),
        ):
            axes.text(-0.4, y, text, ha="right", va="center", fontsize=10)
        axes.text(cells + 0.3, 0.5, "dark: first round\nlight: second round", va="center",
                  fontsize=9)  # fmt: skip
        axes.set_xlim(-7.5, cells + 5.5)
        axes.set_ylim(4.4, -1.6)
        _bare(axes)
    alt = (
        f"The window of a block of {threads} threads has {cells} cells: {radius} of halo, "
        f"{threads} of its own, {radius} of halo. Threads 0 to {threads - 1} load the first "
        f"{threads} cells, threads 0 to {2 * radius - 1} the last {2 * radius} in a second "
        f"round. Output {shown} needs {2 * radius + 1} cells that {2 * radius + 1} threads loaded."
    )
    return show(made, alt)
