"""Notebook 04: how many bytes a second a copy delivers when its lanes read apart, or shifted."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from gpulearn import cuda
from gpulearn.kernels.copies import copy_strided
from gpulearn.perf.recordings import Recording, recorded_here
from gpulearn.plot.recorders.measuring import kernels_on, timed_launch

NUMBERS = 2**25  # copied by a launch: 128 MB, several times a cache
STRIDES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)
OFFSETS = (0, 1, 2, 4, 8, 16)
LIVE_NUMBERS = 2**23  # a notebook's GPU may have little memory
BLOCK = 256
REPEATED = 2**22  # random numbers that fill the source again and again


def record_strides(n: int = NUMBERS, repeated: int = REPEATED) -> Recording:
    """Time target[i] = source[offset + i·stride] for n float32, each stride and each offset.

    Strides have the offset 0, offsets the stride 1. The source repeats `repeated` random numbers
    and takes 128·n bytes. The rows have `n`, `stride`, `offset`, `useful` (bytes read and written
    that were asked for) and `seconds`.
    """
    return recorded_here("strides", _rows(n, repeated), kernels_on())


def _rows(n: int, repeated: int) -> Iterator[dict[str, Any]]:
    numbers = np.random.default_rng(4).standard_normal(repeated, dtype=np.float32)
    walks = [(s, 0) for s in STRIDES] + [(1, o) for o in OFFSETS if o]
    source = _filled(numbers, max(o + (n - 1) * s + 1 for s, o in walks))
    target = cuda.device_array(n, np.float32)
    for stride, offset in walks:
        fields = {"n": n, "stride": stride, "offset": offset, "useful": 2 * target.nbytes}
        copy = partial(copy_strided[-(-n // BLOCK), BLOCK], source[offset:], target, stride)
        # what a walk meets repeats itself as the numbers do
        walk = (offset + stride * np.arange(min(n, repeated))) % repeated
        yield timed_launch(fields, copy, target, np.resize(numbers[walk], n))


def _filled(numbers: np.ndarray[Any, Any], size: int) -> Any:
    """A device array of `size` float32 that repeats `numbers`: random, and quickly filled."""
    array = cuda.device_array(size, np.float32)
    there = cuda.to_device(numbers)
    for start in range(0, size, len(numbers)):
        part = min(len(numbers), size - start)
        array[start : start + part].copy_to_device(there[:part])
    return array
