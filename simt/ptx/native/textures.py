"""Textures and surfaces in LLVM's form: the executor's formulas, carried out on names of numbers.

A fetch calls a function of the module that has the code of each way in which this launch's textures
are fetched from; a table of the launch says by the objects' numbers where their texels lie.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simt.core.memory import Allocation
from simt.ptx.arithmetic import TYPES
from simt.ptx.native.arithmetic import Arithmetic, constant
from simt.ptx.native.emitter import FLOATS, LLVM, NotNative, bits_of
from simt.ptx.native.translator import Translator
from simt.ptx.parse import Instruction, names
from simt.ptx.program import PtxProgram
from simt.ptx.textures import Texels, Texture, in_surface, sampled
from simt.ptx.translate import GEOMETRIES, texel

OPERATIONS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "div",
    "remainder": "rem", "minimum": "min", "maximum": "max", "absolute": "abs", "negative": "neg",
    "bitwise_and": "and", "bitwise_or": "or", "invert": "not",
}  # fmt: skip
TESTS = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
         "equal": "eq", "not_equal": "neu"}  # fmt: skip
# the words of an object's row: its way or `SURFACE`, the memory that holds its texels and the bytes
# before them there, then their shape, pitches and border; the table's first words are `FIRST`
ROW, SHAPE, PITCHES, BORDER = 14, 4, 7, 10
SURFACE = -1
FIRST = ("low", "count")  # the first object, the rows; a row of zeros is no object
FETCH = """define internal i1 @{name}(
  ptr %frame, i64 %object, ptr %out, i32 %layer, {t} %x, {t} %y, {t} %z
) {{
entry:"""
Way = tuple[Any, ...]


class Number(np.lib.mixins.NDArrayOperatorsMixin):
    """A number of a thread, to NumPy's functions: what they would compute becomes code."""

    def __init__(self, code: Arithmetic, value: str, kind: str) -> None:
        self.code, self.value, self.kind = code, value, kind
        self.dtype = np.dtype(TYPES[kind])

    def astype(self, dtype: Any) -> Number:
        """The number as another type."""
        to = np.dtype(dtype)
        kind = f"{to.kind.replace('i', 's')}{8 * to.itemsize}"
        if kind == self.kind:
            return self
        return Number(self.code, self.code.converted(("cvt", kind, self.kind), self.value), kind)

    def _alike(self, *numbers: Any) -> tuple[str, list[str]]:
        """Numbers as the widest of their types; a constant takes that of the others."""
        kinds = [n.kind for n in numbers if isinstance(n, Number)] or ["s64"]
        kind = max(kinds, key=lambda k: (k in FLOATS, bits_of(k)))
        dtype = TYPES[kind]
        return kind, [
            (n if n.kind == kind else n.astype(dtype)).value
            if isinstance(n, Number)
            else constant(np.asarray(n).item(), kind)
            for n in numbers
        ]

    def __array_ufunc__(self, function: Any, method: str, *numbers: Any) -> Number:
        """An operation."""
        name, code = function.__name__, self.code
        kind, values = self._alike(*numbers)
        if name in TESTS:
            return Number(code, code.compare(("setp", TESTS[name], kind), values), "pred")
        if name == "floor":
            return Number(code, code.converted(("cvt", "rmi", kind, kind), values[0]), kind)
        return Number(code, code.arithmetic((OPERATIONS[name], kind), values), kind)

    def __array_function__(self, function: Any, types: Any, numbers: Any, _: Any) -> Any:
        """`np.clip` or `np.where`."""
        if function is np.clip:
            return np.minimum(np.maximum(numbers[0], numbers[1]), numbers[2])
        kind, values = self._alike(*numbers[1:])
        return Number(self.code, self.code.select(numbers[0].value, LLVM[kind], *values), kind)


def ways(program: PtxProgram) -> list[Way]:
    """All that tells apart how a launch's textures are fetched from, but for numbers."""
    return sorted({_way(t) for t in program.textures.values() if isinstance(t, Texture)})


def _way(t: Texture) -> Way:
    texels = t.texels
    how = t.modes, t.filtered, t.normalized, t.floats
    return *how, texels.kind, texels.bits, texels.channels


def object_table(program: PtxProgram, memory: dict[int, Allocation]) -> np.ndarray[Any, Any]:
    """What the code has to know of a launch's textures and surfaces."""
    objects, known = program.textures, ways(program)
    low = min(objects, default=0)
    count = max(objects, default=0) - low + 1
    table = np.zeros(len(FIRST) + ROW * count, np.int64)
    table[: len(FIRST)] = low, count
    for handle, thing in objects.items():
        if isinstance(thing, Texture):
            way, texels = known.index(_way(thing)) + 1, thing.texels
            border = np.array(thing.border).astype(thing.dtype).view(np.int32)
        else:
            way, texels, border = SURFACE, thing, np.zeros(4, np.int32)
        held = memory.get(texels.address >> 40)
        if held is not None:  # else its memory is no longer there
            where = held.device_pointer, held.data.size, texels.address - held.address
            at = len(FIRST) + ROW * (handle - low)
            table[at : at + ROW] = way, *where, *texels.shape, *texels.pitches, *border
    return table


class Fetches(Translator):
    """The instructions that fetch from textures and reach surfaces."""

    def __init__(self, program: PtxProgram, block: tuple[int, int, int], *, even: bool) -> None:
        super().__init__(program, block, even=even)
        self.ways = ways(program)
        self.fetched: dict[tuple[str, str, int | None], str] = {}  # functions, with their names

    def _row(self, thing: str) -> str:
        """The row of an object's number."""
        low, count = (self.get(self.at("%F.objects", k, "i64"), "i64") for k in range(len(FIRST)))
        number = self.op(f"sub i64 {thing}, {low}")
        self.unless(self.calc("i64", "n >= count", n=number, count=count), "fault.memory")
        at = self.calc("i64", f"n * {ROW} + {len(FIRST)}", n=number)
        return self.at("%F.objects", at, "i64")

    def _words(self, row: str, start: int, count: int) -> tuple[Any, ...]:
        places = [self.at(row, start + k, "i64") for k in range(count)]
        return tuple(Number(self, self.get(place, "i64"), "s64") for place in places)

    def _texels(self, row: str, kind: str = "u", bits: int = 8, channels: int = 1) -> Texels:
        shape, pitches = self._words(row, SHAPE, 3), self._words(row, PITCHES, 3)
        return Texels("", 0, shape, pitches, kind, bits, channels)

    def _bytes(self, row: str, further: Any, size: int) -> str:
        """The address of bytes so far behind the first texel."""
        _, data, whole, before = (n.value for n in self._words(row, 0, SHAPE))
        offset = self.op(f"add i64 {before}, {further.value}")
        data = self.op(f"inttoptr i64 {data} to ptr")
        return self._within(offset, self.limit(whole, str(size)), data, size)

    # --- textures

    def _do_tex(self, i: Instruction) -> None:
        to, of = i.op[-2:]
        if to not in ("f32", "s32", "u32") or "v4" not in i.op:
            raise NotNative(i.name)
        geometry, thing, layer, where = texel(i, i.operands[1])
        what = geometry, of, "rgba".index(i.op[1]) if i.op[0] == "tld4" else None
        name = self.fetched.setdefault(what, f"fetch.{len(self.fetched)}")
        out, t = self.variable("[4 x i32]"), LLVM[of]
        values = [self.read(x, of) for x in where] + [constant(0, of)] * (3 - len(where))
        fault = self.op(
            f"call i1 @{name}(ptr %frame, i64 {self.read(thing, 'u64')}, ptr {out}, "
            f"i32 {self.read(layer, 's32') if layer else 0}, "
            f"{', '.join(f'{t} {value}' for value in values)})"
        )
        self.unless(fault, "fault.memory")
        for k, register in enumerate(names(i.operands[0])):
            self.write(register, self.get(self.at(out, k)), "u32")

    _do_tld4 = _do_tex

    def fetch(self, geometry: str, of: str, gather: int | None) -> str:
        """The code of a function that fetches; how it begins."""
        row = self._row("%object")
        labels = " ".join(f"i64 {k}, label %way.{k}" for k in range(1, len(self.ways) + 1))
        way = self.get(row, "i64")
        self.leave(f"switch i64 {way}, label %fault.memory [ {labels} ]")

        def texels(texture: Texture, numbers: list[Any], inside: Any) -> list[Any]:
            t = texture.texels
            kind, size = f"{t.kind.replace('i', 's')}{t.bits}", t.bits // 8
            further = sum(n * pitch for n, pitch in zip(numbers, t.pitches, strict=False))
            place = self._bytes(row, further, t.channels * size)
            places = [self.at(place, k * size, "i8") for k in range(t.channels)]
            stored = [self.op(f"load {LLVM[kind]}, ptr {p}, align 1") for p in places]
            values = [texture.values(Number(self, value, kind)) for value in stored]
            nothing = Number(self, constant(0, values[0].kind), values[0].kind)
            values += [nothing] * (4 - t.channels)
            if inside is True:
                return values
            return [np.where(inside, v, e) for v, e in zip(values, texture.border, strict=True)]

        for k, (modes, filtered, normalized, floats, *form) in enumerate(self.ways, 1):
            self.label(f"way.{k}")
            texture = Texture(self._texels(row, *form), modes, filtered, normalized, floats)
            kind = f"{texture.dtype.kind.replace('i', 's')}32"
            border = [self.op(f"trunc i64 {n.value} to i32") for n in self._words(row, BORDER, 4)]
            edge: Any = tuple(Number(self, self.bits(b, "u32", kind), kind) for b in border)
            where = tuple(Number(self, f"%{axis}", of) for axis in "xyz"[: GEOMETRIES[geometry]])
            layer = Number(self, "%layer", "s32") if geometry.startswith("a") else None
            texture = replace(texture, border=edge)
            for n, part in enumerate(sampled(texture, geometry, layer, where, gather, texels)):
                self.set(self.at("%out", n), self.bits(part.value, part.kind, "u32"))
            self.leave("ret i1 false")
        return FETCH.format(name=self.fetched[geometry, of, gather], t=LLVM[of])

    # --- surfaces

    def _on_surface(self, i: Instruction, operand: str, count: int) -> tuple[list[str], str]:
        """The addresses of numbers on a surface; whether they lie outside, where that counts."""
        (kind, mode), (_, thing, layer, where) = i.op[-2:], texel(i, operand)
        row, size = self._row(self.read(thing, "u64")), bits_of(kind) // 8
        self.unless(self.calc("i64", f"way != {SURFACE}", way=self.get(row, "i64")),
                    "fault.memory")  # fmt: skip
        places = tuple(Number(self, self.read(x, "s32"), "s32") for x in where)
        slice_ = Number(self, self.read(layer, "s32"), "s32") if layer else None
        _, further, outside = in_surface(self._texels(row), slice_, places, size * count)
        if mode == "trap":
            self.unless(outside.value, "fault.memory")
        place = self._bytes(row, further, size * count)
        parts = [self.at(place, k * size, "i8") for k in range(count)]
        return parts, outside.value if mode == "zero" else "false"

    def _do_suld(self, i: Instruction) -> None:
        kind, registers = i.op[-2], names(i.operands[0])
        places, outside = self._on_surface(i, i.operands[1], len(registers))
        for register, place in zip(registers, places, strict=True):
            value = self.op(f"load {LLVM[kind]}, ptr {place}, align 1")
            self.write(register, self.select(outside, LLVM[kind], "0", value), kind)

    def _do_sust(self, i: Instruction) -> None:
        kind, registers = i.op[-2], names(i.operands[1])
        if i.op[1] != "b":
            raise NotNative(i.name)
        values = [self.read(register, kind) for register in registers]
        places, outside = self._on_surface(i, i.operands[0], len(registers))
        with self.when(self.op(f"xor i1 {outside}, true")):
            for place, value in zip(places, values, strict=True):
                self.do(f"store {LLVM[kind]} {value}, ptr {place}, align 1")
