"""CUDA C++ from a cell: compiling, arguments, the sentences for what does not fit."""

import functools
from typing import Any

import numpy as np
import pytest

import simt
from simt import cuda
from simt.core.findings import SimtWarning
from simt.cpp import CppModule, cpp
from simt.cpp.compiler import compile_to_ptx
from simt.errors import BadInput, BadLaunch, KernelError
from simt.host.device_array import device_copy

pytestmark = pytest.mark.usefixtures("_nvrtc")

SOURCE = r"""  // __global__ void no() {}
#define NO "__global__ void no() {}" /* __global__ void no() {} */
__constant__ float weights[3];
namespace state { __device__ int counter; } using state::counter;

struct Pair { float a; int b; };

__global__ void saxpy(int n, float a, const float* __restrict__ x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

template <typename T> __global__ void scale(int n, T a, T* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = a * x[i];
}

__global__ void weighted(float* x) {
    atomicAdd(&counter, 1);
    x[threadIdx.x] = weights[threadIdx.x % 3];
}

__global__ void of_pair(Pair p, float* out) { out[0] = p.a + p.b; }

__global__ void four(const float4* x, float2* y) {
    float4 v = x[threadIdx.x];
    y[threadIdx.x] = make_float2(v.x + v.y, v.z + v.w);
}

extern "C" __global__ void kinds(unsigned char b, short s, long long l, double d, bool t,
                                 double* out) {
    out[0] = b; out[1] = s; out[2] = l; out[3] = d; out[4] = t;
}

__global__ void dynamic(float* x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

__global__ void hello(int n) {
    if (threadIdx.x < n) printf("%d of %s: %.2f %5u|\n", threadIdx.x, "block", 1.5, 7u);
}

__global__ void pairs() { printf("%d of %d\n", threadIdx.x, blockIdx.x); }

__global__ void rounds(int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) printf("%d\n", i);
}
"""


@functools.cache
def module() -> CppModule:
    return cpp(SOURCE)


def floats(n: int) -> np.ndarray:
    return np.random.default_rng(n).random(n, np.float32)


def test_a_kernel_computes_on_arrays_of_every_kind() -> None:
    x, y = floats(1000), floats(1000)[::-1].copy()
    wanted = np.float32(2) * x + y
    mine = y.copy()
    module()["saxpy"][4, 256](1000, 2.0, x, mine)
    np.testing.assert_array_equal(mine, wanted)
    on_device = device_copy(y)
    module()["saxpy"][4, 256](1000, np.float64(2), device_copy(x), on_device)
    np.testing.assert_array_equal(on_device.copy_to_host(), wanted)


def test_a_tensor_of_torch_is_an_array() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.ones(40), torch.arange(40.0)
    module()["saxpy"][2, 32](40, 3.0, x, y)
    assert y.tolist() == [k + 3.0 for k in range(40)]


def test_a_report_has_the_lines_of_the_source() -> None:
    report = simt.xray(module()["saxpy"])[4, 256](1000, 2.0, floats(1000), floats(1000))
    line = next(n for n, text in report.source.items() if "y[i] =" in text)
    assert report.ok
    assert report.kernel == "saxpy"
    assert report.source[line] == SOURCE.splitlines()[line - 1]
    counts = report.lines[line]
    assert (counts.global_load_requests, counts.global_load_sectors) == (64, 250)
    assert (counts.flops32, counts.divergent_branches) == (2000, 1)
    assert "y[i] = a" in str(report)
    assert simt.xray(module()["saxpy"], block=1)[4, 256](
        1000, 2.0, floats(1000), floats(1000)
    ).step(1)


def test_templates_are_instantiated_by_name() -> None:
    x = np.arange(10.0)
    module()["scale<double>"][1, 32](10, 3.0, x)
    np.testing.assert_array_equal(x, 3 * np.arange(10.0))
    whole = np.arange(10, dtype=np.int32)
    module()["scale<int>"][1, 32](10, 3, whole)
    np.testing.assert_array_equal(whole, 3 * np.arange(10))
    with pytest.raises(BadInput, match=r"module\['scale<float>'\]"):
        module()["scale"]


def test_global_variables_are_written_and_read() -> None:
    module().write("weights", np.array([1, 2, 3], np.float32))
    module().write("counter", np.int32(5))
    x = np.zeros(7, np.float32)
    module()["weighted"][1, 7](x)
    assert x.tolist() == [1, 2, 3, 1, 2, 3, 1]
    assert module().read("counter", np.int32).tolist() == [12]
    with pytest.raises(BadInput, match="has weights, counter"):
        module().read("nothing", np.int32)
    with pytest.raises(BadInput, match="weights has 12 bytes, and 16 are given"):
        module().write("weights", np.zeros(4, np.float32))


def test_structs_vectors_and_scalars_of_every_type() -> None:
    pair = np.zeros((), np.dtype([("a", "f4"), ("b", "i4")], align=True))
    pair["a"], pair["b"] = 1.5, 4
    out = np.zeros(1, np.float32)
    module()["of_pair"][1, 1](pair[()], out)
    assert out[0] == 5.5
    x, y = floats(128), np.zeros(64, np.float32)
    module()["four"][1, 32](x, y)
    np.testing.assert_array_equal(y, x[0::2] + x[1::2])
    many = np.zeros(5)
    module()["kinds"][1, 1](200, -3, -(2**40), 0.1, True, many)
    assert many.tolist() == [200, -3, -(2**40), 0.1, 1]


def test_shared_memory_by_the_launch_and_printing(capsys: pytest.CaptureFixture[str]) -> None:
    x = floats(64)
    wanted = x[::-1].copy()
    module()["dynamic"][1, 64, 0, 256](x)
    np.testing.assert_array_equal(x, wanted)
    with pytest.raises(KernelError, match="fourth launch value"):
        module()["dynamic"][1, 64](x)
    module()["hello"][1, 32](2)
    assert capsys.readouterr().out == "0 of block: 1.50     7|\n1 of block: 1.50     7|\n"
    module()["pairs"][2, 2]()  # two numbers, which are stored as one
    assert capsys.readouterr().out == "0 of 0\n1 of 0\n0 of 1\n1 of 1\n"
    module()["rounds"][1, 4](6)  # some threads have left the loop
    assert capsys.readouterr().out == "0\n1\n2\n3\n4\n5\n"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x[0] = 1.0f; }\n# done\n{", r"in C\+\+ a comment begins with //"),
        ("int i = cuda.threadIdx.x;", r"C\+\+ has no `cuda.` in front"),
        ("int i = cuda.grid(1);", r"[)] is blockIdx.x \* blockDim.x \+ threadIdx.x in C\+\+$"),
        ("int step = cuda.gridsize(1);", r"[)] is gridDim.x \* blockDim.x in C\+\+$"),
        ("if (threadIdx.x < x.size) x[0] = 1;", "a pointer does not know how many elements"),
        ("int n = len(x);", "a pointer does not know how many elements"),
        ("for i in range(3):\n;", r"for \(int i = 0; i < n; \+\+i\)"),
        ("if x[0] > 0: x[0] = 1;", "a condition stands between brackets"),
        ("x[0] = 1.0f if x[0] > 0 else 2.0f;", "condition [?] this : that in C"),
        ("__shared__ float s[2][2]; s[0, 1] = 0;", r"brackets of its own: tile\[y\]\[x\]"),
        ("x[0] = x[1][2];", r"a pointer has one index, and image\[y\]\[x\] has two"),
        ("} int main() { return 0;", "__device__ in front of a function that kernels call"),
    ],
)
def test_what_python_writes_otherwise_is_told_in_a_sentence(line: str, says: str) -> None:
    with pytest.raises(KernelError, match=says):
        cpp(f"__global__ void k(float* x)\n{{\n    {line}\n}}")


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("saxpy", (9, 2.0, np.ones(9), floats(9)), r"x is float64, and saxpy takes const float\*: "
         r"pass an array of float32, or write double\* in the kernel"),
        ("saxpy", (9.5, 2.0, floats(9), floats(9)), "n is 9.5, and saxpy takes int: pass a"),
        ("saxpy", (2**31, 2.0, floats(9), floats(9)), "n is 2147483648, and saxpy takes int"),
        ("saxpy", (9, 2.0, 3.0, floats(9)), r"x is 3.0, and saxpy takes const float\*: pass"),
        ("saxpy", (9, floats(2), floats(9), floats(9)), "a is an array, and saxpy takes float"),
        ("saxpy", (9, 2.0, floats(9)), r"takes 4 arguments \(n, a, x, y\), 3 given"),
        ("saxpy", (9, 2.0, None, floats(9)), "a null pointer"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_told_in_one_sentence(
    name: str, args: tuple[Any, ...], says: str
) -> None:
    with pytest.raises(KernelError, match=says) as caught:
        module()[name][1, 32](*args)
    assert "\n" not in str(caught.value)


def test_a_launch_that_cannot_be() -> None:
    with pytest.raises(BadLaunch, match=r"third value is a stream.*saxpy\[4, 3, 0, 16\]"):
        module()["saxpy"][4, 3, 16](12, 1.0, floats(12), floats(12))
    with pytest.raises(KernelError, match="at most 1,024 threads"):
        module()["saxpy"][1, 2048](12, 1.0, floats(12), floats(12))
    with pytest.raises(BadLaunch, match="launch configuration was not specified: write saxpy"):
        module()["saxpy"](12, 1.0, floats(12), floats(12))
    with pytest.raises(TypeError, match=r"position only: .* saxpy\[.*\]\(n, a, x, y\), without n="):
        module()["saxpy"][4, 3](n=12)
    assert not simt.xray(module()["saxpy"])[4, 3](1.0, floats(12), floats(12), n=12).ok
    with pytest.raises(BadInput, match="'sxpy' in this source, it has saxpy, scale, weighted"):
        module()["sxpy"]
    y = np.zeros(3072, np.float32)
    module()["saxpy"][4, 3](3072, 1.0, np.ones(3072, np.float32), y)
    assert y.sum() == 12


def test_the_compilers_message_has_line_and_caret() -> None:
    with pytest.raises(KernelError) as caught:
        cpp("__global__ void f(float* x) {\n    x[0] = y;\n}\n")
    assert str(caught.value).splitlines() == [
        'line 2: identifier "y" is undefined',
        "      x[0] = y;",
        "             ^",
    ]
    with pytest.raises(BadInput, match="options must be a list"):
        cpp("", "-DN=3")


def test_options_reach_the_compiler() -> None:
    x = np.zeros(1, np.int32)
    cpp("__global__ void f(int* x) { x[0] = N; }", ["-DN=42"])["f"][1, 1](x)
    assert x[0] == 42
    assert ".target sm_90" in compile_to_ptx("", ["--gpu-architecture=compute_90"])[0]


@pytest.mark.parametrize(
    ("before", "name"),
    [("", "f"), ("namespace a { ", "f"), ("namespace a { template <class> ", "a::f<int>"),
     ("namespace b { __global__ void f(int*) {} } namespace a { ", "a::f"),
     ("namespace b1a { __global__ void f(float*, int) {} } namespace a { ", "a::f")],
)  # fmt: skip
def test_what_a_plain_launch_finds_is_a_warning_with_its_line(before: str, name: str) -> None:
    text = "__global__ void f(int* x) {\n    x[0] = threadIdx.x;\n}" + "}" * ("a {" in before)
    text += "\nnamespace c { __global__ void f(float* y) { y[0] = 1; } }"
    with pytest.warns(SimtWarning, match=r"^line 2: race on x\[0\]"):
        cpp(before + text)[name][1, 64](np.zeros(1, np.int32))


def test_a_launch_on_a_stream_waits_its_turn() -> None:
    one, other, x = cuda.stream(), cuda.stream(), cuda.to_device(floats(12))
    y, scale = cuda.to_device(floats(12)), module()["scale<float>"]
    scale[1, 32, one](12, 2.0, x)
    assert simt.xray(module()["saxpy"])[1, 32, one](12, 1.0, x, y).ok
    np.testing.assert_array_equal(y.copy_to_host(), 3 * floats(12))
    scale[1, 32, one](8, 2.0, x)
    module()["saxpy"][1, 32, other](4, 1.0, x[8:], y)  # what the other does not touch
    cuda.synchronize()
    scale[1, 32, one](12, 2.0, x)
    module()["saxpy"][1, 32, other](12, 1.0, x, y)
    with pytest.warns(SimtWarning, match="saxpy on other reads x, which scale<float> of line"):
        cuda.synchronize()
    scale[1, 32, one](13, 2.0, x)
    with pytest.raises(KernelError, match=r"it was launched in line \d+ of the host's program"):
        one.synchronize()


def test_a_warning_does_not_stand_in_for_the_error_after_it():
    with pytest.raises(KernelError, match='refuses the source: .*error: identifier "nothing"'):
        compile_to_ptx("#define INT_MAX 3\n__global__ void k() {}", (), ["&nothing"])


def test_options_of_ones_own_leave_what_they_do_not_replace():
    ptx, _ = compile_to_ptx("__global__ void f(float* x) { *x = INFINITY; }", ["-lineinfo"])
    assert ".loc" in ptx
