"""`simt.xray(kernel, compiled=True)`: the compiler's code beside the lines of the source."""

import numpy as np
import pytest

import simt
from simt import cuda
from simt.cpp import cpp
from simt.errors import MissingPackage
from simt.numba_ptx import codegen
from simt.report.report import Report


@cuda.jit
def polynomial(x, y, factors):
    i = cuda.grid(1)
    unused = cuda.shared.array(64, np.float32)
    if i < x.size:
        unused[cuda.threadIdx.x] = x[i]
        y[i] = factors[0] * x[i] * x[i] + factors[1] * x[i]


@cuda.jit
def reverse(x, y):
    shared = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    y[t] = shared[63 - t]


@cuda.jit("void(float32[::1], float64)")
def fill(x, value):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] = value


TABLE = np.arange(6.0)


@cuda.jit
def look_up(x, y):
    i = cuda.grid(1)
    chosen = TABLE if i % 2 == 0 else x
    y[i] = chosen[i % 6]


@cuda.jit
def sometimes_set(x, y):
    i = cuda.grid(1)
    if x[i] > 3:
        v = 5
    y[i] = v


def floats(n: int) -> np.ndarray:
    return np.random.default_rng(3).random(n, np.float32)


def line(report: Report, text: str) -> int:
    return next(n for n, found in report.source.items() if text in found)


def says(report: Report, kind: str) -> list[str]:
    return [str(f) for f in report.findings if f.kind == kind]


@pytest.mark.usefixtures("_linker")
def test_it_shows_what_the_compiler_has_removed() -> None:
    x, y = floats(100), np.zeros(100, np.float32)
    factors = np.float32(2), np.float32(3)
    source = simt.xray(polynomial)[2, 64](x, y, factors)
    compiled = simt.xray(polynomial, compiled=True)[2, 64](x, y, factors)
    np.testing.assert_allclose(y, 2 * x * x + 3 * x, rtol=1e-6)
    assert source.source == compiled.source
    assert source.ok
    assert compiled.ok
    store = line(compiled, "unused[")
    assert source.lines[store].shared_store_wavefronts == 4
    assert compiled.lines[store].shared_store_wavefronts == 0  # nobody reads what it wrote
    # x[i] stands four times, and is loaded once
    assert source.diff(compiled)["global_load_requests"] == (16, 4)
    assert source.diff(compiled)["global_store_requests"] == (4, 4)
    assert compiled.arrays["x"].global_load_requests == 4


@pytest.mark.usefixtures("_linker")
def test_findings_have_the_lines_and_names_of_the_source() -> None:
    x, y = floats(64), np.zeros(64, np.float32)
    report = simt.xray(reverse, compiled=True)[1, 64](x, y)
    first, second = line(report, "shared[t]"), line(report, "y[t]")
    [race] = says(report, "race")
    assert race.startswith(f"line {second}: race on shared[63] in shared memory")
    assert f"on line {first}" in race
    report = simt.xray(reverse, compiled=True)[1, 64](x, y[:40].copy())
    [beyond] = says(report, "out-of-bounds")
    assert beyond.startswith(f"line {second}: thread 40 of block 0 accesses y[40], out of bounds")


@pytest.mark.usefixtures("_linker")
def test_arguments_are_what_the_signature_says() -> None:
    x = np.zeros(100, np.float32)
    report = simt.xray(fill, compiled=True)[1, 64](x, 3)
    assert report.ok
    assert x.tolist() == [3] * 100
    [refused] = says(simt.xray(fill, compiled=True)[1, 64](x), "not-a-kernel")
    assert "takes 2 arguments" in refused


def test_without_the_compiler_one_sentence_says_what_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(codegen, "linker_fault", lambda: "no nvJitLink here")
    with pytest.raises(MissingPackage, match=r"^compiled=True shows the compiler's work: no nvJ"):
        simt.xray(reverse, compiled=True)


@pytest.mark.usefixtures("_nvrtc")
def test_what_is_compiled_in_any_case_is_taken_as_it_is() -> None:
    kernel = cpp("__global__ void fill(int* x) { x[threadIdx.x] = 1; }")["fill"]
    assert simt.xray(kernel, compiled=True)[1, 32](np.zeros(32, np.int32)).ok


@pytest.mark.usefixtures("_linker")
def test_constants_are_reached_by_a_pointer_that_may_lead_elsewhere() -> None:
    x, y = -np.arange(6.0), np.zeros(64)
    assert simt.xray(look_up, compiled=True)[1, 64](x, y).ok
    i = np.arange(64)
    np.testing.assert_array_equal(y, np.where(i % 2, x[i % 6], TABLE[i % 6]))


@pytest.mark.usefixtures("_linker")
def test_for_a_variable_that_was_not_set_the_compiler_takes_what_suits_it() -> None:
    x = np.arange(6.0)
    here, compiled = np.zeros(6), np.zeros(6)
    (found,) = [f for f in simt.xray(sometimes_set)[1, 6](x, here).findings if f.array == "v"]
    assert "it is 0 here and may be anything on a GPU" in found.message
    simt.xray(sometimes_set, compiled=True)[1, 6](x, compiled)
    assert (here.tolist(), compiled.tolist()) == ([0, 0, 0, 0, 5, 5], [5] * 6)
