"""The exercises of notebook 07, with answers written by other hands than the catalogue's."""

import math

import numpy as np
import pytest
from numba import float32, int32

from gpulearn import cuda
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose

FULL = 0xFFFFFFFF


def histogram_of_the_last_block_first(v, c):
    mine = cuda.shared.array(256, int32)
    k = cuda.threadIdx.x
    while k < c.size:
        mine[k] = int32(0)
        k = k + cuda.blockDim.x
    cuda.syncthreads()
    b = cuda.gridDim.x - 1 - cuda.blockIdx.x
    for i in range(b * cuda.blockDim.x + cuda.threadIdx.x, v.size, cuda.gridsize(1)):
        cuda.atomic.add(mine, v[i], 1)
    cuda.syncthreads()
    k = cuda.threadIdx.x
    while k < c.size:
        cuda.atomic.add(c, k, mine[k])
        k = k + cuda.blockDim.x


def scan_inclusive_and_shifted(v, out):
    s = cuda.shared.array(256, int32)
    me = cuda.threadIdx.x
    s[me] = 0
    if me < v.size:
        s[me] = v[me]
    for k in range(8):
        cuda.syncthreads()
        x = 0
        if me >= 1 << k:
            x = s[me - (1 << k)]
        cuda.syncthreads()
        s[me] = s[me] + x
    cuda.syncthreads()
    if me < out.size:
        if me == 0:
            out[me] = 0
        else:
            out[me] = s[me - 1]


def softmax_of_rows_from_the_end(x, p):
    warp = cuda.grid(1) // 32
    row = x.shape[0] - 1 - warp
    if row < 0:
        return
    lane = cuda.laneid
    top = float32(-3e38)
    j = lane
    while j < x.shape[1]:
        top = max(top, x[row, j])
        j += 32
    step = 16
    while step:
        top = max(top, cuda.shfl_xor_sync(FULL, top, step))
        step //= 2
    total = float32(0)
    j = lane
    while j < x.shape[1]:
        total += math.exp(x[row, j] - top)
        j += 32
    step = 16
    while step:
        total += cuda.shfl_xor_sync(FULL, total, step)
        step //= 2
    j = lane
    while j < x.shape[1]:
        p[row, j] = math.exp(x[row, j] - top) * (float32(1) / total)
        j += 32


RIGHT = {
    "histogram_shared": [histogram_of_the_last_block_first],
    "exclusive_scan": [scan_inclusive_and_shifted],
    "softmax_rows": [softmax_of_rows_from_the_end],
}


@pytest.mark.parametrize(
    ("name", "answer"), [(name, a) for name, some in RIGHT.items() for a in some]
)
def test_right_answers_of_other_hands_pass(name, answer):
    assert diagnose(find(name), answer) is None
    assert diagnose(find(name), cuda.jit(answer)) is None


def empty(a, b):
    pass


def constant(a, b):
    if cuda.grid(1) == 0:
        b[0] = 1


@pytest.mark.parametrize(
    "name", ["histogram_shared", "sum_blocks", "warp_sum", "exclusive_scan", "softmax_rows"]
)
@pytest.mark.parametrize("answer", [empty, constant])
def test_empty_and_constant_kernels_fail(name, answer):
    if name == "softmax_rows" and answer is constant:

        def answer(a, b):
            if cuda.grid(1) == 0:
                b[0, 0] = 1

    assert diagnose(find(name), answer) is not None


def merge_clears_nothing_but_its_own(v, c):
    s = cuda.shared.array(256, int32)
    if cuda.threadIdx.x == 0:
        s[0] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), v.size, cuda.gridsize(1)):
        cuda.atomic.add(s, v[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, c.size, cuda.blockDim.x):
        cuda.atomic.add(c, b, s[b])


def mask_of_the_active_half(v, out):
    i = cuda.grid(1)
    x = v[i] if i < v.size else float32(0)
    for d in (16, 8, 4, 2, 1):
        x += cuda.shfl_down_sync((1 << d) - 1, x, d)
    if i % 32 == 0 and i < v.size:
        out[i // 32] = x


def scan_without_rounds_between_warps(v, out):
    i = cuda.threadIdx.x
    x = v[i] if i < v.size else 0
    y = x
    for k in range(5):
        z = cuda.shfl_up_sync(FULL, y, 1 << k)
        if i % 32 >= 1 << k:
            y += z
    if i < out.size:
        out[i] = y - x


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("histogram_shared", merge_clears_nothing_but_its_own, "set the private bins to 0"),
        ("warp_sum", mask_of_the_active_half, "the mask must name all 32 lanes"),
        ("exclusive_scan", scan_without_rounds_between_warps, "differ, first out[32]"),
    ],
)
def test_wrong_answers_of_other_hands_are_told_what_is_wrong(name, answer, said):
    assert said.lower() in diagnose(find(name), answer).lower()


def specified(name):
    """What each case of an exercise is given first, and what must come out."""
    exercise = find(name)
    return [(case.args[0], exercise.expected(case)[0]) for case in exercise.cases()]


def test_the_specifications_have_the_properties_that_their_tasks_name():
    for values, counts in specified("histogram_shared"):
        assert counts.tolist() == [values.tolist().count(v) for v in range(counts.size)]
    for name in ("sum_blocks", "warp_sum"):
        for values, sums in specified(name):
            assert sum(sums.tolist()) == sum(values.tolist())
    for values, sums in specified("warp_sum"):
        assert sums[0] == sum(values[:32].tolist())
    for values, before in specified("exclusive_scan"):
        assert before.tolist() == [sum(values[:i].tolist()) for i in range(values.size)]
    for scores, shares in specified("softmax_rows"):
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
        # a share falls short of the largest by the difference of their scores alone
        gap = np.exp(scores[:, 0].astype(float) - scores.max(axis=1))
        np.testing.assert_allclose(shares[:, 0] / shares.max(axis=1), gap, rtol=1e-5, atol=1e-30)
