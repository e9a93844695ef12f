"""Pages of managed and pinned memory that the host must not touch: work under way uses them.

The program's process loses access to them until it has waited; where it goes there before, the
fault tells which line does. A page may hold bytes of several uses, so that a fault need not be a
mistake: `use` tells.
"""

import mmap
from typing import Any, NamedTuple

import numpy as np

from simt.host.settings import checking
from simt.host.work.order import Task
from simt.programs.cuda.memory import Piece

NONE, READ, BOTH = 0, 1, 3  # what the host may do: PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE
PAGE = mmap.PAGESIZE
Pages = np.ndarray[Any, Any]


class Use(NamedTuple):
    """Bytes of a piece of memory that work under way reads or writes."""

    piece: Piece
    start: int
    stop: int
    writes: bool
    what: str  # the work, in words
    atomic: bool = False
    sure: bool = True  # not only by a pointer that may lie in memory


class _Work:
    """An operation with the shared memory that it uses."""

    def __init__(self, task: Task, uses: list[Use]) -> None:
        self.task, self.uses = task, uses
        self.passed = False  # the host has waited for other work since
        self._exact: list[Use] | None = None

    def now(self) -> list[Use]:
        """What it uses: of a kernel that has been carried out, what it has touched."""
        if not self.task.done or self.task.operation.kind != "kernel":
            return self.uses
        if self._exact is None:
            pieces = {id(u.piece.allocation): u for u in self.uses}
            self._exact = [] if self.task.accesses else [u for u in self.uses if u.sure]
            for access in self.task.accesses:
                use = pieces.get(id(access.memory))
                if use is not None:
                    ranges = access.ranges - use.piece.allocation.device_pointer
                    writes, atomic = access.verb == "writes", access.kind == "atomic"
                    self._exact += [
                        use._replace(start=low, stop=high, writes=writes, atomic=atomic)
                        for low, high in ranges.tolist()
                    ]
        return self._exact


class ProtectedPages:
    """What the host may do with the memory that it shares with the device.

    `viewer` is an operation in whose place the host acts, as a function on a stream does.
    """

    def __init__(self) -> None:
        self.viewer: Task | None = None
        self._works: list[_Work] = []
        self._access: dict[Piece, Pages] = {}  # what the program was told last
        self._released: dict[Piece, Pages] = {}  # pages that it has got back after a fault

    def add(self, task: Task, uses: list[Use]) -> None:
        """Work that was handed over."""
        shared = [u for u in uses if u.piece.shared and u.stop > u.start]
        if shared:
            self._works.append(_Work(task, shared))

    def _pending(self) -> list[_Work]:
        viewer = self.viewer
        return [w for w in self._works if viewer is None or not w.task.before(viewer)]

    def use(
        self, piece: Piece, address: int, *, writes: bool, atomic: bool
    ) -> tuple[Use, Task | None] | None:
        """The pending work that an access of the host at an address conflicts with.

        With it comes a kernel of which only its run can tell whether it touches the address, if
        that is not `sure` or the host may know that it does not: it has waited for other work
        since. Or whether that is `atomic`, as the host's access is.
        """
        at = address - piece.address
        conflicts: list[tuple[Use, Task | None]] = []
        for work in self._pending():
            task = work.task
            kernel = task.operation.kind == "kernel" and not task.done
            for use in work.now():
                unclear = kernel and (work.passed or atomic or not use.sure)
                inside = use.piece is piece and use.start <= at < use.stop
                allowed = atomic and (use.atomic or not checking())  # unchecked, nobody knows
                if inside and (use.writes or writes) and not allowed:
                    conflicts.append((use, task if unclear else None))
        return max(conflicts, key=lambda c: (c[1] is None, c[0].writes), default=None)

    def holds(self, piece: Piece, address: int) -> bool:
        """Whether the program's access at an address is restricted."""
        pages = self._access.get(piece)
        page = (address - piece.address) // PAGE
        return pages is not None and page < len(pages) and pages[page] != BOTH

    def give(self, piece: Piece, address: int | None = None) -> None:
        """Lets the host touch the page of an address again, or a whole piece."""
        pages = self._released.setdefault(piece, np.zeros(_count(piece), bool))
        first = 0 if address is None else (address - piece.address) // PAGE
        pages[first : None if address is None else first + 1] = True

    def changes(self) -> list[tuple[int, int, int]]:
        """What the host may do from now on: address, size, access."""
        unfinished = [w for w in self._works if not w.task.seen]
        if len(unfinished) < len(self._works):
            self._works = unfinished
            self._released.clear()
            for work in unfinished:
                work.passed = True
        if not unfinished and not self._access:
            return []
        access: dict[Piece, Pages] = {}
        for work in self._pending():
            for use in work.now():
                if use.piece.freed:
                    continue
                pages = access.get(use.piece)
                if pages is None:
                    pages = access[use.piece] = np.full(_count(use.piece), BOTH, np.uint8)
                part = pages[use.start // PAGE : -(-use.stop // PAGE)]
                np.minimum(part, NONE if use.writes else READ, out=part)
        updates = []
        for piece in {**self._access, **access}:
            free = np.full(_count(piece), BOTH, np.uint8)
            now, before = access.get(piece, free), self._access.get(piece, free)
            if piece in self._released:
                now[self._released[piece]] = BOTH
            edges = np.flatnonzero(np.diff(now, prepend=~now[:1], append=~now[-1:]))
            for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                if not piece.freed and (now[first:last] != before[first:last]).any():
                    size = (last - first) * PAGE
                    updates.append((piece.address + first * PAGE, size, int(now[first])))
        self._access = {piece: pages for piece, pages in access.items() if (pages != BOTH).any()}
        return updates


def _count(piece: Piece) -> int:
    return -(-max(piece.size, 1) // PAGE)
