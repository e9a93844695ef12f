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

FETCHES = {
    "1d": "tex.1d.v4.f32.f32 $, [%rd4, {%f1}]",
    "2d": "tex.2d.v4.f32.f32 $, [%rd4, {%f1, %f2}]",
    "3d": "tex.3d.v4.s32.f32 $, [%rd4, {%f1, %f2, %f3, %f3}]",
    "a1d": "tex.a1d.v4.f32.f32 $, [%rd4, {%r4, %f1}]",
    "a2d": "tex.a2d.v4.u32.f32 $, [%rd4, {%r4, %f1, %f2, %f2}]",
    "cube": "tex.cube.v4.f32.f32 $, [%rd4, {%f1, %f2, %f3, %f3}]",
    "acube": "tex.acube.v4.f32.f32 $, [%rd4, {%r4, %f1, %f2, %f3}]",
    "whole": "tex.1d.v4.f32.s32 $, [%rd4, {%r1}]",
    "gather": "tld4.g.2d.v4.f32.f32 $, [%rd4, {%f1, %f2}]",
}
SURFACES = {
    "1d": ("b8", "{%h1}", "{%r5}"),
    "2d": ("v2.b16", "{%h1, %h2}", "{%r5, %r2}"),
    "3d": ("v4.b32", "$", "{%r5, %r2, %r3, %r3}"),
    "a1d": ("b64", "{%rd6}", "{%r4, %r5}"),
    "a2d": ("v2.b32", "{%a, %b}", "{%r4, %r5, %r2, %r2}"),
}
# a thread's object, four numbers (as floats, whole, and the first sixteenfold), and its result
KERNEL = """
.visible .entry k(.param .u64 objects, .param .u64 places, .param .u64 out) {
  .reg .b16 %h<3>; .reg .b32 %r<6>, %a, %b, %c, %d; .reg .f32 %f<5>; .reg .b64 %rd<7>;
  mov.u32 %r1, %tid.x; mov.b32 %a, 0; mov.b32 %b, 0; mov.b32 %c, 0; mov.b32 %d, 0;
  ld.param.u64 %rd1, [objects]; ld.param.u64 %rd2, [places]; ld.param.u64 %rd3, [out];
  mul.wide.u32 %rd5, %r1, 8; add.s64 %rd1, %rd1, %rd5; ld.global.u64 %rd4, [%rd1];
  mul.wide.u32 %rd5, %r1, 16; add.s64 %rd2, %rd2, %rd5; add.s64 %rd3, %rd3, %rd5;
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];
  cvt.rzi.s32.f32 %r1, %f1; cvt.rzi.s32.f32 %r2, %f2; cvt.rzi.s32.f32 %r3, %f3;
  cvt.rzi.s32.f32 %r4, %f4; mul.lo.s32 %r5, %r1, 16;
  ACCESS;
  st.global.v4.b32 [%rd3], $;
  ret;
}""".replace("$", "{%a, %b, %c, %d}")
STRANGE = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9, -3e9, -0.0, 1e-42, 0.5, 1], "f4")
KINDS = (("f", 16), ("f", 32), ("i", 8), ("i", 16), ("i", 32), ("u", 8), ("u", 16), ("u", 32))
THREADS = 640


class Objects:
    """Random textures or surfaces, and places to reach for; two engines are to do the same."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.things: dict[int, Texture | Texels] = {}
        self.memory: list[Allocation] = []
        self.places = self.rng.uniform(-2, 9, (THREADS, 4)).astype("f4")

    def texels(self, *, cube: bool = False, unit: int = 1) -> Texels:
        rng = self.rng
        (kind, bits), channels = KINDS[rng.integers(len(KINDS))], int(rng.choice([1, 2, 4]))
        width, height, depth = (int(n) for n in rng.integers(1, 7, 3) * [unit, 1, 1])
        height, depth = (width, 6 * depth) if cube else (height, depth)
        row = width * channels * bits // 8 + 32 * int(rng.integers(2))
        data = rng.integers(0, 256, 512 + depth * height * row, dtype=np.uint8)
        if kind == "f":
            data = rng.normal(size=data.size * 8 // bits).astype(f"f{bits // 8}").view(np.uint8)
        held, pitches = Allocation("global", data), (channels * bits // 8, row, height * row)
        self.memory.append(held)
        shape = width, height, depth
        return Texels("t", held.address + 512, shape, pitches, kind, bits, channels)

    def texture(self, *, cube: bool) -> Texture:
        rng, texels = self.rng, self.texels(cube=cube)
        floats = texels.bits < 32 and texels.kind != "f" and bool(rng.integers(2))
        filtered = (floats or texels.kind == "f") and bool(rng.integers(4))
        x, y, z, *border = (int(n) for n in rng.integers(0, [4] * 3 + [99] * 4))
        a, b, c, d = (np.float32(n / 4) for n in border)
        normalized = bool(rng.integers(2))
        return Texture(texels, (x, y, z), filtered, normalized, floats, (a, b, c, d))

    def run(self, access: str, *, native: bool) -> list[bytes]:
        """What a kernel leaves; nothing if it has no result."""
        chosen = np.random.default_rng(1).choice([h for h in self.things if h % 32 == 0], THREADS)
        arrays = [chosen.astype("i8"), self.places, np.zeros((THREADS, 4), "u4")]
        names = ["objects", "places", "out"]
        values: tuple[Any, ...] = tuple(
            View(Allocation("global", a.reshape(-1).view("u1")), a.dtype, a.shape, a.strides, 0, n)
            for a, n in zip(arrays, names, strict=True)
        )
        program: Any = PtxProgram(KERNEL.replace("ACCESS", access), "k", PtxListing("k", names))
        program.textures = self.things
        program.reached = {f"t{k}": memory for k, memory in enumerate(self.memory)}
        before = [memory.data.copy() for memory in self.memory]
        shape = (1, 1, 1), (THREADS, 1, 1)
        if native:
            result = launch_native(program, *shape, values, 0)
        else:
            result = launch(program, *shape, values, machine=PtxMachine)
        left = [arrays[2].tobytes(), *(memory.data.tobytes() for memory in self.memory)]
        for memory, data in zip(self.memory, before, strict=True):
            memory.data[:] = data
        assert "left" not in program.native
        return [] if result is None or result.stopped else left


@pytest.mark.parametrize("geometry", FETCHES)
def test_fetches(geometry: str) -> None:
    objects, cube = Objects(sorted(FETCHES).index(geometry)), "cube" in geometry
    objects.things = {4096 + 32 * k: objects.texture(cube=cube) for k in range(24)}
    objects.places[::2] /= 4
    strange = objects.rng.integers(0, 5, objects.places.shape) == 0
    objects.places[strange] = objects.rng.choice(STRANGE, strange.sum())
    objects.places[::7, 1] = objects.places[::7, 0]  # edges of a cube
    access = FETCHES[geometry].replace("$", "{%a, %b, %c, %d}")
    assert (left := objects.run(access, native=False))
    assert objects.run(access, native=True) == left
    assert len(np.unique(np.frombuffer(left[0], "u4"))) > 50
    objects.things[4096] = objects.texels(cube=cube)  # which is no texture
    assert objects.run(access, native=True) == objects.run(access, native=False) == []


@pytest.mark.parametrize("mode", ["clamp", "zero", "trap"])
@pytest.mark.parametrize("geometry", SURFACES)
def test_surfaces(geometry: str, mode: str) -> None:
    """What is read from each surface is written to the next."""
    objects = Objects(9 + sorted(SURFACES).index(geometry))
    objects.things = {4096 + 16 * k: objects.texels(unit=16) for k in range(18)}
    kind, registers, where = SURFACES[geometry]
    form = f"b.{geometry}.{kind}.{mode}"
    access = f"suld.{form} {registers}, [%rd4, {where}]; add.s64 %rd4, %rd4, 16; "
    access += f"sust.{form} [%rd4, {where}], {registers}"
    access = access.replace("$", "{%a, %b, %c, %d}")
    if mode == "trap":
        assert objects.run(access, native=True) == objects.run(access, native=False) == []
        objects.places = np.clip(objects.places, 0, 0.9)
    assert (left := objects.run(access, native=False))
    assert objects.run(access, native=True) == left
    assert left[1:] != [memory.data.tobytes() for memory in objects.memory]
