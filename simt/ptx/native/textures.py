"""Textures and surfaces in LLVM's form, by the executor's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from simt.core.memory import Allocation
from simt.ptx.arithmetic import TYPES
from simt.ptx.native.arithmetic import Arithmetic, constant
from simt.ptx.native.emitter import FLOATS, LLVM, bits_of
from simt.ptx.native.translator import Translator
from simt.ptx.parse import Instruction, names
from simt.ptx.program import PtxProgram
from simt.ptx.textures import Texels, Texture, in_surface, sampled
from simt.ptx.translate import GEOMETRIES, texel

TESTS = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
         "equal": "eq", "not_equal": "ne"}  # fmt: skip
ROW = 13  # words of an object: its way, where it begins, bytes from there, shape, pitches, border
SURFACE = -1  # the way of a surface; textures are fetched in ways 1, 2, ...


class Number(np.lib.mixins.NDArrayOperatorsMixin):
    """A thread's number for formulas over arrays: what NumPy would compute becomes code."""

    def __init__(self, code: Arithmetic, value: str, kind: str) -> None:
        self.code, self.value, self.kind = code, value, kind
        self.dtype = np.dtype(TYPES[kind])

    def astype(self, dtype: Any) -> Number:
        """The number as another type."""
        kind, code = _kind(np.dtype(dtype)), self.code
        return Number(code, code.converted(("cvt", kind, self.kind), self.value), kind)

    def __array_ufunc__(self, function: Any, _: str, *numbers: Any) -> Number:
        name, code, (kind, values) = function.__name__, self.code, _alike(numbers)
        if name in TESTS:
            return Number(code, code.compare(("setp", TESTS[name], kind), values), "pred")
        if name == "floor":
            return Number(code, code.converted(("cvt", "rmi", kind, kind), values[0]), kind)
        word = "not" if name == "invert" else name.rpartition("_")[2][:3]  # `bitwise_and`, ...
        return Number(code, code.arithmetic((word, kind), values), kind)

    def __array_function__(self, function: Any, types: Any, numbers: Any, _: Any) -> Any:
        if function is np.clip:
            return np.minimum(np.maximum(numbers[0], numbers[1]), numbers[2])
        kind, values = _alike(numbers[1:])
        return Number(self.code, self.code.select(numbers[0].value, LLVM[kind], *values), kind)


def _kind(dtype: np.dtype[Any]) -> str:
    return "pred" if dtype.kind == "b" else f"{dtype.kind.replace('i', 's')}{8 * dtype.itemsize}"


def _alike(numbers: Any) -> tuple[str, list[str]]:
    """Numbers as the widest of their types; a constant has that of the others."""
    kinds = [_kind(n.dtype) for n in numbers if hasattr(n, "dtype")] or ["s64"]
    kind = max(kinds, key=lambda k: (k in FLOATS, bits_of(k)))
    return kind, [
        n.astype(TYPES[kind]).value
        if isinstance(n, Number)
        else constant(np.asarray(n).item(), kind)
        for n in numbers
    ]


def ways(program: PtxProgram) -> list[tuple[Any, ...]]:
    """In how many ways, but for numbers, a launch's textures are fetched from."""
    return sorted({t.way for t in program.textures.values() if isinstance(t, Texture)})


def object_table(program: PtxProgram, memory: dict[int, Allocation]) -> np.ndarray[Any, Any]:
    """The first of a launch's objects and how many numbers they have, then a row for each."""
    objects, known = program.textures, ways(program)
    low, high = min(objects, default=0), max(objects, default=0)
    table = np.zeros((high - low + 2, ROW), np.int64)
    table[0, :2] = low, high - low + 1
    for handle, thing in objects.items():
        if isinstance(thing, Texture):
            way, texels = known.index(thing.way) + 1, thing.texels
            border = np.array(thing.border).astype(thing.dtype).astype(np.float64)
        else:
            way, texels, border = SURFACE, thing, np.zeros(4)
        held, size = memory.get(texels.address >> 40), texels.pitches[0]
        first = texels.address - held.address if held is not None else 0
        steps = zip(texels.shape, texels.pitches, strict=True)
        end = first + sum((n - 1) * step for n, step in steps) + size
        if held is not None and end <= held.data.size and min(texels.shape) > 0:
            where = held.device_pointer + first, held.data.size - first
            words = way, *where, *texels.shape, *texels.pitches, *border.view(np.int64)
            table[handle - low + 1] = words
    return table


class Fetches(Translator):
    """Fetches call functions that have code for each way of a launch's textures."""

    def _row(self, thing: str) -> tuple[str, list[Any]]:
        """Where an object begins, and its words."""
        low, count = (self.get(self.at("%F.objects", k, "i64"), "i64") for k in (0, 1))
        number = self.op(f"sub i64 {thing}, {low}")
        self.unless(self.calc("i64", "n >= count", n=number, count=count), "fault.memory")
        row = self.at("%F.objects", self.calc("i64", f"n * {ROW} + {ROW}", n=number), "i64")
        kinds = ["s64"] * 9 + ["f64"] * 4
        places = [self.at(row, k, "i64") for k in range(ROW)]
        words = [Number(self, self.get(p, LLVM[k]), k) for p, k in zip(places, kinds, strict=True)]
        return self.get(places[1], "ptr"), words

    def _do_tex(self, i: Instruction) -> None:
        of, (geometry, thing, layer, where) = i.op[-1], texel(i, i.operands[1])
        what = geometry, of, "rgba".index(i.op[1]) if i.op[0] == "tld4" else None
        self.fetches += [what] if what not in self.fetches else []
        values = [self.read(x, of) for x in where] + [constant(0, of)] * (3 - len(where))
        out, number = self.variable("[4 x i32]"), self.read(layer, "s32") if layer else "0"
        fault = self.op(
            f"call i1 @fetch.{self.fetches.index(what)}(ptr %frame, i64 {self.read(thing, 'u64')}, "
            f"ptr {out}, i32 {number}, {', '.join(f'{LLVM[of]} {value}' for value in values)})"
        )
        self.unless(fault, "fault.memory")
        for k, register in enumerate(names(i.operands[0])):
            self.write(register, self.get(self.at(out, k)), "u32")

    _do_tld4 = _do_tex

    def fetch(self, geometry: str, of: str, gather: int | None) -> str:
        """The code of one of the functions; how it begins."""
        start, row = self._row("%object")
        if geometry.endswith("cube"):
            self.unless((row[5] < 6).value, "fault.memory")  # no cube
        labels = " ".join(f"i64 {k}, label %way.{k}" for k in range(1, len(ways(self.program)) + 1))
        self.leave(f"switch i64 {row[0].value}, label %fault.memory [ {labels} ]")

        def load(t: Texels, further: Any, inside: Any) -> list[Number]:
            kind, place = f"{t.kind.replace('i', 's')}{t.bits}", self.at(start, further.value, "i8")
            places = [self.at(place, k * t.bits // 8, "i8") for k in range(t.channels)]
            return [Number(self, self.get(p, LLVM[kind]), kind) for p in places]

        for k, (*how, form, bits, channels) in enumerate(ways(self.program), 1):
            self.label(f"way.{k}")
            texels = Texels("", 0, (*row[3:6],), (*row[6:9],), form, bits, channels)
            texture = Texture(texels, *(*how, (*row[9:],)))
            where = tuple(Number(self, f"%{axis}", of) for axis in "xyz"[: GEOMETRIES[geometry]])
            layer = Number(self, "%layer", "s32") if geometry.startswith("a") else None
            for n, part in enumerate(sampled(texture, geometry, layer, where, gather, load)):
                number = isinstance(part, Number)
                word = self.bits(part.value, part.kind, "u32") if number else "0"
                self.set(self.at("%out", n), word)
            self.leave("ret i1 false")
        values = ", ".join(f"{LLVM[of]} %{axis}" for axis in "xyz")
        return (f"define internal i1 @fetch.{self.fetches.index((geometry, of, gather))}("
                f"ptr %frame, i64 %object, ptr %out, i32 %layer, {values}) {{\nentry:")  # fmt: skip

    def _do_suld(self, i: Instruction) -> None:
        reads, (kind, mode) = i.op[0] == "suld", i.op[-2:]
        target, operand = i.operands if reads else i.operands[::-1]
        registers, (_, thing, layer, where) = names(target), texel(i, operand)
        start, row = self._row(self.read(thing, "u64"))
        self.unless((row[0] != SURFACE).value, "fault.memory")
        texels = Texels("", 0, (*row[3:6],), (*row[6:9],), "u", 8, 1)
        number, *places = (x and Number(self, self.read(x, "s32"), "s32") for x in (layer, *where))
        size = bits_of(kind) // 8
        whole = size * len(registers)
        _, further, outside = in_surface(texels, number, (*places,), whole)
        if mode == "trap":
            self.unless(outside.value, "fault.memory")
        inside = (~outside).value if mode == "zero" else "true"
        limit = self.limit(row[2].value, str(whole))
        first = self._within(further.value, limit, start, whole)
        for k, register in enumerate(registers):
            place = self.at(first, k * size, "i8")
            if reads:
                value = self.get(f"{place}, align 1", LLVM[kind])
                self.write(register, self.select(inside, LLVM[kind], value, "0"), kind)
            else:
                with self.when(inside):
                    self.set(f"{place}, align 1", self.read(register, kind), LLVM[kind])

    _do_sust = _do_suld
