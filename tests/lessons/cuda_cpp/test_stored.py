"""PTX of the notebooks' C++ kernels, which stands in for a compiler that is not there."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from gpulearn.errors import KernelError, MissingPackage
from simt.cpp import compiler, cpp
from simt.cpp.stored import key, stored
from tools.stored_ptx import FILE, compilations, entry, release

NOTEBOOKS = list(dict.fromkeys(compilations()))


@pytest.fixture
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_library", lambda: None)


def test_it_holds_what_the_notebooks_compile_and_nothing_else() -> None:
    """`python -m tools.stored_ptx` writes it anew."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))["entries"]
    assert sorted(kept) == sorted(key(*one) for one in NOTEBOOKS)
    assert all("/" not in file for file in re.findall(r'\.file\s+\d+ \\"([^"]*)\\"', str(kept)))


@pytest.mark.usefixtures("_nvrtc")
def test_it_is_what_the_compiler_makes() -> None:
    same = release() == json.loads(FILE.read_text(encoding="utf-8"))["compiler"]
    for one in NOTEBOOKS:
        kept, made = stored(*one), entry(one)
        assert kept is not None
        assert kept.keys() == made.keys()
        assert not same or kept == made  # another release of the compiler writes other PTX


@pytest.mark.usefixtures("_no_compiler")
def test_a_kernel_of_a_notebook_runs_without_a_compiler() -> None:
    source, options = next(one for one in NOTEBOOKS if "sum_all" in one.source)
    x, total = np.arange(8, dtype=np.float32), np.zeros(1, np.float32)
    cpp(source, options)["sum_all"][1, 32](x, total, 8)
    assert total == x.sum()


@pytest.mark.usefixtures("_no_compiler")
def test_what_the_compiler_refuses_is_refused_without_it() -> None:
    refused = [one for one in NOTEBOOKS if "refused" in (stored(*one) or {})]
    assert refused
    for one in refused:
        with pytest.raises(KernelError, match=r"^line \d+: "):
            cpp(one.source, one.options)


@pytest.mark.usefixtures("_no_compiler")
def test_a_source_of_ones_own_needs_the_compiler() -> None:
    for one in NOTEBOOKS:
        with pytest.raises(MissingPackage):
            cpp(one.source + "\n", one.options)
