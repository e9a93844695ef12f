"""The footprint of a launch: the sectors of global memory that it touches, each counted once.

In the whole launch: what a cache that holds everything would move. By loads in each block, summed
over blocks: what a cache of each block's own, such as L1, would fetch; a store passes it by. Both
for a line, for an array, and for all.
"""

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from simt.core.memory import Allocation
from simt.observers.traffic import SECTOR

Lanes = np.ndarray[Any, Any]
Owner = int | str | None  # a line's place, an array's name, or
WHOLE_LAUNCH = None
_Access = tuple[int, str, Allocation]  # place, name
MAX_PENDING = 1 << 20  # sectors not yet sorted
BITMAP_FACTOR = 4  # a bitmap may have so many bits for each number


class _SectorSet:
    """The sectors of an allocation that a chunk has touched: (block, sector) as one number."""

    def __init__(self) -> None:
        self.numbers = np.zeros(0, np.int64)  # distinct
        self.waiting: list[Lanes] = []
        self.count = 0  # of those that wait

    def add(self, numbers: Lanes) -> None:
        self.waiting.append(numbers)
        self.count += len(numbers)
        if self.count > max(MAX_PENDING, len(self.numbers)):
            self.all()

    def all(self) -> Lanes:
        """The distinct numbers."""
        if self.waiting:
            self.numbers = _distinct([self.numbers, *self.waiting])
            self.waiting, self.count = [], 0
        return self.numbers


class Footprint:
    """The sectors that a launch touches, while it runs chunk by chunk."""

    def __init__(self) -> None:
        self.in_blocks: Counter[Owner] = Counter()  # loaded, of the chunks that have ended
        self._chunk: defaultdict[tuple[bool, _Access], _SectorSet] = defaultdict(_SectorSet)
        self._seen: dict[_Access, Lanes] = {}  # a bool for each sector

    def touch(self, access: _Access, loads: bool, blocks: Lanes, sectors: Lanes) -> None:
        """A line's access to an array: sectors, and the block in its chunk that touches each."""
        numbers = (blocks << _bits_of(access[2])) + sectors
        self._chunk[loads, access].add(numbers.ravel())

    def end_chunk(self) -> None:
        """Ends the chunk: adds its sectors to the totals."""
        parts: defaultdict[tuple[Owner, Allocation], list[Lanes]] = defaultdict(list)
        for (loads, access), sectors in self._chunk.items():
            place, name, allocation = access
            numbers = sectors.all()
            for owner in (place, name, WHOLE_LAUNCH) if loads else ():
                parts[owner, allocation].append(numbers)
            size = 1 << _bits_of(allocation)
            seen = self._seen.get(access)
            if seen is None:
                seen = self._seen[access] = np.zeros(size, bool)
            seen[numbers & (size - 1)] = True
        self._chunk.clear()
        for (owner, _), several in parts.items():
            self.in_blocks[owner] += len(several[0] if len(several) == 1 else _distinct(several))

    def distinct(self) -> Counter[Owner]:
        """The sectors of all blocks that have ended, by owner."""
        parts: dict[tuple[Owner, Allocation], Lanes] = {}
        for (place, name, allocation), seen in self._seen.items():
            for owner in (place, name, WHOLE_LAUNCH):
                key = owner, allocation
                parts[key] = parts[key] | seen if key in parts else seen
        counts: Counter[Owner] = Counter()
        for (owner, _), seen in parts.items():
            counts[owner] += int(np.count_nonzero(seen))
        return counts


def _distinct(parts: list[Lanes]) -> Lanes:
    # many times as fast as np.unique
    numbers: Lanes = np.concatenate(parts)
    limit = int(numbers.max(initial=-1)) + 1
    if limit < BITMAP_FACTOR * len(numbers):
        bitmap = np.zeros(limit, bool)
        bitmap[numbers] = True
        return np.flatnonzero(bitmap)
    if (numbers[1:] < numbers[:-1]).any():
        numbers.sort()
    new: Lanes = np.diff(numbers, prepend=-1) != 0
    result: Lanes = numbers[new]
    return result


def _bits_of(allocation: Allocation) -> int:
    """How many bits the number of a sector needs."""
    return (-(-len(allocation.data) // SECTOR)).bit_length()
