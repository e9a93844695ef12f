"""The executor against rules of its own: hand-written PTX whose every count is known."""

from typing import Any

import numpy as np
import pytest

from simt.core.findings import Stop
from simt.ptx.program import PtxListing, PtxProgram

from .run import Run, engines, run

HEAD = """
.version 8.0
.target sm_90
.visible .entry kernel({params})
{{
    .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<20>; .reg .f64 %fd<9>;
    {shared}
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r4, %r2, %r3, %r1;
    ld.param.u64 %rd1, [kernel_param_4];
    mul.wide.s32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
{body}
$END:
    ret;
}}
"""


def text(body: str, arrays: int = 1, shared: str = "") -> str:
    params = ", ".join(f".param .u64 kernel_param_{k}" for k in range(7 * arrays))
    return HEAD.format(params=params, body=body, shared=shared)


def carried_out(body: str, *arrays: Any, grid: int = 1, block: int = 32, shared: str = "") -> Run:
    return run(text(body, len(arrays), shared), grid, block, arrays)


def on_both(body: str, *arrays: Any, block: int = 32, shared: str = "") -> Run:
    """By the executor; machine code leaves the same bits."""
    assert engines(text(body, len(arrays), shared), (1,), (block,), arrays) == ""
    return carried_out(body, *arrays, block=block, shared=shared)


def said(body: str, *arrays: Any, **launch: Any) -> str:
    """What stops a launch."""
    try:
        return carried_out(body, *arrays, **launch).findings[-1].message
    except Stop as stop:
        return stop.finding.message


def zeros(n: int = 32, dtype: str = "i4") -> np.ndarray:
    return np.zeros(n, dtype)


# --- what it reaches

LOADED = "ld.global.u64 %rd5, [%rd3]; "
REACHED = [  # what a kernel does: the words that it writes through; whether it follows pointers
    ("ld.param.u64 %rd5, [kernel_param_2+16]; st.global.u64 [%rd3], %rd5;", {(4, 0)}, False),
    ("ld.param.v2.u64 {%rd5, %rd6}, [kernel_param_2+16]; st.u8 [%rd6], 1;",
     {(2, 16), (2, 24)}, False),
    ("ld.param.v2.u32 {%r5, %r6}, [kernel_param_2+4]; mov.b64 %rd5, {%r5, %r6}; "
     "st.u8 [%rd5], 1;", {(2, 4), (2, 8)}, False),
    (LOADED + "ld.param.u64 %rd6, [kernel_param_3]; st.global.u64 [%rd6], %rd5;", {(3, 0)}, False),
    (LOADED + "add.u64 %rd6, %rd5, 8; ld.global.u8 %r5, [%rd6];", set(), True),
    (LOADED + "st.global.u8 [%rd5], %r1;", None, True),
    ("ld.global.v2.u32 {%r5, %r6}, [%rd3]; mov.b64 %rd5, {%r5, %r6}; st.global.u8 [%rd5], %r1;",
     None, True),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words", "follows"), REACHED)
def test_through_which_words_of_parameters_a_kernel_writes(body: str, words: Any, follows: bool):
    names = [f"p{k}" for k in range(7)]
    program = PtxProgram(text(body), "kernel", PtxListing("kernel", names))
    written = {-1} if words is None else {k << 16 | at for k, at in words}
    assert (program.writes_through, program.follows_pointers) == (written, follows)


# --- threads


def test_lanes_meet_again_where_both_ways_of_a_branch_lead() -> None:
    # the two ways are of different lengths, and the shorter one is written first
    body = """
    setp.lt.s32 %p1, %r1, 8;
    @%p1 bra $A;
    st.global.u32 [%rd3], 1;
    add.s32 %r5, %r1, 100;
    bra.uni $B;
$A: add.s32 %r5, %r1, 200;
$B: st.global.u32 [%rd3], %r5;
    """
    ran = carried_out(body, zeros())
    assert ran.results[0].tolist() == [200 + t if t < 8 else 100 + t for t in range(32)]
    assert ran.totals.global_store_requests == 2


def test_a_loop_of_different_lengths_is_left_together() -> None:
    body = """
    mov.u32 %r5, 0;
$LOOP:
    ld.global.u32 %r6, [%rd3];
    add.s32 %r5, %r5, 1;
    setp.le.s32 %p1, %r5, %r1;
    @%p1 bra $LOOP;
    st.global.u32 [%rd3], %r5;
    """
    ran = carried_out(body, zeros(64), grid=2)
    assert ran.results[0].tolist() == [t % 32 + 1 for t in range(64)]
    totals = ran.totals
    assert (totals.global_load_requests, totals.global_store_requests) == (64, 2)
    assert totals.global_load_sectors == 2 * sum(-(-(32 - k) // 8) for k in range(32))


LEFT_ELSEWHERE = """
    mov.u32 %r5, 0;
$LOOP:
    setp.eq.s32 %p2, %r5, 3;
    setp.gt.s32 %p3, %r1, 27;
    and.pred %p4, %p2, %p3;
    @%p4 bra {elsewhere};
    add.s32 %r5, %r5, 1;
    setp.le.s32 %p1, %r5, %r1;
    @%p1 bra $LOOP;
    st.global.u32 [%rd3], %r5;
    bra.uni $END;
$OUT:
    st.global.u32 [%rd3], -1;
"""


@pytest.mark.parametrize(("elsewhere", "left", "requests"), [("$OUT", -1, 2), ("$END", 0, 1)])
def test_who_leaves_a_loop_at_its_end_meets_there_whoever_else_never_comes_back(
    elsewhere: str, left: int, requests: int
) -> None:
    ran = carried_out(LEFT_ELSEWHERE.format(elsewhere=elsewhere), zeros())
    assert ran.results[0].tolist() == [t + 1 for t in range(28)] + [left] * 4
    assert ran.totals.global_store_requests == requests


TO_A_BARRIER = """
    mov.u32 %r5, 0;
    and.b32 %r6, %r1, 3;
$LOOP:
    setp.ge.s32 %p1, %r5, %r6;
    @%p1 bra $ON;
    add.s32 %r5, %r5, 1;
    setp.le.s32 %p2, %r1, {last};
    @%p2 bra $LOOP;
    {wrong}
    bra.uni $END;
$ON:
    bar.sync 0;
    st.global.u32 [%rd3], %r5;
"""


@pytest.mark.parametrize("wrong", ["", "st.global.u32 [%rd3], -1;"])
@pytest.mark.parametrize("last", [31, 28])
def test_threads_meet_before_a_barrier_though_a_way_leads_past_it_to_the_end(
    last: int, wrong: str
) -> None:
    ran = carried_out(TO_A_BARRIER.format(last=last, wrong=wrong), zeros())
    assert ran.results[0].tolist() == [t % 4 if t <= last else -bool(wrong) for t in range(32)]
    assert ran.totals.barriers == 1
    assert [f.severity for f in ran.findings] == ["warning"] * (last < 31)


def test_a_barrier_orders_warps_and_lets_those_go_who_have_ended() -> None:
    shared = ".shared .align 4 .b8 tile[512];"
    body = """
    setp.gt.s32 %p2, %r1, 95;
    @%p2 bra $END;
    mov.u64 %rd4, tile;
    mul.wide.s32 %rd5, %r1, 4;
    add.s64 %rd6, %rd4, %rd5;
    st.shared.u32 [%rd6], %r1;
    bar.sync 0;
    sub.s64 %rd7, %rd4, %rd5;
    ld.shared.u32 %r7, [%rd7+380];
    st.global.u32 [%rd3], %r7;
    """
    ran = carried_out(body, zeros(128), block=128, shared=shared)
    assert ran.results[0].tolist() == [95 - t for t in range(96)] + [0] * 32
    assert ran.totals.barriers == 3
    stuck = body.replace("@%p2 bra $END;", "@%p2 bra $W;") + "bra.uni $END;\n$W: bar.sync 1;"
    assert "only 32 of 128 threads of the block reach this barrier" in said(
        stuck, zeros(128), block=128, shared=shared
    )


def test_atomics_return_what_was_there_and_votes_see_the_whole_warp() -> None:
    body = """
    and.b32 %r5, %r1, 3;
    mul.wide.s32 %rd4, %r5, 4;
    ld.param.u64 %rd5, [kernel_param_11];
    add.s64 %rd6, %rd5, %rd4;
    atom.global.add.u32 %r6, [%rd6], 1;
    setp.lt.s32 %p1, %r6, 4;
    vote.sync.ballot.b32 %r7, %p1, -1;
    st.global.u32 [%rd3], %r7;
    """
    for form in ("vote.sync.ballot", "vote.ballot.sync"):  # CUB writes the second
        ran = carried_out(body.replace("vote.sync.ballot", form), zeros(dtype="u4"), zeros(4))
        assert ran.results[1].tolist() == [8] * 4
        assert set(ran.results[0].tolist()) == {0xFFFF}
        assert (ran.totals.atomics, ran.totals.atomic_contention) == (32, 8)


# --- memory


def test_a_wide_load_is_one_request() -> None:
    body = """
    mul.wide.s32 %rd4, %r1, 16;
    ld.param.u64 %rd5, [kernel_param_11];
    add.s64 %rd6, %rd5, %rd4;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd6];
    add.f32 %f5, %f2, %f4;
    st.global.f32 [%rd3], %f5;
    """
    given_ = np.arange(128, dtype=np.float32)
    ran = carried_out(body, zeros(dtype="f4"), given_)
    assert ran.results[0].tolist() == [8 * t + 4 for t in range(32)]
    totals = ran.totals
    assert (totals.global_load_requests, totals.global_load_sectors) == (1, 16)
    assert totals.flops32 == 32
    assert [size for _, _, size, _ in ran.requests] == [16, 4]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("ld.global.u32 %r5, [%rd3+4];", "accesses a0[32], out of bounds: a0 has length 32"),
        ("ld.global.u32 %r5, [%rd3+-4];", "accesses a0[-1], out of bounds"),
        ("ld.global.u64 %rd5, [%rd3];", "only at multiples of 8"),
        ("ld.shared.u32 %r5, [%rd2];", "null pointer"),
        ("prmt.b32.f4e %r5, %r1, %r1, 0;", "prmt"),
        ("ld.u32 %r5, [%rd2];", "null pointer"),
        ("ex2.rz.f32 %f1, %f2;", "ex2.rz"),
        ("mad.hi.sat.s32 %r5, %r1, %r1, %r1;", "mad.hi.sat"),
    ],
)
def test_what_is_wrong_or_unknown_is_said(body: str, says: str) -> None:
    assert says in said(body, zeros(32) if "+" in body else zeros(64))


def test_a_pointer_that_moves_on_means_its_new_place() -> None:
    body = """
    ld.param.u64 %rd4, [kernel_param_4];
    mov.u32 %r5, 7;
    st.global.u32 [%rd4], %r5;
    add.s64 %rd4, %rd4, 8;
    st.global.u32 [%rd4], %r5;
    """
    ran = carried_out(body, zeros(4), block=1)
    assert ran.results[0].tolist() == [7, 0, 7, 0]
