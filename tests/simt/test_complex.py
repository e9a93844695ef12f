"""Complex numbers: the parts of whole arrays, and special numbers of cmath."""

import cmath
import contextlib
import itertools
import math
from typing import Any

import numpy as np
import pytest

from simt import cuda

from .harness import launch, only, xray
from .sources import computed


def test_special_numbers_of_exp_and_rect_are_pythons() -> None:
    reals = [0.0, -0.0, 2.0, math.inf, -math.inf, math.nan]
    pairs, want = [], []
    for pair in itertools.product(reals, reals):
        with contextlib.suppress(ValueError):
            want.append(cmath.rect(*pair))
            pairs.append(pair)
    z = np.array([complex(*pair) for pair in pairs])
    got = computed("cmath.rect(a[i].real, a[i].imag)", z, kind=np.complex128)
    np.testing.assert_array_equal(got, want)
    got = computed("cmath.exp(a[i])", np.array([complex(-math.inf, -math.inf)]), kind=np.complex128)
    assert str(got[0]) == "0j"  # and no -0


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_parts_of_an_array_are_views(kind: Any) -> None:
    def kernel(z, out, shared_out):
        i = cuda.threadIdx.x
        tile = cuda.shared.array(8, np.complex128)
        own = cuda.local.array(3, np.complex64)
        for k in range(3):
            own[k] = complex(k, i)
        tile.real[i] = own.imag[2] + own.real[2] - 2
        tile.imag[i] = -z.imag[i]
        cuda.syncthreads()
        z.imag[i] = 2 * z.real[i]
        out[i] = z.imag[i]
        shared_out[i] = tile[7 - i]

    z = (np.arange(8) + 3j).astype(kind)
    out, shared = np.zeros(8), np.zeros(8, np.complex128)
    want = z.real + 2j * z.real
    launch(kernel, 1, 8, z, out, shared)
    np.testing.assert_array_equal(z, want)
    np.testing.assert_array_equal(out, want.imag)
    np.testing.assert_array_equal(shared, np.arange(7, -1, -1) - 3j)


def test_a_race_on_a_part_is_seen_and_on_different_parts_is_none() -> None:
    def racing(z):
        i = cuda.grid(1)
        z.real[0] = i

    def apart(z):
        i = cuda.grid(1)
        if i == 0:
            z.real[0] = 1
        elif i == 40:
            z.imag[0] = 2

    z = np.zeros(2, np.complex128)
    assert only(xray(racing, 1, 64, z), "race").array == "z.real"
    launch(apart, 1, 64, z)
    assert z[0].imag == 2
