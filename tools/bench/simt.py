"""How fast the machine is: against Numba's simulator and against a scalar CPU loop.

`python -m tools.bench.simt` prints a table and writes `simt-bench.json`; `--long` adds
the large problems and, in a checkout, 2,000 random kernels and 5,000 random programs on streams
against their references. All times are of this computer, measured in one run; medians of several.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.native import BOUNDS, native

__all__ = ["main"]

TILE = 16
SIZE = 128
TARGETS = {"unchecked": 1_500, "plain": 800, "xray": 500}
LARGE = 1024
CPP = {"plain": (0.15, 4), "xray": (0.3, 3)}  # seconds, and times as long as Numba's, at most

_KERNELS = """
import os
import time
import numpy as np
from numba import float32

if os.environ.get("NUMBA_ENABLE_CUDASIM"):
    from numba import cuda
else:
    from gpulearn import cuda

TILE = 16

@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    total = float32(0)
    for t in range(a.shape[1] // TILE):
        sa[ty, tx] = a[y, t * TILE + tx]
        sb[ty, tx] = b[t * TILE + ty, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = total

@cuda.jit
def saxpy(k, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = k * x[i] + y[i]

def matrices(n):
    rng = np.random.default_rng(0)
    return (rng.standard_normal((n, n)).astype(np.float32),
            rng.standard_normal((n, n)).astype(np.float32), np.zeros((n, n), np.float32))
"""


_CPP = """
#define TILE 16
__global__ void matmul(int n, const float* a, const float* b, float* c) {
    __shared__ float sa[TILE][TILE], sb[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    float total = 0;
    for (int t = 0; t < n / TILE; ++t) {
        sa[ty][tx] = a[y * n + t * TILE + tx];
        sb[ty][tx] = b[(t * TILE + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) total += sa[ty][k] * sb[k][tx];
        __syncthreads();
    }
    c[y * n + x] = total;
}
__global__ void saxpy(int n, float k, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = k * x[i] + y[i];
}
"""


def _script(body: str) -> str:
    head = "import sys, time\nsys.path.insert(0, sys.argv[1])\nstart = time.perf_counter()\n"
    return head + "from kernels import *\n" + textwrap.dedent(body)


_SIMULATOR = """
a, b, c = matrices({n})
start = time.perf_counter()
matmul[({n} // TILE, {n} // TILE), (TILE, TILE)](a, b, c)
print(time.perf_counter() - start)
assert np.allclose(c, a @ b, atol=1e-3)
"""

_FIRST = """
a, b, c = (cuda.to_device(m) for m in matrices(32))
matmul[(2, 2), (TILE, TILE)](a, b, c)
print(time.perf_counter() - start)
"""

_FIRST_ALONE = """
import numba.cuda
a, b, c = (cuda.to_device(m) for m in matrices(32))
start = time.perf_counter()
matmul[(2, 2), (TILE, TILE)](a, b, c)
print(time.perf_counter() - start)
"""

_LARGE = """
import gpulearn as gl
with gl.unchecked():
    if {matmul}:
        a, b, c = (cuda.to_device(m) for m in matrices({n}))
        start = time.perf_counter()
        matmul[({n} // TILE, {n} // TILE), (TILE, TILE)](a, b, c)
    else:
        x = cuda.to_device(np.ones({n}, np.float32))
        y = cuda.to_device(np.ones({n}, np.float32))
        saxpy[1, 256](np.float32(0), x, y)  # Numba's verdict is not what is timed here
        start = time.perf_counter()
        saxpy[-(-{n} // 256), 256](np.float32(2), x, y)
seconds = time.perf_counter() - start
try:
    import resource
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
except ImportError:  # Windows
    print(seconds, "nan")
"""


class _Bench:
    """Runs the measurements in processes of their own where a fresh one is called for."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernels.py").write_text(_KERNELS, encoding="utf-8")
        self.folder = folder

    def fresh(self, body: str, **environment: str) -> list[float]:
        """The numbers that a script prints, run in a new process."""
        done = subprocess.run(
            [sys.executable, "-c", _script(body), str(self.folder)],
            env={**os.environ, "GPULEARN_DEVICE": "cpu", **environment},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [float(word) for word in done.stdout.split()]

    def simulator(self) -> float:
        """Seconds of Numba's own simulator for the tiled product."""
        return self.fresh(_SIMULATOR.format(n=SIZE), NUMBA_ENABLE_CUDASIM="1")[0]

    def first_launch(self, script: str) -> float:
        """Seconds until the end of a process's first launch, with Numba's verdict.

        They count from the first import, or from the launch where the script says so.
        """
        return statistics.median(self.fresh(script)[0] for _ in range(5))

    def large(self, *, matmul: bool, n: int) -> tuple[float, float]:
        """Seconds and peak megabytes of one large launch, unchecked."""
        seconds, megabytes = self.fresh(_LARGE.format(matmul=matmul, n=n))
        return seconds, megabytes

    def plain(self) -> float:
        """Seconds of a checked launch of a large tiled product."""
        from gpulearn import cuda

        kernels = self.kernels()
        arrays = [cuda.to_device(m) for m in kernels.matrices(LARGE)]
        shape = (LARGE // TILE, LARGE // TILE), (TILE, TILE)
        return seconds(lambda: kernels.matmul[shape](*arrays))

    def cpp(self) -> dict[str, float]:
        """Median seconds of CUDA C++ on the machine; none where its compiler is not installed."""
        import gpulearn as gl
        from gpulearn import cuda
        from simt.cpp.compiler import compiler_fault

        if compiler_fault() is not None:
            return {}
        module = gl.cpp(_CPP)
        host = self.kernels().matrices(SIZE)
        a, b, c = (cuda.to_device(m) for m in host)
        x, y = (cuda.to_device(np.ones(10**6, np.float32)) for _ in range(2))
        shape = (SIZE // TILE, SIZE // TILE), (TILE, TILE)
        matmul, saxpy = module["matmul"], module["saxpy"]
        times = {
            "plain": median(lambda: matmul[shape](SIZE, a, b, c)),
            "xray": median(lambda: gl.xray(matmul)[shape](SIZE, a, b, c)),
            "saxpy": median(lambda: saxpy[-(-(10**6) // 256), 256](10**6, 0.0, x, y), runs=3),
        }
        np.testing.assert_allclose(c.copy_to_host(), host[0] @ host[1], atol=1e-3)
        return times

    def kernels(self) -> Any:
        """The module of kernels."""
        sys.path.insert(0, str(self.folder))
        import kernels  # type: ignore[import-not-found]

        return kernels

    def here(self) -> dict[str, float]:
        """Median seconds of the tiled product: three ways on the machine, and a CPU loop."""
        import gpulearn as gl
        from gpulearn import cuda

        kernels = self.kernels()
        matmul = kernels.matmul
        host = kernels.matrices(SIZE)
        a, b, c = (cuda.to_device(m) for m in host)
        shape = (SIZE // TILE, SIZE // TILE), (TILE, TILE)
        report = gl.xray(matmul)

        def unchecked() -> None:
            with gl.unchecked():
                matmul[shape](a, b, c)

        times = {
            "unchecked": median(unchecked),
            "plain": median(lambda: matmul[shape](a, b, c)),
            "xray": median(lambda: report[shape](a, b, c)),
        }
        np.testing.assert_allclose(c.copy_to_host(), host[0] @ host[1], atol=1e-3)
        loop = _scalar_loop()
        loop(*host)
        times["scalar CPU loop"] = median(lambda: loop(*host))
        return times


def seconds(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def median(call: Callable[[], object], runs: int = 9) -> float:
    """Median seconds of a call, after one that is not counted."""
    call()
    return statistics.median(seconds(call) for _ in range(runs))


def _scalar_loop() -> Any:
    import numba

    @numba.njit  # type: ignore[untyped-decorator]
    def product(a: Any, b: Any, c: Any) -> None:
        for y in range(a.shape[0]):
            for x in range(b.shape[1]):
                total = np.float32(0)
                for k in range(a.shape[1]):
                    total += a[y, k] * b[k, x]
                c[y, x] = total

    return product


def _fuzz(module: str, cases: int) -> dict[str, Any]:
    """Random kernels, or programs on streams, against the reference of the tests."""
    done = subprocess.run(
        [sys.executable, "-m", module, "--cases", str(cases)],
        capture_output=True, text=True, check=False,
        env={**os.environ, "GPULEARN_DEVICE": "cpu"},
    )  # fmt: skip
    return {"cases": cases, "ok": done.returncode == 0, "said": (done.stdout or done.stderr)[-500:]}


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; the exit status says whether every bound was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--long", action="store_true", help="large problems, 2,000 kernels, 5,000 programs"
    )
    parser.add_argument("--output", type=Path, default=Path("simt-bench.json"))
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache" / "gpulearn-bench")
    options = parser.parse_args(arguments)
    os.environ["GPULEARN_DEVICE"] = "cpu"
    bench = _Bench(options.folder)
    good = True
    result: dict[str, Any] = {
        "machine": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }

    def row(name: str, value: float, unit: str, bound: str = "", met: bool = True) -> None:
        nonlocal good
        good = good and met
        verdict = f"{bound} {'met' if met else 'NOT MET'}" if bound else ""
        print(f"{name:<44}{value:>12,.4g} {unit:<8}{verdict}", flush=True)
        result[name] = {"value": value, "unit": unit, "bound": bound, "met": met}

    times = bench.here()
    reference = bench.simulator()
    row(f"simulator, tiled matmul {SIZE}²", reference, "s")
    for name, seconds in times.items():
        row(f"{name}, tiled matmul {SIZE}²", seconds, "s")
        if name in TARGETS:
            ratio, target = reference / seconds, TARGETS[name]
            row(f"{name}: times faster than the simulator", ratio, "x", f"≥ {target:,}",
                ratio >= target)  # fmt: skip
        else:
            row("plain against the scalar CPU loop", times["plain"] / seconds, "x")
    in_cpp = bench.cpp()
    for name in (n for n in CPP if n in in_cpp):
        most, ratio = CPP[name][0], in_cpp[name] / times[name]
        row(f"C++, {name}, tiled matmul {SIZE}²", in_cpp[name], "s", f"≤ {most}",
            in_cpp[name] <= most)  # fmt: skip
        row(f"C++, {name}, against Numba's kernel", ratio, "x", f"≤ {CPP[name][1]}",
            ratio <= CPP[name][1])  # fmt: skip
    if in_cpp:
        row("C++, plain, SAXPY, 1,000,000 threads", in_cpp["saxpy"], "s", "≤ 1",
            in_cpp["saxpy"] <= 1)  # fmt: skip
    first = bench.first_launch(_FIRST)
    row("first launch in a fresh process, with all imports", first, "s", "< 1.5", first < 1.5)
    alone = bench.first_launch(_FIRST_ALONE)
    row("first launch where Numba is imported", alone, "s", "≤ 0.5", alone <= 0.5)
    plain = bench.plain()
    row(f"plain, tiled matmul {LARGE}²", plain, "s", "< 4", plain < 4)
    for name, value in native().items():
        unit = "s" if name in ("first", "kept") else "x"
        row(f"as machine code, {name}", value, unit, f"≤ {BOUNDS[name]}", value <= BOUNDS[name])
    for n in (10**4, 10**5, 10**6, 10**7):
        seconds, megabytes = bench.large(matmul=False, n=n)
        last = n == 10**7
        row(f"SAXPY, {n:,} threads, unchecked", seconds, "s", "< 3" * last, seconds < 3 or not last)
        if last:
            row(f"SAXPY, {n:,} threads, peak", megabytes, "MB", "< 1024", megabytes < 1024)
    if options.long:
        seconds, megabytes = bench.large(matmul=True, n=1024)
        row("tiled matmul 1024², unchecked", seconds, "s", "< 60", seconds < 60)
        row("tiled matmul 1024², peak", megabytes, "MB", "< 1024", megabytes < 1024)
        result["fuzz"] = _fuzz("tests.simt.fuzz", 2_000)
        print("2,000 random kernels:", "none differs" if result["fuzz"]["ok"] else "DIFFERENT")
        result["streams"] = _fuzz("tests.simt.stream_programs", 5_000)
        same = "none differs" if result["streams"]["ok"] else "DIFFERENT"
        print("5,000 random programs on streams:", same)
        good = good and result["fuzz"]["ok"] and result["streams"]["ok"]
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
