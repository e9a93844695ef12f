"""Device arrays that begin unwritten: a read before any write is told, and nothing else is."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simt
from simt import cuda

from .harness import findings, line


@cuda.jit
def write(out, first, last):
    i = cuda.grid(1)
    if first <= i < last:
        out[i] = i


@cuda.jit
def read(a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]


def told(kernel: Any, *args: Any, blocks: int = 2) -> list[Any]:
    report = simt.xray(kernel)[blocks, 8](*args)
    unwritten = findings(report, "uninitialized-read")
    assert not report.ok or not unwritten
    return unwritten


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.complex64, np.uint8])
def test_a_read_of_what_nobody_has_written_is_told(kind: Any) -> None:
    a, out = cuda.device_array(16, kind), cuda.device_array_like(np.zeros(16, kind))
    (found,) = told(read, a, out)
    assert found.array == "a"
    assert (found.index, found.count, found.line) == ((0,), 16, line(read, "out[i] = a[i]"))
    assert "a[0] in global memory, which nobody has written" in found.message


@given(st.lists(st.tuples(st.integers(0, 16), st.integers(0, 16)), max_size=3))
def test_each_element_that_a_kernel_has_written_may_be_read(parts: list[tuple[int, int]]) -> None:
    a, written = cuda.device_array(16, np.float32), np.zeros(16, bool)
    for first, last in parts:
        assert told(write, a, first, last) == []
        written[first:last] = True
    count = sum(f.count for f in told(read, a, np.zeros(16, np.float32)))
    assert count == (~written).sum()
    told(write, a, 0, 16)
    assert told(read, a, np.zeros(16, np.float32)) == []
    assert a.gpu_data.written is None  # later launches cost nothing more


@cuda.jit
def turn(out):
    i = cuda.grid(1)
    out[i] = i
    out[i] += 1
    cuda.atomic.add(out, i, 1)


@cuda.jit
def count(bins):
    cuda.atomic.add(bins, cuda.grid(1) % 4, 1)


def test_what_a_thread_has_written_it_may_read_and_atomics_read() -> None:
    assert told(turn, cuda.device_array(16, np.int32)) == []
    bins = cuda.device_array(4, np.int32)
    (found,) = told(count, bins)
    assert found.count == 16


@cuda.jit
def in_blocks(out):
    i = cuda.grid(1)
    out[i] += 1
    tile = cuda.shared.array(1 << 13, np.uint8)
    tile[cuda.threadIdx.x] = 1


def test_a_launch_that_starts_again_tells_it_too() -> None:
    """The shared arrays of so many blocks at once would take too much memory."""
    out = cuda.device_array(8 << 12, np.int32)
    (found,) = told(in_blocks, out, blocks=1 << 12)
    assert found.count == 8 << 12


def copied(a: Any) -> None:
    a.copy_to_device(np.zeros(16, np.float32))


def set_whole(a: Any) -> None:
    a[:] = 0


def unchecked(a: Any) -> None:
    with simt.unchecked():
        write[2, 8](a, 0, 16)


@pytest.mark.parametrize("fill", [copied, set_whole, unchecked])
def test_what_the_host_or_an_unchecked_launch_has_written_may_be_read(fill: Any) -> None:
    a = cuda.device_array((4, 4), np.float32).reshape(16)
    fill(a)
    assert told(read, a, np.zeros(16, np.float32)) == []


def test_a_view_of_another_type_is_of_the_same_bytes() -> None:
    a = cuda.device_array(16, np.float64)
    assert told(write, a, 0, 8) == []
    parts = a.view(np.int32)
    assert told(read, parts, np.zeros(16, np.int32)) == []
    (found,) = told(read, parts[8:], np.zeros(16, np.int32))
    assert found.count == 8


def test_an_unchecked_launch_has_written_its_outputs_only() -> None:
    a, out = cuda.device_array(16, np.float32), cuda.device_array(16, np.float32)
    with simt.unchecked():
        read[2, 8](a, out)
    assert told(read, out, np.zeros(16, np.float32)) == []
    assert told(read, a, np.zeros(16, np.float32))
