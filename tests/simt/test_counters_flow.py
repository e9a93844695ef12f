"""Lanes, branches, barriers, atomics and floating-point work, by hand."""

from typing import Any

import numpy as np
import pytest
from numba import int32

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


@pytest.mark.parametrize(
    ("condition", "threads", "divergent", "then", "otherwise"),
    [
        ("t % 2 == 0", 64, 2, (2, 32), (2, 32)),  # every warp parts; (warps, lanes) on each side
        ("t < 32", 96, 0, (1, 32), (2, 64)),  # whole warps go either way
        ("t < 40", 128, 1, (2, 40), (3, 88)),  # only the second warp parts
        ("t >= 0", 64, 0, (2, 64), None),  # all the same way
        ("t < 33", 40, 1, (2, 33), (1, 7)),  # a last warp of 8 lanes
    ],
)
def test_divergent_branches_and_the_lanes_of_both_sides(
    condition: str, threads: int, divergent: int, then: Any, otherwise: Any
) -> None:
    kernel = sources.module(BRANCH.format(condition=condition), cuda).kernel
    report = xray(kernel, 1, threads, np.zeros(threads, np.float32))
    assert report.totals.divergent_branches == divergent
    assert report.lines[line(kernel, "# branch")].divergent_branches == divergent
    for mark, want in (("# then", then), ("# else", otherwise)):
        if want is not None:
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
        ("t % 4", 64, 8),
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
        ("cuda.fma(a, x[i], y[i])", "f4", 2, 0),
        ("a * x[i] + y[i]", "f8", 0, 2),
        ("cuda.libdevice.float_as_int(x[i])", "f4", 0, 0),
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


def test_arithmetic_intensity_is_operations_by_bytes_moved() -> None:
    x = np.ones(1024, np.float32)
    kernel = sources.module(FLOPS.format(expression="a * x[i] + y[i]"), cuda).kernel
    totals = xray(kernel, 8, 128, x, x.copy(), x.copy(), np.float32(2)).totals
    assert totals.bytes_moved == 12 * 1024
    assert totals.arithmetic_intensity == pytest.approx(1 / 6)


def test_arithmetic_by_numpys_names_is_work_too() -> None:
    pytest.importorskip("numba_cuda")  # Numba alone has no NumPy functions on a GPU

    def kernel(out, a):
        i = cuda.grid(1)
        out[i] = np.sin(np.divide(a[i], a[i])) + pow(a[i], 2)
        out[i] = np.maximum(np.conjugate(out[i]), -a[i])

    ones = np.ones(32, np.float32)
    report = xray(kernel, 1, 32, ones.copy(), ones)
    assert (report.totals.flops32, report.totals.flops64) == (4 * 32, 0)
