"""The blur, the histogram of brightness and the whole product of notebook 22."""

import numpy as np
import pytest

from gpulearn.errors import BadInput, KernelError
from gpulearn_lessons.broken_tutorials import product_program
from gpulearn_lessons.broken_tutorials.blur import BLUR
from gpulearn_lessons.broken_tutorials.brightness import BRIGHTNESS, LEVELS
from gpulearn_lessons.broken_tutorials.product_program import (
    CASE_LAUNCH,
    factors,
    kernel_part,
    run_product,
)
from simt.cpp import compiler
from tests.support.edits import edited
from tools.stored_ptx import compilations


def test_a_blur_is_the_mean_of_five_pixels():
    image = np.random.default_rng(1).random((5, 8), np.float32)
    (blurred,) = BLUR.reference(image, image)
    for y, x in np.ndindex(image.shape):
        places = [(y, x), (y, max(x - 1, 0)), (y, min(x + 1, 7))]
        places += [(max(y - 1, 0), x), (min(y + 1, 4), x)]
        assert blurred[y, x] == pytest.approx(sum(float(image[p]) for p in places) / 5, rel=1e-5)


def test_levels_of_brightness_are_counted():
    values = np.append(np.random.default_rng(2).random(300), [0, 1, 0.0625]).astype(np.float32)
    expected = [3] * LEVELS
    for value in values.tolist():
        expected[min(int(16 * value), 15)] += 1
    assert BRIGHTNESS.reference(values, np.full(LEVELS, 3, np.int32))[0].tolist() == expected


@pytest.mark.usefixtures("_host_compiler")
def test_the_product_is_right_and_says_what_it_could_not_do():
    ran = run_product(CASE_LAUNCH.text, 5, 7, 3)
    a, b = factors(5, 7, 3)
    assert ran.product.tolist() == [
        [sum(a[i, k] * b[k, j] for k in range(7)) for j in range(3)] for i in range(5)
    ]
    assert (ran.status, ran.findings) == ("cudaSuccess", ())
    assert repr(ran) == "multiply returns cudaSuccess; 15 of 15 right"
    too_tall = run_product(CASE_LAUNCH.text, 1_100_000, 1, 1)
    assert too_tall.status == "cudaErrorInvalidConfiguration"
    assert not too_tall.right.any()
    assert np.isnan(too_tall.product).all()


@pytest.mark.usefixtures("_host_compiler")
def test_a_program_that_ends_early_has_no_product():
    text = edited(CASE_LAUNCH, {"    float *d_a": "    exit(3);\n    float *d_a"}).text
    ran = run_product(text, 2, 2, 2)
    assert ran.status == "nothing: it ends with status 3"
    assert (ran.product == -1).all()


FLAT = edited(
    CASE_LAUNCH,
    {"dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)": "(m + 15) / 16, (n + 15) / 16, 16"},
)


@pytest.mark.usefixtures("_nvrtc")
def test_where_no_host_part_can_be_compiled_the_kernel_is_launched_as_the_text_says(monkeypatch):
    monkeypatch.setattr(product_program, "host_fault", lambda: "there is no compiler")
    ran = run_product(CASE_LAUNCH.text, 20, 3, 50)
    assert ran.right.all()
    assert ran.status == "what nobody knows here"
    assert run_product(FLAT.text, 64, 32, 48).right.sum() == 12
    too_wide = run_product(FLAT.text, 1, 3, 17_000)
    assert not too_wide.right.any()
    assert "at most 1,024 threads" in too_wide.findings[0]


def test_the_notebooks_kernel_runs_with_no_compiler_at_all(monkeypatch):
    (text,) = {one.source for one in compilations() if "int m, int k, int n" in one.source}
    monkeypatch.setattr(product_program, "host_fault", lambda: "there is no compiler")
    monkeypatch.setattr(compiler, "_library", lambda: None)
    launch = "cudaError_t multiply() { matmul<<<(m + 15) / 16, (n + 15) / 16, 16>>>(); }"
    assert kernel_part(text + launch) == text
    assert run_product(text + launch, 64, 32, 48).right.sum() == 12


def test_what_is_no_program_is_told():
    with pytest.raises(BadInput, match="cudaError_t multiply"):
        run_product("__global__ void f() {}", 1, 1, 1)


@pytest.mark.usefixtures("_host_compiler")
def test_what_the_compiler_refuses_is_quoted():
    with pytest.raises(KernelError, match="product.cu"):
        run_product(edited(CASE_LAUNCH, {"int row =": "int row"}).text, 1, 1, 1)
