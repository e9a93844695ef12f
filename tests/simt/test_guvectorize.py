"""`guvectorize`: which signature is taken, how arrays are spread, where the outputs lie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import float32, float64, int32, void

import simt
from simt.device import numba_cuda
from simt.errors import BadCall, KernelError
from simt.host import api as cuda


@cuda.guvectorize(
    [void(float32[:, :], float32[:, :], float32[:, :]), "void(f8[:, :], f8[:, :], f8[:, :])"],
    "(m, n), (n, p) -> (m, p)",
    target="cuda",
)
def product(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = 0
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]


@cuda.guvectorize([(float32, float32[:], float32[:], float32[:])], "(),(t),(t)->(t)")
def saxpy(a, x, y, out):
    for i in range(out.shape[0]):
        out[i] = a * x[i] + y[i]


@cuda.guvectorize(["void(int32[:], int32[:])", "void(float64[:], float64[:])"], "(n)->()")
def row_sum(row, out):
    total = row.dtype.type(0)
    for x in range(row.shape[0]):
        total += row[x]
    out[0] = total


@cuda.guvectorize([void(int32[:], int32[:], float64[:])], "(x)->(x),(x)")
def copy_and_half(a, same, half):
    for i in range(a.size):
        same[i] = a[i]
        half[i] = a[i] / 2


def wholes(shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


# --- against NumPy, in the shapes that Numba takes


@st.composite
def products(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Shapes for (m,n),(n,p), with loop dimensions of which not all go together."""
    loops = st.sampled_from([(), (1,), (4,), (2, 2), (2, 1), (1, 1), (3,)])
    common = draw(loops)
    shapes = []
    for core in (2, 3), (3, 2):
        loop = draw(st.sampled_from([common, common, (), (1,), draw(loops)]))
        wrong = draw(st.sampled_from([(), (), (), (), (1,)]))
        shapes.append((*loop, *core[: len(core) - len(wrong)], *(7 * w for w in wrong)))
    return shapes


@settings(max_examples=80)
@given(products(), st.sampled_from("fd"), st.lists(st.booleans(), min_size=3, max_size=3))
def test_shapes_types_and_places(shapes, letter, on_device) -> None:
    numba_cuda.load()
    from numba.cuda.deviceufunc import GUFuncEngine

    arrays = [wholes(shape, np.dtype(letter).type) for shape in shapes]
    args = [cuda.to_device(a) if d else a for a, d in zip(arrays, on_device, strict=False)]
    try:
        plan = GUFuncEngine.from_signature("(m,n),(n,p)->(m,p)").schedule(shapes)
    except ValueError:
        with pytest.raises(ValueError, match="product: "):
            product(*args)
        return
    if any(s[:-2] == (1,) and plan.loopn > 1 for s in shapes):  # Numba plans and cannot do it
        with pytest.raises(BadCall, match=r"repeated \d+ times.*x\[0\]"):
            product(*args)
        return
    want = np.matmul(*arrays)
    if plan.loopdims == ():  # then Numba's result has no loop dimension
        want = want.reshape(plan.output_shapes[0])
    got = product(*args)
    assert isinstance(got, cuda.DeviceNDArray) is any(on_device[:2])
    assert got.dtype == letter
    assert got.shape == want.shape
    np.testing.assert_array_equal(np.asarray(got), want)
    host = np.full(want.shape, np.nan, letter)
    out = cuda.to_device(host) if on_device[2] else host
    assert product(*args, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), want)


@settings(max_examples=40)
@given(st.permutations(["int8", "int32", "int64", "float32", "float64"]), st.integers(1, 4))
def test_the_signature_is_the_one_that_numba_takes(kinds, known) -> None:
    numba_cuda.load()
    from numba.cuda.deviceufunc import GeneralizedUFunc, GUFuncEngine

    given, declared = kinds[0], kinds[-known:]
    same = cuda.guvectorize([f"void({k}[:], {k}[:])" for k in declared], "(n)->(n)")(_copy)
    kernels = {(np.dtype(k),): ((np.dtype(k),), None) for k in declared}
    a = np.arange(5).astype(given)
    for array in (a, cuda.to_device(a)):
        numbas = GeneralizedUFunc(kernels, GUFuncEngine.from_signature("(n)->(n)"))
        try:
            (dtype,), *_ = numbas._schedule([array], [None])
        except TypeError:
            with pytest.raises(TypeError, match="no matching signature"):
                same(array)
            continue
        if array is not a and dtype != a.dtype:
            with pytest.raises(TypeError, match=r"does not support \.astype\(\)"):
                same(array)
            continue
        got = same(array)
        assert got.dtype == dtype
        np.testing.assert_array_equal(np.asarray(got), a)


def _copy(a, out):
    for i in range(a.size):
        out[i] = a[i]


# --- inputs


def test_inputs_with_gaps_between_their_elements() -> None:
    whole = wholes((6, 8), np.float64)
    with pytest.raises(ValueError, match="does not lie in one piece"):
        row_sum(whole[::2, ::3])
    there = cuda.to_device(whole)
    np.testing.assert_array_equal(row_sum(there[::2, ::3]).copy_to_host(), whole[::2, ::3].sum(1))
    deep = wholes((2, 3, 4), np.float64)
    with pytest.raises(BadCall, match=r"input 1 has shape \(2, 2, 4\).*np.ascontiguousarray\(x\)"):
        row_sum(cuda.to_device(deep)[:, ::2])
    with pytest.raises(BadCall, match="rows lie one after the other"):
        row_sum(np.asfortranarray(deep))


# --- what does not fit


def test_the_number_of_arguments() -> None:
    a = wholes((3,), np.int32)
    with pytest.raises(ValueError, match=r"^cannot specify argument 'out' as both positional"):
        row_sum(a, a, out=a)
    with pytest.raises(BadCall, match="has 2 outputs, and out= stands for one: give them by"):
        copy_and_half(a, out=a)


def test_shapes_that_do_not_fit() -> None:
    a = wholes((2, 3))
    with pytest.raises(ValueError, match=r"dimension n is 3 before, and 2 in input 2 of shape"):
        product(a, a)
    with pytest.raises(ValueError, match=r"input 2 has shape \(3,\).*needs 2 dimensions"):
        product(a, a[0])
    with pytest.raises(ValueError, match=r"the loop has shape \(5,\), and input 2 has \(4,\)"):
        product(wholes((5, 2, 3)), wholes((4, 3, 2)))
    with pytest.raises(ValueError, match=r"output shape mismatch.*float32 \(2, 2\), and out is"):
        product(a, a.T, out=np.zeros((2, 3), np.float32))
    with pytest.raises(BadCall, match=r"float32 \(2, 2\), and out is float64 \(2, 2\)"):
        product(a, a.T, out=np.zeros((2, 2)))
    with pytest.raises(BadCall, match=r"the loop has shape \(0,\)"):
        row_sum(np.ones((0, 3)))


def test_types_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match=r"saxpy: no matching signature for .*x\.astype\("):
        saxpy(np.float16(1), wholes((3,)), wholes((3,)))


def test_declarations_that_do_not_fit() -> None:
    vector = [void(int32[:], int32[:])]
    for types, layout in [
        ([void(int32, int32[:])], "(n)->(n)"),
        (vector, "(n,m)->(n)"),
        (vector, "(n),(n)->(n)"),
        (["void(int32[:], int32[:], int32[:])"], "(n),(n)->(n)"),
    ]:
        with pytest.raises(ValueError, match="does not fit the layout"):
            cuda.guvectorize(types, layout)(_copy)
    for layout in ("n->n", "(n)", "(n)->", "(n+1)->(n)", "(n)(n)->(n)", "(2)->()"):
        with pytest.raises(ValueError, match="is no layout: write such as"):
            cuda.guvectorize(vector, layout)(_copy)
    with pytest.raises(BadCall, match="has the dimension k in an output and in no input"):
        cuda.guvectorize(vector, "(n)->(k)")(_copy)
    cuda.guvectorize(vector, "( n , ) -> ( n )", nopython=True, identity=0)(_copy)
    with pytest.raises(TypeError, match="takes signatures and a layout"):
        cuda.guvectorize("(n)->(n)")


def test_options() -> None:
    vector = [void(int32[:], int32[:])]
    with pytest.raises(TypeError, match="writable_args"):
        cuda.guvectorize(vector, "(n)->(n)", writable_args=(0,))
    with pytest.raises(TypeError, match="caching is not supported"):
        cuda.guvectorize(vector, "(n)->(n)", cache=True)
    with pytest.raises(ValueError, match="got 'cpu': take numba.guvectorize"):
        cuda.guvectorize(vector, "(n)->(n)", target="cpu")


def test_an_error_inside_names_the_functions_own_array() -> None:
    @cuda.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
    def shifted(row, out):
        for i in range(row.size):
            out[i] = row[i + 1]

    with pytest.raises(KernelError, match=r"accesses row\[0, 3\]|accesses row\[3\]") as e:
        shifted(np.ones((1, 3)))
    (finding,) = e.value.report.findings
    assert (finding.kind, finding.array, finding.function) == ("out-of-bounds", "row", "shifted")


def test_a_race_through_one_output_is_told() -> None:
    @cuda.guvectorize(["void(f8, f8[:], f8[:])"], "(),(n)->(n)")
    def to_first(x, row, out):
        out[0] = x
        row[0] = x

    with pytest.warns(simt.core.findings.SimtWarning, match="race"):
        to_first(np.arange(40.0), np.ones(1))
