"""The host side: the calls that move arrays and start work, as `numba.cuda` has them."""

from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda
from simt.errors import KernelError
from simt.frontend.program import Program
from simt.machine.execution import launch


@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] * a.dtype.type(2)


@cuda.jit
def add_matrix(a):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        a[y, x] += 1


@pytest.mark.parametrize("grid", [4, (4,), (2, 2), np.int64(4)])
@pytest.mark.parametrize("block", [32, (32,), (8, 4), (2, 4, 4)])
def test_launch_shapes(grid: object, block: object) -> None:
    out = cuda.to_device(np.zeros(1, np.int32))

    @cuda.jit
    def count(out):
        cuda.atomic.add(out, 0, 1)

    count[grid, block](out)
    assert out.copy_to_host()[0] == 128


def test_indices_of_a_large_grid_do_not_overflow() -> None:
    """In its last block, as all of its 2**32 threads and more take half a minute."""

    @cuda.jit
    def indices(out):
        t = cuda.threadIdx.x
        out[0, t], out[1, t] = cuda.grid(1), cuda.blockIdx.x * cuda.blockDim.x + t
        out[2, t], out[3, t] = cuda.gridsize(1), cuda.blockDim.x * cuda.gridDim.x

    given, blocks = cuda.to_device(np.zeros((4, 256), np.int64)), 22_121_216
    last = np.array([blocks - 1])
    launch(Program(indices.source), (blocks, 1, 1), (256, 1, 1), (given.as_view("a"),), only=last)
    out = given.copy_to_host()
    size = blocks * 256
    np.testing.assert_array_equal(out[:2], np.tile(np.arange(size - 256, size), (2, 1)))
    assert (out[2:] == size).all()


def test_torch_cpu_tensors_are_changed_in_place() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(10, dtype=torch.float32)
    double[1, 32](tensor)
    assert torch.equal(tensor, 2 * torch.arange(10, dtype=torch.float32))
    matrix = torch.zeros(4, 6)
    double[1, 32](matrix[1])
    add_matrix[1, (8, 8)](matrix.T)
    assert torch.equal(matrix, torch.ones(4, 6))


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
