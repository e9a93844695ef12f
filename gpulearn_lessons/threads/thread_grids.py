"""A grid of threads laid over a vector or a picture, as text and as an interactive figure."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.kernels.indexing import blocks_for
from gpulearn.plot.controls import Explorer, slider

__all__ = ["thread_explorer"]


class ThreadPlace(NamedTuple):
    """Where a thread is: its block, its number in the block, its number in the grid."""

    block: tuple[int, int]
    thread: tuple[int, int]
    x: int
    y: int


@dataclass(frozen=True)
class GridLaunch:
    """A grid of blocks over an array of `width` columns and `height` rows; 1 row is a vector.

    >>> launch = GridLaunch(20, 1, grid=(3, 1), block=(8, 1))
    >>> launch.counted()
    'Grid 3, block 8: 24 threads for 20 elements; 4 threads fall off the end.'
    >>> launch.told(launch.place(11, 0))
    'Thread 3 of block 1: i = 1 × 8 + 3 = 11, so it does element [11].'
    """

    width: int
    height: int
    grid: tuple[int, int]
    block: tuple[int, int]

    @property
    def flat(self) -> bool:
        """Whether the array is a vector."""
        return self.height == 1

    @property
    def threads(self) -> tuple[int, int]:
        """How many threads there are in x and in y."""
        return self.grid[0] * self.block[0], self.grid[1] * self.block[1]

    @property
    def falling(self) -> int:
        """How many threads have no element."""
        x, y = self.threads
        return x * y - min(x, self.width) * min(y, self.height)

    @property
    def missed(self) -> int:
        """How many elements have no thread."""
        x, y = self.threads
        return self.width * self.height - min(x, self.width) * min(y, self.height)

    def place(self, x: int, y: int) -> ThreadPlace:
        """The thread whose number in the grid is (x, y)."""
        block_x, thread_x = divmod(x, self.block[0])
        block_y, thread_y = divmod(y, self.block[1])
        return ThreadPlace((block_x, block_y), (thread_x, thread_y), x, y)

    def has_thread(self, x: int, y: int) -> bool:
        """Whether a thread has the number (x, y)."""
        return x < self.threads[0] and y < self.threads[1]

    def has_element(self, x: int, y: int) -> bool:
        """Whether an element stands at column x, row y."""
        return x < self.width and y < self.height

    def element(self, x: int, y: int) -> str:
        """An index as Python writes it: the row comes first."""
        return f"[{x}]" if self.flat else f"[{y}, {x}]"

    def counted(self) -> str:
        """The launch in one sentence: how many threads, how many too many or too few."""
        x, y = self.threads
        if self.flat:
            shape = f"Grid {self.grid[0]}, block {self.block[0]}: {x} threads for {self.width}"
        else:
            shape = (
                f"Grid {self.grid}, block {self.block}: {x} × {y} = {x * y} threads "
                f"for {self.width} × {self.height} = {self.width * self.height}"
            )
        ends = []
        if count := self.falling:
            ends.append(f"{count} thread{'s fall' if count != 1 else ' falls'} off the end")
        if count := self.missed:
            ends.append(f"{count} element{'s have' if count != 1 else ' has'} no thread")
        elements = "element" if self.width * self.height == 1 else "elements"
        return f"{shape} {elements}; {' and '.join(ends) or 'each element has its thread'}."

    def told(self, place: ThreadPlace) -> str:
        """What a thread's indices are and which element it does, in one sentence."""
        block, thread, x, y = place
        if self.flat:
            start = f"Thread {thread[0]} of block {block[0]}: i = {self._sum(place, 0)}"
        else:
            sums = f"x = {self._sum(place, 0)}, y = {self._sum(place, 1)}"
            start = f"Thread {thread} of block {block}: {sums}"
        if self.has_element(x, y):
            return f"{start}, so it does element {self.element(x, y)}."
        return f"{start}, and there is no element {self.element(x, y)}."

    def _sum(self, place: ThreadPlace, axis: int) -> str:
        """The index sum of one axis with its numbers, as `1 × 8 + 3 = 11`."""
        parts = f"{place.block[axis]} × {self.block[axis]} + {place.thread[axis]}"
        return f"{parts} = {(place.x, place.y)[axis]}"


# in pixels: the space round the grid for its labels, a cell, and the most that cells take
LEFT, TOP, BELOW = 112, 60, 58
CELL, WIDE = 28, 900
ROOM = 18  # a narrower cell has no room for its label
FILLS = ("#cfe0f5", "#f6ddb5")  # neighbouring blocks differ
LARGEST = (40, 24)
MOST_BLOCKS = 5

STYLE = (
    ".gl-threads text{font-family:sans-serif;font-size:12px;fill:#111}"
    ".gl-threads g text{text-anchor:middle;font-size:10px}"
    ".gl-threads g .said{display:none;text-anchor:start;font-size:13px}"
    ".gl-threads g:hover .said{display:inline}"
    ".gl-threads g:hover rect{stroke:#111;stroke-width:2}"
)


@dataclass(frozen=True)
class Drawing:
    """An SVG with its alternative text; the last value of a cell shows it."""

    svg: str
    alt: str

    def __repr__(self) -> str:
        return f"[figure: {self.alt}]"

    def _repr_html_(self) -> str:
        return self.svg


def draw(launch: GridLaunch, x: int, y: int) -> tuple[Drawing, str]:
    """Draw a launch with one thread marked; the explorer's whole logic.

    A number beyond the grid means the last thread: a slider may not have been moved yet.
    """
    columns, rows = launch.threads
    chosen = launch.place(min(x, columns - 1), min(y, rows - 1))
    said = f"{launch.counted()} {launch.told(chosen)}"
    wide, high = max(columns, launch.width), max(rows, launch.height)
    cell = min(CELL, WIDE / wide)
    tall = CELL if launch.flat else cell
    size = LEFT + max(wide * cell, 600) + 8, TOP + high * tall + BELOW
    parts = [
        *_labels(launch, cell, tall),
        *(_cell(launch, x, y, cell, tall) for y in range(high) for x in range(wide)),
        *(
            _frame(bx * launch.block[0], by * launch.block[1], *launch.block, cell, tall, "#555", 1)
            for by in range(launch.grid[1])
            for bx in range(launch.grid[0])
        ),
        _frame(0, 0, launch.width, launch.height, cell, tall, "#111", 3),
        _frame(chosen.x, chosen.y, 1, 1, cell, tall, "#c91f16", 4),
    ]
    numbers = "In the cells: threadIdx. " if cell >= ROOM else ""
    svg = (
        f'<svg class="gl-threads" role="img" aria-label="{escape(said)}" '
        f'viewBox="0 0 {size[0]:g} {size[1]:g}" style="max-width:{size[0]:g}px;width:100%;'
        f'background:white" xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>'
        f"{''.join(parts)}"
        f'<text x="8" y="{size[1] - 12:g}">{numbers}Framed: the array. '
        f"×: a thread with no element. ?: an element with no thread. "
        f"Thick red: the chosen thread.</text></svg>"
    )
    return Drawing(svg, said), said


def _cell(launch: GridLaunch, x: int, y: int, cell: float, tall: float) -> str:
    """One thread, or one element that has none; under the pointer it tells its indices."""
    fill, dashes, text = "white", ' stroke-dasharray="4 2"', "×"
    if launch.has_thread(x, y):
        place = launch.place(x, y)
        said = launch.told(place)
        if launch.has_element(x, y):
            fill, dashes = FILLS[sum(place.block) % 2], ""
            text = str(place.thread[0]) if launch.flat else "{},{}".format(*place.thread)
            text = text if cell >= ROOM else ""
    elif launch.has_element(x, y):
        text, said = "?", f"No thread does element {launch.element(x, y)}."
    else:
        return ""  # a corner where there is neither
    left, top = LEFT + x * cell, TOP + y * tall
    under = TOP + max(launch.threads[1], launch.height) * tall + 24
    return (
        f'<g><rect x="{left:g}" y="{top:g}" width="{cell:g}" height="{tall:g}" fill="{fill}" '
        f'stroke="#999"{dashes}/>'
        f'<text x="{left + cell / 2:g}" y="{top + tall / 2 + 4:g}">{text}</text>'
        f'<text class="said" x="8" y="{under:g}">{said}</text></g>'
    )


def _frame(
    x: int, y: int, columns: int, rows: int, cell: float, tall: float, colour: str, width: int
) -> str:
    """A frame round some cells, which the pointer goes through."""
    return (
        f'<rect x="{LEFT + x * cell:g}" y="{TOP + y * tall:g}" width="{columns * cell:g}" '
        f'height="{rows * tall:g}" fill="none" stroke="{colour}" stroke-width="{width}" '
        f'pointer-events="none"/>'
    )


def _labels(launch: GridLaunch, cell: float, tall: float) -> list[str]:
    """The numbers of the blocks along both axes, and of the first thread of each."""
    found = [(8.0, 14.0, "blockIdx.x"), (8.0, 32.0, "i" if launch.flat else "x")]
    for block in range(launch.grid[0]):
        x = block * launch.block[0]
        found += [(LEFT + x * cell + 2, 14, str(block)), (LEFT + x * cell + 2, 32, str(x))]
    if not launch.flat:
        found += [(8, 52, "blockIdx.y"), (86, 52, "y")]
        for block in range(launch.grid[1]):
            y = block * launch.block[1]
            top = TOP + y * tall + 0.5 * tall + 4
            found += [(8, top, str(block)), (86, top, str(y))]
    return [f'<text x="{left:g}" y="{top:g}">{text}</text>' for left, top, text in found]


def thread_explorer(width: int = 20, height: int = 1) -> Explorer:
    """Choose grid and block, go to a thread, and see its indices and its element.

    Args:
        width: columns of the array that the threads are laid over.
        height: its rows; 1 makes it a vector with one-dimensional launches.

    Raises:
        BadInput: a size is not a whole number above zero, or the array is too large to draw.
    """
    require.package("ipywidgets", "threads_lesson.thread_explorer")
    width, height = require.whole("width", width), require.whole("height", height)
    if width > LARGEST[0] or height > LARGEST[1]:
        raise BadInput(
            f"width × height is {width} × {height}: at most {LARGEST[0]} × {LARGEST[1]} can be "
            f"told apart in a drawing."
        )
    sizes = {"x": width} if height == 1 else {"x": width, "y": height}
    chosen, block = {"x": 11, "y": 2}, {"x": 8, "y": 4}

    blocks = {axis: min(blocks_for(sizes[axis], block[axis]), MOST_BLOCKS) for axis in sizes}
    most = 16 if height == 1 else 8
    names = {"x": ""} if height == 1 else {"x": " x", "y": " y"}
    # by kind, so that x and y stand side by side
    controls = {
        f"block_{axis}": slider(f"block{name}", block[axis], 1, most)
        for axis, name in names.items()
    }
    controls |= {
        f"grid_{axis}": slider(f"grid{name}", blocks[axis], 1, MOST_BLOCKS)
        for axis, name in names.items()
    }
    controls |= {
        axis: slider(f"go to{name or ' i'}", chosen[axis], 0, blocks[axis] * block[axis] - 1)
        for axis, name in names.items()
    }

    def stretch(change: object) -> None:
        """Let the sliders that choose a thread reach the last one."""
        for axis in sizes:
            threads = controls[f"grid_{axis}"].value * controls[f"block_{axis}"].value
            controls[axis].max = threads - 1

    for axis in sizes:
        for name in ("block", "grid"):
            controls[f"{name}_{axis}"].observe(stretch, names="value")

    def drawn(**of: int) -> Any:
        grid = of["grid_x"], of.get("grid_y", 1)
        return draw(
            GridLaunch(width, height, grid, (of["block_x"], of.get("block_y", 1))),
            of["x"],
            of.get("y", 0),
        )

    return Explorer(drawn, controls)
