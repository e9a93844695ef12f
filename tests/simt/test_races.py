"""A race shows in the result, not only in a report: by default and with every seed."""

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numba import float32

import simt
from simt import cuda

from .harness import findings, launch, xray

SEEDS = range(6)


def racy(kernel: Any, grid: Any, block: Any, *args: Any, seed: int | None = None) -> None:
    """A plain launch, its warning about the race expected."""
    order = nullcontext() if seed is None else simt.block_order(seed)
    with order, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        launch(kernel, grid, block, *args)


def reversed_tile(a, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = float32(-1)
    cuda.syncthreads()
    s[t] = a[t]
    out[t] = s[63 - t]


def histogram(a, out):
    i = cuda.grid(1)
    if i < a.size:
        out[a[i]] += 1


def last_writer(out):
    out[0] = cuda.threadIdx.x // 32


@pytest.mark.parametrize("seed", [None, *SEEDS])
def test_a_tile_without_its_barrier_is_torn(seed: int | None) -> None:
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    racy(reversed_tile, 1, 64, a, out, seed=seed)
    assert (out != a[::-1]).any()
    assert np.isin(out, [-1, *a]).all()
    assert ((out == -1) | (out == a[::-1])).all()  # only what hardware could give


@pytest.mark.parametrize("seed", [None, *SEEDS])
def test_a_histogram_without_atomics_loses_counts(seed: int | None) -> None:
    a = np.random.default_rng(1).integers(0, 8, 1000)
    out = np.zeros(8, np.int64)
    racy(histogram, 8, 128, a, out, seed=seed)
    right = np.bincount(a, minlength=8)
    assert out.sum() < right.sum()
    assert (out <= right).all()
    assert (out >= 1).all()


def test_seeds_choose_among_the_outcomes() -> None:
    results = set()
    for seed in range(40):
        out = np.zeros(1, np.int64)
        racy(last_writer, 1, 256, out, seed=seed)
        results.add(int(out[0]))
        again = np.zeros(1, np.int64)
        racy(last_writer, 1, 256, again, seed=seed)
        assert again[0] == out[0]
    assert len(results) > 1
    assert results <= set(range(8))


def copy_next(a, b):
    i = cuda.grid(1)
    b[i] = a[i + 1]


@pytest.mark.parametrize("start", [0, 5])
def test_a_race_through_two_names_of_one_array_is_seen(start: int) -> None:
    memory = cuda.to_device(np.arange(80.0))
    assert findings(simt.xray(copy_next)[2, 32](memory, memory[start:]), "race")


def left_neighbor(data, out):
    b = cuda.blockIdx.x
    data[b, cuda.threadIdx.x] = b
    out[b] = data[(b + 1) % cuda.gridDim.x, 0]


def test_a_read_at_the_end_of_a_chunk_is_of_its_own_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Block 0 reads what block 1, of the next chunk, writes later."""
    monkeypatch.setattr("simt.machine.execution.CHUNK", 32)
    report = xray(left_neighbor, 2, 32, np.zeros((3, 32)), np.zeros(2))
    races = findings(report, "race")
    assert {t["block"][0] for t in races[0].threads} == {0, 1}
    assert any("block 0 reads it" in f.message for f in races), races


def own_then_anothers(a, out):
    i = cuda.grid(1)
    if i == 0:
        a[0] = 5
    if i == 64:
        a[0] = 7
    if i == 0:
        out[0] = a[0]


def all_write_the_same(a, out):
    i = cuda.grid(1)
    a[i] = 100
    a[0] = 7
    out[i] = a[i]


def own_after_an_atomic(a, out):
    i = cuda.grid(1)
    cuda.atomic.add(a, 0, 1)
    if i == 64:
        a[1] = 1
    out[i] = a[0]


@pytest.mark.parametrize("seed", [None, *SEEDS])
@pytest.mark.parametrize("shape", [(1, 128), (2, 64), (128, 1), (16, 8)])
@pytest.mark.parametrize(
    ("kernel", "possible"),
    [
        (own_then_anothers, [{5, 7}]),
        (all_write_the_same, [{7}, *[{100}] * 127]),
        (own_after_an_atomic, [set(range(1, 129))] * 128),
    ],
)
def test_a_thread_never_reads_what_stood_there_before_its_own_write(
    kernel: Any, possible: list[set[int]], shape: tuple[int, int], seed: int | None
) -> None:
    a, out = np.zeros(128), np.zeros(128)
    racy(kernel, *shape, a, out, seed=seed)
    for value, allowed in zip(out.tolist(), possible, strict=False):
        assert value in allowed
