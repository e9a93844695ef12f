"""Kernels as machine code against the same loops, compiled by `c++ -O2` for one core."""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BOUNDS", "native"]

# times as long as the loops, at most; seconds of a first launch, and of one whose code is kept
BOUNDS = {
    "tiled": 3.0, "tiled in Numba": 3.0, "saxpy": 2.0, "mandelbrot": 3.0, "first": 1.0, "kept": 0.1,
}  # fmt: skip
SIDE, COUNT, PIXELS, TURNS = 1024, 10**7, 2048, 200
ORBIT = """
  float cx = -2.0f + 3.0f * px / n, cy = -1.5f + 3.0f * py / n, x = 0, y = 0;
  int k = 0;
  while (k < limit && x * x + y * y < 4.0f) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    ++k;
  }
  out[py * n + px] = k;
"""
KERNELS = f"""
#define T 16
__global__ void tiled(int n, const float* a, const float* b, float* c) {{
  __shared__ float s[T][T], t[T][T];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
  float total = 0;
  for (int k = 0; k < n / T; ++k) {{
    s[ty][tx] = a[y * n + k * T + tx];
    t[ty][tx] = b[(k * T + ty) * n + x];
    __syncthreads();
    for (int j = 0; j < T; ++j) total += s[ty][j] * t[j][tx];
    __syncthreads();
  }}
  c[y * n + x] = total;
}}
__global__ void saxpy(int n, float k, const float* x, float* y) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = k * x[i] + y[i];
}}
__global__ void mandelbrot(int n, int limit, int* out) {{
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= n || py >= n) return;
  {ORBIT}
}}
"""
LOOPS = f"""
const int T = 16;
extern "C" void tiled(int n, const float* a, const float* b, float* c) {{
  float s[T][T], t[T][T], total[T][T];
  for (int by = 0; by < n; by += T) for (int bx = 0; bx < n; bx += T) {{
    for (int y = 0; y < T; ++y) for (int x = 0; x < T; ++x) total[y][x] = 0;
    for (int k = 0; k < n; k += T) {{
      for (int y = 0; y < T; ++y) for (int x = 0; x < T; ++x) {{
        s[y][x] = a[(by + y) * n + k + x];
        t[y][x] = b[(k + y) * n + bx + x];
      }}
      for (int y = 0; y < T; ++y) for (int x = 0; x < T; ++x)
        for (int j = 0; j < T; ++j) total[y][x] += s[y][j] * t[j][x];
    }}
    for (int y = 0; y < T; ++y) for (int x = 0; x < T; ++x) c[(by + y) * n + bx + x] = total[y][x];
  }}
}}
extern "C" void saxpy(int n, float k, const float* x, float* y) {{
  for (int i = 0; i < n; ++i) y[i] = k * x[i] + y[i];
}}
extern "C" void mandelbrot(int n, int limit, int* out) {{
  for (int py = 0; py < n; ++py) for (int px = 0; px < n; ++px) {{ {ORBIT} }}
}}
"""
FIRST = "from tools.bench.native import first; first()"


def in_numba() -> Any:
    """The tiled product as a kernel of Numba's."""
    from numba import float32

    from gpulearn import cuda

    @cuda.jit  # type: ignore[untyped-decorator]
    def tiled(n: Any, a: Any, b: Any, c: Any) -> None:
        s = cuda.shared.array((16, 16), float32)
        t = cuda.shared.array((16, 16), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for k in range(n // 16):
            s[ty, tx] = a[y, k * 16 + tx]
            t[ty, tx] = b[k * 16 + ty, x]
            cuda.syncthreads()
            for j in range(16):
                total += s[ty, j] * t[j, tx]
            cuda.syncthreads()
        c[y, x] = total

    return tiled


def native(runs: int = 5) -> dict[str, float]:
    """What `BOUNDS` bounds, medians of ratios; nothing where a compiler is missing."""
    import gpulearn as gl
    from simt.cpp.compiler import compiler_fault
    from simt.numba_ptx.codegen import compiler_fault as numba_fault

    compiler = shutil.which("c++")
    if compiler is None or compiler_fault() is not None:
        return {}
    kernels, rng = gl.cpp(KERNELS), np.random.default_rng(0)
    a, b = (rng.standard_normal((SIDE, SIDE)).astype(np.float32) for _ in range(2))
    side, blocks = (SIDE // 16, SIDE // 16), -(-COUNT // 256)
    pixels = (PIXELS // 16, PIXELS // 16)
    x, y = np.ones(COUNT, np.float32), np.ones(COUNT, np.float32)
    calls: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "tiled": ((side, (16, 16)), (SIDE, a, b, np.zeros_like(a))),
        "saxpy": ((blocks, 256), (COUNT, np.float32(0.5), x, y)),
        "mandelbrot": ((pixels, (16, 16)), (PIXELS, TURNS, np.zeros((PIXELS, PIXELS), np.int32))),
    }
    if numba_fault() is None:
        calls["tiled in Numba"] = calls["tiled"]
    with tempfile.TemporaryDirectory() as name, gl.unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing is checked here
        source, library = Path(name) / "loops.cpp", Path(name) / "loops.so"
        source.write_text(LOOPS)
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        loops = ctypes.CDLL(str(library))
        result = {}
        for kernel, (shape, args) in calls.items():
            there = [gl.cuda.to_device(v) if isinstance(v, np.ndarray) else v for v in args]
            here = [_as_c(v) for v in args]
            known = in_numba() if kernel == "tiled in Numba" else kernels[kernel]
            launch, loop = known[shape], getattr(loops, kernel.partition(" ")[0])
            launch(*there)
            loop(*here)
            times = [_seconds(lambda: launch(*there)) / _seconds(lambda: loop(*here))  # noqa: B023
                     for _ in range(runs)]  # fmt: skip
            result[kernel] = statistics.median(times)
            if (
                kernel != "mandelbrot"
            ):  # where a float that is rounded once less turns on for longer
                np.testing.assert_allclose(there[-1].copy_to_host(), args[-1], rtol=1e-3, atol=1e-3)
        for word in ("first", "kept"):
            environment = {**os.environ, "XDG_CACHE_HOME": name, "GPULEARN_DEVICE": "cpu"}
            done = subprocess.run(
                [sys.executable, "-c", FIRST], env=environment, capture_output=True, text=True,
                check=True,
            )  # fmt: skip
            result[word] = float(done.stdout)
    return result


def first() -> None:
    """Prints the seconds of a first launch of the tiled product, of two blocks."""
    import gpulearn as gl

    kernel = gl.cpp(KERNELS)["tiled"]
    a, b, c = (np.zeros((16, 16), np.float32) for _ in range(3))
    kernel[1, (16, 16)](16, a, b, c)
    with gl.unchecked():
        print(_seconds(lambda: kernel[1, (16, 16)](16, a, b, c)))


def _as_c(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    return ctypes.c_float(float(value)) if isinstance(value, np.float32) else value


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
