"""Machine code of PTX leaves the bits that the executor leaves, and hands over what is wrong."""

import random
from functools import partial
from typing import Any

import numpy as np
import pytest

import simt
from simt.cpp import cpp
from simt.cpp.module import CppKernel

from ..cpp import classics_numbers, classics_sequences
from ..cpp.classics import CLASSICS, MISTAKES, Mistake

assert classics_numbers.add is classics_sequences.add  # both have filled the lists

pytestmark = [
    pytest.mark.usefixtures("_nvrtc"),
    pytest.mark.filterwarnings("ignore::simt.SimtWarning"),
]

ANY_ORDER = {"bfs"}  # more than one result is right


def unchecked(kernel: CppKernel, launch: Any, *args: Any) -> dict[str, Any]:
    """A launch by machine code; what is known of it."""
    with simt.unchecked():
        kernel[launch](*args)
    native: dict[str, Any] = kernel.program.native
    return native


@pytest.mark.parametrize("name", CLASSICS)
def test_a_classic_leaves_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    classic = CLASSICS[name]
    left, wanted = classic.arguments(), classic.arguments()
    kernel, other = (cpp(classic.source)[name] for _ in range(2))
    if classic.cooperative:
        kernel, other = kernel.cooperative, other.cooperative
    with monkeypatch.context() as alone:
        alone.setattr("simt.host.work.ptx.launch", None)  # the executor's
        assert "left" not in unchecked(kernel, classic.launch, *left)
    if name in ANY_ORDER:
        result = classic.result(*classic.arguments())
        np.testing.assert_allclose(left[-1], result, rtol=classic.rtol, atol=classic.rtol)
        return
    other[classic.launch](*wanted)
    for mine, its in zip(left, wanted, strict=True):
        assert np.asarray(mine).tobytes() == np.asarray(its).tobytes()


STOPS = [m for m in MISTAKES if m.kind in ("out-of-bounds", "barrier-divergence", "misaligned")]


@pytest.mark.parametrize("mistake", STOPS, ids=lambda m: f"{m.kernel}-{m.kind}")
def test_what_stops_a_launch_is_told_as_the_executor_tells_it(mistake: Mistake) -> None:
    classic, source = CLASSICS[mistake.kernel], CLASSICS[mistake.kernel].source
    for old, new in mistake.edits.items():
        source = source.replace(old, new, 1)
    told = []
    for fast in (True, False):
        kernel, args = cpp(source)[mistake.kernel], classic.arguments()
        run = partial(unchecked, kernel, classic.launch) if fast else kernel[classic.launch]
        with pytest.raises(simt.errors.KernelError) as raised:
            run(*args)
        told.append((str(raised.value), [np.asarray(a).tobytes() for a in args]))
    assert told[0] == told[1]
    assert mistake.says in told[0][0]


@pytest.mark.parametrize(
    ("body", "words", "wanted"),
    [
        ("if (t < 64) { y[t] = 1; __syncthreads(); return; } s[t] = t; __syncthreads();"
         "y[t] = s[64 + (t + 1) % 32];", "only 64 of 96 threads", [1] * 64 + [*range(65, 96), 64]),
        ("if (t % 4 < 2) y[t] = __shfl_xor_sync(~0u, t, 1); y[t] += 1;", "names lane 2",
         [(t ^ 1) + 1 if t % 4 < 2 else 1 for t in range(96)]),
    ],
)  # fmt: skip
def test_warps_meet_at_a_barrier_by_its_number_and_wait_for_no_thread_that_has_ended(
    body: str, words: str, wanted: list[int]
) -> None:
    source = f"""__global__ void k(int* y) {{
        __shared__ int s[96]; int t = threadIdx.x; {body} }}"""
    y = np.zeros(96, np.int32)
    with pytest.warns(simt.SimtWarning, match=words):
        unchecked(cpp(source)["k"], (1, 96), y)
    assert y.tolist() == wanted


def test_what_an_unchecked_launch_has_written_is_written() -> None:
    module = cpp("""__global__ void fill(float* a) {
        int turns = 0;
        for (auto t = clock64(); clock64() - t < 10000 && turns < 100000; turns++) {}
        a[threadIdx.x] = turns < 100000;  // if each turn reads the clock
    }
    __global__ void take(const float* a, float* b) { if (a[threadIdx.x] > 0) b[threadIdx.x] = 2; }
    """)
    a, b = (simt.cuda.device_array(32, np.float32) for _ in range(2))
    with simt.unchecked():
        module["fill"][1, 32](a)
    report = simt.xray(module["take"])[1, 32](a, b)
    assert report.ok, report
    assert (b.copy_to_host() == 2).all()


PRINTS = r"""
#include <cstdio>
__global__ void k(const float* a, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < rounds; ++j)
        printf("%3d %s: %f %lld %5.2e %c %u%%\n", i, j ? "then" : "first", a[i], 1LL << 40,
               a[i] * 2, 65 + i % 26, -i);
    __syncthreads();
    if (i % 7 == 3) printf("end\n");
}"""


@pytest.mark.parametrize("rounds", [2, 400])  # of the second, more than the buffer holds
def test_threads_print_what_they_print_on_the_executor(rounds: int, capsys: Any) -> None:
    a = np.linspace(-3, 3, 90, dtype=np.float32)
    native = unchecked(cpp(PRINTS)["k"], (2, 45), a, rounds)
    assert ("left" in native) == (rounds > 2), native
    said = capsys.readouterr().out
    cpp(PRINTS)["k"][2, 45](a, rounds)
    assert capsys.readouterr().out == said
    assert said.count("\n") == 90 * rounds + 13


def test_threads_choose_what_they_print(capsys: Any) -> None:
    kernel = cpp("""#include <cstdio>
    __global__ void k() { int t = threadIdx.x; printf(t % 3 ? "one %d\\n" : "other %d\\n", t); }
    """)["k"]
    assert "format" in unchecked(kernel, (1, 9))["left"]
    said = capsys.readouterr().out.splitlines()
    assert sorted(said) == sorted(f"{'one' if t % 3 else 'other'} {t}" for t in range(9))


def test_a_launch_that_traps_is_the_executors() -> None:
    kernel = cpp("__global__ void k(int* a) { if (a[threadIdx.x]) __trap(); else a[0] = 3; }")["k"]
    with pytest.raises(simt.errors.KernelError, match="ends the kernel by a trap"):
        unchecked(kernel, (1, 4), np.array([0, 0, 7, 0], np.int32))
    assert "trap" in kernel.program.native["left"]


@pytest.mark.parametrize("call", ["sum(n - 1)", "again(n - 1)"])
def test_a_function_may_be_one_that_could_call_itself(call: str) -> None:
    again = cpp(f"""typedef int (*Sum)(int);
    __device__ __noinline__ int sum(int n);
    __device__ Sum again = sum;
    __device__ __noinline__ int sum(int n) {{ return n < 2 ? n : n + {call}; }}
    __global__ void k(int* a) {{ a[threadIdx.x] = sum(a[threadIdx.x]); }}""")["k"]
    a = np.arange(9, dtype=np.int32)
    assert "left" not in unchecked(again, (1, 2), a)
    assert "recurse" in unchecked(again, (1, 9), a)["left"]
    assert a.tolist() == [n * (n + 1) // 2 for n in range(9)]


def test_lanes_that_wait_for_each_other_go_on_in_turns() -> None:
    module = cpp("""__global__ void lock(int* mutex, int* total) {
        while (atomicCAS(mutex, 0, 1)) {}
        __threadfence(); *(volatile int*)total += 1; __threadfence();
        atomicExch(mutex, 0);
    }
    __global__ void wait(volatile int* flag, int* out) {
        if (threadIdx.x == 0) while (!*flag) {}
        if (threadIdx.x == 40) { *flag = 1; }
        out[threadIdx.x] = threadIdx.x;
    }
    __global__ void ring(int* come, int* out) {
        for (int at = blockIdx.x; at < 9; at += gridDim.x, __syncthreads())
            if (threadIdx.x == 5) {
                while (!atomicAdd(&come[at], 0)) {}
                come[at + 1] = out[at] = come[at] + at;
            }
    }""")
    mutex, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    assert "left" not in unchecked(module["lock"], (3, 64), mutex, total)
    assert total[0] == 192
    out = np.zeros(64, np.int32)
    assert "left" not in unchecked(module["wait"], (1, 64), np.zeros(1, np.int32), out)
    assert out.tolist() == list(range(64))
    come, out = np.eye(1, 10, dtype=np.int32)[0], np.zeros(9, np.int32)
    assert "left" not in unchecked(module["ring"], (4, 40), come, out)  # they wait in a ring
    assert out.tolist() == [1 + k * (k + 1) // 2 for k in range(9)]


TOGETHER = """
#include <cooperative_groups.h>
__global__ void k(const int* a, int* sums, int* out) {
    auto grid = cooperative_groups::this_grid();
    __shared__ int s[40];
    int t = threadIdx.x, i = grid.thread_rank(), mine = a[i];
    for (int round = 0; round < 3; ++round) {
        s[t] = mine + round;
        __syncthreads();
        if (t == 0) for (int k = 0; k < 40; ++k) sums[blockIdx.x] += s[k];
        grid.sync();
        for (int b = 0; b < gridDim.x; ++b) mine += sums[b] * (b + 1);
        grid.sync();
    }
    out[i] = mine + s[39 - t];
}"""


def test_blocks_of_a_grid_wait_for_each_other() -> None:
    kernel = cpp(TOGETHER)["k"].cooperative
    a = np.random.default_rng(1).integers(-99, 99, 200).astype(np.int32)
    sums, out = np.zeros(5, np.int32), np.zeros(200, np.int32)
    assert "left" not in unchecked(kernel, (5, 40), a, sums, out)
    mine, total = a.reshape(5, 40), np.zeros(5, np.int32)
    for k in range(3):
        said = mine + np.int32(k)
        total += said.sum(1, dtype=np.int32)
        mine = mine + (total * np.arange(1, 6, dtype=np.int32)).sum(dtype=np.int32)
    assert sums.tolist() == total.tolist()
    assert out.tolist() == (mine + said[:, ::-1]).ravel().tolist()
    with pytest.raises(simt.errors.KernelError, match="a grid that syncs as a whole must be"):
        unchecked(cpp(TOGETHER)["k"].cooperative, (10_000, 40), np.zeros(400_000, "i4"), sums, out)


@pytest.mark.parametrize("offset", [0, 1])
def test_pointers_into_the_middle_of_an_array_and_of_a_parameter(offset: int) -> None:
    kernel = cpp("""struct Factors { float of[65]; };
    __global__ void k(Factors by, const float* x, float* y) {
        int i = threadIdx.x; y[i] = by.of[i] * x[i]; }""")["k"]
    by = np.arange(3, 68, dtype=np.float32)
    x, y = simt.cuda.to_device(np.arange(67, dtype=np.float32)), simt.cuda.device_array(67, "f4")
    args = by.view([("of", np.float32, 65)])[0], x[offset:], y[offset:]
    assert "left" not in unchecked(kernel, (1, 65), *args)
    assert (y.copy_to_host()[offset:][:65] == by * np.arange(67)[offset:][:65]).all()
    with pytest.raises(simt.errors.KernelError, match=r"by\[65\], out of bounds"):
        unchecked(kernel, (1, 66), *args)


def test_blocks_on_several_cores_count_together() -> None:
    kernel = cpp("""__global__ void k(const unsigned char* a, int* bins, int* most) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        atomicAdd(&bins[a[i]], 1); atomicMax(most, i ^ 0x155); }""")["k"]
    a = np.random.default_rng(2).integers(0, 8, 1 << 18).astype(np.uint8)
    bins, most = np.zeros(8, np.int32), np.zeros(1, np.int32)
    (code,) = unchecked(kernel, (1 << 10, 256), a, bins, most).values()
    assert not code.kernel.in_order
    assert bins.tolist() == np.bincount(a).tolist()
    assert most[0] == int((np.arange(1 << 18) ^ 0x155).max())


def mixed(rng: random.Random, depth: int = 0) -> str:
    """Statements in which the threads of a block meet, and go apart in between."""
    lines = []
    for _ in range(rng.randint(3, 6)):
        a, b, c = (f"v{rng.randrange(6)}" for _ in range(3))
        inner = mixed(rng, depth + 1) if depth < 3 and rng.random() < 0.4 else ""
        simple = (
            f"{a} = {b} * 3 + {c};", f"{a} += __ballot_sync(~0u, {b} & 1);", "__syncthreads();",
            f"if ({b} & {1 << rng.randrange(5)}) {a} ^= {c}; else if ({c} & 2) {b} += 7;",
            f"{a} = __shfl_xor_sync(~0u, {b}, {rng.randrange(32)});",
        )  # fmt: skip
        around = rng.choice(["\n#pragma unroll 1\nfor (int i = 0; i < 3; ++i)", "if (n & 1)"])
        lines.append(f"{around} {{ {inner} }}" if inner else rng.choice(simple))
    return " ".join(lines)


def test_threads_that_wait_keep_what_they_have_changed() -> None:
    init = "".join(f"unsigned v{j} = a[t] * {2 * j + 1} + {j}; " for j in range(6))
    module = cpp("".join(
        f"__global__ void k{k}(unsigned* a, int n) {{ int t = threadIdx.x; {init}"
        f"{mixed(random.Random(k))} a[t] = v0 ^ 3 * v1 ^ 5 * v2 ^ 7 * v3 ^ 9 * v4 ^ 11 * v5; }}\n"
        for k in range(12)
    ))  # fmt: skip
    for k, n in [(k, n) for k in range(12) for n in (0, 1)]:
        mine, its = (np.random.default_rng(k).integers(0, 99, 64).astype("u4") for _ in range(2))
        assert "left" not in unchecked(module[f"k{k}"], (1, 64), mine, n)
        module[f"k{k}"][1, 64](its, n)
        assert (mine == its).all(), k


def test_pairs_of_halves_are_compared() -> None:
    source = """#include <cuda_fp16.h>
    #include <cuda_bf16.h>
    __global__ void compare(const __half2* a, const __half2* b, __half2* flags, unsigned* masks,
                            const __nv_bfloat16* c, const __nv_bfloat16* d, int* less) {
        int i = threadIdx.x;
        flags[i] = __hgt2(a[i], b[i]);
        masks[i] = __hleu2_mask(a[i], b[i]);
        less[i] = c[i] < d[i]; }
    __global__ void add(__half2* sums, const __half2* a) {
        int i = threadIdx.x;
        atomicAdd(&sums[i & 1], a[i]);
        sums[i + 2] = atomicAdd(&sums[34], __float2half2_rn(0.5f)); }"""
    rng = np.random.default_rng(4)
    a, b = rng.integers(-2, 3, (2, 64)).astype(np.float16)
    a[::7] = np.nan
    c, d = (x.astype(np.float32).view(np.uint16)[1::2].copy() for x in (a, b))
    flags, masks, less = np.zeros(64, np.float16), np.zeros(32, np.uint32), np.zeros(64, np.int32)
    args = [v.view(np.uint32) for v in (a, b, flags)]
    assert "left" not in unchecked(cpp(source)["compare"], (1, 32), *args, masks, c, d, less)
    assert (flags == (a > b)).all()
    assert (masks.view(np.uint16) == np.where(a > b, 0, 0xFFFF)).all()
    assert (less[:32] == (a < b)[:32]).all()
    kernel, (sums, same) = cpp(source)["add"], np.zeros((2, 70), np.float16)
    assert "left" not in unchecked(kernel, (1, 32), sums.view(np.uint32), args[1])
    kernel[1, 32](same.view(np.uint32), args[1])
    assert (sums == [*b.reshape(16, 4).sum(0), *np.repeat(np.arange(33) / 2, 2)]).all()
    assert (sums == same).all()


@pytest.mark.filterwarnings("default::simt.SimtWarning")
def test_a_launch_with_other_arguments_is_told_of_again() -> None:
    kernel = cpp("""__global__ void early(int* a, int n, int m) {
        int i = threadIdx.x;
        if (i >= n) return;
        __syncthreads();
        a[i] = i;
        if (i >= m) return;
        __syncthreads();
        a[i] += 1; }""")["early"]
    a = np.zeros(64, np.int32)
    for n, line in ((64, 7), (30, 4)):
        with pytest.warns(simt.SimtWarning, match=f"^line {line}: "):
            unchecked(kernel, (1, 64), a, n, 30)
