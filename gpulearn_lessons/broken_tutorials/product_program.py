"""A whole CUDA program, a matrix product: kernel and host part, run on numbers of its own."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import weakref
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gpulearn.errors import BadInput
from simt.cpp.module import CppModule
from simt.cpp.source import CppSource
from simt.host.xray import xray
from simt.programs.cuda.nvcc import host_fault
from simt.programs.cuda.run import CudaProgram
from simt.programs.launches import Launches
from simt.report.report import Report

# `multiply` is what a program calls; it says how it went, as the functions of CUDA do.
CASE_LAUNCH = CppSource("case_launch", r"""
__global__ void matmul(const float* a, const float* b, float* c, int m, int k, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}
cudaError_t multiply(const float* a, const float* b, float* c, int m, int k, int n) {
    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, m * k * sizeof(float));
    cudaMalloc(&d_b, k * n * sizeof(float));
    cudaMalloc(&d_c, m * n * sizeof(float));
    cudaMemcpy(d_a, a, m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, b, k * n * sizeof(float), cudaMemcpyHostToDevice);
    matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(d_a, d_b, d_c, m, k, n);
    cudaMemcpy(c, d_c, m * n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_a); cudaFree(d_b); cudaFree(d_c);
    return cudaGetLastError();
}
""", "multiply")  # fmt: skip

# Small whole numbers above zero: sums are exact in float32, and none is 0 by luck. With a letter c
# the copy of the result fails.
MAIN = r"""
#include <cstdio>
#include <cstdlib>
int main(int count, char** words) {
    int m = atoi(words[1]), k = atoi(words[2]), n = atoi(words[3]);
    float* a = (float*)malloc(m * k * sizeof(float));
    float* b = (float*)malloc(k * n * sizeof(float));
    float* c = (float*)malloc(m * n * sizeof(float));
    for (int i = 0; i < m * k; ++i) a[i] = (i * 7 + 3) % 11 + 1;
    for (int i = 0; i < k * n; ++i) b[i] = (i * 5 + 1) % 13 + 1;
    for (int i = 0; i < m * n; ++i) c[i] = -1;
    printf("%s\n", cudaGetErrorName(multiply(a, b, *words[5] == 'c' ? nullptr : c, m, k, n)));
    FILE* file = fopen(words[4], "wb");
    fwrite(c, sizeof(float), m * n, file);
    fclose(file);
}
"""
Array = np.ndarray[Any, Any]
HOST = re.compile(r"\bcudaError_t\s+multiply\b")  # where the host part begins
LAUNCH = re.compile(r"<<<(.*?)>>>", re.DOTALL)


@dataclass(frozen=True)
class ProductRun:
    """What came of one call of `multiply` for (m, k) times (k, n)."""

    status: str  # what it returned, such as "cudaSuccess"
    product: Array  # (m, n), as the host has it afterwards; NaN is memory that nobody has filled
    right: Array  # which elements are right, (m, n)
    findings: tuple[str, ...] = ()  # what the machine found, in sentences
    report: Report | None = None  # of the first launch; None if there was none

    def __repr__(self) -> str:
        result = (
            f"multiply returns {self.status}; {self.right.sum():,} of {self.right.size:,} right"
        )
        return "\n".join([result, *self.findings])


class ProductProgram:
    """A text with `multiply` in it, compiled with a `main` that calls it."""

    def __init__(self, text: str) -> None:
        self._program = program = CudaProgram(Path("product.cu"), text + MAIN)
        weakref.finalize(self, program.__exit__, None, None, None)

    def run(self, m: int, k: int, n: int, fails: str = "") -> ProductRun:
        """One call of `multiply`, in which what that letter stands for fails."""
        launches, printed = Launches(in_detail=True), io.StringIO()
        product = np.full((m, n), -1, np.float32)
        with tempfile.TemporaryDirectory(prefix="gpulearn-") as folder:
            path = Path(folder) / "product"
            words = [str(m), str(k), str(n), str(path), fails]
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                status = self._program.run(words, launches, captured=True)
            if path.exists():
                product = np.fromfile(path, np.float32).reshape(m, n)
        lines = printed.getvalue().splitlines()
        answer = lines[-1] if lines and not status else f"nothing: it ends with status {status}"
        findings = tuple(text.removeprefix("product.cu:") for text in launches.sentences())
        report = next(iter(launches.reports), None)
        return ProductRun(answer, product, product == exact(m, k, n), findings, report)


def factors(m: int, k: int, n: int) -> tuple[Array, Array]:
    """The numbers that `main` hands over."""
    a, b = np.arange(m * k) * 7 + 3, np.arange(k * n) * 5 + 1
    return (a % 11 + 1.0).reshape(m, k), (b % 13 + 1.0).reshape(k, n)


def exact(m: int, k: int, n: int) -> Array:
    """Their product."""
    a, b = factors(m, k, n)
    product: Array = (a @ b).astype(np.float32)
    return product


@lru_cache(maxsize=2)
def product_program(text: str) -> ProductProgram:
    """A program, compiled once for several runs."""
    return ProductProgram(text)


def kernel_part(text: str) -> str:
    """What stands before the host part."""
    return HOST.split(text)[0]


def run_product(text: str, m: int, k: int, n: int) -> ProductRun:
    """Call a program's `multiply` for (m, k) times (k, n), on the SIMT machine.

    Where this computer cannot compile a host part, the kernel alone is launched as the text
    says, and what `multiply` would return is not known. `KernelError` if a compiler refuses it.
    """
    if HOST.search(text) is None:
        raise BadInput("The program has no cudaError_t multiply(…): that is what main calls.")
    if host_fault() is None:
        return product_program(text).run(m, k, n)
    grid, block = 1, 1
    if launch := LAUNCH.search(text):
        names = {"m": m, "k": k, "n": n, "dim3": lambda *sides: sides}
        grid, block, *_ = eval(f"({launch[1]})".replace("/", "//"), names)
    a, b = (factor.astype(np.float32) for factor in factors(m, k, n))
    c = np.full((m, n), np.nan, np.float32)
    report = xray(CppModule(kernel_part(text))["matmul"])[grid, block](a, b, c, m, k, n)
    errors = tuple(str(finding) for finding in report.findings if finding.severity == "error")
    return ProductRun("what nobody knows here", c, c == exact(m, k, n), errors, report)
