"""Work that a program has handed to the device, and what the host must not touch meanwhile.

The work of all streams is carried out in the order in which it was handed over, when the program
waits for any of it: what the host sees before it has waited is what was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gpulearn.programs.cuda.memory import Piece

__all__ = ["Queue", "Use"]

NONE, READ = 0, 1  # what the host may do: PROT_NONE, PROT_READ


class Use(NamedTuple):
    """Memory that work under way reads or writes."""

    block: Piece
    writes: bool
    what: str  # the work, in words


@dataclass
class PendingWork:
    """One piece of work."""

    stream: int
    run: Callable[[], None]
    uses: tuple[Use, ...] = ()


class Queue:
    """Work in order."""

    def __init__(self) -> None:
        self._waiting: list[PendingWork] = []
        self._told: set[tuple[int, bool]] = set()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, stream: int, run: Callable[[], None], uses: tuple[Use, ...] = ()) -> None:
        """Hands over work."""
        self._waiting.append(PendingWork(stream, run, uses))

    def wait(self) -> None:
        """Carries out all of it.

        Raises:
            Failed: a kernel cannot go on; what comes after it is dropped.
        """
        waiting, self._waiting = self._waiting, []
        self._told.clear()
        for work in waiting:
            work.run()

    def use(self, address: int) -> Use | None:
        """The last work under way that uses the memory at an address; one that writes first."""
        found = [
            use
            for work in self._waiting
            for use in work.uses
            if use.block.address <= address < use.block.address + max(use.block.size, 1)
        ]
        return max(found, key=lambda use: use.writes, default=None)

    def held(self) -> list[tuple[int, int, int]]:
        """What the host may touch no longer since this was asked last: address, size, access."""
        new = []
        for work in self._waiting:
            for use in work.uses:
                key = (use.block.address, use.writes)
                stronger = (use.block.address, True)
                if use.block.shared and use.block.size and not {key, stronger} & self._told:
                    self._told.add(key)
                    new.append((use.block.address, use.block.size, NONE if use.writes else READ))
        return new
