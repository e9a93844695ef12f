"""Tensor cores against NumPy: fragments of `mma` lie where the PTX ISA says; `wmma` as a whole."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest

from .test_executor import carried_out, on_both, said

Lanes = Any
LANE = np.arange(32)
G, T = LANE[:, None] // 4, LANE[:, None] % 4  # "groupID" and "threadID_in_group" of the PTX ISA
Places = Callable[[Lanes], tuple[Lanes, Lanes]]  # of the numbers of a fragment: row, column


def high(*ranges: tuple[int, int]) -> Callable[[Lanes], Lanes]:
    """8 more for the numbers that lie in none of these ranges."""
    return lambda i: G + 8 * ~np.any([(a <= i) & (i < b) for a, b in ranges], axis=0)


# of A and B, in the words of "Warp-level Matrix Fragment": how many numbers, and their places
FRAGMENTS: dict[str, tuple[int, Places, int, Places]] = {
    "m16n8k8 f16": (4, lambda i: (high((0, 2))(i), 2 * T + i % 2),
                    2, lambda i: (2 * T + i, G + 0 * i)),
    "m16n8k16 f16": (8, lambda i: (high((0, 2), (4, 6))(i), 2 * T + i % 2 + 8 * (i >= 4)),
                     4, lambda i: (2 * T + i % 2 + 8 * (i >= 2), G + 0 * i)),
    "m16n8k4 tf32": (2, lambda i: (G + 8 * i, T + 0 * i), 1, lambda i: (T + 0 * i, G + 0 * i)),
    "m16n8k8 tf32": (4, lambda i: (high((0, 1), (2, 3))(i), T + 4 * (i >= 2)),
                     2, lambda i: (T + 4 * i, G + 0 * i)),
    "m8n8k4 f64": (1, lambda i: (G + 0 * i, T + 0 * i), 1, lambda i: (T + 0 * i, G + 0 * i)),
    "m16n8k16 f64": (8, lambda i: (G + i % 2 * 8, T + 2 * i - 2 * (i % 2)),
                     4, lambda i: (T + 4 * i, G + 0 * i)),
    "m16n8k16 s8": (8, lambda i: (high((0, 4))(i), 4 * T + i % 4),
                    4, lambda i: (4 * T + i, G + 0 * i)),
    "m16n8k32 s8": (16, lambda i: (high((0, 4), (8, 12))(i), 4 * T + i % 4 + 16 * (i >= 8)),
                    8, lambda i: (4 * T + i % 4 + 16 * (i >= 4), G + 0 * i)),
}  # fmt: skip
CASES = [
    ("m16n8k8", "f16 f16 f16 f16"), ("m16n8k8", "f32 f16 f16 f32"),
    ("m16n8k8", "f32 bf16 bf16 f32"), ("m16n8k16", "f16 f16 f16 f16"),
    ("m16n8k16", "f32 f16 f16 f32"),
    ("m16n8k16", "f32 bf16 bf16 f32"), ("m16n8k4", "f32 tf32 tf32 f32"),
    ("m16n8k8", "f32 tf32 tf32 f32"), ("m8n8k4", "f64 f64 f64 f64"),
    ("m16n8k16", "f64 f64 f64 f64"), ("m16n8k16", "s32 s8 s8 s32"), ("m16n8k16", "s32 u8 s8 s32"),
    ("m16n8k32", "s32 s8 u8 s32"), ("m16n8k32", "s32 u8 u8 s32"),
]  # fmt: skip
TYPES = {"f16": "f2", "f32": "f4", "f64": "f8", "tf32": "f4", "s8": "i1", "u8": "u1", "s32": "i4"}
LIKE = {"bf16": "f16", "u8": "s8"}
rng = np.random.default_rng(5)


def numbers(kind: str, *shape: int) -> Lanes:
    """Random numbers of a type, as float64."""
    if kind[0] in "su":
        return rng.integers(*((-128, 128) if kind[0] == "s" else (0, 256)), shape).astype(float)
    values = rng.normal(size=shape)
    if kind in ("bf16", "tf32"):
        cut = np.uint32(0xFFFF0000 if kind == "bf16" else 0xFFFFE000)
        return (values.astype("f4").view("u4") & cut).view("f4").astype(float)
    return values.astype(TYPES[kind]).astype(float)


def encoded(kind: str, values: Lanes) -> Lanes:
    """The numbers of a lane as the bits of its registers, (32, bytes)."""
    if kind == "bf16":
        return (values.astype("f4").view("u4") >> 16).astype("u2").view("u1")
    return np.ascontiguousarray(values.astype(TYPES[kind])).view("u1")


def kernel(name: str, types: list[str], counts: list[int]) -> str:
    """Each lane gets its registers of A, B and C in a row, and gives back those of D."""
    wide = types[0] == "f64"
    size, width = (8, "f64") if wide else (4, "b32")
    registers, loads = [], []
    for part in range(4):
        registers.append([f"%m{part}_{k}" for k in range(counts[part])])
    for k, register in enumerate(chain(*registers[1:])):
        loads.append(f"ld.global.{width} {register}, [%rd6+{size * k}];")
    groups = [f"{{{', '.join(part)}}}" for part in registers]
    stores = [
        f"st.global.{width} [%rd7+{size * k}], {register};"
        for k, register in enumerate(registers[0])
    ]
    return "\n".join([
        f".reg .{width} {', '.join(chain(*registers))};",
        "ld.param.u64 %rd5, [kernel_param_11];",
        f"mad.wide.s32 %rd6, %r1, {size * sum(counts[1:])}, %rd5;",
        f"mad.wide.s32 %rd7, %r1, {size * counts[0]}, %rd1;",
        *loads, f"mma.sync.aligned.{name} {', '.join(groups)};", *stores,
    ])  # fmt: skip


@pytest.mark.parametrize(("shape", "words"), CASES)
def test_mma_multiplies_fragments_that_lie_where_the_isa_says(shape: str, words: str) -> None:
    m, n, k = (int(x) for x in shape.replace("n", " ").replace("k", " ")[1:].split())
    types = words.split()
    kind = LIKE.get(types[1], types[1])
    count_a, place_a, count_b, place_b = FRAGMENTS[f"{shape} {kind}"]
    a, b, c = numbers(types[1], m, k), numbers(types[2], k, n), numbers(types[3], m, n)
    i = np.arange(m * n // 32)[None, :]
    place_c = high((0, 2))(i), 2 * T + i % 2
    of_a, of_b = a[place_a(np.arange(count_a)[None])], b[place_b(np.arange(count_b)[None])]
    parts = [encoded(kind, x) for kind, x in zip(types[1:], (of_a, of_b, c[place_c]), strict=True)]
    size = 8 if types[0] == "f64" else 4
    counts = [p.shape[1] // size for p in (encoded(types[0], c[place_c]), *parts)]
    text = kernel(f"{shape}.row.col.{'.'.join(types)}", types, counts)
    given = np.ascontiguousarray(np.concatenate(parts, axis=1)).view(f"u{size}").ravel()
    out = np.zeros(32 * counts[0], f"u{size}")
    d = on_both(text, out, given).results[0].view(TYPES[types[0]]).reshape(32, -1)
    rtol = {"f16": 1e-3, "f32": 1e-6, "f64": 1e-14, "s32": 0}[types[0]]
    assert np.allclose(d.astype(float), (a @ b + c)[place_c], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("word", ["", ".satfinite"])
def test_integers_wrap_around_or_saturate(word: str) -> None:
    text = kernel(f"m16n8k32.row.col{word}.s32.s8.s8.s32", ["s32"], [4, 4, 2, 4])
    text = text.replace("mma.sync", "setp.ge.s32 %p1, %r1, 0;\n@%p1 mma.sync")  # by a guard
    given = np.array([0x7F7F7F7F] * 6 + [2**31 - 1] * 4, "u4")
    d = on_both(text, np.zeros(128, "i4"), np.tile(given, 32)).results[0]
    wrapped = 2**31 - 1 + 32 * 127**2 - 2**32
    assert set(d.tolist()) == {2**31 - 1 if word else wrapped}


WMMA = """
    .reg .{reg} %a<8>, %b<8>, %c<8>, %d<8>;
    ld.param.u64 %rd5, [kernel_param_11];
    ld.param.u64 %rd6, [kernel_param_18];
    ld.param.u64 %rd7, [kernel_param_25];
    wmma.load.a.sync.aligned.{la}.{shape}.global.{ab} {a}, [%rd5], {lda};
    wmma.load.b.sync.aligned.{lb}.{shape}.global.{ab} {b}, [%rd6], {ldb};
    wmma.load.c.sync.aligned.{lc}.{shape}.global.{cd} {c}, [%rd7], {ldc};
    wmma.mma.sync.aligned.{la}.{lb}.{shape}.{types} {d}, {a}, {b}, {c};
    wmma.store.d.sync.aligned.{lc}.{shape}.global.{cd} [%rd1], {d}, {ldc};
"""
# registers of A, B and C, D
WMMA_CASES = [
    ("m16n16k16", "f16", "f32", 8, 8, 8), ("m32n8k16", "f16", "f32", 8, 8, 8),
    ("m8n32k16", "f16", "f16", 8, 8, 4), ("m16n16k16", "bf16", "f32", 4, 4, 8),
    ("m32n8k16", "bf16", "f32", 8, 2, 8), ("m8n32k16", "bf16", "f32", 2, 8, 8),
    ("m16n16k8", "tf32", "f32", 4, 4, 8), ("m8n8k4", "f64", "f64", 1, 1, 2),
    ("m16n16k16", "s8", "s32", 2, 2, 8), ("m32n8k16", "u8", "s32", 4, 1, 8),
    ("m8n32k16", "s8", "s32", 1, 4, 8),
]  # fmt: skip


def group(name: str, count: int) -> str:
    return "{" + ", ".join(f"%{name}{k}" for k in range(count)) + "}"


@pytest.mark.parametrize("layouts", ["row col row", "col row col"])
@pytest.mark.parametrize(("shape", "ab", "cd", "na", "nb", "nc"), WMMA_CASES)
def test_wmma_multiplies_matrices_of_any_layout(
    shape: str, ab: str, cd: str, na: int, nb: int, nc: int, layouts: str
) -> None:
    m, n, k = (int(x) for x in shape.replace("n", " ").replace("k", " ")[1:].split())
    la, lb, lc = layouts.split()
    matrices = numbers(ab, m, k), numbers(ab, k, n), numbers(cd, m, n)
    flat, ld = [], []
    for matrix, layout, kind in zip(matrices, (la, lb, lc), (ab, ab, cd), strict=True):
        rows = matrix if layout == "row" else matrix.T
        padded = np.zeros((len(rows), rows.shape[1] + 16))  # rows lie apart
        padded[:, : rows.shape[1]] = rows
        flat.append(encoded(kind, padded).ravel().view("u4"))
        ld.append(padded.shape[1])
    types = f"{cd}.{cd}" if ab == "f16" else f"{cd}.{ab}.{ab}.{cd}"
    text = WMMA.format(
        reg="f64" if ab == "f64" else "b32", la=la, lb=lb, lc=lc, shape=shape, ab=ab, cd=cd,
        a=group("a", na), b=group("b", nb), c=group("c", nc), d=group("d", nc),
        lda=ld[0], ldb=ld[1], ldc=ld[2], types=types + ".rn" * (ab == "f64"),
    )  # fmt: skip
    ran = on_both(text, np.zeros_like(flat[2]), *flat)
    d = ran.results[0].view(TYPES[cd]).reshape(-1, ld[2])
    d = d[:, : n if lc == "row" else m].astype(float)
    a, b, c = matrices
    rtol = {"f16": 1e-3, "f32": 1e-6, "f64": 1e-14, "s32": 0}[cd]
    assert np.allclose(d if lc == "row" else d.T, a @ b + c, rtol=rtol, atol=rtol)
    assert not ran.findings


SHARED = ".shared .align 16 .b8 tile[512];"
ROWS = """
    mov.u64 %rd4, tile;
    mad.wide.s32 %rd5, %r1, 16, %rd4;
    ld.param.u64 %rd6, [kernel_param_11];
    mad.wide.s32 %rd7, %r1, 16, %rd6;
    mad.wide.s32 %rd8, %r1, 16, %rd1;
    ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd7];
"""


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_ldmatrix_hands_out_rows(trans: str) -> None:
    given = np.arange(256, dtype="u2")
    body = f"""{ROWS}
    st.shared.v4.b32 [%rd5], {{%r5, %r6, %r7, %r8}};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r5, %r6, %r7, %r8}}, [%rd5];
    st.global.v4.b32 [%rd8], {{%r5, %r6, %r7, %r8}};
    """
    ran = on_both(body, np.zeros(128, "u4"), given, shared=SHARED)
    lanes = ran.results[0].view("u2").reshape(32, 4, 2)
    matrices = given.reshape(4, 8, 8)
    matrices = matrices.transpose(0, 2, 1) if trans else matrices
    pair = np.arange(2)
    expected = matrices[:, G + 0 * pair, 2 * T + pair].transpose(1, 0, 2)
    assert np.array_equal(lanes, expected)
    assert not ran.findings
    assert (ran.totals.shared_load_wavefronts, ran.totals.shared_load_conflicts) == (4, 0)


def test_products_in_a_row_use_what_the_ones_before_gave() -> None:
    # the second and the third multiply what the first and an addition between them have left
    product = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
    body = f"""{ROWS}
    st.shared.v4.b32 [%rd5], {{%r5, %r6, %r7, %r8}};
    bar.sync 0;
    .reg .b32 %a<4>, %b<2>, %c<2>, %d<2>, %e<2>;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%a0, %a1, %a2, %a3}}, [%rd5];
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {{%b0, %b1}}, [%rd5];
    {product} {{%c0, %c1}}, {{%a0, %a1, %a2, %a3}}, {{%b0, %b1}}, {{%a0, %a1}};
    {product} {{%d0, %d1}}, {{%a0, %a1, %a2, %a3}}, {{%b1, %b0}}, {{%c0, %c1}};
    add.u32 %a0, %a0, 1;
    {product} {{%e0, %e1}}, {{%a0, %d0, %a2, %c1}}, {{%b0, %b1}}, {{%d0, %d1}};
    st.shared.v4.b32 [%rd5], {{%c0, %d0, %e0, %e1}};
    st.global.v4.b32 [%rd8], {{%c1, %d1, %e0, %a0}};
    """
    given = rng.normal(size=256).astype("f2")
    ran = on_both(body, np.zeros(128, "u4"), given, shared=SHARED)
    assert len({*ran.results[0].tolist()}) > 100


def test_a_matrix_that_another_warp_writes_is_a_race() -> None:
    body = f"""{ROWS}
    and.b32 %r9, %r1, 31;
    setp.lt.u32 %p1, %r1, 32;
    mad.wide.s32 %rd5, %r9, 16, %rd4;
    @%p1 st.shared.v4.b32 [%rd5], {{%r5, %r6, %r7, %r8}};
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r5}}, [%rd5];
    st.global.b32 [%rd8], %r5;
    """
    ran = carried_out(body, np.zeros(256, "u4"), np.zeros(256, "u4"), block=64, shared=SHARED)
    assert [finding.kind for finding in ran.findings] == ["race"]
    assert ran.findings[0].threads[1]["thread"] == (32, 0, 0)


@pytest.mark.parametrize(
    ("guard", "block", "says"),
    [
        ("@%p1 ", 64, "all 32 lanes of a warp: thread 40 of block 0 waits, lane 0 took another"),
        ("", 48, "thread 32 of block 0 waits, lane 16 does not exist"),
        ("@!%p1 bra $END;\n", 64, "thread 40 of block 0 waits, lane 0 has left"),
    ],
)
def test_a_warp_multiplies_whole_or_not_at_all(guard: str, block: int, says: str) -> None:
    operands = "{%r5, %r6, %r7, %r8}, {%r9, %r10}, {%r11}, {%r12, %r13, %r14, %r15}"
    body = f"""
    setp.ge.u32 %p1, %r1, 40;
    {guard}mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {operands};
    """
    assert says in said(body, np.zeros(8, "u4"), block=block)


@pytest.mark.parametrize(
    "name",
    ["m16n8k32.row.col.f32.e4m3.e4m3.f32", "m8n8k4.row.col.f32.f16.f16.f32", "sp.m16n8k16.f16"],
)
def test_what_is_not_carried_out_is_refused(name: str) -> None:
    text = kernel(name, ["f32"], [4, 4, 2, 4])
    assert "does not carry out mma.sync.aligned" in said(text, np.zeros(8, "u4"), np.zeros(8, "u4"))
    bulk = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], %r8;"  # %r8 bytes
    assert "does not carry out cp.async.bulk" in said(bulk, np.zeros(8, "u4"))
