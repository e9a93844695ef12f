"""Arguments of a launch: what travels to a kernel and back, as numba-cuda hands it over."""

from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.cuda import args as numba_args

import simt
from simt import cuda
from simt.errors import SimtError

pytestmark = pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaWarning")

POINT = np.dtype([("x", np.float64), ("n", np.int32), ("row", np.int16, (3,))], align=True)


# --- records


@cuda.jit
def move(point):
    point.x += 1.5
    point.n = 7
    point.row[1] = 9


@pytest.mark.parametrize("kind", [np.void, np.record])
def test_a_record_comes_back_from_a_kernel_that_writes_it(kind: type) -> None:
    points = np.zeros(3, POINT)
    if kind is np.record:
        points = points.view(np.recarray)
    point = points[1]
    assert isinstance(point, kind)
    move[1, 1](point)
    assert point["x"] == 1.5
    assert point["n"] == 7
    assert points["row"].tolist() == [[0, 0, 0], [0, 9, 0], [0, 0, 0]]  # it is a part of them


# --- which way they go


class OnlyIn:
    """An extension, as numba-cuda has them: it may wrap an argument."""

    def prepare_args(self, ty: Any, val: Any, **named: Any) -> Any:
        return ty, numba_args.In(val)


def test_an_extension_and_numbas_own_wrappers_say_which_way_an_argument_goes() -> None:
    kernel = cuda.jit(add_one.py_func)
    a = np.zeros(3)
    kernel[1, 1](numba_args.InOut(a))
    assert a.tolist() == [1, 1, 1]
    kernel[1, 1](numba_args.In(a))
    kernel.extensions.append(OnlyIn())
    kernel[1, 1](a)
    cuda.jit(add_one.py_func, extensions=[OnlyIn()])[1, 1](a)
    assert a.tolist() == [1, 1, 1]


# --- arrays that lie scattered


@cuda.jit
def add_one(a):
    for i in range(a.shape[0]):
        a[i] += 1


@cuda.jit
def add_one_3d(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                a[i, j, k] += 1


@pytest.mark.parametrize(
    "array",
    [np.arange(20.0)[::2], np.arange(20.0)[::-1], np.zeros((6, 6))[:, 2]],
    ids=["every other", "backwards", "a column"],
)
@pytest.mark.parametrize("wrapped", [lambda a: a, cuda.InOut], ids=["bare", "InOut"])
def test_a_host_array_with_gaps_is_refused(array: Any, wrapped: Any) -> None:
    before = array.copy()
    with pytest.raises(ValueError, match=r"a is not contiguous.*np.ascontiguousarray") as caught:
        add_one[1, 1](wrapped(array))
    assert isinstance(caught.value, simt.errors.KernelError)
    np.testing.assert_array_equal(array, before)
    with pytest.raises(ValueError, match=r"np.ascontiguousarray"):
        cuda.to_device(array)


@given(
    shape=st.tuples(*[st.integers(0, 3)] * 3),
    axes=st.permutations(range(3)),
    step=st.integers(1, 3),
    start=st.integers(0, 2),
)
@settings(deadline=None, max_examples=25)
def test_what_lies_in_one_piece_is_taken_in_any_order_of_axes(
    shape: Any, axes: Any, step: int, start: int
) -> None:
    base = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    array = base.transpose(axes)[start::step]
    low, high = np.lib.array_utils.byte_bounds(array)
    whole = array.size == 0 or high - low <= array.nbytes
    want = array + 1 if whole else array.copy()
    if whole:
        add_one_3d[1, 1](array)
    else:
        with pytest.raises(ValueError, match="contiguous"):
            add_one_3d[1, 1](array)
    np.testing.assert_array_equal(array, want)


# --- what is no argument


@pytest.mark.parametrize(
    ("argument", "kind", "instead"),
    [
        (None, NotImplementedError, "a flag that says whether"),
        ("text", NotImplementedError, "codes that stand for the text"),
        ({}, ValueError, r"np\.array\(list\(a\.values\(\)\)\)"),
        ([1, 2], SimtError, r"np\.array\(a\)"),
        ({1, 2}, SimtError, r"np\.array\(list\(a\)\)"),
        (len, SimtError, "pass its parts"),
        (object(), SimtError, "pass its parts"),
        (lambda x: x, SimtError, r"@cuda\.jit\(device=True\)"),
    ],
)
def test_what_is_no_argument_is_told_what_to_pass(argument: Any, kind: type, instead: str) -> None:
    with pytest.raises(kind, match=f"a kernel takes arrays, numbers and tuples: .*{instead}"):
        add_one[1, 1](argument)


@pytest.mark.parametrize("args", [(), (np.zeros(2), 3)])
def test_a_wrong_number_of_arguments_is_a_type_error(args: Any) -> None:
    with pytest.raises(TypeError, match=rf"add_one takes 1 argument \(a\), {len(args)} given"):
        add_one[1, 1](*args)


# --- members of enums


class Color(Enum):
    red = 1
    green = 2


def test_each_thread_chooses_a_member() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        color = Color.red if i % 2 else Color.green
        out[i] = color == Color.green

    out = np.zeros(8, np.int32)
    kernel[1, 8](out)
    assert out.tolist() == [1, 0] * 4


# --- dates


@given(st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40)), min_size=1, max_size=9))
@settings(deadline=None, max_examples=25)
def test_not_a_time_is_numpys(numbers: Any) -> None:
    times = np.array(["NaT" if n is None else n for n in numbers], "m8[s]")
    sums, less = np.zeros_like(times), np.zeros(times.size, np.bool_)
    add_times[1, 32](times, times[0], sums, less)
    np.testing.assert_array_equal(sums, times + times[0])
    np.testing.assert_array_equal(less, times < times[0])


@cuda.jit
def add_times(times, time, sums, less):
    i = cuda.grid(1)
    if i < times.size:
        sums[i] = times[i] + time
        less[i] = times[i] < time


# --- what is refused


@cuda.jit
def read_first(a, out):
    out[0] = a[0]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("S3", r"a holds strings \(\|S3\), .*: keep numbers in arrays, such as codes"),
        ("U1", r"a holds strings \(<U1\), .*: keep numbers in arrays, such as codes"),
        (">f8", r"a is an array of >f8, .*: pass a\.astype\(a\.dtype\.newbyteorder"),
        (object, r"a is an array of object, .*: .*; pass an array of numbers"),
    ],
)
def test_what_a_kernel_cannot_take_is_told_what_to_pass(kind: Any, said: str) -> None:
    with pytest.raises(simt.errors.KernelError, match=said):
        read_first[1, 1](np.zeros(2, kind), np.zeros(1))


@cuda.jit
def stores_bytes(records):
    records[0]["name"] = b"AB"


def test_a_string_of_bytes_is_refused_at_its_line() -> None:
    said = r"^line \d+: `b'AB'` is not supported by the SIMT machine: keep numbers"
    with pytest.raises(simt.errors.KernelError, match=said):
        stores_bytes[1, 1](np.zeros(2, [("name", "S3")]))
