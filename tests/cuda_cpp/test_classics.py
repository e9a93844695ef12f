"""Classic C++ kernels compute what NumPy does, and what is wrong in them is named by line."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import gpulearn as gl
from gpulearn.cuda_cpp import CppModule, cpp

from .classics import CLASSICS

pytestmark = pytest.mark.usefixtures("_nvrtc")


@functools.cache
def module(name: str) -> CppModule:
    return cpp(CLASSICS[name].source)


@pytest.mark.parametrize("name", CLASSICS)
def test_a_classic_computes_what_numpy_does(name: str) -> None:
    classic = CLASSICS[name]
    given = classic.arguments()
    wanted = classic.result(*classic.arguments())
    report = gl.xray(module(name)[name])[classic.launch](*given)
    assert [str(f) for f in report.findings if f.kind != "implicit-copy"] == []
    got = np.sort(given[-1])[::-1] if name == "compact" else given[-1]
    wanted = np.sort(wanted)[::-1] if name == "compact" else wanted
    np.testing.assert_allclose(got, wanted, rtol=classic.rtol, atol=classic.rtol)


# kernel, what is changed, the kind of the finding, a text of the line, what the message says
MISTAKES: list[tuple[str, dict[str, str], str, str, str]] = [
    ("matmul_tiled", {"        __syncthreads();\n        for": "        for"},
     "race", "sum +=", "writes it on line"),
    ("matmul_tiled", {"        __syncthreads();  // before the next tile\n": ""},
     "race", "= row < m", "reads it on line"),
    ("matmul_tiled", {"x < n ? a[": "x <= n ? a["}, "out-of-bounds", "a[row", "a has length 735"),
    ("transpose", {"    __syncthreads();\n": ""}, "race", "out[y * rows", "on tile[1][0]"),
    ("transpose", {"tile[32][33]": "tile[31][33]"}, "out-of-bounds", "tile[threadIdx.y + k]",
     "out of bounds: it is tile[31][33]"),
    ("reduce", {"    __syncthreads();\n": ""}, "race", "parts[threadIdx.x] :", "on parts["),
    ("reduce", {"v = i < n ? x[i]": "v = i <= n ? x[i]"}, "out-of-bounds", "x[i]",
     "accesses x[1234], out of bounds: x has length 1234"),
    ("histogram", {"mine[b] = 0;": ";"}, "uninitialised-read", "atomicAdd(&mine", "mine["),
    ("histogram", {"atomicAdd(&mine[data[i] >> 2], 1u)": "mine[data[i] >> 2] += 1"}, "race",
     "+= 1", "on mine["),
    ("scan", {" : 0;\n        __syncthreads();": " : 0;"},
     "race", "s[t]", "on s["),
    ("stencil", {"if (threadIdx.x < R) {": "if (threadIdx.x < R - 1) {"}, "uninitialised-read",
     "sum +=", "s["),
    ("stencil", {"128 + 2 * R]": "128 + R]"}, "out-of-bounds", "s[t", "s has length 131"),
    ("softmax", {"    most = s[0];\n    __syncthreads();": "    most = s[0];"}, "race",
     "s[threadIdx.x] = sum", "on s["),
    ("softmax", {" + d]);\n        __syncthreads();": " + d]),\n        __syncthreads();"},
     "barrier-divergence", "__syncthreads();", "threads of the block reach this barrier"),
    ("nbody", {"    if (i < n) force[i]": "    force[i]"}, "out-of-bounds", "force[i]",
     "accesses force[100], out of bounds: force has length 100"),
    ("bitonic", {"            if (other > t) {": "            {"}, "race", "s[other] = a", "on s["),
    ("bitonic", {"x[t] = s[t];": "x[t + 1] = s[t];"}, "out-of-bounds", "x[t + 1]", "x[256]"),
    ("spmv", {"k < start[row + 1]": "k <= start[row + 1]"}, "out-of-bounds", "sum +=",
     "has length"),
    ("compact", {"if (lane == 0) base = atomicAdd(count, __popc(mask));":
     "if (lane == 0) { base = *count; *count += __popc(mask); }"}, "race", "*count", "on count[0]"),
    ("game_of_life", {"    __syncthreads();\n": ""}, "race", "sum += s", "on s["),
    ("heat", {"x >= nx || y >= ny": "x > nx || y >= ny"}, "out-of-bounds",
     "b[i] =", "a has length 504"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_is_named_with_its_line(number: int) -> None:
    name, edits, kind, text, says = MISTAKES[number]
    source = CLASSICS[name].source
    for old, new in edits.items():
        assert source.count(old) >= 1
        source = source.replace(old, new, 1)
    given = CLASSICS[name].arguments()
    report = gl.xray(cpp(source)[name])[CLASSICS[name].launch](*given)
    found = [f for f in report.findings if f.kind == kind]
    assert found, str(report).splitlines()[:6]
    lines = source.splitlines()
    places = [lines[n - 1] for f in found for n in (f.line, f.other_line) if n]
    assert any(text in line for line in places), (places, [str(f) for f in found])
    assert any(says in f.message for f in found), [str(f) for f in found]
    if kind == "race" and name in ("matmul_tiled", "transpose", "game_of_life"):
        wanted: Any = CLASSICS[name].result(*CLASSICS[name].arguments())
        assert not np.allclose(given[-1], wanted, rtol=1e-3, equal_nan=True)  # it is torn
