"""Kernels that do one access each: the order is data, so that one kernel walks every pattern.

The compiler finds nothing in them to merge, to hoist or to widen: each access of the source is
one instruction of the same width. What Nsight Compute counts for them is a statement about the
memory, and none about the compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn import cuda

__all__ = [
    "SHARED_WORDS",
    "add_at",
    "add_shared",
    "read_at",
    "read_either",
    "read_some",
    "shared_reader",
    "shared_writer",
    "tile_reader",
    "write_at",
]

Array = np.ndarray[Any, Any]
SHARED_WORDS = 1056  # 33 rows of 32: the furthest word of 32 lanes that are 33 apart is 1023
TILE = 32


@cuda.jit
def read_at(source: Array, index: Array, target: Array) -> None:
    """target[i] = source[index[i]], (n,) each; a lane with an index below 0 takes no part.

    >>> a, b = np.arange(5, dtype=np.float32), np.zeros(3, np.float32)
    >>> order = cuda.to_device(np.array([4, -1, 2], np.int32))
    >>> read_at[1, 32](cuda.to_device(a), order, d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([4., 0., 2.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < target.size:
        place = index[i]
        if place >= 0:
            target[i] = source[place]


@cuda.jit
def write_at(source: Array, index: Array, target: Array) -> None:
    """target[index[i]] = source[i], (n,) each; a lane with an index below 0 takes no part.

    >>> a, b = np.arange(3, dtype=np.float32), np.zeros(5, np.float32)
    >>> order = cuda.to_device(np.array([4, -1, 2], np.int32))
    >>> write_at[1, 32](cuda.to_device(a), order, d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([0., 0., 2., 0., 0.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < source.size:
        place = index[i]
        if place >= 0:
            target[place] = source[i]


@cuda.jit
def read_some(first: Array, second: Array, target: Array) -> None:
    """target[i] = first[i], and in odd lanes plus second[i]: a load in a divergent branch.

    >>> a, b = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    >>> read_some[1, 32](cuda.to_device(a), cuda.to_device(a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([0., 2., 2.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < target.size:
        value = first[i]
        if i % 2 == 1:
            value += second[i]
        target[i] = value


@cuda.jit
def read_either(first: Array, second: Array, target: Array) -> None:
    """target[i] = first[i] in even lanes, second[i] in odd ones: a load and a store per side.

    >>> a, b = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    >>> read_either[1, 32](cuda.to_device(a), cuda.to_device(-a), d := cuda.to_device(b))
    >>> d.copy_to_host()
    array([ 0., -1., 2.], dtype=float32)
    """
    i = cuda.grid(1)
    if i < target.size:
        if i % 2 == 0:
            target[i] = first[i]
        else:
            target[i] = second[i]


@cuda.jit
def add_at(index: Array, bins: Array) -> None:
    """bins[index[i]] += 1 by an atomic in global memory, a thread per element of `index` (n,).

    >>> order = cuda.to_device(np.array([1, 1, 0], np.int32))
    >>> add_at[1, 32](order, d := cuda.to_device(np.zeros(2, np.int32)))
    >>> d.copy_to_host()
    array([1, 2], dtype=int32)
    """
    i = cuda.grid(1)
    if i < index.size:
        cuda.atomic.add(bins, index[i], 1)


@cuda.jit
def add_shared(index: Array, bins: Array) -> None:
    """bins[b] = how often b is in `index`, by atomics in shared memory; both have shape (32,).

    Launch: one block of 32 threads.

    >>> order = cuda.to_device(np.full(32, 7, np.int32))
    >>> add_shared[1, 32](order, d := cuda.to_device(np.zeros(32, np.int32)))
    >>> int(d.copy_to_host()[7])
    32
    """
    counts = cuda.shared.array(32, np.int32)
    lane = cuda.threadIdx.x
    counts[lane] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, index[lane], 1)
    cuda.syncthreads()
    bins[lane] = counts[lane]


def shared_reader(dtype: Any) -> Any:
    """A kernel shared_read(index, target): target[t] = index[t] by way of shared memory.

    The block fills `SHARED_WORDS` elements of `dtype` with their own numbers, one after the
    other, and then each thread reads the one at its index. Launch: one block, a thread per
    element of `index` and `target` (threads,).

    >>> order = cuda.to_device(np.arange(0, 64, 2, dtype=np.int32))
    >>> kernel = shared_reader(np.float32)
    >>> kernel[1, 32](order, d := cuda.to_device(np.zeros(32, np.float32)))
    >>> int(d.copy_to_host()[31])
    62
    """

    @cuda.jit
    def shared_read(index: Array, target: Array) -> None:
        words = cuda.shared.array(SHARED_WORDS, dtype)
        thread = cuda.threadIdx.x
        for k in range(thread, SHARED_WORDS, cuda.blockDim.x):
            words[k] = k
        cuda.syncthreads()
        target[thread] = words[index[thread]]

    return shared_read


def shared_writer(dtype: Any) -> Any:
    """A kernel shared_write(index, target): each thread writes its number at its index, once.

    After a barrier target[t] is what the thread reads there again, so the loads meet the same
    banks as the stores. Launch: one block, a thread per element of `index` and `target`
    (threads,); no index may come twice.

    >>> order = cuda.to_device(np.arange(0, 64, 2, dtype=np.int32))
    >>> kernel = shared_writer(np.float32)
    >>> kernel[1, 32](order, d := cuda.to_device(np.zeros(32, np.float32)))
    >>> int(d.copy_to_host()[31])
    31
    """

    @cuda.jit
    def shared_write(index: Array, target: Array) -> None:
        words = cuda.shared.array(SHARED_WORDS, dtype)
        thread = cuda.threadIdx.x
        place = index[thread]
        words[place] = thread
        cuda.syncthreads()
        target[thread] = words[place]

    return shared_write


def tile_reader(width: int, by_column: bool) -> Any:
    """A kernel tile_read(source, target) that copies (32, 32) by way of a tile (32, `width`).

    It reads the tile row by row, or column by column, which transposes. Launch: one block of
    (32, 32) threads.

    >>> a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    >>> kernel = tile_reader(33, by_column=True)
    >>> kernel[1, (32, 32)](cuda.to_device(a), d := cuda.to_device(np.zeros_like(a)))
    >>> bool((d.copy_to_host() == a.T).all())
    True
    """

    @cuda.jit
    def tile_read(source: Array, target: Array) -> None:
        tile = cuda.shared.array((TILE, width), np.float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = source[y, x]
        cuda.syncthreads()
        if by_column:
            target[y, x] = tile[x, y]
        else:
            target[y, x] = tile[y, x]

    return tile_read
