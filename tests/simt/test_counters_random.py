"""Counters of random accesses against the definition, lane by lane."""

from collections import defaultdict

import numpy as np
import pytest

from simt import cuda
from simt.machine import execution
from simt.observers import footprint

from . import sources
from .harness import line, xray

GLOBAL = """
def kernel(a, index, active, out):
    i = cuda.grid(1)
    if active[i]:
        value = a[index[i]]  # load
        out[index[i]] = value  # store
"""
SHARED = """
def kernel(index, active, out):
    s = cuda.shared.array(1024, numba.{kind})
    t = cuda.threadIdx.x
    for k in range(t, 1024, cuda.blockDim.x):
        s[k] = 1
    cuda.syncthreads()
    if active[t]:
        value = s[index[t]]  # load
        out[t] = value
    cuda.syncthreads()
    if active[t]:
        s[index[t]] = 3  # store
"""


def warps(threads: int, block: int) -> list[np.ndarray]:
    return [
        np.arange(start + w, min(start + w + 32, start + block))
        for start in range(0, threads, block)
        for w in range(0, block, 32)
    ]


def sectors(index: np.ndarray, size: int) -> int:
    """32-byte sectors that hold any byte of any lane's word."""
    return len({byte // 32 for k in index for byte in range(k * size, k * size + size)})


def wavefronts(
    index: np.ndarray, lanes: np.ndarray, size: int, load: bool = True
) -> tuple[int, int]:
    """Passes and conflicts: words of 8 bytes go by half warps, of 16 by quarters.

    A load in which lanes agree by pairs, n with n ^ 1 or n with n ^ 2, needs half as many parts.
    """
    groups = max(1, size // 4)
    word = dict(zip(lanes.tolist(), index.tolist(), strict=True))
    if load and groups > 1:
        paired = any(all(word[n] == word.get(n ^ step, word[n]) for n in word) for step in (1, 2))
        groups //= 1 + paired
    passes = least = 0
    for g in range(groups):
        banks: dict[int, set[int]] = defaultdict(set)
        for k in index[lanes // (32 // groups) == g]:
            for byte in range(k * size, k * size + size):
                banks[byte // 4 % 32].add(byte // 4)
        if banks:
            least += 1
            passes += max(len(words) for words in banks.values())
    return passes, passes - least


@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("seed", range(3))
def test_global_sectors(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    block, grid = int(rng.choice([32, 48, 33, 64])), int(rng.integers(1, 4))
    n = block * grid
    index = rng.permutation(4 * n)[:n]
    active = rng.random(n) < rng.choice([0.1, 0.7, 1])
    kernel = sources.module(GLOBAL, cuda).kernel
    a, out = np.ones(4 * n, kind), np.zeros(4 * n, kind)
    report = xray(kernel, grid, block, a, index, active, out)
    size = np.dtype(kind).itemsize
    parts = [index[w[active[w]]] for w in warps(n, block)]
    want = sum(sectors(part, size) for part in parts)
    requests = sum(part.size > 0 for part in parts)
    load, store = report.arrays["a"], report.arrays["out"]
    assert (load.global_load_requests, load.global_load_sectors) == (requests, want)
    assert (store.global_store_requests, store.global_store_sectors) == (requests, want)
    assert load.bytes_requested == store.bytes_requested == size * active.sum()
    assert load.bytes_moved == 32 * want


@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("seed", range(5))
def test_shared_wavefronts(kind: str, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    block = int(rng.choice([32, 48, 33, 64]))
    step = int(rng.choice([1, 2, 3, 4, 8]))
    index = rng.permutation(1024 // step)[:block] * step
    active = rng.random(block) < rng.choice([0.2, 0.7, 1])
    kernel = sources.module(SHARED.format(kind=kind), cuda).kernel
    report = xray(kernel, 1, block, index, active, np.zeros(block, kind))
    assert report.ok, report.findings
    parts = [w[active[w]] for w in warps(block, block)]
    size = np.dtype(kind).itemsize
    for access, load in (("load", True), ("store", False)):
        at = report.lines[line(kernel, f"# {access}")]
        want = np.sum([wavefronts(index[p], p % 32, size, load) for p in parts], axis=0).tolist()
        names = (f"shared_{access}_{word}" for word in ("wavefronts", "conflicts"))
        assert [getattr(at, name) for name in names] == want


FOOTPRINT = """
def kernel(a, index, active, out):
    i = cuda.grid(1)
    for k in range(index.shape[0]):
        first = a[k]  # one for all
        if active[k, i]:
            value = a[index[k, i]]  # load
            out[index[k, i]] = value + first  # store
            out[i] += first  # both
"""
OWNERS = ("one for all", "load", "store", "both", "a", "index", "active", "out", "launch")


@pytest.mark.parametrize("kind", ["uint8", "float32", "float64", "complex128"])
@pytest.mark.parametrize("seed", range(4))
def test_distinct_sectors(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of (array, sector) for each line, array and launch; of loads, for each block too."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(execution, "CHUNK", int(rng.choice([1, 100, 1000])))
    monkeypatch.setattr(footprint, "MAX_PENDING", int(rng.choice([1, 50, 1 << 20])))
    monkeypatch.setattr(footprint, "BITMAP_FACTOR", int(rng.choice([0, 4, 1000])))
    block, grid, rounds = int(rng.choice([32, 33, 64])), int(rng.integers(1, 9)), 3
    n = block * grid
    index = rng.integers(0, 2 * n, (rounds, n))
    active = rng.random((rounds, n)) < rng.choice([0.1, 0.7, 1])
    a, out = np.ones(2 * n, kind), np.zeros(2 * n, kind)
    size = a.itemsize

    loaded: dict[str, set[tuple[int, str, int]]] = {name: set() for name in OWNERS}
    seen: dict[str, set[tuple[str, int]]] = {name: set() for name in OWNERS}

    def touch(
        owner: str, thread: int, name: str, element: int, size: int = size, loads: bool = True
    ) -> None:
        for byte in range(element * size, element * size + size):
            for one in (owner, name, "launch"):
                seen.setdefault(one, set()).add((name, byte // 32))
                if loads:
                    loaded.setdefault(one, set()).add((thread // block, name, byte // 32))

    for k in range(rounds):
        for i in range(n):
            touch("one for all", i, "a", k)
            touch("condition", i, "active", k * n + i, 1)
            if active[k, i]:
                touch("load", i, "index", k * n + i, 8)
                touch("load", i, "a", index[k, i])
                touch("store", i, "index", k * n + i, 8)
                touch("store", i, "out", index[k, i], loads=False)
                touch("both", i, "out", i)
    kernel = sources.module(FOOTPRINT, cuda).kernel
    report = xray(kernel, grid, block, a, index, active, out)
    counted = {owner: report.lines[line(kernel, f"# {owner}")] for owner in OWNERS[:4]}
    counted |= report.arrays | {"launch": report.totals}
    for owner in OWNERS:
        assert counted[owner].block_sectors == len(loaded[owner]), owner
        assert counted[owner].distinct_sectors == len(seen[owner]), owner
        assert counted[owner].bytes_at_least == 32 * len(seen[owner])
        assert counted[owner].bytes_at_least <= counted[owner].bytes_moved
