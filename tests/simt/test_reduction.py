"""`cuda.reduce`: values, order, and where the result goes."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.errors import BadCall, KernelError
from simt.host import api as cuda

total = cuda.Reduce(lambda a, b: a + b)
difference = cuda.reduce(lambda a, b: a - b)


def halves(part: list, call) -> object:
    """The fold of one full warp: its upper half onto its lower one."""
    while len(part) > 1:
        half = len(part) // 2
        part = [call(a, b) for a, b in zip(part[:half], part[half:], strict=True)]
    return part[0]


def block(part: list, call) -> object:
    """The fold of one block: a full one of 128 threads, or one of as many as are left."""
    warps = [part[i : i + 32] for i in range(0, len(part), 32)]
    if len(part) == 128:
        a, b, c, d = (halves(w, call) for w in warps)
        return call(call(a, c), call(b, d))
    *full, last = warps
    folded = [halves(w, call) for w in full] + [functools.reduce(call, last)]
    return functools.reduce(call, folded)


def on_a_gpu(values: list, call, init) -> object:
    """The order in which numba-cuda's reduction folds, in plain Python."""
    whole = len(values) // 128 * 128
    count = min(whole // 128, 64)
    partials = []
    for number in range(count):
        lanes = [values[number * 128 + t : whole : count * 128] for t in range(128)]
        partials.append(block([functools.reduce(call, lane) for lane in lanes], call))
    if values[whole:]:
        partials.append(block(values[whole:], call))
    partials[0] = call(partials[0], init)
    return block(partials, call) if len(partials) > 1 else partials[0]


@settings(max_examples=30)
@given(st.integers(1, 500) | st.sampled_from([1023, 1024, 1025, 8192, 8320, 16513]), st.integers())
def test_the_order_is_numbas(size: int, number: int) -> None:
    """A difference is neither associative nor commutative: only one order gives its value."""
    values = np.random.default_rng(abs(number)).integers(-9, 9, size).astype(np.float64)
    want = on_a_gpu(list(values), lambda a, b: a - b, 5.0)
    assert difference(values, init=5) == want
    assert difference(cuda.to_device(values), init=5) == want


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8, np.complex64])
def test_a_sum_has_the_type_of_its_elements(dtype: type) -> None:
    values = (np.arange(1536) % 7).astype(dtype)
    got = total(values)
    assert got.dtype == dtype
    assert got == values.sum(dtype=dtype)


def test_the_first_elements_alone() -> None:
    values = np.arange(300)
    assert total(values, size=200) == values[:200].sum()
    assert total(cuda.to_device(values), 129) == values[:129].sum()
    assert total(values, size=999) == values.sum()


def test_a_result_on_the_device() -> None:
    res = cuda.to_device(np.zeros(3, np.int64))
    assert total(np.arange(200), res=res, stream=cuda.stream()) is None
    np.testing.assert_array_equal(res.copy_to_host(), [19900, 0, 0])
    for wrong in (np.zeros(1, np.int64), cuda.device_array(1), [0]):
        with pytest.raises(BadCall, match=r"res must be a device array of int64, such as"):
            total(np.arange(200), res=wrong)


def test_nothing_to_fold() -> None:
    res = cuda.to_device(np.zeros(1))
    for empty in (np.empty(0), cuda.to_device(np.empty(0))):
        assert total(empty) == 0
        got = total(empty, init=3, res=res)
        assert (got, got.dtype) == (3, np.float64)
    assert total(np.arange(5), size=0, init=7) == 7
    assert res.copy_to_host()[0] == 0


def test_an_error_of_the_function_names_its_line() -> None:
    wrong = cuda.reduce(lambda a, b: a + missing)  # noqa: F821
    with pytest.raises(KernelError, match="missing"):
        wrong(np.ones(3))
