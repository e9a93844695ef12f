"""Access patterns, one at a time: what a request costs by where its lanes point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from tools.gpu.case import SIZES, Case, Shot
from tools.gpu.cases import pattern_kernels as patterns

__all__ = ["CASES"]

Array = np.ndarray[Any, Any]
ELEMENTS = {"small": 1024, "large": 2**20}
BLOCK = 128
SMALL = SIZES[:1]  # shared memory has one size
WARP = 32
LANES = np.arange(WARP)


def ordered(order: str, n: int) -> Array:
    """Where each of n threads points, (n,): no place twice, except all lanes on one word."""
    i = np.arange(n)
    lane, warp = i % WARP, i // WARP
    if order == "reversed":
        return i[::-1].copy()
    if order == "random":
        return np.random.default_rng(n).permutation(n)
    if order == "all on one word":
        return np.full(n, 7)
    if order == "half the lanes":
        return np.where(lane % 2 == 0, i, -1)
    if order == "one lane":
        return np.where(lane == 5, i, -1)
    if order == "two rows":  # 16 lanes in one row, 16 in the one half the array away
        return warp * 16 + lane % 16 + (lane // 16) * (n // 2)
    how, number = order.rsplit(" ", 1)
    return i + int(number) if how == "offset" else i * int(number)


def values(count: int, dtype: Any, seed: int) -> Array:
    """Random elements: whole numbers that fit into a byte, whatever the type."""
    return np.random.default_rng(seed).integers(-99, 100, count).astype(dtype)


def reading(order: str, dtype: Any, count: int, size: str) -> Shot:
    """Loads in that order by `count` threads of each 1024; stores side by side."""
    n = ELEMENTS[size] - 1024 + count
    index = ordered(order, n).astype(np.int32)
    source = values(int(index.max()) + 1, dtype, n)
    return Shot(-(-n // BLOCK), BLOCK, (source, index, np.zeros(n, dtype)))


def writing(order: str, dtype: Any, count: int, size: str) -> Shot:
    """Stores in that order; loads side by side."""
    n = ELEMENTS[size] - 1024 + count
    index = ordered(order, n).astype(np.int32)
    target = np.zeros(int(index.max()) + 1, dtype)
    return Shot(-(-n // BLOCK), BLOCK, (values(n, dtype, n), index, target))


def expect_reading(source: Array, index: Array, target: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {2: np.where(index >= 0, source[index], target)}


def expect_writing(source: Array, index: Array, target: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    target[index[index >= 0]] = source[index >= 0]
    return {2: target}


def two_sources(size: str) -> Shot:
    """Two arrays to choose from."""
    n = ELEMENTS[size]
    both = values(n, np.float32, 1), values(n, np.float32, 2)
    return Shot(n // BLOCK, BLOCK, (*both, np.zeros(n, np.float32)))


def expect_some(first: Array, second: Array, target: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {2: np.where(np.arange(first.size) % 2 == 1, first + second, first)}


def expect_either(first: Array, second: Array, target: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {2: np.where(np.arange(first.size) % 2 == 1, second, first)}


def in_shared(index: Array, dtype: Any, size: str) -> Shot:
    """One block; the size is that of shared memory, whatever is asked for."""
    return Shot(1, index.size, (index.astype(np.int32), np.zeros(index.size, dtype)))


def expect_shared_reading(index: Array, target: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {1: index.astype(target.dtype)}


def expect_shared_writing(index: Array, target: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {1: np.arange(index.size).astype(target.dtype)}


def conflicting(ways: int) -> Array:
    """`ways` lanes in bank 0, each in a row of its own; the others each in their own bank."""
    return np.where(ways > LANES, LANES * WARP, LANES)


def tile(size: str) -> Shot:
    """A picture of one tile."""
    source = values(WARP * WARP, np.float32, 3).reshape(WARP, WARP)
    return Shot(1, (WARP, WARP), (source, np.zeros_like(source)))


def expect_tile(by_column: bool, source: Array, target: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {1: source.T if by_column else source}


def adding(bins: int, size: str) -> Shot:
    """Threads that share `bins` counters."""
    n = ELEMENTS[size]
    index = np.random.default_rng(bins).integers(0, bins, n).astype(np.int32) + 1
    return Shot(n // BLOCK, BLOCK, (index, np.zeros(bins + 1, np.int32)))


def adding_shared(bins: int, size: str) -> Shot:
    """One warp that shares `bins` of 32 counters."""
    index = LANES % bins + WARP - bins
    return Shot(1, WARP, (index.astype(np.int32), np.zeros(WARP, np.int32)))


def expect_adding(index: Array, bins: Array) -> Mapping[int, Array]:
    """The specification in NumPy."""
    return {1: bins + np.bincount(index, minlength=bins.size)}


def pattern(kernel: Any, what: str, shot: Any, expect: Any, sizes: tuple[str, ...] = SIZES) -> Case:
    """A case of no notebook; every result is exact."""
    return Case(f"{kernel.__name__}, {what}", "", kernel, shot, expect, sizes=sizes)


FLOAT32, FLOAT64 = np.float32, np.float64
APART = tuple(f"strided by {k}" for k in (2, 3, 8, 32))
SHIFTED = ("offset 0", "offset 1", "offset 7")
PARTLY = ("half the lanes", "one lane")
MIXED = ("reversed", "random", "two rows")
WIDTHS = (np.int8, np.int16, FLOAT64)

READS = [
    *((order, FLOAT32, 1024) for order in (*SHIFTED, *APART, *MIXED, *PARTLY, "all on one word")),
    *((order, dtype, 1024) for dtype in WIDTHS for order in ("offset 1", "strided by 3")),
    *((order, FLOAT64, 1024) for order in ("random", "all on one word")),
    ("offset 0", FLOAT32, 1013),
    ("random", FLOAT64, 1001),
]
WRITES = [
    *((order, FLOAT32, 1024) for order in (*SHIFTED, *APART, *MIXED, *PARTLY)),
    *((order, dtype, 1024) for dtype in WIDTHS for order in ("offset 1", "strided by 3")),
    ("offset 0", FLOAT32, 1013),
]
STRIDES = (1, 2, 3, 32, 33)
WAYS = (2, 3, 4, 8, 16, 31, 32)
SHUFFLED = np.random.default_rng(5).permutation(1024)


def several(count: int, what: str) -> str:
    """A number with its noun, such as "1 byte" and "8 bytes"."""
    return f"{count} {what}{'s' * (count > 1)}"


def shared_orders(strides: tuple[int, ...]) -> list[tuple[str, Array]]:
    """What the lanes of shared memory's kernels point at, with a name for each."""
    return [
        *((f"strided by {k}", LANES * k) for k in strides),
        *((f"{k} lanes in one bank", conflicting(k)) for k in WAYS),
        ("random, 8 warps", SHUFFLED[: 8 * WARP]),
        ("half a warp", LANES[:16] * 2),
    ]


def shared_cases(kernel: Any, dtype: Any, orders: list[tuple[str, Array]], expect: Any) -> Any:
    """A case for each order."""
    width = several(np.dtype(dtype).itemsize, "byte")
    for what, index in orders:
        yield pattern(kernel, f"{what}, {width}", partial(in_shared, index, dtype), expect, SMALL)


def global_cases(kernel: Any, shot: Any, orders: list[Any], expect: Any) -> Any:
    """A case for each order, width and number of threads."""
    for order, dtype, count in orders:
        what = f"{order}, {several(np.dtype(dtype).itemsize, 'byte')}"
        few = f", {count} threads" * (count < 1024)
        yield pattern(kernel, what + few, partial(shot, order, dtype, count), expect)


ONE_WORD = [("all on one word", LANES * 0 + 7), ("pairs on one word", LANES // 2)]
SHARED_READ, SHARED_WRITE = patterns.shared_reader, patterns.shared_writer
TILES = {"rows": (32, False), "columns": (32, True), "columns, padded": (33, True)}

CASES = (
    *global_cases(patterns.read_at, reading, READS, expect_reading),
    *global_cases(patterns.write_at, writing, WRITES, expect_writing),
    pattern(patterns.read_some, "odd lanes", two_sources, expect_some),
    pattern(patterns.read_either, "even and odd lanes", two_sources, expect_either),
    *shared_cases(
        SHARED_READ(FLOAT32), FLOAT32, shared_orders(STRIDES) + ONE_WORD, expect_shared_reading
    ),
    *shared_cases(
        SHARED_READ(FLOAT64),
        FLOAT64,
        [*shared_orders((1, 2, 3, 16, 17))[:5], *ONE_WORD, ("random, 8 warps", SHUFFLED[:256])],
        expect_shared_reading,
    ),
    *shared_cases(
        SHARED_WRITE(FLOAT32), FLOAT32, shared_orders(STRIDES), expect_shared_writing
    ),
    *shared_cases(
        SHARED_WRITE(FLOAT64),
        FLOAT64,
        shared_orders((1, 2, 3, 16, 17))[:5],
        expect_shared_writing,
    ),
    *(
        pattern(patterns.tile_reader(*how), what, tile, partial(expect_tile, how[1]), SMALL)
        for what, how in TILES.items()
    ),
    *(
        pattern(patterns.add_at, several(bins, "counter"), partial(adding, bins), expect_adding)
        for bins in (1, 1024)
    ),
    *(
        pattern(patterns.add_shared, several(k, "counter"), shot, expect_adding, SMALL)
        for k, shot in ((k, partial(adding_shared, k)) for k in (1, 2, 32))
    ),
)  # fmt: skip
