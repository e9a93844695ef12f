"""Counters of several launches side by side."""

import numpy as np
import pytest

import gpulearn as gl
from gpulearn import cuda
from gpulearn.errors import BadInput


@cuda.jit
def copy(a, out, stride):
    i = cuda.grid(1)
    if i * stride < a.size:
        out[i] = a[i * stride]


def report(stride):
    a = cuda.to_device(np.ones(32 * stride, np.float32))
    return gl.xray(copy)[1, 32](a, cuda.to_device(np.zeros(32, np.float32)), stride)


def test_rows_are_launches_and_columns_counters():
    table = gl.compare_reports(
        {"neighbors": report(1), "far apart": report(32)},
        "sectors_per_load",
        "global_store_sectors",
        "findings",
    )
    assert table.headings == ("launch", "sectors per load", "global store sectors", "findings")
    assert table.rows == (("neighbors", "4", "4", "none"), ("far apart", "32", "4", "none"))


def test_one_array_alone():
    table = gl.compare_reports({"k": report(8)}, "global_load_sectors", array="a")
    assert table.rows == (("k", "32"),)
    table = gl.compare_reports({"k": report(8)}, "global_load_sectors", array="out")
    assert table.rows == (("k", "0"),)


def test_unknown_names_are_named():
    reports = {"k": report(1)}
    with pytest.raises(BadInput, match="sectors_per_load"):
        gl.compare_reports(reports, "sectors_per_lode")
    with pytest.raises(BadInput, match="choose from"):
        gl.compare_reports(reports)
    with pytest.raises(BadInput, match="array"):
        gl.compare_reports(reports, "atomics", array="b")
    with pytest.raises(BadInput, match="give"):
        gl.compare_reports({}, "atomics")
    with pytest.raises(BadInput, match="k is 3: give the report"):
        gl.compare_reports({"k": 3}, "atomics")
