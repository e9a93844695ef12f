"""PTX that NVRTC made of some classics, stored: what needs no compiler is tried everywhere."""

from pathlib import Path

import numpy as np
import pytest

import simt
from simt.cpp import CppModule, cpp
from simt.cpp import compiler as nvrtc
from simt.errors import MissingPackage

from .classics import CLASSICS

STORED = {file.stem: file.read_text() for file in Path(__file__).parent.glob("stored/*.ptx")}


def kernel(name: str, ptx: str) -> object:
    return CppModule(CLASSICS[name].source, ptx=ptx)[name]


@pytest.mark.parametrize("name", STORED)
def test_a_stored_kernel_computes_what_numpy_does(name: str) -> None:
    classic = CLASSICS[name]
    given, wanted = classic.arguments(), classic.result(*classic.arguments())
    report = simt.xray(kernel(name, STORED[name]))[classic.launch](*given)
    assert report.ok
    assert report.totals.global_load_requests > 0
    np.testing.assert_allclose(given[-1], wanted, rtol=classic.rtol, atol=classic.rtol)


@pytest.mark.parametrize("name", ["transpose", "reduce", "stencil"])
def test_without_its_barriers_it_races_and_the_lines_are_named(name: str) -> None:
    classic, lines = CLASSICS[name], CLASSICS[name].source.splitlines()
    given, wanted = classic.arguments(), classic.result(*classic.arguments())
    torn = STORED[name].replace("bar.sync", "// bar.sync")
    report = simt.xray(kernel(name, torn))[classic.launch](*given)
    races = [f for f in report.findings if f.kind == "race"]
    arrays = {"transpose": "tile", "reduce": "parts", "stencil": "s"}
    assert {f.array for f in races} == {arrays[name]}
    for finding in races:
        for line in (finding.line, finding.other_line):
            assert f"{arrays[name]}[" in lines[(line or 0) - 1]
    assert not np.allclose(given[-1], wanted, rtol=1e-3, equal_nan=True)


def test_without_the_compiler_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvrtc, "_library", lambda: None)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(MissingPackage, match=r"no GPU: pip install .*cpp") as caught:
        cpp("__global__ void f() {}")
    assert "\n" not in str(caught.value)
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(MissingPackage, match="does not exist for macOS"):
        cpp("__global__ void f() {}")
