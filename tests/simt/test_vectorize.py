"""`vectorize`: which signature is taken, what is converted, where the result lies."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import float32, float64, int32, uint32

import simt
from simt.device import numba_cuda
from simt.errors import BadCall, BadInput, KernelError
from simt.host import api as cuda

BOTH = [float32(float32, float32), float64(float64, float64)]
THREE = [int32(int32, int32), *BOTH]
KINDS = ["bool", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128"]


@cuda.vectorize(THREE)
def add(a, b):
    return a + b


@cuda.vectorize(["float64(float64, float64)"], target="cuda")
def subtract(a, b):
    return a - b


# --- against NumPy, with Numba's own choice of a signature


def values(dtype: str, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    whole = st.integers(0, 1) if dtype == "bool" else st.integers(0, 100)
    return hnp.arrays(np.int64, shape, elements=whole).map(lambda a: a.astype(dtype))


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[tuple[str, str, str]], list[object], list[bool]]:
    """Signatures, arguments that may or may not fit, and which of them lie on the device."""
    pairs = st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS))
    loops = []
    for a, b in draw(st.lists(pairs, min_size=1, max_size=3, unique=True)):
        sum_of = np.result_type(a, b).name
        wider = [k for k in KINDS if np.can_cast(sum_of, k)]
        loops.append((draw(st.sampled_from(wider)), a, b))
    wanted = draw(st.sampled_from(loops))[1:] if draw(st.booleans()) else draw(pairs)
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4))
    args: list[object] = []
    for kind, shape in zip(wanted, shapes.input_shapes, strict=True):
        array = draw(values(kind, shape))
        numbers = [np.dtype(kind).type(3), 2, 1.5, True]
        args.append(draw(st.sampled_from([array, array, draw(st.sampled_from(numbers))])))
    return loops, args, [draw(st.booleans()) for _ in args]


@pytest.mark.filterwarnings("ignore:Casting complex values to real")  # Numba's own
@settings(max_examples=60)
@given(calls())
def test_the_signature_is_the_one_that_numba_takes_and_the_result_numpys(call) -> None:
    numba_cuda.load()
    from numba.cuda.deviceufunc import UFuncMechanism

    loops, args, on_device = call
    ufunc = cuda.vectorize([f"{result}({a}, {b})" for result, a, b in loops])(lambda a, b: a + b)
    known = {(np.dtype(a), np.dtype(b)): np.dtype(result) for result, a, b in loops}
    numbas = UFuncMechanism(known, args)
    placed = [
        cuda.to_device(a) if there and isinstance(a, np.ndarray) else a
        for a, there in zip(args, on_device, strict=True)
    ]
    try:
        operands = numbas.get_arguments()
    except TypeError:
        with pytest.raises(TypeError, match="signature"):
            ufunc(*placed)
        return
    if operands[0].shape == ():
        with pytest.raises(BadCall, match="without dimensions"):
            ufunc(*placed)
        return
    if any(np.size(a) > 1 and np.ndim(a) < operands[0].ndim for a in args):
        with pytest.raises(BadCall, match="would repeat the first element"):
            ufunc(*placed)
        return
    got = ufunc(*placed)
    lies_there = any(isinstance(a, cuda.DeviceNDArray) for a in placed)
    assert isinstance(got, cuda.DeviceNDArray) is lies_there
    host = got.copy_to_host() if lies_there else got
    whole = [a.astype(np.int64) if a.dtype == bool else a for a in operands]  # True + True is 2
    want = np.add(*whole).astype(numbas.get_function())
    assert host.dtype == want.dtype
    np.testing.assert_array_equal(host, want)


@settings(max_examples=40)
@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3), st.data())
def test_any_layout_on_either_side(shapes, data) -> None:
    arrays: list[np.ndarray] = []
    placed: list[object] = []
    for number, shape in enumerate(shapes.input_shapes):
        twice = tuple(2 * n for n in shape)
        whole = np.arange(math.prod(twice) + number, dtype=np.float64)[number:].reshape(twice)
        part = whole[tuple(slice(None, None, 2) for _ in shape)]
        layout = data.draw(st.sampled_from(["C", "F", "strided", "transposed"]))
        if layout == "transposed":
            part = np.ascontiguousarray(part.T).T
        elif layout != "strided":
            part = np.asarray(part, order=layout)
        arrays.append(part)
        if layout == "strided" and part.ndim:  # from the host one dimension has no gaps
            gaps = cuda.to_device(whole)[tuple(slice(None, None, 2) for _ in shape)]
            placed.append(gaps if part.ndim == 1 or data.draw(st.booleans()) else part)
        else:
            placed.append(cuda.to_device(part) if data.draw(st.booleans()) else part)
    if any(a.ndim < len(shapes.result_shape) for a in arrays) or shapes.result_shape == ():
        return
    np.testing.assert_array_equal(np.asarray(subtract(*placed)), np.subtract(*arrays))


def test_a_host_array_with_gaps_is_refused_as_numba_refuses_it() -> None:
    for call in (lambda a: subtract(a, 1.0), subtract.reduce, cuda.Reduce(lambda a, b: a + b)):
        with pytest.raises(ValueError, match=r"strides \(16,\) does not lie in one piece"):
            call(np.arange(6.0)[::2])
    np.testing.assert_array_equal(subtract(np.ones(5), np.zeros(1)), np.ones(5))


# --- numbers and arrays


def test_arrays_are_not_converted() -> None:
    with pytest.raises(BadCall, match=r"add has no signature for \(float32, float64\), only") as e:
        add(np.ones(3, np.float32), np.ones(3))
    assert "x.astype(" in str(e.value)
    assert isinstance(e.value, TypeError)


def test_numbers_alone_may_fit_several_signatures() -> None:
    with pytest.raises(TypeError, match=r"fits the signatures .*np\.float32\(x\)"):
        add(1, 2)
    np.testing.assert_array_equal(add(np.int32(1), np.int32(2)), [3])
    got = add(1.25, 2.5)  # floats of Python are float64
    assert (got.shape, got.dtype) == ((1,), np.float64)
    assert got == 3.75


def test_a_number_that_the_type_cannot_hold() -> None:
    with pytest.raises(OverflowError, match="300"):
        cuda.vectorize(["uint8(uint8)"])(lambda a: a)(300)


def test_the_declared_type_of_the_result_counts_even_on_the_way_to_a_wider_output() -> None:
    @cuda.vectorize([int32(float64)])
    def whole(x):
        return x

    out = cuda.device_array(2)
    whole(np.array([1.75, -2.5]), out=out)
    np.testing.assert_array_equal(out.copy_to_host(), [1, -2])


def test_a_signature_without_a_result_gets_numbas() -> None:
    @cuda.vectorize(["(int32, int32)", (float32, float32)])
    def quotient(a, b):
        return a / b

    assert quotient(np.ones(2, np.int32), np.ones(2, np.int32)).dtype == np.float64
    assert quotient(np.ones(2, np.float32), np.ones(2, np.float32)).dtype == np.float32
    with pytest.raises(KernelError, match="nothing"):
        cuda.vectorize(["(int32,)"])(lambda a: nothing)  # noqa: F821


# --- out=


def test_out_on_the_host_is_flat_as_numba_wants_it() -> None:
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.empty(6, np.float32)
    got = add(a, a, out=out)
    np.testing.assert_array_equal(out, 2 * a.ravel())
    np.testing.assert_array_equal(got, 2 * a)
    got = add(cuda.to_device(a), a, out=out)
    assert got.base is out
    for wrong in (np.empty((2, 3), np.float32), np.empty(6), np.empty(5, np.float32), [0.0] * 6):
        with pytest.raises(BadCall, match=r"float32 with shape \(6,\), one dimension"):
            add(a, a, out=wrong)


def test_an_out_that_cannot_take_the_result() -> None:
    a = np.ones((2, 3))
    with pytest.raises(BadCall, match=r"the result has shape \(2, 3\), and out has \(5,\)"):
        subtract(a, a, out=cuda.device_array(5))
    with pytest.raises(BadCall, match=r"strides \(8, 16\).*rows lie one after the other"):
        subtract(a, a, out=cuda.device_array((2, 3), order="F"))


# --- shapes, streams, options


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"subtract: shapes \(3,\), \(4,\) do not broadcast"):
        subtract(np.ones(3), np.ones(4))
    with pytest.raises(BadCall, match=r"repeat the first element of b alone; write b\[None\]"):
        subtract(np.ones((2, 3)), np.ones(3))
    with pytest.raises(BadCall, match="subtract takes 2 arguments"):
        subtract(np.ones(3))


def test_an_argument_that_is_called_like_the_output() -> None:
    double = cuda.vectorize([float64(float64)])(lambda out: 2 * out)
    np.testing.assert_array_equal(double(np.ones(3)), [2, 2, 2])


@pytest.mark.parametrize("given", [(), [], None, lambda x: x, float32(float32)])
def test_signatures_are_needed(given) -> None:
    with pytest.raises(TypeError, match="needs a list of signatures"):
        cuda.vectorize(given)


def test_what_is_no_signature() -> None:
    with pytest.raises(TypeError, match="'int32' is no signature"):
        cuda.vectorize(["int32"])
    with pytest.raises(BadCall, match=r"takes 1 arguments \(x\), and a signature has 2"):
        cuda.vectorize([uint32(uint32, uint32)])(lambda x: x)


def test_options() -> None:
    with pytest.raises(TypeError, match="caching is not supported"):
        cuda.vectorize(["int32(int32)"], cache=True)
    with pytest.raises(ValueError, match="got 'parallel': take numba.vectorize"):
        cuda.vectorize(["int32(int32)"], "parallel")
    with pytest.raises(ValueError, match="identity"):
        cuda.vectorize(["int32(int32)"], identity=7)
    with pytest.warns(UserWarning, match="unrecognized keywords: axis"):
        subtract(np.ones(2), 1.0, axis=0)


# --- reduce


def folded(values: list) -> object:
    """Numba's order: halves onto halves, an odd last one at the end."""
    if len(values) == 1:
        return values[0]
    if len(values) % 2:
        return folded(values[:-1]) - values[-1]
    half = len(values) // 2
    return folded([a - b for a, b in zip(values[:half], values[half:], strict=True)])


@settings(max_examples=20)
@given(hnp.arrays(np.float64, st.integers(1, 40), elements=st.integers(-50, 50)))
def test_reduce_of_what_does_not_commute_goes_in_numbas_order(a) -> None:
    assert subtract.reduce(a, stream=cuda.stream()) == folded(list(a))


def test_reduce_overwrites_an_array_on_the_device() -> None:
    a = cuda.to_device(np.arange(4, dtype=np.int32))
    assert add.reduce(a) == 6
    np.testing.assert_array_equal(a.copy_to_host(), [6, 4, 2, 3])


def test_reduce_of_what_cannot_be_reduced() -> None:
    with pytest.raises(TypeError, match=r"got shape \(0,\)"):
        add.reduce(np.ones(0, np.int32))
    with pytest.raises(BadCall, match=r"one dimension.*got shape \(2, 2\)"):
        add.reduce(np.ones((2, 2), np.int32))
    with pytest.raises(BadCall, match="2 arguments"):
        cuda.vectorize(["int32(int32)"])(lambda x: x).reduce(np.ones(2, np.int32))


# --- what goes wrong inside


def test_an_error_of_the_function_carries_its_report() -> None:
    table = (1, 2, 3)

    @cuda.vectorize(["int64(int64)"])
    def looked_up(i):
        return table[i]

    np.testing.assert_array_equal(looked_up(np.arange(3)), [1, 2, 3])
    with pytest.raises(KernelError, match="out of bounds for a tuple of 3") as e:
        looked_up(np.array([7]))
    assert [f.kind for f in e.value.report.findings] == ["out-of-bounds"]


def test_xray_takes_kernels() -> None:
    for made in (add, cuda.guvectorize(["void(f8, f8[:])"], "()->()")(lambda a, out: None)):
        with pytest.raises(BadInput, match="launches kernels of its own"):
            simt.xray(made)
    with pytest.raises(BadInput, match="this launches kernels of its own"):
        simt.xray(cuda.Reduce(lambda a, b: a))
