"""Classic C++ kernels compute what NumPy does, and what is wrong in them is named by line."""

from typing import Any

import numpy as np
import pytest

import simt
from simt.cpp import cpp
from simt.report.report import Report

from . import classics_numbers, classics_sequences
from .classics import CLASSICS, MISTAKES, Mistake

assert classics_numbers.add is classics_sequences.add  # both have filled the lists

pytestmark = pytest.mark.usefixtures("_nvrtc")


def carried_out(name: str, source: str, given: tuple[Any, ...]) -> Report:
    classic = CLASSICS[name]
    kernel = cpp(source)[name]
    return simt.xray(kernel.cooperative if classic.cooperative else kernel)[classic.launch](*given)


@pytest.mark.parametrize("name", CLASSICS)
def test_a_classic_computes_what_numpy_does(name: str) -> None:
    classic = CLASSICS[name]
    given = classic.arguments()
    wanted = classic.result(*classic.arguments())
    report = carried_out(name, classic.source, given)
    assert [str(f) for f in report.findings if f.kind != "implicit-copy"] == []
    np.testing.assert_allclose(given[-1], wanted, rtol=classic.rtol, atol=classic.rtol)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: f"{m.kernel}-{m.kind}")
def test_a_mistake_is_named_with_its_line(mistake: Mistake) -> None:
    name, edits, kind, text, says = mistake
    source = CLASSICS[name].source
    for old, new in edits.items():
        assert source.count(old) >= 1, old
        source = source.replace(old, new, 1)
    given = CLASSICS[name].arguments()
    report = carried_out(name, source, given)
    found = [f for f in report.findings if f.kind == kind]
    assert found, str(report).splitlines()[:6]
    lines = source.splitlines()
    places = [lines[n - 1] for f in found for n in (f.line, f.other_line) if n]
    assert any(text in line for line in places), (places, [str(f) for f in found])
    assert any(says in f.message for f in found), [str(f) for f in found]
    if kind == "race" and name in ("matmul_tiled", "transpose"):
        wanted: Any = CLASSICS[name].result(*CLASSICS[name].arguments())
        assert not np.allclose(given[-1], wanted, rtol=1e-3, equal_nan=True)  # it is torn
