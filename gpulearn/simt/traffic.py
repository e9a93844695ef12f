"""What a request of a warp costs: sectors of global memory, passes over shared memory.

Addresses come as rows of 32 lanes, (requests, 32), in bytes; a lane that takes no part has
the address AWAY.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["AWAY", "SECTOR", "WARP", "bank_passes", "distinct", "sectors"]

WARP = 32
SECTOR = 32  # bytes
BANKS = 32
BANK_BYTES = 4
AWAY = np.iinfo(np.int64).max
Lanes = np.ndarray[Any, Any]


def distinct(rows: Lanes) -> Lanes:
    """How many different numbers each row holds; the largest int64 is not counted.

    >>> distinct(np.array([[3, 1, 3, 1], [5, 5, 5, 5]])).tolist()
    [2, 1]
    """
    ordered = rows if (rows[:, 1:] >= rows[:, :-1]).all() else np.sort(rows, axis=1)
    steps = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] != AWAY)
    found: Lanes = np.count_nonzero(steps, axis=1) + (ordered[:, 0] != AWAY)
    return found


def sectors(addresses: Lanes, size: int) -> Lanes:
    """Sectors per request for rows of byte addresses of words of `size` bytes.

    >>> sectors(4 * np.arange(32)[None, :], 4).tolist()
    [4]
    >>> sectors(4 * np.arange(1, 33)[None, :], 4).tolist()
    [5]
    """
    first = np.where(addresses == AWAY, AWAY, addresses // SECTOR)
    last = np.where(addresses == AWAY, AWAY, (addresses + (size - 1)) // SECTOR)
    if size == 1 or (first == last).all():
        return distinct(first)
    return distinct(np.concatenate([first, last], axis=1))


def _worst_bank(words: Lanes) -> Lanes:
    """The most different words that fall into one bank, for each row of word numbers."""
    here = words != AWAY
    ordered = np.sort(np.where(here, (words % BANKS << 40) | words, AWAY), axis=1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered != AWAY
    row, column = np.nonzero(new)
    bank = ordered[row, column] >> 40
    counts = np.bincount(row * BANKS + bank, minlength=len(words) * BANKS)
    worst: Lanes = counts.reshape(len(words), BANKS).max(axis=1)
    return worst


def bank_passes(addresses: Lanes, size: int) -> tuple[Lanes, Lanes]:
    """Wavefronts per request of shared memory, and those that the width alone needs.

    Words of 4 bytes or less go in one pass if all different words lie in different banks.
    A warp's 8-byte words are served as two halves of 16 lanes, 16-byte ones as four
    quarters; halves without an active lane cost nothing.

    >>> rows = 4 * np.arange(32)[None, :]
    >>> [int(bank_passes(rows * stride, 4)[0][0]) for stride in (1, 2, 32, 33)]
    [1, 2, 32, 1]
    """
    if size <= BANK_BYTES:
        words = np.where(addresses == AWAY, AWAY, addresses // BANK_BYTES)
        passes = _worst_bank(words)
        return passes, (passes > 0).astype(np.int64)
    per_lane = size // BANK_BYTES
    groups = min(per_lane, WARP)
    parts = addresses.reshape(len(addresses) * groups, WARP // groups)
    first = np.where(parts == AWAY, AWAY, parts // BANK_BYTES)
    words = np.concatenate(
        [np.where(first == AWAY, AWAY, first + k) for k in range(per_lane)], axis=1
    )
    passes = _worst_bank(words).reshape(len(addresses), groups)
    total: Lanes = passes.sum(axis=1)
    ideal: Lanes = np.count_nonzero(passes, axis=1)
    return total, ideal
