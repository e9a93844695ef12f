"""Lanes, branches, barriers, atomics and floating-point work, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import float32, int32

from simt import cuda

from . import sources
from .harness import line, xray

BRANCH = """
def kernel(out):
    t = cuda.threadIdx.x
    if {condition}:  # branch
        out[t] = 1  # then
    else:
        out[t] = 2  # else
"""


def branch(condition: str, threads: int) -> tuple[Any, Any]:
    kernel = sources.module(BRANCH.format(condition=condition), cuda).kernel
    return xray(kernel, 1, threads, np.zeros(threads, np.float32)), kernel


@pytest.mark.parametrize(
    ("condition", "threads", "divergent"),
    [
        ("t % 2 == 0", 128, 4),  # every warp parts
        ("t < 32", 128, 0),  # whole warps go either way
        ("t < 40", 128, 1),  # only the second warp parts
        ("t < 8", 64, 1),
        ("t >= 0", 64, 0),  # all the same way
        ("t // 32 % 2 == 0", 128, 0),
        ("t == 127", 128, 1),
        ("t % 32 == 0 or t % 2 == 5", 64, 2),
        ("cuda.blockDim.x == 64", 64, 0),
        ("t < 33", 40, 1),  # a last warp of 8 lanes
    ],
)
def test_divergent_branches(condition: str, threads: int, divergent: int) -> None:
    report, kernel = branch(condition, threads)
    assert report.totals.divergent_branches == divergent
    assert report.lines[line(kernel, "# branch")].divergent_branches == divergent


@pytest.mark.parametrize(
    ("condition", "threads", "then", "otherwise"),
    [
        ("t < 8", 64, (1, 8), (2, 56)),  # (warps, lanes) on each side
        ("t % 2 == 0", 64, (2, 32), (2, 32)),
        ("t < 32", 96, (1, 32), (2, 64)),
        ("t < 40", 48, (2, 40), (1, 8)),
    ],
)
def test_active_lanes_of_both_sides(
    condition: str, threads: int, then: tuple[int, int], otherwise: tuple[int, int]
) -> None:
    report, kernel = branch(condition, threads)
    for mark, want in (("# then", then), ("# else", otherwise)):
        at = report.lines[line(kernel, mark)]
        assert (at.instructions, at.active_lanes) == want
        assert at.global_store_requests == want[0]


def unequal_loops(out):
    t = cuda.threadIdx.x
    for _ in range(t % 4):  # loop
        out[t] += int32(1)  # body


def test_a_loop_parts_once_for_each_length_but_the_last() -> None:
    report = xray(unequal_loops, 1, 64, np.zeros(64, np.int32))
    # lengths 0 1 2 3: a quarter leaves at each of the first three checks; 2 warps
    assert report.lines[line(unequal_loops, "# loop")].divergent_branches == 6
    at = report.lines[line(unequal_loops, "# body")]
    assert at.instructions == 2 * 3
    assert at.active_lanes == 2 * (24 + 16 + 8)


def three_barriers(out):
    for _ in range(3):
        cuda.syncthreads()
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize(("grid", "block", "want"), [(1, 32, 3), (2, 64, 12), (1, 40, 6)])
def test_barriers_are_counted_per_warp(grid: int, block: int, want: int) -> None:
    out = np.zeros(128, np.float32)
    report = xray(three_barriers, grid, block, out)
    assert report.lines[line(three_barriers, "syncthreads")].barriers == want
    assert report.totals.barriers == want


ATOMIC = """
def kernel(out):
    t = cuda.grid(1)
    if t < {active}:
        cuda.atomic.add(out, {index}, 1)  # atomic
"""


@pytest.mark.parametrize(
    ("index", "active", "contention"),
    [
        ("0", 64, 32),  # a whole warp on one address
        ("t", 64, 1),
        ("t % 4", 64, 8),
        ("t // 2", 64, 2),
        ("0", 5, 5),
        ("t % 32", 64, 1),  # two warps share addresses, lanes of one do not
        ("t if t < 30 else 0", 32, 3),
    ],
)
def test_atomics_and_their_worst_contention(index: str, active: int, contention: int) -> None:
    kernel = sources.module(ATOMIC.format(index=index, active=active), cuda).kernel
    report = xray(kernel, 2, 32, np.zeros(64, np.int32))
    at = report.lines[line(kernel, "# atomic")]
    assert (at.atomics, at.atomic_contention) == (active, contention)
    assert (report.totals.atomics, report.totals.atomic_contention) == (active, contention)
    assert report.arrays["out"].atomics == active


FLOPS = """
def kernel(x, y, out, a):
    i = cuda.grid(1)
    out[i] = {expression}  # work
"""


@pytest.mark.parametrize(
    ("expression", "kind", "f32", "f64"),
    [
        ("x[i] + y[i]", "f4", 1, 0),
        ("a * x[i] + y[i]", "f4", 2, 0),
        ("(x[i] - y[i]) / y[i]", "f4", 2, 0),
        ("cuda.fma(a, x[i], y[i])", "f4", 2, 0),
        ("a * x[i] + y[i]", "f8", 0, 2),
        ("x[i]", "f4", 0, 0),
        ("x[i + 1 - 1]", "f4", 0, 0),  # work on integers is no floating-point work
        ("x[i] if x[i] > y[i] else y[i]", "f4", 0, 0),
        ("x[i] * 0.5", "f4", 0, 1),  # the leak: float64 work
    ],
)
def test_floating_point_operations(expression: str, kind: str, f32: int, f64: int) -> None:
    kernel = sources.module(FLOPS.format(expression=expression), cuda).kernel
    x, y, out = (np.ones(48, kind) for _ in range(3))
    report = xray(kernel, 1, 48, x, y, out, np.dtype(kind).type(2))
    at = report.lines[line(kernel, "# work")]
    assert (at.flops32, at.flops64) == (48 * f32, 48 * f64)
    assert (report.totals.flops32, report.totals.flops64) == (48 * f32, 48 * f64)


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def test_arithmetic_intensity_of_saxpy_is_a_sixth() -> None:
    """2 operations for 12 bytes moved."""
    x = np.ones(1024, np.float32)
    report = xray(saxpy, 8, 128, np.float32(2), x, x.copy())
    assert report.totals.flops32 == 2 * 1024
    assert report.totals.bytes_moved == 12 * 1024
    assert report.totals.arithmetic_intensity == pytest.approx(1 / 6)


T = 16


def matmul(a, b, out):
    s = cuda.shared.array((T, T), float32)
    t = cuda.shared.array((T, T), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(a.shape[1] // T):
        s[ty, tx] = a[row, k * T + tx]
        t[ty, tx] = b[k * T + ty, col]
        cuda.syncthreads()
        for j in range(T):
            total += s[ty, j] * t[j, tx]
        cuda.syncthreads()
    out[row, col] = total


def test_a_tiled_matmul_of_64() -> None:
    n = 64
    rng = np.random.default_rng(0)
    a = rng.integers(-4, 5, (n, n)).astype(np.float32)
    b = rng.integers(-4, 5, (n, n)).astype(np.float32)
    out = np.zeros((n, n), np.float32)
    report = xray(matmul, (4, 4), (T, T), a, b, out)
    np.testing.assert_array_equal(out, a @ b)
    totals = report.totals
    warps = n * n // 32
    assert totals.global_load_requests == warps * (n // T) * 2
    # a warp is two rows of 16 float32: 2 · 2 sectors
    assert totals.global_load_sectors == 4 * totals.global_load_requests
    assert totals.global_store_sectors == 4 * warps
    assert totals.barriers == warps * 2 * (n // T)
    assert totals.shared_store_wavefronts == warps * 2 * (n // T)
    assert totals.shared_load_wavefronts == warps * 2 * n
    assert totals.shared_load_conflicts == totals.shared_store_conflicts == 0
    assert totals.flops32 == 2 * n**3
    assert totals.flops64 == totals.divergent_branches == totals.atomics == 0
    assert report.arrays["a"].bytes_requested == 4 * n * n * (n // T)
    assert report.ok


def test_arithmetic_by_numpys_names_is_work_too() -> None:
    pytest.importorskip("numba_cuda")  # Numba alone has no NumPy functions on a GPU

    def kernel(out, a):
        i = cuda.grid(1)
        out[i] = np.sin(np.divide(a[i], a[i])) + pow(a[i], 2)
        out[i] = np.maximum(np.conjugate(out[i]), -a[i])

    ones = np.ones(32, np.float32)
    report = xray(kernel, 1, 32, ones.copy(), ones)
    assert (report.totals.flops32, report.totals.flops64) == (4 * 32, 0)
