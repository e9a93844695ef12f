"""What C++ kernels may use: 16-bit floats, groups, warps, copies that go on by themselves, …"""

from typing import Any

import numpy as np
import pytest

import simt
from simt.cpp import cpp
from simt.errors import KernelError
from simt.report.report import Report

pytestmark = pytest.mark.usefixtures("_nvrtc")

x = np.random.default_rng(1).random(64, np.float32)
numbers = np.arange(64, dtype=np.int32)


def carried_out(source: str, *args: Any, block: int = 64, grid: int = 1) -> Report:
    """The report of the kernel `k`; the last argument is what it fills."""
    return simt.xray(cpp(source)["k"])[grid, block](*args)


def findings(report: Report) -> list[str]:
    return [str(f) for f in report.findings if f.kind != "implicit-copy"]


def of_floats(body: str, before: str = "") -> np.ndarray:
    """What a kernel makes of `v`, an element of `x`."""
    y = np.zeros(64, np.float32)
    source = f"""{before}
    __global__ void k(const float* x, float* y) {{ int t = threadIdx.x; float v = x[t]; {body} }}"""
    assert findings(carried_out(source, x, y)) == []
    return y


def octets(word: int) -> np.ndarray:
    """The four bytes of a word, the lowest first, as signed numbers."""
    return np.array([word], np.int64).view(np.int8)[:4].astype(int)


K = "__global__ void k(float* y) {\n"
HALF, BF = "#include <cuda_fp16.h>\n", "#include <cuda_bf16.h>\n"
GROUPS = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
GROUPS += "namespace cg = cooperative_groups;\n"


@pytest.mark.parametrize(
    ("body", "before", "wanted", "rtol"),
    [
        ("__half a = __float2half(v); y[t] = __half2float(__hmul(__hadd(a, a), a));", HALF,
         2 * x.astype("f2") * x.astype("f2"), 0),
        ("__half a = hexp(__float2half(v)); y[t] = __half2float(hlog(a)) + __half2float(a);", HALF,
         np.exp(x) + x, 3e-3),
        ("__half a = v; y[t] = __hisnan(__hmax_nan(a, NAN)) + __half2float(__hmax(a, NAN));",
         "#include <cmath>\n" + HALF, 1 + x, 1e-3),
        ("__half2 a(v, 3), b = a * a + a; y[t] = __low2float(b) + __high2float(b);", HALF,
         (x.astype("f2") * x.astype("f2") + x.astype("f2")).astype("f4") + 12, 0),
        ("__nv_bfloat16 a = __float2bfloat16(v); y[t] = __bfloat162float(a * a + a);", BF,
         x * x + x, 2e-2),
        ("auto b = cg::this_thread_block(); auto w = cg::tiled_partition<32>(b);"
         "float s = cg::reduce(w, v, cg::plus<float>()); b.sync(); y[b.thread_rank()] = s;",
         GROUPS, np.repeat(x.reshape(2, 32).sum(axis=1), 32), 1e-5),
        ("auto w = cg::tiled_partition<8>(cg::this_thread_block());"
         "for (int d = 4; d; d /= 2) v += w.shfl_down(v, d); y[t] = w.shfl(v, 0);",
         GROUPS, np.repeat(x.reshape(8, 8).sum(axis=1), 8), 1e-5),
        ("y[t] = sinf(v) + powf(v, 2.5f) + tanhf(v) + log2f(v + 1) + cbrtf(v) + rsqrtf(v + 1);", "",
         np.sin(x) + x**2.5 + np.tanh(x) + np.log2(x + 1) + np.cbrt(x) + (x + 1) ** -0.5, 1e-5),
        ("y[t] = fmodf(v * 10, 3) + roundf(v * 7) + floorf(v * 9) + truncf(v * 5);", "",
         np.fmod(x * 10, 3) + np.round(x * 7) + np.floor(x * 9) + np.trunc(x * 5), 1e-5),
        ('__shared__ float s[64]; s[t] = v; asm volatile("bar.sync 1, 64;" ::: "memory");'
         "y[t] = s[63 - t];", "", x[::-1], 0),
        ("volatile __shared__ float s[64]; s[t] = v; __syncwarp(); y[t] = s[t ^ 1];", "",
         x.reshape(32, 2)[:, ::-1].ravel(), 0),
        ("y[t] = 0; each(64, [=](int i) { if (i == t) y[i] = 2 * x[i]; });",
         "template <class F> __device__ void each(int n, F f) {"
         "for (int i = 0; i < n; i++) f(i); }",
         2 * x, 0),
        ("float a[16]; for (int i = 0; i < 16; i++) a[i] = i * v; y[t] = a[t * 7 % 16];", "",
         np.arange(64) * 7 % 16 * x, 1e-6),
        ("float* p = t % 2 ? (float*)s : y; p[t] = v; __syncthreads(); y[t] = t % 2 ? s[t] : y[t];",
         "__shared__ float s[64];", x, 0),
    ],
)  # fmt: skip
def test_on_floats(body: str, before: str, wanted: np.ndarray, rtol: float) -> None:
    np.testing.assert_allclose(of_floats(body, before), wanted, rtol=rtol)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("__reduce_add_sync(~0u, x[t])", np.repeat(numbers.reshape(2, 32).sum(axis=1), 32)),
        ("__reduce_max_sync(~0u, -x[t])", np.repeat([0, -32], 32)),
        ("__popc(__match_any_sync(~0u, x[t] % 4))", np.full(64, 8)),
        ("__syncthreads_count(x[t] > 5)", np.full(64, 58)),
        ("__syncthreads_or(x[t] > 62) + __syncthreads_and(x[t] > 0)", np.full(64, 1)),
        ("fib(x[t] % 12)", [[0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89][k % 12] for k in range(64)]),
        ("pick(x[t])", [[5, 11, 34, -1, 99, 3, 3, 3][k % 8] * (1 + k % 3) for k in range(64)]),
        ("spin(1000000) + __ffs(x[t])", [1 + (k & -k).bit_length() for k in range(64)]),
        ("(int)((long long)x[t] * 3000000000ll % 1000007)",
         [k * 3000000000 % 1000007 for k in range(64)]),
        ("(int)((x[t] * 1099511628211ull ^ 7) % 1000003) + (unsigned)-x[t] / 7 % 13",
         [(k * 1099511628211 ^ 7) % 1000003 + -k % 2**32 // 7 % 13 for k in range(64)]),
        ("(__brev(x[t]) >> 26) + __clz(x[t])",
         [int(f"{k:06b}"[::-1], 2) + 32 - k.bit_length() for k in range(64)]),
        ("__umulhi(x[t] << 25, 0x9e3779b9u) ^ __byte_perm(x[t], 0, 0x0123)",
         [((k << 25) * 0x9E3779B9 >> 32) ^ k << 24 for k in range(64)]),
        ("-x[t] / 7 * 100 + -x[t] % 7", [-(k // 7) * 100 - k % 7 for k in range(64)]),
        ("__shfl_up_sync(~0u, x[t], 3, 16) + __shfl_xor_sync(~0u, x[t], 5)",
         [(k - 3 if k % 16 >= 3 else k) + (k ^ 5) for k in range(64)]),
        ("__dp4a(x[t] * 0x01030507, 0x01ff02fe, 5)",
         [5 + sum(a * b for a, b in zip(octets(k * 0x01030507), (-2, 2, -1, 1), strict=True))
          for k in range(64)]),
        ("(int)__vsadu4(x[t] * 0x01030507, 0x01ff02fe) + 5",
         [5 + sum(abs(a % 256 - b) for a, b in
                  zip(octets(k * 0x01030507), (0xFE, 2, 0xFF, 1), strict=True))
          for k in range(64)]),
        ("(int)__vabsdiffu4(x[t] * 0x01030507, 0x01ff02fe)",
         [sum(abs(a % 256 - b) << 8 * k for k, (a, b) in
              enumerate(zip(octets(k * 0x01030507), (0xFE, 2, 0xFF, 1), strict=True)))
          for k in range(64)]),
        ("(int)__vsads2(x[t] * 0x2000f, 0xfff00010)",
         [abs(k * 15 - 16) + abs(k * 2 + 16) for k in range(64)]),
        ("(int)__dp2a_hi(x[t] * 0x00030005u, 0x03ff02feu, 1u)",
         [1 + 5 * k * 0xFF + 3 * k * 3 for k in range(64)]),
        ("__any_sync(~0u, x[t] == 40) + 2 * __all_sync(~0u, x[t] < 32)", np.repeat([2, 1], 32)),
    ],
)  # fmt: skip
def test_on_integers(expression: str, wanted: Any) -> None:
    y = np.zeros(64, np.int32)
    source = f"""
    __device__ int fib(int n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }}
    __device__ int spin(int n) {{ for (auto t = clock64(); clock64() - t < n;) {{}} return 1; }}
    __device__ int pick(int n) {{
        int v = 3;
        switch (n % 8) {{
            case 0: v = 5; break; case 1: v = 11; break; case 2: v = 34; break;
            case 3: v = -1; break; case 4: v = 99; break;
        }}
        return v * (1 + n % 3);
    }}
    __global__ void k(const int* x, int* y) {{ int t = threadIdx.x; y[t] = {expression}; }}"""
    assert findings(carried_out(source, numbers, y)) == []
    np.testing.assert_array_equal(y, wanted)


def test_float64_functions_and_atomics_of_every_kind() -> None:
    v, y = x.astype(float), np.zeros(64)
    source = """__global__ void k(const double* x, double* y) {
        double v = x[threadIdx.x];
        y[threadIdx.x] = sin(v) + exp(v) + log(v + 1) + pow(v, 1.5) + sqrt(v) + atan(v) / 3
                       + fma(v, v, v) + floor(v * 10);
    }"""
    assert findings(carried_out(source, v, y)) == []
    wanted = np.sin(v) + np.exp(v) + np.log(v + 1) + v**1.5 + np.sqrt(v) + np.arctan(v) / 3
    np.testing.assert_allclose(y, wanted + v * v + v + np.floor(v * 10), rtol=1e-14)
    source = """__global__ void k(const int* x, int* y) {
        int v = x[threadIdx.x];
        atomicAdd(&y[0], v); atomicMax(&y[1], v); atomicMin(&y[2], -v); atomicOr(&y[3], v);
        atomicXor(&y[4], v); atomicInc((unsigned*)&y[5], 9); atomicSub(&y[6], 1);
        if (v == 7) { atomicExch(&y[7], 70); atomicCAS(&y[7], 70, 71); }
    }"""
    counts = np.zeros(8, np.int32)
    assert findings(carried_out(source, numbers, counts)) == []
    assert counts.tolist() == [2016, 63, -63, 63, 0, 4, -64, 71]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        # the loop around a compare-and-swap begins with a guess, by a plain read
        ("int old = y[0], was; do { was = old; old = atomicCAS(&y[0], was, was + x[t]); }"
         "while (was != old);", 4 * 2016),
        ("if (t == 0) { while (y[1] != 0 || atomicCAS(&y[1], 0, 1) != 0); __threadfence();"
         "y[0] += x[63]; __threadfence(); atomicExch(&y[1], 0); }", 4 * 63),
        # a lock, taken by one thread of each block in turn
        ("if (t == 0) { while (atomicCAS(&y[1], 0, 1) != 0); __threadfence(); y[0] += x[63];"
         "__threadfence(); atomicExch(&y[1], 0); }", 4 * 63),
        ("if (t == 0) { do { while (*(volatile int*)&y[1]); } while (atomicExch(&y[1], 1));"
         "__threadfence(); y[0] += x[63]; __threadfence(); atomicExch(&y[1], 0); }", 4 * 63),
        # reads that cannot be torn, beside atomics
        ("atomicMax(&y[0], x[t]); if (*(volatile int*)&y[0] > 99) y[1] = 1;", 63),
        ('atomicMax(&y[0], x[t]); int v; asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];"'
         ': "=r"(v) : "l"(y)); if (v > 99) y[1] = 1;', 63),
    ],
)  # fmt: skip
def test_reads_beside_atomics_that_are_no_race(body: str, wanted: int) -> None:
    y = np.zeros(2, np.int32)
    source = f"__global__ void k(const int* x, int* y) {{ int t = threadIdx.x; {body} }}"
    assert findings(carried_out(source, numbers, y, grid=4)) == []
    assert y[0] == wanted


STRONG = """
__device__ void put(int* y, int v) { asm volatile("st.relaxed.WHERE.global.s32 [%0], %1;" :: "l"(y),
    "r"(v) : "memory"); }
__device__ int got(int* y) { int v; asm volatile("ld.relaxed.WHERE.global.s32 %0, [%1];" : "=r"(v)
    : "l"(y) : "memory"); return v; }
"""
LOCK = "while (atomicCAS{0}(&y[1], 0, 1) != 0); {1} y[0] += 1; {2} atomicExch{0}(&y[1], 0);"
B, D = "__threadfence_block();", "__threadfence();"


@pytest.mark.parametrize(("where", "grid", "body", "races"), [
    ("gpu", 4, "if (t == 40) put(y, 1); else if (got(y) > 9) put(y + 1, 1);", False),
    ("sys", 4, "put(y, t);", False),
    ("sys", 4, "put(y, t); atomicMax(y, 70);", False),
    ("cta", 4, "put(y, t);", True),  # in another block nobody knows of it
    ("cta", 1, "put(y, t);", False),
    ("gpu", 4, "if (t == 40) put(y, 1); else if (y[0] > 9) y[1] = 1;", True),  # a plain read
    ("gpu", 4, "put(y, t); if (t == 3) y[0] = 7;", True),  # a plain write
    ("gpu", 4, "*(volatile int*)y = t;", True),  # volatile is neither atomic nor in any order
    ("gpu", 4, "if (t == 40) *(volatile int*)y = 1; else if (*(volatile int*)y > 9) y[1] = 1;",
     False),  # but a flag may be volatile
    ("gpu", 4, "if (t == 40) *(volatile int*)y = 1; else y[1] = *(volatile int*)y + 1;", True),
    ("gpu", 2, "if (t == 0) { if (blockIdx.x) atomicExch(y, 1); else *(volatile int*)y = 2; }",
     True),
    ("gpu", 4, "y[0] = t;", True),
    ("gpu", 1, "atomicAdd(&y[0], 1); if (t == 40) y[1] = y[0];", True),  # a plain read
    ("gpu", 1, "if (t == 40) y[0] = 1; else atomicCAS(&y[0], 5, 6);", True),  # a plain write
    ("gpu", 1, "if (t == 40) y[0] = 1; else if (*(volatile int*)&y[0] > 9) y[1] = 1;", True),
    ("gpu", 1, "int most = y[0]; if (t > most) atomicExch(&y[0], t);", True),  # checked by nobody
    # a flag tells of what was written before it, where fences stand on both sides
    ("gpu", 2, "if (t == 0) { if (blockIdx.x == 0) { y[1] = 5; __threadfence(); put(y, 1); }"
     "else if (got(y)) { __threadfence(); y[2] = y[1]; } }", False),
    ("gpu", 2, "if (t == 0) { if (blockIdx.x == 0) { y[1] = 5; put(y, 1); }"
     "else if (got(y)) { __threadfence(); y[2] = y[1]; } }", True),
    # locks and flags need fences, and atomics that reach the other
    ("gpu", 2, "if (t == 0) {" + LOCK.format("", D, D) + "}", False),
    ("gpu", 2, "if (t == 0) {" + LOCK.format("", "", D) + "}", True),
    ("gpu", 2, "if (t == 0) {" + LOCK.format("", D, "") + "}", True),
    ("gpu", 2, "if (t == 0) {" + LOCK.format("", B, D) + "}", True),
    # who takes it first without a fence could have taken it second
    ("gpu", 2, f"if (t == 0) {{ if (blockIdx.x) {{ {LOCK.format('', D, D)} }}"
     f"else {{ {LOCK.format('', '', D)} }} }}", True),
    ("gpu", 2, "if (t == 0) {" + LOCK.format("_block", D, D) + "}", True),  # of each block's own
    ("gpu", 1, f"if (t == 0) {{ {LOCK.format('_block', B, B)} }}"
     f"else if (t == 32) {{ {LOCK.format('_block', B, B)} }}", False),
    ("gpu", 2, "if (t == 0) atomicAdd_block(&y[0], 1);", True),
    ("gpu", 1, "atomicAdd_block(&y[0], 1); atomicAdd(&y[0], 1);", False),
    ("gpu", 2, "if (t || blockIdx.x) atomicAdd(&y[0], 1); else atomicAdd_block(&y[0], 1);", True),
    # to a flag that is no lock
    ("gpu", 2, "if (t == 0) { if (blockIdx.x == 0) { y[0] = 1; __threadfence();"
     "atomicExch(&y[1], 1); } else { while (atomicExch(&y[1], 0) == 0); y[2] = y[0]; } }", False),
    ("gpu", 2, "if (t == 0) { if (blockIdx.x == 0) { y[0] = 1; __threadfence_block();"
     "atomicExch(&y[1], 1); } else { while (atomicExch(&y[1], 0) == 0); y[2] = y[0]; } }", True),
])  # fmt: skip
def test_who_races_with_strong_operations(where: str, grid: int, body: str, races: bool) -> None:
    source = STRONG.replace("WHERE", where)
    source += f"__global__ void k(int* y) {{ int t = threadIdx.x; {body} }}"
    found = findings(carried_out(source, np.zeros(3, np.int32), grid=grid))
    assert bool(found) == races
    assert all("race on y[" in one for one in found)


TOLD = """
__global__ void k(int* y) {{
    __shared__ int s[32], flag;
    int t = threadIdx.x; if (t == 0) flag = 0; __syncthreads();
    if (t >= 32) {{ s[t - 32] = t; {tell} }}
    else {{ {wait} y[t] = s[31 - t]; }}
}}"""
ATOMIC = "if (t == 0) while (atomicAdd(&flag, 0) == 0);"
MET, HALVES = "__syncwarp();", "__syncwarp(t % 32 < 16 ? 0xffff : 0xffff0000);"
TELL = "if (t == 40) {{ __threadfence_block(); {} }}"
EXCHANGE, VOLATILE = map(TELL.format, ("atomicExch(&flag, 1);", "*(volatile int*)&flag = 1;"))


@pytest.mark.parametrize(("tell", "wait", "races"), [
    (MET + EXCHANGE, ATOMIC + MET, False),
    (MET + VOLATILE, "if (t == 0) while (!*(volatile int*)&flag);" + MET, False),
    (MET + EXCHANGE, ATOMIC, True),
    (EXCHANGE, ATOMIC + MET, True),
    (EXCHANGE + MET, ATOMIC + MET, True),
    (MET + "if (t == 40) atomicExch(&flag, 1);", ATOMIC + MET, True),
    (MET + EXCHANGE, ATOMIC + HALVES, True),
    (HALVES + EXCHANGE, ATOMIC + MET, True),
    (HALVES + "if (t % 16 == 0) { __threadfence_block(); atomicAdd(&flag, 1); }",
     ATOMIC.replace("== 0", "!= 2") + MET, False),
])  # fmt: skip
def test_a_flag_tells_a_whole_warp_through_syncwarp(tell: str, wait: str, races: bool) -> None:
    y = np.zeros(32, np.int32)
    found = findings(carried_out(TOLD.format(tell=tell, wait=wait), y))
    assert bool(found) == races
    assert all("race on s[" in one for one in found)
    assert races or y.tolist() == [*range(63, 31, -1)]


LEADER = "if (t == 0) { __threadfence(); atomicAdd(&y[64], 1); }"
BAR = 'asm volatile("bar.{} 1, {};");'.format


@pytest.mark.parametrize(("tell", "races"), [
    (LEADER, True), ("__syncthreads();" + LEADER, False), (MET + LEADER, True),
    ("__threadfence(); __syncthreads(); if (t == 0) atomicAdd(&y[64], 1);", False),
    (BAR("sync", 64) + LEADER, False), ("if (t < 32)" + BAR("sync", 32) + LEADER, True),
    (f"if (t > 31) {BAR('arrive', 64)} else {{ {BAR('sync', 64)} {LEADER} }}", False),
    (HALVES + LEADER.replace("t ==", "t % 16 =="), False),  # each half by a thread of its own
])  # fmt: skip
def test_a_fence_tells_other_blocks_of_whom_its_thread_has_met(tell: str, races: bool) -> None:
    source = f"""__global__ void k(int* y) {{ int t = threadIdx.x;
        if (blockIdx.x == 0) {{ y[t] = t; {tell} return; }}
        if (t == 0) while (atomicAdd(&y[64], 0) != {4 if HALVES in tell else 1});
        __syncthreads(); y[65 + t] = y[63 - t]; }}"""
    found = findings(carried_out(source, np.zeros(129, np.int32), grid=2))
    assert bool(found) == races
    assert all("no barrier between the first and the fence of its block" in one for one in found)


@pytest.mark.parametrize(("first", "then", "races"), [
    (MET, MET, False), ("", MET, True), (MET, "", True)])  # fmt: skip
def test_a_lock_that_one_lane_takes_guards_what_its_warp_does(
    first: str, then: str, races: bool
) -> None:
    source = f"""__global__ void k(int* y) {{
        int lane = threadIdx.x % 32;
        if (lane == 0) {{ while (atomicCAS(&y[32], 0, 1) != 0); __threadfence_block(); }}
        {first} y[lane] += 1; {then}
        if (lane == 0) {{ __threadfence_block(); atomicExch(&y[32], 0); }}
    }}"""
    y = np.zeros(33, np.int32)
    found = findings(carried_out(source, y))
    assert bool(found) == races
    assert races or y.tolist() == [2] * 32 + [0]


def test_volatile_orders_nothing_between_the_lanes_of_a_warp() -> None:
    body = "__shared__ float s[64]; s[t] = v; __syncthreads(); if (t < 32) { volatile float* p = s;"
    for end, races in (("", True), ("__syncwarp();", False)):
        source = f"""__global__ void k(const float* x, float* y) {{
            int t = threadIdx.x; float v = x[t]; {body} v = p[t] + p[t + 32]; {end}
            p[t] = v; {end} v += p[t ^ 1]; {end} }} y[t] = v; }}"""
        found = findings(carried_out(source, x, np.zeros(64, np.float32)))
        assert bool(found) == races
        assert all("race on s[" in one for one in found)


@pytest.mark.parametrize(("body", "told"), [
    # a compiler loads early what may not be needed: only what it is used for counts
    ("int a[4]; for (int k = 0; k < n; ++k) a[k] = t; int v; asm volatile("
     '"ld.local.s32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_local(a + 3)));'
     "y[t] = n > 3 ? v : 7;", False),
    ("int a[4]; for (int k = 0; k < n; ++k) a[k] = t; y[t] = a[3];", True),
    ("int a[4]; for (int k = 0; k < n; ++k) a[k] = t; if (a[3] * 2 > 4) y[t] = 1;", True),
    ("int a[4]; for (int k = 0; k < n; ++k) a[k] = t; y[(a[3] + 1) & 63] = 1;", True),
    ("int a[4]; for (int k = 0; k < n; ++k) a[k] = t; y[t] = fma(a[3], .5, .3);", True),
    ("__shared__ int s[2]; atomicExch(&s[0], 1); __syncthreads(); y[t] = s[0];", False),
    ("__shared__ int s[2]; y[t] = atomicExch(&s[0], 1);", True),
    ("__shared__ int s[2]; atomicAdd(&s[0], 1); y[t] = 1;", True),
    ("int v = t; if (t < 11) { v = __shfl_down_sync(__activemask(), v, 8);"
     "v += __shfl_down_sync(__activemask(), v, 4); if (t == 0) y[0] = v; }", True),
    ("int v = t; if (t % 32 >= 16) return; for (int d = 8; d; d /= 2)"
     "v += __shfl_down_sync(~0u, v, d); if (t == 0) y[0] = v;", False),
])  # fmt: skip
def test_what_is_undefined_is_told_where_a_store_a_branch_or_an_address_needs_it(
    body: str, told: bool
) -> None:
    source = f"__global__ void k(int n, int* y) {{ int t = threadIdx.x; {body} }}"
    found = findings(carried_out(source, 3, np.zeros(64, np.int32)))
    assert [("undefined" in f or "nobody has written" in f) for f in found] == [True] * told


def test_a_loop_in_which_nothing_changes_ends_after_a_few_turns() -> None:
    source = "__global__ void k(int n, int* y) { for (int t = threadIdx.x; t < n;) y[t] = 1; }"
    report = carried_out(source, 32, np.zeros(32, np.int32), block=32)
    assert [f.kind for f in report.findings if f.severity == "error"] == ["no-progress"]
    assert report.totals.global_store_requests < 64  # one in each turn


LOCK = f"""{K}
    __shared__ float s[128];
    int* lock = (int*)y;
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % lanes == 0) {{
        while (atomicCAS(lock, 0, 1) != 0);
        __threadfence();
        *(volatile float*)(y + 1) = *(volatile float*)(y + 1) + 1;
        __threadfence();
        atomicExch(lock, 0);
    }}
    __syncthreads();  // where some warps wait for those that wait for the lock
    y[2 + threadIdx.x] = s[127 - threadIdx.x];
}}"""


@pytest.mark.parametrize(("lanes", "grid", "ends"), [(32, 1, True), (32, 3, True), (16, 1, False)])
def test_warps_take_a_lock_in_turn_and_lanes_of_one_warp_do_not(lanes, grid, ends) -> None:
    y = np.zeros(130, np.float32)
    report = carried_out(LOCK.replace("lanes", str(lanes)), y, block=128, grid=grid)
    if ends:
        assert findings(report) == []
        assert y.tolist() == [0, 4 * grid, *range(127, -1, -1)]
    else:
        (found,) = findings(report)
        assert "this loop does not end here" in found
        assert "Others of its warp go on only after it, as on GPUs before Volta" in found


def test_a_loop_with_no_way_out_is_told_at_once() -> None:
    source = "__global__ void k(int* y) { for (;;) atomicAdd(&y[0], 1); }"
    found = findings(carried_out(source, np.zeros(1, np.int32), block=32))
    assert found == ["line 1: this loop never ends: nothing in it leads out"]
    source = "__global__ void k(int* y) { for (;;) if (atomicAdd(&y[0], 1) > 999) return; }"
    assert findings(carried_out(source, np.zeros(1, np.int32), block=32)) == []


@pytest.mark.parametrize(("grid", "other", "held"), [(3, 2, "3 of"), (6000, 5999, "4,736 of")])
def test_a_block_that_waits_for_a_later_one_is_told_which_one_and_how_many_run_at_once(
    grid: int, other: int, held: str
) -> None:
    source = """__global__ void k(volatile int* y) {
        if (threadIdx.x) return;
        if (blockIdx.x == gridDim.x - 1) y[2] = 1;
        if (blockIdx.x == 0) { y[0] = 1; while (y[2] < 2); }
        if (blockIdx.x == gridDim.x - 1) { while (y[0] == 0); y[2] = 2; }
    }"""
    (found,) = findings(carried_out(source, np.zeros(3, np.int32), block=32, grid=grid))
    assert f"line 4: block 0 waits forever for y[2], which block {other} sets: nothing" in found
    assert f"A B200 holds {held}" in found
    assert ("cooperative" in found) == (grid == 3)


FUNCTIONS = """
typedef float (*Function)(float);
__device__ __noinline__ float half(float v) { return v / 2; }
__device__ __noinline__ float twice(float v) { return v * 2; }
__device__ Function table[] = {half, twice, nullptr};
struct Shape { __device__ virtual float area(float scale, int more) const = 0; };
struct Square : Shape {
    float a;
    __device__ Square(float a) : a(a) {}
    __device__ float area(float scale, int more) const override { return scale * a * a + more; }
};
struct Right : Square {
    float b;
    __device__ Right(float a, float b) : Square(a), b(b) {}
    __device__ float area(float scale, int more) const override { return scale * a * b - more; }
};
"""


def test_each_thread_calls_the_function_that_it_has_the_address_of() -> None:
    source = f"""{FUNCTIONS}__global__ void k(float* y) {{
        int t = threadIdx.x;
        Function f = t % 3 ? half : twice;
        if (t < 40) y[t] = f(y[t]) + table[t / 20](3.0f);
        Square square(t);
        Right right(t, 2.0f);
        const Shape* shape = t % 2 ? (const Shape*)&square : (const Shape*)&right;
        y[t] += shape->area(10.0f, 7);
    }}"""
    t = np.arange(64)
    y, native = (t.astype(np.float32) for _ in range(2))
    assert findings(carried_out(source, y, block=64, grid=1)) == []
    wanted = t.astype(float)
    wanted[:40] = np.where(t % 3, t / 2, t * 2)[:40] + np.where(t[:40] < 20, 1.5, 6.0)
    assert np.array_equal(y, wanted + np.where(t % 2, 10 * t * t + 7, 20 * t - 7))
    kernel = cpp(source)["k"]
    with simt.unchecked():
        kernel[1, 64](native)
    assert native.tolist() == y.tolist()
    assert "left" not in kernel.program.native


def test_a_call_of_no_function_is_named_and_so_is_a_mistake_inside_of_one() -> None:
    null = f"""{FUNCTIONS}__global__ void k(float* y) {{
        int t = threadIdx.x;
        y[t] = table[t / 31](y[t]);
    }}"""
    [found] = findings(carried_out(null, np.zeros(64, np.float32)))
    assert "thread 62 of block 0 calls a null pointer" in found
    with simt.unchecked(), pytest.raises(KernelError, match="calls a null pointer"):
        cpp(null)["k"][1, 64](np.zeros(64, np.float32))
    wild = null.replace("table[t / 31]", "((Function)(y + t))")
    [found] = findings(carried_out(wild, np.zeros(64, np.float32)))
    assert "where no such function is" in found
    inside = """typedef void (*Step)(int*);
    __device__ __noinline__ void one(int* y) { y[threadIdx.x] = 1; }
    __device__ __noinline__ void far(int* y) {
        y[64] = 1;
    }
    __global__ void k(int* y) { Step f = threadIdx.x < 50 ? one : far; f(y); }"""
    [found] = findings(carried_out(inside, np.zeros(64, np.int32)))
    assert found.startswith("line 4: thread 50 of block 0 accesses y[64], out of bounds")


NAMED = """
__device__ void sync(int a, int n) {
    asm volatile("bar.sync %0, %1;" :: "r"(a), "r"(n) : "memory");
}
__device__ void arrive(int a, int n) {
    asm volatile("bar.arrive %0, %1;" :: "r"(a), "r"(n) : "memory");
}
"""
PIPELINE = """
__global__ void k(int rounds, const int* x, int* y) {
    __shared__ int s[2][32];
    int t = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; ++r) {
            sync(1 + r % 2, 64);  // this half is free
            s[r % 2][t] = x[r * 32 + t];
            arrive(3 + r % 2, 64);  // and full
        }
    } else {
        arrive(1, 64); arrive(2, 64);
        for (int r = 0; r < rounds; ++r) {
            sync(3 + r % 2, 64);
            y[r * 32 + t] = s[r % 2][31 - t];
            if (r + 2 < rounds) arrive(1 + r % 2, 64);
        }
    }
}"""


def test_one_warp_hands_another_its_work_by_named_barriers() -> None:
    x = np.arange(160, dtype=np.int32)
    y = np.zeros_like(x)
    report = carried_out(NAMED + PIPELINE, 5, x, y, grid=2)
    assert findings(report) == []
    assert y.tolist() == x.reshape(5, 32)[:, ::-1].ravel().tolist()
    assert report.totals.barriers == 2 * (5 + 5 + 5 + 5)
    stuck = PIPELINE.replace("            arrive(3 + r % 2, 64);  // and full\n", "")
    [found] = findings(carried_out(NAMED + stuck, 5, x, y))
    assert "thread 32 of block 0 waits forever at barrier 3" in found
    early = PIPELINE.replace("sync(3 + r % 2, 64)", "arrive(3 + r % 2, 64)")  # it does not wait
    assert any("race on s[0]" in f for f in findings(carried_out(NAMED + early, 2, x, y)))


@pytest.mark.parametrize("come", [
    "sync(1 + t / 64, 64);", "if (t < 64) sync(1, 64); else sync(2, 64);"])  # fmt: skip
def test_a_named_barrier_orders_only_those_who_come(come: str) -> None:
    source = f"""{NAMED}
    __global__ void k(int reach, int* y) {{
        __shared__ int s[128]; int t = threadIdx.x;
        s[t] = t; {come}
        y[t] = s[t ^ reach];
        __syncthreads();
    }}"""
    y = np.zeros(128, np.int32)
    assert findings(carried_out(source, 32, y, block=128, grid=2)) == []
    assert y.tolist() == [t ^ 32 for t in range(128)]
    [race] = findings(carried_out(source, 64, y, block=128))
    assert "race on s[" in race


@pytest.mark.parametrize(("come", "races"), [
    ("if (t < 32) sync(1, 64); else sync(1, 64);", False),
    ("if (t < 32) sync(1, 64); if (t >= 32) sync(1, 64);", False),
    ("if (t < 32) sync(1, 64); __syncwarp(); if (t >= 32) sync(1, 64); __syncthreads();", False),
    ("if (t >= 32) sync(1, 64); if (t < 32) { if (n) s[t] = t; sync(1, 64); }", False),
    ("for (int i = 0; i < 2; ++i) { if (t < 32) sync(1, 64); if (t >= 32) sync(1, 64); }", False),
    ("if (t < 32) arrive(1, 64); __syncwarp(); if (t >= 32) sync(1, 64);", True)])  # fmt: skip
def test_who_only_arrives_learns_nothing(come: str, races: bool) -> None:
    source = f"""{NAMED}
    __global__ void k(int n, int* y) {{
        __shared__ int s[64]; int t = threadIdx.x;
        s[t] = t; {come}
        if (t < 32) y[t] = s[t + 32];
    }}"""
    found = findings(carried_out(source, 1, np.zeros(32, np.int32)))
    assert [("race on s[" in f) for f in found] == [True] * races


def test_a_barrier_of_the_whole_grid_needs_a_cooperative_launch() -> None:
    source = """#include <cooperative_groups.h>
    __global__ void k(int* y) {
        auto all = cooperative_groups::this_grid();
        y[all.thread_rank()] = all.thread_rank();
        all.sync();
        y[all.size() + all.thread_rank()] = y[all.size() - 1 - all.thread_rank()];
    }"""
    y = np.zeros(128, np.int32)
    kernel = cpp(source)["k"]
    assert findings(simt.xray(kernel.cooperative)[4, 16](y)) == []
    assert y.tolist() == [*range(64), *range(63, -1, -1)]
    kernel.cooperative[4, 16](simt.cuda.to_device(y))
    refused = findings(simt.xray(kernel)[4, 16](y))
    assert refused == [
        "line 5: a barrier of the whole grid needs a launch that puts all blocks on the GPU at "
        'once: write module["k"].cooperative[grid, block](...)'
    ]


@pytest.mark.parametrize(
    ("source", "kind", "line", "says"),
    [
        ("#include <cassert>\n__global__ void k(float* y) {\n  assert(threadIdx.x < 40);\n}",
         "exception", 3, "thread 40 of block 0 fails the assertion `threadIdx.x < 40`"),
        ("#include <cuda_pipeline.h>\n__global__ void k(float* y) {\n  __shared__ float s[64];\n"
         "  __pipeline_memcpy_async(&s[threadIdx.x], &y[threadIdx.x], 4);\n  __pipeline_commit();\n"
         "  y[threadIdx.x] = s[threadIdx.x] + 1;\n}", "uninitialized-read", 6, "s[0]"),
        (K + "  if (threadIdx.x < 32) y[threadIdx.x] =\n"
         "    __shfl_down_sync(~0u, y[threadIdx.x], 1);\n  else\n    y[0] = 1;\n}",
         "race", 5, "on y[0]"),
        (K + "  if (threadIdx.x < 20)\n    y[threadIdx.x] +="
         " __shfl_xor_sync(~0u, y[threadIdx.x], 1);\n}", "barrier-divergence", 3, "names lane 20"),
        (K + "  volatile float* v = y;\n  while (v[0] == 0);\n}", "no-progress", 3,
         "this loop waits forever"),
        (K + '  if (threadIdx.x < 32)\n    asm volatile("bar.sync 1, 64;");\n}',
         "barrier-divergence", 3, "thread 0 of block 0 waits forever at barrier 1: 32 threads"),
        (K + '  asm volatile("bar.sync 1, 32;");\n}',
         "barrier-divergence", 2, "64 threads come to barrier 1, which is one of 32"),
        (K + "  __shared__ float s[20000];\n  s[threadIdx.x] = y[0];\n"
         "  __syncthreads();\n  y[threadIdx.x] = s[63 - threadIdx.x];\n}",
         "launch-limit", None, "80,000 bytes of shared memory; there are 49,152"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_named_with_its_line(
    source: str, kind: str, line: int | None, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simt.core.limits.SECONDS", 0.2)
    monkeypatch.setattr("simt.machine.lockstep.STEP_LIMIT", 2000)
    report = carried_out(source, np.zeros(64, np.float32))
    found = [f for f in report.findings if f.kind == kind]
    assert found, str(report).splitlines()[:5]
    assert says in found[0].message
    assert line is None or found[0].line == line


def test_threads_go_on_together_in_a_loop_that_is_also_left_by_a_break() -> None:
    source = """__global__ void k(int n, int* y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        long long v = i + 1;
        int steps = 0;
        while (v != 1) {
            if (v & 1) { v = 3 * v + 1; if (v > 1000000000000ll) break; }
            else v /= 2;
            ++steps;
        }
        y[i] = steps;
    }"""
    y = np.zeros(300, np.int32)
    report = carried_out(source, 300, y, grid=2, block=256)
    assert findings(report) == []
    wanted = []
    for v in range(1, 301):
        steps = 0
        while v != 1:
            v, steps = 3 * v + 1 if v & 1 else v // 2, steps + 1
        wanted.append(steps)
    assert y.tolist() == wanted
    turns = report.lines[7].instructions / 10  # of each of the 10 warps
    assert turns < 3 * max(wanted)


def test_one_thread_alone_keeps_its_pointers_and_writes_only_where_it_says():
    source = """
    __global__ void running(const float* x, float* sums, unsigned char* odd, int n) {
        float sum = 0;
        for (int i = 0; i < n; i++) {
            sum += *x++;
            *sums++ = sum;
            if (i % 3) odd[i] = i;
        }
    }"""
    x = np.arange(50, dtype=np.float32)
    sums, odd = np.zeros_like(x), np.full(50, 77, np.uint8)
    cpp(source)["running"][1, 1](x, sums, odd, 50)
    assert sums.tolist() == np.cumsum(x).tolist()
    assert odd.tolist() == [i if i % 3 else 77 for i in range(50)]
    bits = np.array([0x7F800001, 0xFF812345], np.uint32)  # signalling NaNs as floats
    out = np.zeros_like(bits)
    cpp("__global__ void pair(const uint2* x, uint2* y) { *y = *x; }")["pair"][1, 1](bits, out)
    assert out.tolist() == bits.tolist()


def test_a_parameter_can_be_indexed_by_what_is_only_known_as_it_runs() -> None:
    source = """struct Table { int v[1000]; };
    __global__ void k(const __grid_constant__ Table table, const int* at, int* y) {
        int t = threadIdx.x;
        y[t] = table.v[at[t]] + (t == 0 ? table.v[at[t] + 1] : 0);
    }"""
    table, at, y = np.zeros((), [("v", "i4", 1000)]), 13 * numbers, np.zeros(64, np.int32)
    table["v"] = np.arange(1000) ** 2
    assert findings(carried_out(source, table[()], at, y)) == []
    expected, kernel, z = at**2, cpp(source)["k"], np.zeros_like(y)
    expected[0] += 1
    assert (y == expected).all()
    with simt.unchecked():
        kernel[1, 64](table[()], at, z)
        assert y.tolist() == z.tolist() == expected.tolist()
        assert "left" not in kernel.program.native
        at[5] = 1000
        with pytest.raises(KernelError, match=r"table.* out of bounds"):
            kernel[1, 64](table[()], at, y)
