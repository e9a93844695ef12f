"""PTX as people write it: scopes, vectors, registers that functions take, variables by name."""

import numpy as np

from simt.ptx.parse import parse

from .run import run
from .test_executor import carried_out, zeros

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def test_registers_and_labels_of_a_scope_are_its_own() -> None:
    body = """
    .reg .u32 x;
    mov.u32 x, 5;
    { .reg .u64 x; .reg .pred done;
      mov.u64 x, 0x100000007;
      setp.eq.u32 done, %r1, 0;
    SKIP: @done bra OUT;
      add.u64 x, x, 1;
    OUT: cvt.u32.u64 %r5, x; }
    { .reg .pred done;
      setp.eq.u32 done, %r1, 1;
      @done bra OUT;
      add.u32 x, x, 100;
    OUT: add.u32 %r5, %r5, x; /* what
      is outside */ }
    st.global.u32 [%rd3], %r5;
    """
    assert carried_out(body, zeros(3, "u4"), block=3).results[0].tolist() == [112, 13, 113]


def test_vectors_are_their_parts() -> None:
    body = """
    .reg .v4 .u32 v, w;
    .reg .u32 sum<2>;
    mad.wide.s32 %rd4, %r1, 16, %rd1;
    ld.global.v4.u32 v, [%rd4];
    mov.v4.u32 w, {v.w, v.z, v.y, v.x};
    add.u32 sum1, w.x, v.x;
    mov.u32 w.y, sum1;
    st.global.v4.u32 [%rd4], w;
    """
    given = np.arange(8, dtype="u4") * 10
    assert carried_out(body, given, block=2).results[0].tolist() == [
        30, 30, 10, 0, 70, 110, 50, 40
    ]  # fmt: skip


FUNCTIONS = f"""{HEAD}
.func (.reg .u32 sum, .reg .pred odd) both(.reg .u32 x, .reg .v2 .u32 y);
.visible .entry kernel(.param .u64 p0, {", ".join(f".param .u64 p{k}" for k in range(1, 7))})
{{
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .v2 .u32 pair;
    .shared .b32 tile[4];
    ld.param.u64 %rd1, [p4];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    mov.v2.u32 pair, {{%r1, 7}};
    call (%r2, %p1), both, (%r1, pair);
    @%p1 add.u32 %r2, %r2, 1000;
    st.u32 [tile+4], %r1;
    ld.u32 %r3, [tile+4];
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%rd2], %r2;
    ret;
}}
.func (.reg .u32 sum, .reg .pred odd) both(.reg .u32 x, .reg .v2 .u32 y)
{{
    .reg .u32 bit;
    and.b32 bit, x, 1;
    setp.ne.u32 odd, bit, 0;
    mad.lo.u32 sum, x, 10, y.x;
    @odd ret;
    add.u32 sum, sum, y.y;
    ret;
}}
"""


def test_functions_take_and_return_registers() -> None:
    results = run(FUNCTIONS, 1, 1, (np.zeros(1, "u4"),)).results
    assert results[0].tolist() == [7]
    text = FUNCTIONS.replace("mov.u32 %r1, %tid.x;", "mov.u32 %r1, 3;").replace(
        "%r1, 4, %rd1", "0, 4, %rd1"
    )
    assert run(text, 1, 1, (np.zeros(1, "u4"),)).results[0].tolist() == [33 + 1000 + 3]


def test_variables_hold_pointers_to_others() -> None:
    text = f"""{HEAD}
.global .align 4 .u32 numbers[3] = {{5, 6, 7}};
.const .align 8 .u64 place[2] = {{0, generic(numbers)+8}};
.visible .entry kernel({", ".join(f".param .u64 p{k}" for k in range(7))})
{{
    .reg .b32 %r<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p4];
    ld.const.u64 %rd2, [place+8];
    ld.u32 %r1, [%rd2];
    st.global.u32 [%rd1], %r1;
    ret;
}}
"""
    assert parse(text).arrays["place"].pointers == ((8, "numbers", 8),)
    assert run(text, 1, 1, (np.zeros(1, "u4"),)).results[0].tolist() == [7]
