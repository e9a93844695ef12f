"""A variable that a thread's path never set: it is 0 here, and the machine says so."""

from typing import Any

import numpy as np
import pytest
from numba import float32

from simt import cuda

from .harness import findings, launch, line, xray


def set_on_one_path(a, out):
    i = cuda.grid(1)
    if a[i] > 3:
        r = a[i]
    out[i] = r + 1


def set_by_nobody(a, out):
    i = cuda.grid(1)
    if a[i] > 100:
        r = 5
    out[i] = r + 1


def kept_from_one_turn_to_the_next(a, out):
    i = cuda.grid(1)
    for k in range(4):
        if k == i:
            r = a[i] * 10
        if k > 1:
            out[i] += r


def first_set_in_a_loop(a, out):
    i = cuda.grid(1)
    k = 0
    while k < i:
        r = a[k]
        k += 1
    out[i] = r


def a_pair(a, out):
    i = cuda.grid(1)
    if a[i] > 3:
        p, q = a[i], i
    out[i] = p * 100 + q


@cuda.jit(device=True)
def helper(x):
    if x > 3:
        y = x
    return y


def in_a_device_function(a, out):
    i = cuda.grid(1)
    out[i] = helper(a[i])


WANT = {  # by hand, with a[i] = i
    set_on_one_path: [1, 1, 1, 1, 5, 6, 7, 8],
    set_by_nobody: [1] * 8,
    kept_from_one_turn_to_the_next: [0, 20, 40, 30, 0, 0, 0, 0],
    first_set_in_a_loop: [0, 0, 1, 2, 3, 4, 5, 6],
    a_pair: [0, 0, 0, 0, 404, 505, 606, 707],
    in_a_device_function: [0, 0, 0, 0, 4, 5, 6, 7],
}


def numbers() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(8, dtype=np.float32), np.zeros(8, np.float32)


@pytest.mark.parametrize("kernel", WANT, ids=lambda k: k.__name__)
def test_the_value_is_zero_which_is_a_finding(kernel: Any) -> None:
    a, out = numbers()
    first, *others = findings(xray(kernel, 1, 8, a, out), "uninitialized-read")
    np.testing.assert_array_equal(out, WANT[kernel])
    assert "to which nothing was assigned" in first.message
    assert " of block 0 reads " in first.message
    assert len(others) <= 1  # a pair has two names


def test_the_finding_says_how_many_threads() -> None:
    (found,) = findings(xray(set_on_one_path, 1, 8, *numbers()), "uninitialized-read")
    assert (found.array, found.count) == ("r", 4)
    assert found.line == line(set_on_one_path, "out[i] = r")
    (found,) = findings(xray(in_a_device_function, 1, 8, *numbers()), "uninitialized-read")
    assert found.line == line(helper, "return y")


def read_where_it_is_set(a, out):
    i = cuda.grid(1)
    if i < 4:
        r = a[i]
    if i < 4 and r > 1:
        out[i] = r
    out[i] += r if i < 4 else float32(1)
    if i >= 4 or r > 2:
        out[i] += 10
    while True:
        once = a[i]
        if once > 0:
            break
        twice = once
        a[i] = 1 + twice
    out[i] += once


def test_a_thread_that_has_set_it_may_read_it() -> None:
    a, out = numbers()
    launch(read_where_it_is_set, 1, 8, a, out)
    np.testing.assert_array_equal(out, [1, 2, 6, 19, 15, 16, 17, 18])
    assert xray(read_where_it_is_set, 1, 8, *numbers()).ok


@cuda.jit(device=True)
def set_behind_a_closed_door(value, open_):
    if open_:
        kept = value
        pair = value, value
    return kept * 3 + pair[0]


def called_with_several_types(a, out):
    i = cuda.grid(1)
    out[i] = set_behind_a_closed_door(a[i], a[0] > 100) + 1
    out[i] += set_behind_a_closed_door(i, a[0] > 100) + 1
    out[i] += set_behind_a_closed_door(a[i], True)


def test_each_type_that_a_device_function_is_called_with_has_its_own_zero() -> None:
    a, out = numbers()
    report = xray(called_with_several_types, 1, 8, a, out)
    np.testing.assert_array_equal(out, a * 4 + 2)
    assert {f.array for f in findings(report, "uninitialized-read")} == {"kept", "pair"}
