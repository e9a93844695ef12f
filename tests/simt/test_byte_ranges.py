"""Byte ranges: which memory arrays touch, against sets of addresses."""

import numpy as np
import pytest

from simt.host.work.ranges import of_array, overlap


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
    np.s_[:], np.s_[2:5], np.s_[:, 3], np.s_[:, 1:3], np.s_[::2], np.s_[::-1, 4:],
    np.s_[2:3, 3:4], np.s_[0:0], np.s_[:, 0:8:3],
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int16, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_bytes_of_an_array_and_those_of_two(dtype: type, order: str) -> None:
    whole = np.zeros((6, 8), dtype, order=order)
    parts = [whole[index] for index in SLICES]
    parts += [whole.T, np.broadcast_to(whole[2:3], (4, 8))]
    for one in parts:
        ranges = of_array(one)
        assert as_set(ranges) == addresses(one)
        assert (ranges[1:, 0] > ranges[:-1, 1]).all()
        for other in parts:
            meet = bool(addresses(one) & addresses(other))
            assert overlap(of_array(one), of_array(other)) == meet
