"""A launch laid over an array: which thread does which element, what falls off the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Launch", "Place"]


class Place(NamedTuple):
    """Where a thread is: its block, its number in the block, its number in the grid."""

    block: tuple[int, int]
    thread: tuple[int, int]
    x: int
    y: int


@dataclass(frozen=True)
class Launch:
    """A grid of blocks over an array of `width` columns and `height` rows; 1 row is a vector.

    >>> launch = Launch(20, 1, grid=(3, 1), block=(8, 1))
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

    def place(self, x: int, y: int) -> Place:
        """The thread whose number in the grid is (x, y)."""
        block_x, thread_x = divmod(x, self.block[0])
        block_y, thread_y = divmod(y, self.block[1])
        return Place((block_x, block_y), (thread_x, thread_y), x, y)

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

    def told(self, place: Place) -> str:
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

    def _sum(self, place: Place, axis: int) -> str:
        """The index sum of one axis with its numbers, as `1 × 8 + 3 = 11`."""
        parts = f"{place.block[axis]} × {self.block[axis]} + {place.thread[axis]}"
        return f"{parts} = {(place.x, place.y)[axis]}"
