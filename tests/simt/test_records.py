"""Records: a GPU reads and writes aligned fields only, which is found when a kernel is compiled."""

import contextlib
import itertools

import numpy as np
import pytest

import simt
from simt.errors import KernelError
from simt.host import api as cuda

FIELDS = [("a", np.int32), ("b", np.float64)]


@cuda.jit
def exchange(records):
    i = cuda.grid(1)
    records[i].a, records[i].b = records[i].b, records[i].a


@cuda.jit
def first_parts(records):
    i = cuda.grid(1)
    records[i].a += 1


@cuda.jit(device=True)
def sum_of(record):
    return record.a + record.b


@cuda.jit
def sums(records, out):
    i = cuda.grid(1)
    out[i] = sum_of(records[i])


def records(*, align):
    made = np.zeros(3, np.dtype(FIELDS, align=align))
    made["b"] = [5, 6, 7]
    return made


def test_fields_that_are_not_aligned_are_refused():
    packed = records(align=False)
    with pytest.raises(KernelError, match="the field b of type float64 is not aligned.*align=True"):
        exchange[1, 3](packed)
    with pytest.raises(KernelError, match="the field b of type float64 is not aligned"):
        sums[1, 3](packed, np.zeros(3))
    first_parts[1, 3](packed)
    assert packed["a"].tolist() == [1, 1, 1]


@cuda.jit
def named(records):
    i = cuda.grid(1)
    records[i].n = i
    if i > 2:
        records[i]["name"] = "late"


def test_strings_in_records_are_carried_and_not_touched():
    people = np.zeros(4, np.dtype([("n", np.int32), ("name", "<U4")]))
    people["name"] = "Ada"
    named[1, 3](people)
    assert people.tolist() == [(0, "Ada"), (1, "Ada"), (2, "Ada"), (0, "Ada")]
    with pytest.raises(KernelError, match=r"records.name holds strings \(<U4\), which the SIMT"):
        named[1, 4](people)


PACKED = np.dtype([("w", np.float32), ("v", np.float32, 3), ("z", np.complex64), ("b", np.uint8)])


@cuda.jit
def read_packed(records, out):
    i = cuda.grid(1)
    out[0, i] = records[i].w
    out[1, i] = records["w"][i] + records["v"][i, 2]
    out[2, i] = records["z"].imag[i] + records[i].z.real
    records[i].w = 2 * i
    records["v"][i, 1] = records[i].w


def test_what_numba_reads_byte_by_byte_need_not_be_aligned():
    """Records of 25 bytes: Numba's code takes fields and arrays of fields to lie anywhere."""
    packed = np.zeros(5, PACKED)
    packed["w"], packed["v"][:, 2], packed["z"] = np.arange(5), 10, np.arange(5) * (1 - 2j)
    out = np.zeros((3, 5), np.float32)
    report = simt.xray(read_packed)[1, 5](packed, out)
    assert report.ok
    assert out.tolist() == [[*range(5)], [*range(10, 15)], [-i for i in range(5)]]
    assert packed["w"].tolist() == packed["v"][:, 1].tolist() == [0, 2, 4, 6, 8]


@cuda.jit
def read_nested(records, first, out):
    i = first + cuda.grid(1)
    if i % 2 == 0:
        records[i].v[1] = records[i]["v"][2]
        out[0] += 1


@cuda.jit
def viewed(records, first, out):
    i = cuda.grid(1)
    if i == 0:
        out[0] = out.view(np.uint8)[first : first + 8].view(np.int64)[0]


@pytest.mark.parametrize("kernel", [read_nested, viewed])
def test_what_numba_takes_to_be_aligned_must_be(kernel):
    """An array within a record, a view of another type: a GPU fails at such an address."""
    records = np.zeros(20, PACKED if kernel is read_nested else np.int8)
    for first in (0, 8):
        kernel[1, 1](records, first * (kernel is viewed), np.zeros(4, np.int64))
    for first, way in itertools.product((2, 6), (contextlib.nullcontext, simt.unchecked)):
        with way(), pytest.raises(KernelError, match=r"no multiple of [48], .*align="):
            kernel[1, 1](records, first, np.zeros(4, np.int64))
