"""Every instruction that only computes gives the executor's bits as machine code."""

import itertools
from typing import Any

import numpy as np
import pytest

from simt.core.memory import Allocation, View
from simt.machine.execution import launch
from simt.ptx.arithmetic import operand_kinds
from simt.ptx.machine import PtxMachine
from simt.ptx.native.emitter import FLOATS, bits_of
from simt.ptx.native.launch import launch_native
from simt.ptx.parse import Instruction
from simt.ptx.program import PtxListing, PtxProgram
from simt.ptx.translate import result_kind

pytest.importorskip("llvmlite")

COUNT = 512
WHOLE = ("s16", "u16", "s32", "u32", "s64", "u64")
ROUNDED = [f"{name}.{mode}.{kind}" for name in ("add", "sub", "mul", "div", "rcp", "sqrt", "fma")
           for mode in ("rn", "rm", "rp", "rz")
           for kind in ("f32", "f64")[: 1 + (name != "fma")]]  # fmt: skip
GROUPS = {
    "integers": [f"{name}.{kind}" for kind in WHOLE
                 for name in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max",
                              "mad.lo", "sad")]
    + [f"{name}.{kind}" for kind in WHOLE[:4] for name in ("mul.wide", "mad.wide")]
    + [f"{name}.{kind}" for kind in WHOLE[::2] for name in ("neg", "abs")],
    "bits": [f"{name}.{kind}" for kind in ("b16", "b32", "b64")
             for name in ("and", "or", "xor", "not", "cnot", "shl")]
    + [f"shr.{kind}" for kind in WHOLE]
    + [f"{name}.{kind}" for kind in ("b32", "b64") for name in ("popc", "clz", "brev", "bfi")]
    + [f"{name}.{kind}" for kind in WHOLE[2:] for name in ("bfind", "bfind.shiftamt", "bfe")]
    + [f"{name}.{mode}.b32" for name in ("shf.l", "shf.r", "bmsk") for mode in ("wrap", "clamp")]
    + ["prmt.b32", "lop3.b32", "dp4a.s32.u32", "dp4a.u32.u32", "dp2a.lo.s32.s32", "dp2a.hi.u32.u32",
       "mul24.lo.s32", "mul24.hi.u32", "mad24.lo.u32", "add.sat.s32", "sub.sat.s32"],
    "floats": ROUNDED
    + [f"{name}.{kind}" for kind in ("f32", "f64")
       for name in ("add", "sub", "mul", "fma.rn", "neg", "abs", "copysign")]
    + [f"{name}.ftz.f32" for name in ("add", "mul", "fma.rn", "sqrt.rn", "div.rn")]
    + [f"{name}.sat.f32" for name in ("add", "mul", "fma.rn")]
    + [f"{name}.approx.f32" for name in ("ex2", "lg2", "sin", "cos", "tanh", "rsqrt", "rcp")]
    + [f"{name}.{kind}" for kind in ("f16", "f16x2") for name in ("add", "sub", "mul", "fma.rn")]
    + [f"fma.rn{relu}.{kind}" for kind in ("bf16", "bf16x2", "f16x2") for relu in ("", ".relu")]
    + [f"{name}.NaN.{kind}" for name in ("min", "max") for kind in ("f32", "f16", "bf16x2")],
    "conversions": [f"cvt.{to}.{of}" for to, of in itertools.permutations(("s8", "u8", *WHOLE), 2)]
    + [f"cvt.sat.{to}.{of}" for to, of in itertools.permutations(WHOLE, 2)]
    + [f"cvt.{mode}.{to}.{of}" for to in WHOLE for of in ("f32", "f64")
       for mode in ("rni", "rzi", "rmi", "rpi")]
    + [f"cvt.rn.{to}.{of}" for of in WHOLE for to in ("f32", "f64")]
    + [f"cvt.{mode}.f32.{of}" for of in ("s32", "u32", "s16") for mode in ("rm", "rp", "rz")]
    + [f"cvt.rn.f16.{of}" for of in ("s32", "u32", "f32", "f64")]
    + [f"cvt.{mode}.f32.f64" for mode in ("rn", "rm", "rp", "rz")]
    + [f"cvt.{mode}.f32.f32" for mode in ("rni", "rzi", "rmi", "rpi", "sat", "ftz")]
    + ["cvt.f64.f32", "cvt.f32.f16", "cvt.f64.f16", "cvt.f32.bf16"]
    + ["cvt.rn.bf16.f32", "cvt.rz.bf16.f32", "cvt.rna.tf32.f32"],
    "comparisons": [f"set.{test}.u32.{kind}" for kind in ("s32", "u64", "f32", "f64", "f16")
                    for test in ("eq", "ne", "lt", "le", "gt", "ge")]
    + [f"set.{test}.f32.f32" for test in ("equ", "neu", "ltu", "geu", "num", "nan")]
    + [f"set.{test}.{to}.f16x2" for test in ("gt", "leu", "nan") for to in ("u32", "f16x2")]
    + ["set.gtu.f16.f16", "set.nan.f16.f16"]
    + [f"selp.{kind}" for kind in ("b32", "f64")] + ["slct.s32.s32", "slct.u64.f32"],
}  # fmt: skip


def kinds(i: Instruction) -> tuple[str, list[str]]:
    """The types of what an instruction gives, and of what it is given."""
    name = i.op[0]
    if name == "cvt":
        return i.op[-2], [i.op[-1]]
    if name == "set":
        return i.op[-2], [i.op[-1]] * 2
    if name == "slct":
        return i.op[-2], [i.op[-2], i.op[-2], i.op[-1]]
    if name == "selp":
        return i.op[-1], [i.op[-1], i.op[-1], "pred"]
    several = operand_kinds(i.op)
    if name in ("prmt", "lop3", "shf", "dp4a", "dp2a", "mad", "mad24", "fma", "sad", "bfe"):
        return result_kind(i), several[:3]
    if name == "bfi":
        return result_kind(i), several
    one = ("neg", "abs", "not", "cnot", "popc", "clz", "brev", "bfind", "sqrt", "rcp", "rsqrt",
           "ex2", "lg2", "sin", "cos", "tanh")  # fmt: skip
    return result_kind(i), several[: 1 if name in one else 2]


def text(opcodes: list[str]) -> str:
    """A kernel that stores what each instruction makes of a thread's three numbers."""
    lines = []
    for k, opcode in enumerate(opcodes):
        to, several = kinds(Instruction(tuple(opcode.split(".")), ()))
        places = [f"%p{'abcd'[n]}" if kind == "pred" else f"%w{max(bits_of(kind), 16)}{'abcd'[n]}"
                  for n, kind in enumerate(several)]  # fmt: skip
        places += ["0xE8"] * opcode.startswith("lop3")
        size = max(bits_of(to), 16)
        lines.append(f"{opcode} %x{size}, {', '.join(places)};")
        if size < 64:
            lines.append(f"cvt.u64.u{size} %x64, %x{size};")
        lines.append(f"st.global.b64 [%to+{8 * COUNT * k}], %x64;")
    return f"""
.visible .entry k(.param .u64 p0, .param .u64 p1) {{
    .reg .b16 %w16a, %w16b, %w16c, %w16d, %x16;
    .reg .b32 %w32a, %w32b, %w32c, %w32d, %x32, %t;
    .reg .b64 %w64a, %w64b, %w64c, %w64d, %x64, %of, %to, %o;
    .reg .pred %pa, %pb, %pc, %pd;
    ld.param.u64 %of, [p0];
    ld.param.u64 %to, [p1];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 8;
    add.s64 %of, %of, %o;
    add.s64 %to, %to, %o;
    {" ".join(f"ld.global.b64 %w64{n}, [%of+{8 * COUNT * k}];" for k, n in enumerate("abcd"))}
    {" ".join(f"cvt.u32.u64 %w32{n}, %w64{n}; cvt.u16.u64 %w16{n}, %w64{n};" for n in "abcd")}
    {" ".join(f"setp.lt.s32 %p{n}, %w32{n}, 0;" for n in "abcd")}
    {chr(10).join(lines)}
    ret;
}}"""


def numbers() -> np.ndarray:
    """Four rows of words: any bits, small numbers, and floats of each size with their edges."""
    rng = np.random.default_rng(5)
    words = rng.integers(0, 2**64 - 1, (4, COUNT), np.uint64, endpoint=True)
    small = rng.integers(-9, 9, (4, COUNT)).view(np.uint64)
    edges = np.array([0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e-40, 5e-324, 1e-310, 3e38, 2.0**31,
                      -(2.0**31), 2.0**63, 65504, 1e-5, np.inf, -np.inf, np.nan, 7])  # fmt: skip
    chosen = rng.choice(edges, (4, COUNT))
    near = rng.standard_normal((4, COUNT))
    with np.errstate(all="ignore"):
        single = chosen.astype(np.float32).view(np.uint32).astype(np.uint64)
        some = near.astype(np.float32).view(np.uint32).astype(np.uint64)
        half = chosen.astype(np.float16).view(np.uint16).astype(np.uint64) * np.uint64(0x10001)
    which = rng.integers(0, 7, COUNT)
    rows = [words, small, chosen.view(np.uint64), near.view(np.uint64), single, some, half]
    return np.choose(which, rows)


def stored(opcodes: list[str], *, native: bool) -> np.ndarray:
    given, out = numbers(), np.zeros((len(opcodes), COUNT), np.uint64)
    values: tuple[Any, ...] = tuple(
        View(Allocation("global", a.reshape(-1).view(np.uint8)), a.dtype, a.shape, a.strides, 0, n)
        for n, a in (("of", given), ("to", out))
    )
    program: Any = PtxProgram(text(opcodes), "k", PtxListing("k", ["of", "to"]))
    shape = (1, 1, 1), (COUNT, 1, 1)
    if native:
        assert launch_native(program, *shape, values, 0) is not None, program.native
    else:
        assert launch(program, *shape, values, machine=PtxMachine).stopped is None
    return out


@pytest.mark.parametrize("group", GROUPS)
def test_the_bits_are_the_executors(group: str) -> None:
    opcodes = GROUPS[group]
    mine, its = (stored(opcodes, native=native) for native in (True, False))
    for opcode, a, b in zip(opcodes, mine, its, strict=True):
        kind = kinds(Instruction(tuple(opcode.split(".")), ()))[0].removesuffix("x2")
        if kind in FLOATS:  # which NaN it is has no meaning
            parts = [x.view(f"f{bits_of(kind) // 8}") for x in (a, b)]
            same = np.isnan(parts[0]) & np.isnan(parts[1])
            a, b = (np.where(same, 0, x.view(f"u{x.itemsize}")) for x in parts)
        elif "bf16" in opcode:
            nan = [(x.view(np.uint16) & 0x7FFF) > 0x7F80 for x in (a, b)]
            a, b = (np.where(nan[0] & nan[1], 0, x.view(np.uint16)) for x in (a, b))
        np.testing.assert_array_equal(a, b, err_msg=opcode)
