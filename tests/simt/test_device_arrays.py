"""Device arrays on the host: views, copies, and the CUDA Array Interface."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import NumbaNotImplementedError

from simt.errors import BadInput
from simt.host import api as cuda


class Foreign:
    """An array of another library's, that lies where a device array does."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def slices(length):
    ends = st.none() | st.integers(-length - 2, length + 2)
    return st.builds(slice, ends, ends, st.none() | st.integers(1, 3))


@given(slices(5), slices(7))
def test_an_interface_leads_back_to_the_same_memory(rows, columns):
    host = np.arange(35, dtype=np.int32).reshape(5, 7)
    device = cuda.to_device(host)
    part = device[rows, columns]
    again = cuda.as_cuda_array(Foreign(part))
    assert (again.shape, again.dtype) == (part.shape, part.dtype)
    again[...] = -1
    host[rows, columns] = -1
    assert device.copy_to_host().tolist() == host.tolist()


def test_what_stands_for_no_array_goes_to_the_device_and_to_no_kernel() -> None:
    """A program may send all it has, also what another mode of it leaves at None."""

    @cuda.jit
    def kernel(a, out):
        out[0] = 1

    nothing = cuda.to_device(None)
    assert nothing.shape == ()
    assert nothing.nbytes == 8
    with pytest.raises(NumbaNotImplementedError):
        kernel[1, 1](nothing, np.zeros(1))


def test_memory_that_is_not_the_machines_is_refused():
    interface = cuda.to_device(np.zeros(3)).__cuda_array_interface__
    with pytest.raises(BadInput, match="the memory at 0x10 is none of the SIMT machine's"):
        cuda.from_cuda_array_interface({**interface, "data": (0x10, False)})


CUTS = [np.s_[:], np.s_[::-1], np.s_[1:, 1:3], np.s_[:, ::2], "transposed"]


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_a_part_of_a_mapped_array_is_reached_where_it_lies(make, order):
    @cuda.jit
    def take(a, out):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            out[i, j] = a[i, j]
            a[i, j] += 100

    for cut in CUTS:
        whole = make((3, 4), order=order)
        whole[...] = np.arange(12.0).reshape(3, 4)
        part = whole.T if isinstance(cut, str) else whole[cut]
        before, out = np.array(part), np.zeros(part.shape)
        take[1, (4, 4)](part, out)
        np.testing.assert_array_equal(out, before)
        assert whole.sum() == 66 + 100 * part.size
