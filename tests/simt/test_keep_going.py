"""Where a launch keeps going, an access out of bounds is skipped and listed, and nothing else."""

from typing import Any

import numpy as np
import pytest
from numba import float32

import simt
from simt import cuda
from simt.core.findings import SimtWarning
from simt.host.settings import keep_going

from .harness import findings, launch, line, only, xray


def scattered(a, where, out, sums, found):
    i = cuda.grid(1)
    out[where[0, i]] = a[where[1, i]] + 1
    found[i] = cuda.atomic.add(sums, where[2, i], i)
    found[i] += a[where[0, i],] if i % 2 else 1


@pytest.mark.parametrize("seed", range(3))
def test_what_is_in_bounds_is_done_and_the_rest_is_listed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 96
    where = np.stack([rng.permutation(2 * n)[:n], *rng.integers(-n, 2 * n, (2, n))])
    a, out, sums = rng.integers(1, 9, n), np.zeros(n, int), np.zeros(n, int)
    found, want, total = np.zeros(n, int), out.copy(), sums.copy()
    with keep_going():
        report = xray(scattered, 3, 32, a, where, out, sums, found)
    for i, (to, of, at) in enumerate(where.T):
        if to < n:
            want[to] = (a[of] if of < n else 0) + 1
        before = total[at] if at < n else 0
        if at < n:
            total[at] += i
        more = (a[to] if to < n else 0) if i % 2 else 1
        assert found[i] == before + more, i
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(sums, total)
    told = findings(report, "out-of-bounds")
    assert {(f.array, f.line) for f in told} == {
        ("out", line(scattered, "out[")),
        ("a", line(scattered, "out[")),
        ("sums", line(scattered, "sums,")),
        ("a", line(scattered, "found[i] +=")),
    }
    odd = np.arange(n) % 2 == 1
    beyond = [(where[0] >= n).sum(), (where[1] >= n).sum(), (where[2] >= n).sum()]
    assert sorted(f.count for f in told) == sorted([*beyond, (odd & (where[0] >= n)).sum()])
    assert not report.ok


def one_past(a, out):
    s = cuda.shared.array((2, 8), float32)
    t = cuda.threadIdx.x
    s[t // 8, t % 8 + 1] = a[t]
    cuda.syncthreads()
    out[t] = s[t // 8, t % 8 + 1] + a[99]


def test_a_plain_launch_warns_of_each_and_ends() -> None:
    a, out = np.arange(16, dtype=np.float32), np.full(16, -1, np.float32)
    with keep_going(), pytest.warns(SimtWarning, match="out of bounds") as said:
        launch(one_past, 1, 16, a, out)
    assert len(said) == 3
    np.testing.assert_array_equal(out, np.where(np.arange(16) % 8 == 7, 0, a))
    with pytest.raises(simt.errors.KernelError, match="out of bounds"):
        launch(one_past, 1, 16, a, out)


def of_a_row(a, out):
    row = a[cuda.threadIdx.x + 1]
    row[0] = 1


def of_a_record(a, out):
    a[cuda.threadIdx.x + 1].x = 1


@pytest.mark.parametrize(
    ("kernel", "array"),
    [(of_a_row, np.zeros((4, 2))), (of_a_record, np.zeros(4, [("x", "f4"), ("y", "i4")]))],
)
def test_a_row_or_a_record_out_of_bounds_stops_all_the_same(kernel: Any, array: Any) -> None:
    with keep_going():
        report = xray(kernel, 1, 4, array, np.zeros(4))
    assert "out of bounds" in only(report, "out-of-bounds").message
    assert not array.view(np.uint8)[..., :1].any() or kernel is of_a_row


def one_for_each(out):
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize(
    ("blocks", "more"),
    [(16, "(and 16,383 more threads)"), (64, "(and at least 32,767 more threads)")],
)
def test_of_threads_that_have_not_run_nothing_is_said(blocks: int, more: str) -> None:
    told = only(xray(one_for_each, blocks, 1024, np.zeros(0)), "out-of-bounds")
    assert told.message.endswith(f"out has length 0 {more}")
    with keep_going():
        told = only(xray(one_for_each, blocks, 1024, np.zeros(0)), "out-of-bounds")
    assert told.message.endswith(f"out has length 0 {more}")
    assert told.count == blocks * 1024
