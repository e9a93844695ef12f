"""Memory traffic of a warp's request: sectors of global memory, passes over shared memory.

Addresses come as rows of 32 lanes, (requests, 32), in bytes; a lane that takes no part has
the address AWAY.
"""

from hashlib import blake2b
from typing import Any

import numpy as np

WARP = 32
SECTOR_BITS = 5
SECTOR = 1 << SECTOR_BITS  # bytes
BANKS = 32
BANK_BYTES = 4
AWAY = 1 << 62  # a multiple of every size
Lanes = np.ndarray[Any, Any]

MAX_PATTERNS = 1 << 15
_pattern_counts: dict[tuple[bytes, int, int, bool], tuple[int, int]] = {}


def touched(addresses: Lanes, size: int) -> tuple[Lanes, Lanes]:
    """The distinct sectors of each request: its row, and the number of the sector.

    Rows are byte addresses of words of `size` bytes, a power of two.

    >>> rows = np.array([[0, 4, 0, 36], [64, 64, 64, 64]])
    >>> [part.tolist() for part in touched(rows, 4)]
    [[0, 0, 1], [0, 1, 2]]
    """
    rows = addresses >> SECTOR_BITS
    if (addresses & (size - 1)).any():  # a word may lie in two
        rows = np.concatenate([rows, (addresses + (size - 1)) >> SECTOR_BITS], axis=1)
    width = rows.shape[1]
    sector = rows.ravel()
    falls = sector[1:] < sector[:-1]
    falls[width - 1 :: width] = False  # another row begins
    if falls.any():
        sector = np.sort(rows, axis=1).ravel()
    new = np.ones(sector.shape, bool)
    np.not_equal(sector[1:], sector[:-1], out=new[1:])
    new[::width] = True
    if (sector[width - 1 :: width] == AWAY >> SECTOR_BITS).any():
        new &= sector != AWAY >> SECTOR_BITS
    firsts = np.flatnonzero(new)
    return firsts // width, sector[firsts]


def sectors(addresses: Lanes, size: int) -> Lanes:
    """Sectors per request for rows of byte addresses of words of `size` bytes.

    >>> sectors(4 * np.arange(32)[None, :], 4).tolist()
    [4]
    >>> sectors(4 * np.arange(1, 33)[None, :], 4).tolist()
    [5]
    """
    return np.bincount(touched(addresses, size)[0], minlength=len(addresses))


def _worst_bank(words: Lanes) -> Lanes:
    """The most different words that fall into one bank, for each row of word numbers."""
    here = words != AWAY
    sorted_words = np.sort(np.where(here, (words % BANKS << 40) | words, AWAY), axis=1)
    new = np.ones(sorted_words.shape, bool)
    new[:, 1:] = sorted_words[:, 1:] != sorted_words[:, :-1]
    new &= sorted_words != AWAY
    row, column = np.nonzero(new)
    bank = sorted_words[row, column] >> 40
    counts = np.bincount(row * BANKS + bank, minlength=len(words) * BANKS)
    worst: Lanes = counts.reshape(len(words), BANKS).max(axis=1)
    return worst


def bank_passes(addresses: Lanes, size: int, load: bool = True) -> tuple[Lanes, Lanes]:
    """Wavefronts per request of shared memory, and those that the width alone needs.

    Words of 4 bytes or less go in one pass if all different words lie in different banks.
    A warp's 8-byte words are served as two halves of 16 lanes, 16-byte ones as four
    quarters; halves without an active lane cost nothing. A load in which lanes n and n ^ 1
    agree for every n, or n and n ^ 2 for every n, needs half as many: two parts go in one pass.

    Source: NVIDIA developer forums, the answer in "Unexpected shared memory bank conflict"
    (77228). Nsight Compute's counts on an A10 and an H100 in "Discrepancy in LDS.128
    wavefronts" (373160) agree with it.

    Args:
        addresses: in bytes, (requests, 32).
        size: of a lane's word, in bytes.
        load: whether the request is a load; a store has no pairs.

    >>> rows = 4 * np.arange(32)[None, :]
    >>> [int(bank_passes(rows * stride, 4)[0][0]) for stride in (1, 2, 32, 33)]
    [1, 2, 32, 1]
    >>> [int(bank_passes(8 * (rows // 4 // same), 8)[0][0]) for same in (1, 2, 32)]
    [2, 1, 1]
    """
    if size <= BANK_BYTES:
        words = np.where(addresses == AWAY, AWAY, addresses // BANK_BYTES)
        passes = _worst_bank(words)
        return passes, (passes > 0).astype(np.int64)
    parts = min(size // BANK_BYTES, WARP)
    total, ideal = _passes_in_parts(addresses, size, parts)
    paired = _pairs(addresses) if load else np.zeros(len(addresses), bool)
    if paired.any():
        total[paired], ideal[paired] = _passes_in_parts(addresses[paired], size, parts // 2)
    return total, ideal


def wavefronts(addresses: Lanes, offset: int, size: int, load: bool) -> tuple[int, int]:
    """What `bank_passes` finds for all requests together, with an array's place added.

    The next launch, and the next trial of a check, comes with the same addresses again: equal
    ones are worked out once.

    >>> wavefronts(4 * np.arange(64).reshape(2, 32), 0, 4, True)
    (2, 2)
    """
    raw = addresses.tobytes()
    pattern = raw if len(raw) <= 1 << 12 else blake2b(raw, digest_size=16).digest()
    key = pattern, offset % (BANKS * BANK_BYTES), size, load
    counts = _pattern_counts.get(key)
    if counts is None:
        placed = np.where(addresses == AWAY, AWAY, addresses + offset)
        passes, ideal = bank_passes(placed, size, load)
        if len(_pattern_counts) >= MAX_PATTERNS:
            _pattern_counts.clear()
        counts = _pattern_counts[key] = int(passes.sum()), int(ideal.sum())
    return counts


def _pairs(addresses: Lanes) -> Lanes:
    """Whether a row's active lanes agree two by two, with their neighbors or the next but one."""
    agreeing = np.zeros(len(addresses), bool)
    for distance in (1, 2):
        other = addresses[:, np.arange(WARP) ^ distance]
        agree = (addresses == other) | (addresses == AWAY) | (other == AWAY)
        agreeing |= agree.all(axis=1)
    return agreeing


def _passes_in_parts(addresses: Lanes, size: int, parts: int) -> tuple[Lanes, Lanes]:
    """Passes, and parts with an active lane, if a warp is served in so many parts."""
    split = addresses.reshape(len(addresses) * parts, WARP // parts)
    first = np.where(split == AWAY, AWAY, split // BANK_BYTES)
    words = np.concatenate(
        [np.where(first == AWAY, AWAY, first + k) for k in range(size // BANK_BYTES)], axis=1
    )
    passes = _worst_bank(words).reshape(len(addresses), parts)
    return passes.sum(axis=1), np.count_nonzero(passes, axis=1)
