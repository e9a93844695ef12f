"""A CUDA program taken apart: lines kept, launches as calls, nothing in texts and comments."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.errors import BadInput
from simt.programs.cuda.declarations import Declarations
from simt.programs.cuda.device_part import DevicePart
from simt.programs.cuda.host_part import HostPart
from simt.programs.cuda.tokens import read, tokens_of

HERE = Path(__file__).parent
PIECES = st.sampled_from(
    ['"a <<<b\\" c"', "'\\''", "1'000", "0x1p-3f", 'R"x(<<< ")" )x"', "// <<< \\\n more",
     "/* <<<\n */", "\n#define A \\\n B\n", "k", "<<<", ">>>", "::", "->", " ", "\n", "(", "}", "µ",
     "\\"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_tokens_are_the_text_and_know_their_lines(text):
    tokens = tokens_of(text)
    assert "".join(t.text for t in tokens) == text
    at = 0
    for token in tokens:
        assert token.line == 1 + text.count("\n", 0, at)
        at += len(token.text)


def parts(text, name="p.cu"):
    code = Declarations(read(Path(name), text))
    return HostPart(code), DevicePart(code).text()


OURS = {"static", "const", "bool", "sizeof", "configure", "Call", "type", "value", "argument", "go",
        "known", "variable", "constexpr", "__host__", "__device__"}  # fmt: skip


def words(line):
    line = re.sub(r"known\(&[\w:]+\)", "", line)  # in which a kernel's body ends
    return {w for w in re.findall(r"[A-Za-z_]\w*", line) if "simt" not in w}


@pytest.mark.parametrize("file", sorted(p.name for p in HERE.glob("*.cu") if p.name != "all.cu"))
def test_every_line_stays_where_it_was(file):
    text = (HERE / file).read_text(encoding="utf-8")
    host, device = parts(text)  # without the files that it includes
    lines = text.splitlines()
    for part in (host.text, device):
        made = part.splitlines()
        assert len(made) == len(lines)
        for n, line in enumerate(made):  # a launch may begin some lines before its shape ends
            assert words(line) - OURS <= words(" ".join(lines[max(n - 2, 0) : n + 1]))
    assert "__global__" not in host.text
    assert "<<<" not in host.text
    assert "main" not in device


def launch(text):
    """What becomes of a statement in main."""
    host, _ = parts("int main() {" + text + "}")
    return host.text.removeprefix("int main() {").removesuffix("}")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("k<<<1, 2>>>(x);", "(::simt::configure(1, 2), k(x));"),
        ("k<<<g, dim3(4, 4), n * sizeof(A<B<int>>), s>>>();",
         "(::simt::configure(g, dim3(4, 4), n * sizeof(A<B<int>>), s), k());"),
        ("if (a) n::k<V<int, (3 > 2)>, 16><<<1 << 2, n >> 1>>>(f(x), y);",
         "if (a) (::simt::configure(1 << 2, n >> 1), n::k<V<int, (3 > 2)>, 16>(f(x), y));"),
        ("::n::m::k<A<B<int>>><<<1, 1>>>();",
         "(::simt::configure(1, 1), ::n::m::k<A<B<int>>>());"),
        ("(*pointer)<<<1, 1>>>(a); table[i]<<<1, 1>>>(a);",
         "(::simt::configure(1, 1), (*pointer)(a)); "
         "(::simt::configure(1, 1), table[i](a));"),
        ("CHECK(k<<<1, 1>>>(a, b));", "CHECK((::simt::configure(1, 1), k(a, b)));"),
        ("k<<<1,\n  2>>>(\n x);", "(::simt::configure(1,\n  2), k(\n x));"),
        ('puts("k<<<1>>>(x)"); // k<<<1, 1>>>()\n', 'puts("k<<<1>>>(x)"); // k<<<1, 1>>>()\n'),
        ("a < b; c >> 1; v<v<v<int>>> x;", "a < b; c >> 1; v<v<v<int>>> x;"),
    ],
)  # fmt: skip
def test_a_launch_becomes_a_call(given, made):
    made = made.replace("// k<<<1, 1>>>()", " ")
    assert launch(given) == made


def test_a_macro_that_launches_is_rewritten():
    host, _ = parts("#define RUN(k, n) do { k<<<n, 1>>>(n); } while (0)\nint main() { RUN(f, 3); }")
    assert "do { (::simt::configure(n, 1), k(n)); } while (0)" in host.text


SHARED_OUT = """
#include <vector>
#define BOTH __host__ __device__
const int WIDTH = 4;
constexpr int twice(int n) { return 2 * n; }
struct Timer { std::vector<int> marks; void start(); };
struct Point {
    float x;
    Point(std::vector<float> v) : x{v[0]} {}
    BOTH float squared() const { return x * x; }
    __device__ void zero();
};
enum class Mode { Fast, Slow };
std::vector<int> made(int n) { return std::vector<int>(n, WIDTH); }
BOTH inline float half_of(float x) { return x / 2; }
__device__ float third_of(float x) { return x / 3; }
__constant__ float table[WIDTH];
namespace inner { static __device__ int count, other[2]; }
template <typename T, int N = 3, Mode M = Mode::Fast>
__global__ void k(Point p, const T* __restrict__ x, int, float y = 1.0f) { table[twice(1)]; }
"""


def test_each_part_has_what_its_compiler_can_read():
    host, device = parts(SHARED_OUT)
    for word in ("Timer", "made", "vector<", "v[0]"):
        assert word not in device
        assert word in host.text
    for word in ("third_of", "zero", "table[twice"):
        assert word not in host.text
    for word in ("third_of", "zero", "squared", "table[twice", "WIDTH = 4", "half_of", "Mode"):
        assert word in device
    assert "__host__ __device__ constexpr int twice" in device
    assert "half_of" in host.text
    kernel = host.kernels[0]
    assert (kernel.expression, kernel.template) == ("k", True)
    assert kernel.parameters == ["p", "x", "simt_2", "y"]
    assert "type<T>(); simt_call.value(N); simt_call.value(M);" in host.text
    assert host.variables == ["table", "inner::count", "inner::other"]


def test_a_file_of_the_program_s_own_is_read_once_and_its_lines_have_their_own_numbers(tmp_path):
    (tmp_path / "k.cuh").write_text("#pragma once\n\n__global__ void k() { }\n")
    (tmp_path / "p.cu").write_text(
        '#include "k.cuh"\n#include "k.cuh"\nint main() { k<<<1, 1>>>(); }\n'
    )
    source = read(tmp_path / "p.cu")
    assert [t.line for t in source.tokens if t.text == "__global__"] == [100_003]
    assert (source.place(100_003), source.place(3)) == ("k.cuh:3", "p.cu:3")
    assert source.in_words("on line 100003, line 12") == "on line 3 of k.cuh, line 12"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nint main() {", r"^p\.cu:2: the '\{' is never closed$"),
        ("int main() { k<<<1, 2; }", r"^p\.cu:1: the launch's <<< has no >>>$"),
        ("int main() {\n k<<<1, 2>>>; }", r"^p\.cu:2: a launch needs its arguments"),
        ("template <typename... T> __global__ void k(T... x) {}", r"^p\.cu:1: a kernel's template"),
        ("#include <thrust/sort.h>\n", r"^p\.cu:1: the library thrust is not covered"),
        ("int main() {\n cudaGraph_t g; }", r"^p\.cu:2: CUDA graphs are not covered"),
        ("__managed__ int x;", r"^p\.cu:1: __managed__ variables are not covered"),
    ],
)
def test_what_cannot_be_taken_apart_is_told_in_one_sentence(text, said):
    with pytest.raises(BadInput, match=said):
        parts(text)
