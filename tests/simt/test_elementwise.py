"""Ufuncs on arrays inside kernels: values, traffic, and what Numba has no code for."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import simt
from simt.device import numba_cuda
from simt.errors import KernelError
from simt.host import api as cuda
from simt.intrinsics.math import ufunc_loop

from . import sources

numba_cuda.load()
from numba.cuda.ufuncs import ufunc_db  # noqa: E402 - as the line above must come first

KINDS = ["bool", "int32", "uint64", "float32", "float64", "complex64"]
UFUNCS = sorted({ufunc.__name__ for ufunc in ufunc_db()})  # for which Numba has code


def calling(name: str):
    """A kernel in which every thread fills the output by a ufunc."""
    names = ", ".join("ab"[: getattr(np, name).nin])
    text = f"def kernel({names}, out):\n    np.{name}({names}, out)\n"
    return sources.module(text, cuda, np=np).kernel


@settings(max_examples=40)
@given(st.sampled_from(UFUNCS), st.data())
def test_values_are_numpys_in_the_types_of_numba(name: str, data: st.DataObject) -> None:
    ufunc = getattr(np, name)
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    inputs = []
    for _ in range(ufunc.nin):
        kept = shape[data.draw(st.integers(0, len(shape))) :]  # all cut off: a number
        part = [data.draw(st.sampled_from([n, 1])) for n in kept]
        kind = data.draw(st.sampled_from(KINDS))
        inputs.append(np.random.default_rng(len(part)).integers(0, 2, part).astype(kind)[()])
    out = cuda.device_array(shape, data.draw(st.sampled_from(["float64", "int32", "complex128"])))
    loop = ufunc_loop(ufunc, tuple(a.dtype for a in inputs))
    launch = cuda.jit(calling(name))[1, 1]
    try:
        launch(*inputs, out)
    except KernelError as refused:  # there Numba has no loop, or no cast to the output
        event("refused")
        assert f"Numba cannot compile this for a GPU: there is no {name}(" in str(refused)  # noqa: PT017
        return
    with np.errstate(all="ignore"):
        want = ufunc(*(a.astype(t) for a, t in zip(inputs, loop, strict=True)))
    if out.dtype.kind == "i" and not np.isfinite(want).all():
        return
    want = np.broadcast_to(want, shape).astype(out.dtype)
    np.testing.assert_allclose(out.copy_to_host(), want, rtol=1e-6)


def test_each_threads_slice_and_its_traffic() -> None:
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        np.sin(a[i], out[i])

    a = np.random.default_rng(0).random((64, 5)).astype(np.float32)
    out = cuda.to_device(np.zeros_like(a))
    report = simt.xray(kernel)[2, 32](cuda.to_device(a), out)
    assert report.ok
    np.testing.assert_allclose(out.copy_to_host(), np.sin(a), rtol=1e-6)
    assert report.totals.bytes_requested == 2 * a.nbytes
    assert report.totals.flops32 == a.size
    assert report.arrays["a"].global_load_requests == 2 * 5  # warps, elements
    assert report.arrays["out"].global_store_requests == 2 * 5


def test_the_output_is_the_value_too_and_may_be_shared_or_an_input() -> None:
    @cuda.jit
    def kernel(a):
        own = cuda.shared.array(4, np.float64)
        copy = np.maximum(a, 0.0, own)
        copy[0] += 1.0
        np.cos(own, a)

    a = cuda.to_device(np.arange(-1.0, 3.0))
    kernel[1, 1](a)
    np.testing.assert_allclose(a.copy_to_host(), np.cos([1, 0, 1, 2]))


def test_threads_that_fill_the_same_output_race() -> None:
    @cuda.jit
    def kernel(a, out):
        np.maximum(a, 2.0 + cuda.grid(1), out)

    report = simt.xray(kernel)[1, 2](cuda.to_device(np.ones(3)), cuda.device_array(3))
    assert [(f.kind, f.array) for f in report.findings] == [("race", "out")]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("np.sin(a)", "name an array for the result, np.sin(a, out)"),
        ("np.maximum(b, 1.0, a)", "b has 2 dimensions, and the output a has 1"),
        ("np.sin(a, out=a)", "np.sin has no out= in a kernel: write np.sin(x, out)"),
        ("np.sin(a[:2], a)", "accesses a[2], out of bounds: a has length 2"),
    ],
)
def test_what_cannot_be_filled(call: str, said: str) -> None:
    kernel = sources.module(f"def kernel(a, b):\n    {call}\n", cuda).kernel
    with pytest.raises(KernelError) as error:
        cuda.jit(kernel)[1, 1](cuda.to_device(np.ones(3)), cuda.to_device(np.ones((3, 3))))
    assert said in str(error.value)
