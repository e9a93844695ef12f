"""Records: a GPU reads and writes aligned fields only, which is found when a kernel is compiled."""

import numpy as np
import pytest

from gpulearn.errors import KernelError
from gpulearn.simt.host import api as cuda

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


def test_aligned_ones_are_exchanged():
    aligned = records(align=True)
    exchange[1, 3](aligned)
    assert aligned["a"].tolist() == [5, 6, 7]


def test_records_of_one_layout_are_two_types_if_one_is_aligned():
    for align in (False, True):
        first_parts[1, 1](np.zeros(1, np.dtype([("a", "i4"), ("c", "i4")], align=align)))
    assert len(first_parts.signatures) >= 2
    assert len(set(map(str, first_parts.signatures))) == len(first_parts.signatures)


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
