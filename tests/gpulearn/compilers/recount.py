"""The arithmetic of a request, once more in plain Python, lane by lane and byte by byte."""

from __future__ import annotations

from collections import defaultdict

from simt.observers.traffic import AWAY
from tests.simt.ptx.run import Run

MOST = 150  # requests of a launch that are counted again


def sectors(row: list[int], size: int) -> int:
    """Stretches of 32 bytes in which any byte of any lane's word lies."""
    return len({byte // 32 for a in row if a != AWAY for byte in range(a, a + size)})


def passes(row: list[int], size: int, load: bool) -> tuple[int, int]:
    """Wavefronts, and those beyond the ones that the width needs."""
    parts = max(1, size // 4)
    here = [lane for lane in range(32) if row[lane] != AWAY]
    if load and parts > 1:
        for distance in (1, 2):
            if all(row[n] == row[n ^ distance] for n in here if n ^ distance in here):
                parts = max(1, size // 8)
    total = least = 0
    for part in range(parts):
        banks: dict[int, set[int]] = defaultdict(set)
        for n in here:
            if n // (32 // parts) == part:
                for byte in range(row[n], row[n] + size):
                    banks[byte // 4 % 32].add(byte // 4)
        if banks:
            total, least = total + max(len(words) for words in banks.values()), least + 1
    return total, total - least


def recount(ran: Run) -> None:
    """Hold the sectors or wavefronts of a launch's first requests against the definition."""
    taken = 0
    for kind, rows, size, found in ran.requests:
        for row, got in zip(rows.tolist(), found.tolist(), strict=True):
            if taken == MOST:
                return
            taken += 1
            if kind.startswith("global"):
                assert got == [sectors(row, size)]
            else:
                assert got == list(passes(row, size, kind.endswith("load")))
