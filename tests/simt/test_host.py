"""The host side: the calls that move arrays and start work, as `numba.cuda` has them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numba import float32

import simt
from simt import cuda
from simt.errors import KernelError


@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] * a.dtype.type(2)


@cuda.jit
def add_one(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1


@cuda.jit
def add_matrix(a):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        a[y, x] += 1


def ints(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape))).reshape(shape)


def test_to_device_copies_and_copy_to_host_brings_back() -> None:
    host = ints(10)
    device = cuda.to_device(host)
    host[:] = -1
    np.testing.assert_array_equal(device.copy_to_host(), np.arange(10))
    add_one[1, 32](device)
    np.testing.assert_array_equal(device.copy_to_host(), np.arange(10) + 1)
    assert (host == -1).all()


def test_copy_to_host_into_an_array() -> None:
    target = np.zeros(10, np.int64)
    result = cuda.to_device(ints(10)).copy_to_host(target)
    np.testing.assert_array_equal(target, np.arange(10))
    assert result is target


def test_copy_to_device() -> None:
    device = cuda.device_array(10, np.int64)
    device.copy_to_device(ints(10))
    other = cuda.device_array_like(device)
    other.copy_to_device(device)
    np.testing.assert_array_equal(other.copy_to_host(), np.arange(10))


@pytest.mark.parametrize("order", ["C", "F"])
def test_device_array_has_the_shape_dtype_and_order_asked_for(order: str) -> None:
    device = cuda.device_array((3, 4), np.float32, order=order)
    assert device.shape == (3, 4)
    assert device.dtype == np.float32
    assert device.size == 12
    assert device.ndim == 2
    assert device.nbytes == 48
    assert device.strides == np.zeros((3, 4), np.float32, order=order).strides
    like = cuda.device_array_like(device)
    assert (like.shape, like.dtype, like.strides) == (
        device.shape,
        device.dtype,
        device.strides,
    )


def test_a_device_array_is_not_a_numpy_array_by_accident() -> None:
    device = cuda.to_device(ints(4))
    assert cuda.is_cuda_array(device) or hasattr(device, "copy_to_host")
    np.testing.assert_array_equal(np.asarray(device.copy_to_host()), ints(4))


@pytest.mark.parametrize("index", [slice(2, 7), slice(None, None, 2), slice(5, None), 3])
def test_slices_of_device_arrays_share_memory(index: object) -> None:
    host = ints(10, 6)
    device = cuda.to_device(host)
    part = device[index]
    np.testing.assert_array_equal(part.copy_to_host(), host[index])
    if part.ndim == 1:
        add_one[1, 32](part)
    else:
        add_matrix[(1, 1), (8, 16)](part)
    host[index] += 1
    np.testing.assert_array_equal(device.copy_to_host(), host)


def test_views_of_device_arrays() -> None:
    device = cuda.to_device(ints(4, 6))
    assert device.reshape(24).shape == (24,)
    assert device.ravel().shape == (24,)
    np.testing.assert_array_equal(device.T.copy_to_host(), ints(4, 6).T)
    np.testing.assert_array_equal(device.reshape(3, 8).copy_to_host(), ints(3, 8))
    assert device.view(np.float64).dtype == np.float64
    device[0] = 9
    device[1, 2] = 7
    assert device.copy_to_host()[0, 3] == 9
    assert device.copy_to_host()[1, 2] == 7
    device[2:4] = cuda.to_device(np.ones((2, 6), np.int64))
    assert (device.copy_to_host()[2:] == 1).all()
    assert device[1, 2] == 7


def test_streams_and_events() -> None:
    stream = cuda.stream()
    begin, end = cuda.event(), cuda.event(timing=True)
    device = cuda.to_device(ints(10), stream=stream)
    begin.record(stream)
    add_one[1, 32, stream](device)
    end.record(stream)
    end.synchronize()
    stream.synchronize()
    assert cuda.event_elapsed_time(begin, end) >= 0
    result = device.copy_to_host(stream=stream)
    cuda.synchronize()
    np.testing.assert_array_equal(result, np.arange(10) + 1)
    with stream.auto_synchronize():
        add_one[1, 32, stream](device)
    assert cuda.default_stream() is not None


def test_forall_covers_every_element() -> None:
    device = cuda.to_device(ints(1000))
    add_one.forall(1000)(device)
    add_one.forall(1000, tpb=64)(device)
    np.testing.assert_array_equal(device.copy_to_host(), np.arange(1000) + 2)


@pytest.mark.parametrize("make", ["pinned_array", "mapped_array"])
def test_pinned_and_mapped_arrays(make: str) -> None:
    array = getattr(cuda, make)(16, np.float32)
    array[:] = 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        double[1, 16](array)
    cuda.synchronize()
    np.testing.assert_array_equal(array, np.full(16, 6, np.float32))
    assert array.dtype == np.float32


def test_pinned_context() -> None:
    host = ints(10)
    with cuda.pinned(host):
        device = cuda.to_device(host)
    np.testing.assert_array_equal(device.copy_to_host(), host)


@pytest.mark.parametrize("grid", [4, (4,), (2, 2), np.int64(4)])
@pytest.mark.parametrize("block", [32, (32,), (8, 4), (2, 4, 4)])
def test_launch_shapes(grid: object, block: object) -> None:
    out = cuda.to_device(np.zeros(1, np.int32))

    @cuda.jit
    def count(out):
        cuda.atomic.add(out, 0, 1)

    count[grid, block](out)
    assert out.copy_to_host()[0] == 128


def test_jit_with_options_and_signatures() -> None:
    @cuda.jit("void(float32[:], float32)")
    def scale(a, k):
        i = cuda.grid(1)
        a[i] = a[i] * k

    @cuda.jit("(float32[:],)", fastmath=True, lineinfo=True)
    def negate(a):
        i = cuda.grid(1)
        a[i] = -a[i]

    @cuda.jit("float32(float32)", device=True, inline=True)
    def square(x):
        return x * x

    @cuda.jit(fastmath=True, max_registers=32)
    def apply(a):
        i = cuda.grid(1)
        a[i] = square(a[i])

    @cuda.jit()
    def twice(a):
        a[cuda.grid(1)] *= float32(2)

    a = cuda.to_device(np.full(8, 3, np.float32))
    scale[1, 8](a, 2.0)  # the signature makes the argument float32
    negate[1, 8](a)
    apply[1, 8](a)
    twice[1, 8](a)
    np.testing.assert_array_equal(a.copy_to_host(), np.full(8, 72, np.float32))


def test_a_kernel_keeps_its_python_function() -> None:
    assert double.py_func.__name__ == "double"
    assert double.__name__ == "double"


def test_numpy_arguments_come_back() -> None:
    host = ints(10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        add_one[1, 32](host)
    np.testing.assert_array_equal(host, np.arange(10) + 1)


def test_scalars_of_every_kind_are_arguments() -> None:
    @cuda.jit
    def store(out, a, b, c, d, e):
        out[0] = a
        out[1] = b
        out[2] = c
        out[3] = d
        out[4] = e.real

    out = cuda.to_device(np.zeros(5))
    store[1, 1](out, 3, 2.5, True, np.float32(0.5), 1 + 2j)
    np.testing.assert_array_equal(out.copy_to_host(), [3, 2.5, 1, 0.5, 1])


def test_tuples_are_arguments() -> None:
    @cuda.jit
    def store(out, pair, arrays):
        i = cuda.grid(1)
        out[i] = pair[0] * arrays[0][i] + pair[1] * arrays[1][i]

    out = cuda.to_device(np.zeros(8))
    a, b = cuda.to_device(np.arange(8.0)), cuda.to_device(np.ones(8))
    store[1, 8](out, (2, 0.5), (a, b))
    np.testing.assert_array_equal(out.copy_to_host(), 2 * np.arange(8) + 0.5)


def test_torch_cpu_tensors_are_changed_in_place() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(10, dtype=torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        double[1, 32](tensor)
    assert torch.equal(tensor, 2 * torch.arange(10, dtype=torch.float32))
    matrix = torch.zeros(4, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        double[1, 32](matrix[1])
        add_matrix[1, (8, 8)](matrix.T)
    assert torch.equal(matrix, torch.ones(4, 6))


def test_what_a_notebook_asks_about_the_device() -> None:
    assert cuda.is_available() in (True, False)
    device = cuda.get_current_device()
    assert device.WARP_SIZE == 32
    assert device.MAX_THREADS_PER_BLOCK == 1024
    assert len(cuda.gpus) >= 1
    assert device.name
    assert cuda.gpus[0] is not None
    assert len(device.compute_capability) == 2


def read_only(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


@pytest.mark.parametrize("wrap", [lambda a: a, cuda.In])
def test_a_read_only_array_can_be_read_and_not_written(wrap: Any) -> None:
    """Numba refuses to compile the kernel for such an array."""

    @cuda.jit
    def copy(a, b):
        i = cuda.grid(1)
        b[i] = a[i]

    source, target = np.arange(8.0), np.zeros(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy[1, 8](wrap(read_only(source.copy())), target)
        np.testing.assert_array_equal(target, source)
        with pytest.raises(KernelError, match="read-only in NumPy"):
            copy[1, 8](source, wrap(read_only(target)))
    copy[1, 8](cuda.to_device(source), cuda.to_device(target))  # a copy may be written


def test_arguments_go_by_position() -> None:
    @cuda.jit
    def fill(a, n):
        a[cuda.grid(1)] = n

    a = cuda.to_device(np.zeros(4))
    said = r"fill takes its arguments by position only: write fill\[blocks, threads\]\(a, n\)"
    with pytest.raises(KernelError, match=said + ", without n="):
        fill[1, 4](a, n=3)
    assert "without n=" in simt.xray(fill)[1, 4](a, n=3).findings[0].message


def test_nothing_keeps_the_machine_from_running_kernels() -> None:
    assert cuda.cuda_error() is None


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("memalloc", "cuda.device_array"),
        ("memhostalloc", "cuda.pinned_array"),
        ("mempin", "pinned"),
    ],
)
def test_a_call_of_the_driver_is_told_what_does_it_here(name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=rf"{name} is a call of CUDA's driver.*{instead}"):
        getattr(cuda.current_context(), name)
    assert not hasattr(cuda.current_context(), "nothing_of_that_name")
