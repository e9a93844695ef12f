"""A grid of threads laid over a vector or a picture, as text and as an interactive figure."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from gpulearn import require
from gpulearn.display import Drawing
from gpulearn.errors import BadInput
from gpulearn.kernels.indexing import blocks_for
from gpulearn.plot.controls import Explorer, slider

# in pixels: the space round the grid for its labels, a cell, and the most that cells take
LEFT, TOP, BELOW = 112, 60, 58
CELL, WIDE = 28, 900
ROOM = 18  # a narrower cell has no room for its label
FILLS = ("#cfe0f5", "#f6ddb5")  # neighboring blocks differ
MAX_SIZE = (40, 24)
MAX_BLOCKS = 5

STYLE = (
    ".gl-threads text{font-family:sans-serif;font-size:12px;fill:#111}"
    ".gl-threads g text{text-anchor:middle;font-size:12px}"
    ".gl-threads g .said{display:none;text-anchor:start;font-size:13px}"
    ".gl-threads g:hover .said{display:inline}"
    ".gl-threads g:hover rect{stroke:#111;stroke-width:2}"
)


@dataclass(frozen=True)
class GridLaunch:
    """A grid of blocks over an array of `width` columns and `height` rows; 1 row is a vector.

    >>> launch = GridLaunch(20, 1, grid=(3, 1), block=(8, 1))
    >>> launch.summary()
    'Grid 3, block 8: 24 threads for 20 elements; 4 threads fall off the end.'
    >>> launch.of_thread(11, 0)
    'Thread 3 of block 1: i = 1 × 8 + 3 = 11, so it handles element [11].'
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

    def place(self, x: int, y: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """BlockIdx and threadIdx of the thread whose number in the grid is (x, y)."""
        (bx, tx), (by, ty) = divmod(x, self.block[0]), divmod(y, self.block[1])
        return (bx, by), (tx, ty)

    def has_thread(self, x: int, y: int) -> bool:
        """Whether a thread has the number (x, y)."""
        return x < self.threads[0] and y < self.threads[1]

    def has_element(self, x: int, y: int) -> bool:
        """Whether an element stands at column x, row y."""
        return x < self.width and y < self.height

    def element(self, x: int, y: int) -> str:
        """An index as Python writes it: the row comes first."""
        return f"[{x}]" if self.flat else f"[{y}, {x}]"

    def summary(self) -> str:
        """The launch in one sentence: how many threads, how many too many or too few."""
        (x, y), size = self.threads, self.width * self.height
        if self.flat:
            shape = f"Grid {self.grid[0]}, block {self.block[0]}: {x} threads for {self.width}"
        else:
            shape = (
                f"Grid {self.grid}, block {self.block}: {x} × {y} = {x * y} threads "
                f"for {self.width} × {self.height} = {size}"
            )
        met = min(x, self.width) * min(y, self.height)
        ends = []
        if count := x * y - met:
            ends.append(f"{count} thread{'s fall' if count != 1 else ' falls'} off the end")
        if count := size - met:
            ends.append(f"{count} element{'s have' if count != 1 else ' has'} no thread")
        elements = "element" if size == 1 else "elements"
        return f"{shape} {elements}; {' and '.join(ends) or 'each element has its thread'}."

    def of_thread(self, x: int, y: int) -> str:
        """What a thread's indices are and which element it does, in one sentence."""
        block, thread = self.place(x, y)
        sums = [
            f"{block[axis]} × {self.block[axis]} + {thread[axis]} = {number}"
            for axis, number in enumerate((x, y))
        ]
        if self.flat:
            start = f"Thread {thread[0]} of block {block[0]}: i = {sums[0]}"
        else:
            start = f"Thread {thread} of block {block}: x = {sums[0]}, y = {sums[1]}"
        if self.has_element(x, y):
            return f"{start}, so it handles element {self.element(x, y)}."
        return f"{start}, and there is no element {self.element(x, y)}."


def draw(launch: GridLaunch, x: int, y: int) -> tuple[Drawing, str]:
    """Draw a launch with one thread marked; the explorer's whole logic.

    A number beyond the grid means the last thread: a slider may not have been moved yet.
    """
    columns, rows = launch.threads
    at = min(x, columns - 1), min(y, rows - 1)
    alt = f"{launch.summary()} {launch.of_thread(*at)}"
    wide, high = max(columns, launch.width), max(rows, launch.height)
    cell = min(CELL, WIDE / wide)
    tall = CELL if launch.flat else cell
    size = LEFT + max(wide * cell, 600) + 8, TOP + high * tall + BELOW

    def frame(x: int, y: int, columns: int, rows: int, color: str, width: int) -> str:
        """A frame round some cells, which the pointer goes through."""
        return (
            f'<rect x="{LEFT + x * cell:g}" y="{TOP + y * tall:g}" width="{columns * cell:g}" '
            f'height="{rows * tall:g}" fill="none" stroke="{color}" stroke-width="{width}" '
            f'pointer-events="none"/>'
        )

    parts = [
        *_labels(launch, cell, tall),
        *(_cell(launch, x, y, cell, tall) for y in range(high) for x in range(wide)),
        *(
            frame(bx * launch.block[0], by * launch.block[1], *launch.block, "#555", 1)
            for by in range(launch.grid[1])
            for bx in range(launch.grid[0])
        ),
        frame(0, 0, launch.width, launch.height, "#111", 3),
        frame(*at, 1, 1, "#c91f16", 4),
    ]
    numbers = "In the cells: threadIdx. " if cell >= ROOM else ""
    svg = (
        f'<svg class="gl-threads" role="img" aria-label="{escape(alt)}" '
        f'viewBox="0 0 {size[0]:g} {size[1]:g}" style="max-width:{size[0]:g}px;width:100%;'
        f'background:white" xmlns="http://www.w3.org/2000/svg"><style>{STYLE}</style>'
        f"{''.join(parts)}"
        f'<text x="8" y="{size[1] - 12:g}">{numbers}Framed: the array. '
        f"×: a thread with no element. ?: an element with no thread. "
        f"Thick red: the chosen thread.</text></svg>"
    )
    return Drawing(svg, alt), alt


def _cell(launch: GridLaunch, x: int, y: int, cell: float, tall: float) -> str:
    """One thread, or one element that has none; under the pointer it tells its indices."""
    fill, dashes, text = "white", ' stroke-dasharray="4 2"', "×"
    if launch.has_thread(x, y):
        block, thread = launch.place(x, y)
        sentence = launch.of_thread(x, y)
        if launch.has_element(x, y):
            fill, dashes = FILLS[sum(block) % 2], ""
            text = str(thread[0]) if launch.flat else "{},{}".format(*thread)
            text = text if cell >= ROOM else ""
    elif launch.has_element(x, y):
        text, sentence = "?", f"No thread handles element {launch.element(x, y)}."
    else:
        return ""  # a corner where there is neither
    left, top = LEFT + x * cell, TOP + y * tall
    under = TOP + max(launch.threads[1], launch.height) * tall + 24
    return (
        f'<g><rect x="{left:g}" y="{top:g}" width="{cell:g}" height="{tall:g}" fill="{fill}" '
        f'stroke="#999"{dashes}/>'
        f'<text x="{left + cell / 2:g}" y="{top + tall / 2 + 4:g}">{text}</text>'
        f'<text class="said" x="8" y="{under:g}">{sentence}</text></g>'
    )


def _labels(launch: GridLaunch, cell: float, tall: float) -> list[str]:
    """The numbers of the blocks along both axes, and of the first thread of each."""
    labels = [(8.0, 14.0, "blockIdx.x"), (8.0, 32.0, "i" if launch.flat else "x")]
    for block in range(launch.grid[0]):
        x = block * launch.block[0]
        left = LEFT + x * cell + 2
        labels += [(left, 14, str(block)), (left, 32, str(x))]
    if not launch.flat:
        labels += [(8, 52, "blockIdx.y"), (86, 52, "y")]
        for block in range(launch.grid[1]):
            y = block * launch.block[1]
            top = TOP + y * tall + 0.5 * tall + 4
            labels += [(8, top, str(block)), (86, top, str(y))]
    return [f'<text x="{left:g}" y="{top:g}">{text}</text>' for left, top, text in labels]


def thread_explorer(width: int = 20, height: int = 1) -> Explorer:
    """Choose grid and block, go to a thread, and see its indices and its element.

    The threads are laid over an array of `width` columns and `height` rows; 1 row makes it a vector
    with one-dimensional launches.
    """
    width, height = require.whole("width", width), require.whole("height", height)
    if width > MAX_SIZE[0] or height > MAX_SIZE[1]:
        raise BadInput(
            f"width × height is {width} × {height}: at most {MAX_SIZE[0]} × {MAX_SIZE[1]} can be "
            f"told apart in a drawing."
        )
    names = {"x": ""} if height == 1 else {"x": " x", "y": " y"}
    block, first = {"x": 8, "y": 4}, {"x": 11, "y": 2}  # threads of a block; the one shown first
    grid = {"x": min(blocks_for(width, 8), MAX_BLOCKS), "y": min(blocks_for(height, 4), MAX_BLOCKS)}
    # by kind, so that x and y stand side by side
    most = 16 if height == 1 else 8
    controls = {f"block_{a}": slider(f"block{n}", block[a], 1, most) for a, n in names.items()}
    controls |= {f"grid_{a}": slider(f"grid{n}", grid[a], 1, MAX_BLOCKS) for a, n in names.items()}
    for a, name in names.items():
        controls[a] = slider(f"go to{name or ' i'}", first[a], 0, grid[a] * block[a] - 1)

    def stretch(change: object) -> None:
        """Let the sliders that choose a thread reach the last one."""
        for axis in names:
            threads = controls[f"grid_{axis}"].value * controls[f"block_{axis}"].value
            controls[axis].max = threads - 1

    for name, control in controls.items():
        if name not in names:
            control.observe(stretch, names="value")

    def draw_values(
        x: int, grid_x: int, block_x: int, y: int = 0, grid_y: int = 1, block_y: int = 1
    ) -> tuple[Drawing, str]:
        return draw(GridLaunch(width, height, (grid_x, grid_y), (block_x, block_y)), x, y)

    return Explorer(draw_values, controls)
