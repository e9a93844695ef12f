"""Byte ranges: which memory arrays and launches touch, against sets of addresses."""

import random

import numpy as np
import pytest

from simt import cuda
from simt.host.work.launches import PreparedLaunch
from simt.host.work.ranges import AccessRanges, of_array, of_view, overlap


def addresses(array: np.ndarray) -> set[int]:
    start = array.__array_interface__["data"][0]
    offsets = [
        sum(i * s for i, s in zip(index, array.strides, strict=True))
        for index in np.ndindex(array.shape)
    ]
    return {start + offset + k for offset in offsets for k in range(array.itemsize)}


def as_set(ranges: np.ndarray) -> set[int]:
    return {k for low, high in ranges.tolist() for k in range(low, high)}


SLICES = [
    (), (slice(2, 5),), (slice(None), 3), (slice(None), slice(1, 3)), (slice(None, None, 2),),
    (slice(None, None, -1), slice(4, None)), (2, 3), (slice(0, 0),), (slice(None), slice(0, 8, 3)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int16, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_bytes_of_an_array_and_those_of_two(dtype: type, order: str) -> None:
    whole = np.zeros((6, 8), dtype, order=order)
    parts = [whole[index] if index else whole for index in SLICES]
    parts += [whole.T, np.broadcast_to(whole[2:3], (4, 8))]
    parts = [
        np.asarray(part) if isinstance(part, np.ndarray) else whole[2:3, 3:4] for part in parts
    ]
    for one in parts:
        ranges = of_array(one)
        assert as_set(ranges) == addresses(one)
        assert (ranges[1:, 0] > ranges[:-1, 1]).all()
        for other in parts:
            meet = bool(addresses(one) & addresses(other))
            assert overlap(of_array(one), of_array(other)) == meet


def test_the_bytes_of_a_launch() -> None:
    @cuda.jit
    def scatter(index, values, out, total):
        i = cuda.grid(1)
        if i < index.size:
            out[index[i]] = values[i]
            cuda.atomic.add(total, 1, 1)

    draw = random.Random(0)
    index = np.array(draw.sample(range(100), 7))
    device = cuda.to_device(np.zeros(102, np.float32))[1:-1]
    arguments = [cuda.to_device(index), cuda.to_device(np.ones(40, np.float32)), device]
    total = cuda.to_device(np.zeros(4, np.int64))
    prepared = PreparedLaunch(scatter, 1, 32, (*arguments, total), 0, xray=False)
    watch = AccessRanges()
    prepared.carry_out([watch])
    found = {(one.name, one.kind): as_set(one.ranges) for one in watch.accesses()}
    views = {name: (view, written) for name, view, written in prepared.arrays()}
    assert {name for name, (_, written) in views.items() if written} == {"out", "total"}

    def cells(name: str, numbers: list[int]) -> set[int]:
        view = views[name][0]
        ((start, end),) = of_view(view).tolist()
        assert end - start == view.size * view.dtype.itemsize
        return {
            start + n * view.dtype.itemsize + k for n in numbers for k in range(view.dtype.itemsize)
        }

    assert found == {
        ("index", "load"): cells("index", list(range(7))),
        ("values", "load"): cells("values", list(range(7))),
        ("out", "store"): cells("out", index.tolist()),
        ("total", "atomic"): cells("total", [1]),
    }
