"""Fetches and accesses to surfaces as machine code leave the bits that the executor leaves."""

from typing import Any

import numpy as np
import pytest

from simt.core.memory import Allocation, View
from simt.machine.execution import launch
from simt.ptx.machine import PtxMachine
from simt.ptx.native.launch import launch_native
from simt.ptx.program import PtxListing, PtxProgram
from simt.ptx.textures import Texels, Texture

VECTOR = "{%a, %b, %c, %d}"
FETCHES = {
    "1d": f"tex.1d.v4.f32.f32 {VECTOR}, [%rd4, {{%f1}}]",
    "2d": f"tex.2d.v4.f32.f32 {VECTOR}, [%rd4, {{%f1, %f2}}]",
    "3d": f"tex.3d.v4.s32.f32 {VECTOR}, [%rd4, {{%f1, %f2, %f3, %f3}}]",
    "a1d": f"tex.a1d.v4.f32.f32 {VECTOR}, [%rd4, {{%r4, %f1}}]",
    "a2d": f"tex.a2d.v4.u32.f32 {VECTOR}, [%rd4, {{%r4, %f1, %f2, %f2}}]",
    "cube": f"tex.cube.v4.f32.f32 {VECTOR}, [%rd4, {{%f1, %f2, %f3, %f3}}]",
    "acube": f"tex.acube.v4.f32.f32 {VECTOR}, [%rd4, {{%r4, %f1, %f2, %f3}}]",
    "whole": f"tex.1d.v4.f32.s32 {VECTOR}, [%rd4, {{%r1}}]",
    "gather": f"tld4.g.2d.v4.f32.f32 {VECTOR}, [%rd4, {{%f1, %f2}}]",
}
SURFACES = {
    "1d": ("b8", "{%h1}", "{%r5}"),
    "2d": ("v2.b16", "{%h1, %h2}", "{%r5, %r2}"),
    "3d": ("v4.b32", VECTOR, "{%r5, %r2, %r3, %r3}"),
    "a1d": ("b64", "{%rd6}", "{%r4, %r5}"),
    "a2d": ("v2.b32", "{%a, %b}", "{%r4, %r5, %r2, %r2}"),
}
# each thread's object, four numbers (as floats, whole, the first sixteenfold), what it fetches
NAMES = ["objects", "places", "out"]
HEAD = """
.visible .entry k(.param .u64 objects, .param .u64 places, .param .u64 out) {
  .reg .b16 %h<3>; .reg .b32 %r<6>, %a, %b, %c, %d; .reg .f32 %f<5>; .reg .b64 %rd<7>;
  mov.u32 %r1, %tid.x; mov.b32 %a, 0; mov.b32 %b, 0; mov.b32 %c, 0; mov.b32 %d, 0;
  ld.param.u64 %rd1, [objects]; ld.param.u64 %rd2, [places]; ld.param.u64 %rd3, [out];
  mul.wide.u32 %rd5, %r1, 8; add.s64 %rd1, %rd1, %rd5; ld.global.u64 %rd4, [%rd1];
  mul.wide.u32 %rd5, %r1, 16; add.s64 %rd2, %rd2, %rd5; add.s64 %rd3, %rd3, %rd5;
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
  cvt.rzi.s32.f32 %r1, %f1; cvt.rzi.s32.f32 %r2, %f2; cvt.rzi.s32.f32 %r3, %f3;
  cvt.rzi.s32.f32 %r4, %f4; mul.lo.s32 %r5, %r1, 16;
"""
END = f";\n  st.global.v4.b32 [%rd3], {VECTOR};\n  ret;\n}}"
STRANGE = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, -0.0, 1e-42, 0.5, 1], "f4")
KINDS = (("f", 16), ("f", 32), ("i", 8), ("i", 16), ("i", 32), ("u", 8), ("u", 16), ("u", 32))
THREADS = 640
Held = list[Allocation]


def texels(rng: np.random.Generator, held: Held, *, cube: bool = False, unit: int = 1) -> Texels:
    (kind, bits), channels = KINDS[rng.integers(len(KINDS))], int(rng.choice([1, 2, 4]))
    width, height, depth = (int(n) for n in rng.integers(1, 7, 3) * [unit, 1, 1])
    height, depth = (width, 6 * depth) if cube else (height, depth)
    row = width * channels * bits // 8 + 32 * int(rng.integers(2))
    data = rng.integers(0, 256, 512 + depth * height * row, dtype=np.uint8)
    if kind == "f":
        data = rng.normal(size=data.size * 8 // bits).astype(f"f{bits // 8}").view(np.uint8)
    held.append(Allocation("global", data))
    shape, pitches = (width, height, depth), (channels * bits // 8, row, height * row)
    return Texels("t", held[-1].address + 512, shape, pitches, kind, bits, channels)


def texture(rng: np.random.Generator, held: Held, *, cube: bool) -> Texture:
    read = texels(rng, held, cube=cube)
    floats = read.bits < 32 and read.kind != "f" and bool(rng.integers(2))
    filtered = (floats or read.kind == "f") and bool(rng.integers(4))
    x, y, z, normalized = (int(n) for n in rng.integers(0, [4, 4, 4, 2]))
    border = tuple(np.float32(n / 4) for n in rng.integers(0, 99, 4))
    return Texture(read, (x, y, z), filtered, bool(normalized), floats, border)


def left(
    access: str, places: np.ndarray, things: Any, held: Held, *, native: bool
) -> list[bytes] | None:
    """What a kernel leaves in the result and in all texels; nothing if it stops."""
    chosen = np.random.default_rng(1).choice([h for h in things if h % 32 == 0], THREADS)
    arrays = chosen.astype("i8"), places, np.zeros((THREADS, 4), "u4")
    values: tuple[Any, ...] = tuple(
        View(Allocation("global", a.reshape(-1).view("u1")), a.dtype, a.shape, a.strides, 0, name)
        for a, name in zip(arrays, NAMES, strict=True)
    )
    program: Any = PtxProgram(HEAD + access + END, "k", PtxListing("k", NAMES))
    copies = [Allocation("global", a.data.copy()) for a in held]
    for copy, a in zip(copies, held, strict=True):
        copy.address = a.address
    program.textures, program.reached = things, {f"t{k}": a for k, a in enumerate(copies)}
    run: Any = program, (1, 1, 1), (THREADS, 1, 1), values
    result = launch_native(*run, 0) if native else launch(*run, machine=PtxMachine)
    assert "left" not in program.native
    stopped = result is None or result.stopped
    return None if stopped else [arrays[2].tobytes(), *(a.data.tobytes() for a in copies)]


@pytest.mark.parametrize("geometry", FETCHES)
def test_fetches(geometry: str) -> None:
    rng, cube, held = np.random.default_rng([*FETCHES].index(geometry)), "cube" in geometry, []
    things: Any = {4096 + 32 * k: texture(rng, held, cube=cube) for k in range(24)}
    places = rng.uniform(-2, 9, (THREADS, 4)).astype("f4")
    places[::2] /= 4
    strange = rng.integers(0, 5, places.shape) == 0
    places[strange] = rng.choice(STRANGE, strange.sum())
    places[::7, 1] = places[::7, 0]  # edges of a cube
    mine, its = (left(FETCHES[geometry], places, things, held, native=n) for n in (True, False))
    assert mine == its is not None
    assert len(np.unique(np.frombuffer(its[0], "u4"))) > 50
    # one that is no cube, which is told if faces are missing, or no texture
    things[4096] = texture(rng, held, cube=False) if cube else things[4096].texels
    mine, its = (left(FETCHES[geometry], places, things, held, native=n) for n in (True, False))
    assert mine in (None, its)
    assert cube or its is None


@pytest.mark.parametrize("mode", ["clamp", "zero", "trap"])
@pytest.mark.parametrize("geometry", SURFACES)
def test_surfaces(geometry: str, mode: str) -> None:
    """What is read from each surface is written to the next."""
    rng, held = np.random.default_rng(9 + [*SURFACES].index(geometry)), []
    things: Any = {4096 + 16 * k: texels(rng, held, unit=16) for k in range(18)}
    places = rng.uniform(-2, 9, (THREADS, 4)).astype("f4")
    kind, registers, where = SURFACES[geometry]
    form = f"b.{geometry}.{kind}.{mode}"
    access = f"suld.{form} {registers}, [%rd4, {where}]; add.s64 %rd4, %rd4, 16; "
    access += f"sust.{form} [%rd4, {where}], {registers}"
    if mode == "trap":
        for native in (True, False):
            assert left(access, places, things, held, native=native) is None
        places = np.clip(places, 0, 0.9)
    mine, its = (left(access, places, things, held, native=n) for n in (True, False))
    assert mine == its is not None
    assert its[1:] != [a.data.tobytes() for a in held]
