"""Tensor cores in LLVM's form: what `simt.ptx.tensor_cores` computes, to the bit.

The first lane of a warp multiplies for all of them, once all have come: their registers lie where
they are kept while a thread waits, and the results are put there too.
"""

from typing import Any

from simt.ptx.native.arithmetic import Arithmetic
from simt.ptx.native.emitter import FLOATS, LLVM, NotNative
from simt.ptx.parse import Instruction, address_of, names, space_of
from simt.ptx.tensor_cores import BITS, Fragment, moved, multiplied, places


def _where(e: Arithmetic, f: Fragment, number: int, lane: str) -> tuple[str, str]:
    """Row and column of one of the numbers that a lane holds."""
    row, column = (int(place[0, number]) for place in places(f))
    return (
        e.calc("i64", f"(lane >> 2) + {row}", lane=lane),
        e.calc("i64", f"(lane & 3) * {f.together} + {column}", lane=lane),
    )


def _decoded(e: Arithmetic, kind: str, place: str) -> str:
    """The number at an address as a double."""
    if kind == "bf16":
        value = e.from_bfloat16(e.get(place, "i16"))
    elif kind == "tf32":
        value = e.bits(e.calc("i32", f"x & {0xFFFFE000}", x=e.get(place)), "u32", "f32")
    elif kind not in FLOATS:
        n = BITS[kind]
        return e.op(f"{kind[0]}itofp i{n} {e.get(place, f'i{n}')} to double")
    else:
        value = e.get(place, LLVM[kind])
    return e.cast("fpext", value, LLVM["f32" if kind not in FLOATS else kind], "double")


def _encoded(e: Arithmetic, kind: str, value: str, *, saturates: bool) -> str:
    if kind in FLOATS:
        return e.converted(("cvt", "rn", kind, "f64"), value) if kind != "f64" else value
    if saturates:
        return e.op(f"call i32 @llvm.fptosi.sat.i32.f64(double {value})")
    return e.op(f"trunc i64 {e.op(f'fptosi double {value} to i64')} to i32")


def _product(
    name: str, fragments: tuple[Fragment, ...], counts: list[int], *, saturates: bool
) -> str:
    """A function that multiplies; it hears how far behind `row` the first lane's registers are."""
    e = Arithmetic()
    to, *given = fragments
    m, n, k = given[0].rows, given[1].rows, given[0].columns
    registers = [
        [e.at("%row", f"%{part}.{r}", "i8") for r in range(count)]
        for part, count in zip("dabc", counts, strict=True)
    ]

    def each(f: Fragment, own: list[str], matrix: str, lane: str) -> Any:
        """Of each number of a lane its place in a register, and in a matrix."""
        wide = 64 if f.kind == "f64" else 32
        many = wide // BITS[f.kind]
        kind = LLVM[f.kind] if f.kind in FLOATS else f"i{BITS[f.kind]}"
        for number in range(min(places(f)[0].shape[1], len(own) * many)):
            row, column = _where(e, f, number, lane)
            x, y, width = (column, row, f.rows) if f is given[1] else (row, column, f.columns)
            index = e.calc("i64", f"lane * {many} + {number % many}", lane=lane)
            place = e.calc("i64", f"x * {width} + y", x=x, y=y)
            yield e.at(own[number // many], index, kind), e.at(matrix, place, "double")

    a, b, total = matrices = [e.variable(f"[{f.rows * f.columns} x double]") for f in given]
    with e.each("32", "i64") as lane:
        for f, own, matrix in zip(given, registers[1:], matrices, strict=True):
            for register, place in each(f, own, matrix, lane):
                e.set(place, _decoded(e, f.kind, register), "double")
    vector = f"<{n} x double>"
    with e.each(f"{m}", "i64") as row:
        place = e.at(total, e.op(f"mul i64 {row}, {n}"), "double")
        left = e.at(a, e.op(f"mul i64 {row}, {k}"), "double")
        result = e.op(f"load {vector}, ptr {place}, align 8")
        for j in range(k):
            x = e.get(e.at(left, j, "double"), "double")
            x = e.op(f"insertelement {vector} poison, double {x}, i32 0")
            x = e.op(f"shufflevector {vector} {x}, {vector} poison, <{n} x i32> zeroinitializer")
            y = e.op(f"load {vector}, ptr {e.at(b, j * n, 'double')}, align 8")
            result = e.calc(vector, "result + x * y", result=result, x=x, y=y)
        e.do(f"store {vector} {result}, ptr {place}, align 8")
    with e.each("32", "i64") as lane:
        for register, place in each(to, registers[0], total, lane):
            value = _encoded(e, to.kind, e.get(place, "double"), saturates=saturates)
            e.set(register, value, LLVM[to.kind])
    given_too = (f"i64 %{p}.{r}" for p, own in zip("dabc", counts, strict=True) for r in range(own))
    head = f"define internal void @{name}(ptr %row, {', '.join(given_too)}) noinline {{\nentry:"
    return "\n".join([head, *e.variables, *e.lines, "ret void", "}"])


class TensorCores(Arithmetic):
    """The instructions of theirs."""

    def __init__(self) -> None:
        super().__init__()
        self.products: dict[tuple[Any, ...], str] = {}  # functions that multiply
        self.moves: dict[tuple[Any, ...], tuple[str, Instruction]] = {}  # that load and store

    def for_its_warp(self: Any, i: Instruction) -> None:
        """What the first lane does for all lanes: their results are put where they are kept."""
        if i.op[0] == "ldmatrix":
            self._load_rows(i)
            return
        fragments = multiplied(i)
        if any(BITS[f.kind] < 8 for f in fragments) or "xor" in i.op:
            raise NotNative(i.name)
        groups = [names(o) for o in i.operands[:4]]
        counts, saturates = [len(group) for group in groups], "satfinite" in i.op
        key = fragments, *counts, saturates
        name = f"product.{[*self.products, key].index(key)}"
        if key not in self.products:
            self.products[key] = _product(name, fragments, counts, saturates=saturates)
        word = "i64" if fragments[0].kind == "f64" else "i32"
        row = self.op(f"getelementptr {word}, ptr %F.state, i32 %thread")
        handed = (f"i64 {self.state[r] * self.threads}" for group in groups for r in group)
        self.do(f"call void @{name}(ptr {row}, {', '.join(handed)})")

    def _load_rows(self: Any, i: Instruction) -> None:
        """`ldmatrix`: lanes 8·j to 8·j + 7 have given the rows of matrix j."""
        if "m8n8" not in i.op or i.op[-1] != "b16":
            raise NotNative(i.name)
        (base, further), pair = address_of(i.operands[1]), Fragment(8, 8, "f16", 2)
        width = self.flat.widths.get(base, 0)
        kept = [self.kept(register) for register in names(i.operands[0])]
        with self.each("32", "i64") as lane:
            for number in range(len(kept) * 2):
                row, column = _where(self, pair, number % 2, lane)
                row, column = (column, row) if "trans" in i.op else (row, column)
                if width:
                    giver = self.op(f"add i64 {row}, {number // 2 * 8}")
                    value = self.get(self.at(self.kept(base), giver, f"i{width}"), f"i{width}")
                    address = self.cast("zext", value, f"i{width}", "i64")
                else:
                    address = self.read(base, "u64")
                address = self.op(f"add i64 {address}, {further}")
                line = self.reached(i, base, address, 16)
                value = self.get(self.at(line, column, "i16"), "i16")
                place = self.calc("i64", f"lane * 2 + {number % 2}", lane=lane)
                self.set(self.at(kept[number // 2], place, "i16"), value, "i16")

    def _do_wmma(self: Any, i: Instruction) -> None:
        """`wmma.load` and `wmma.store`: each lane for itself, by a function."""
        f, contiguous, (operand, memory, distance) = moved(i)
        loads, (base, start) = "load" in i.op, self.address(memory)
        if BITS[f.kind] < 8:
            raise NotNative(i.name)
        what = space_of(i), base if base in self.arrays else "", *self.known.origins(base)
        key = f, contiguous, loads, *sorted(map(str, what))
        name = f"move.{[*self.moves, key].index(key)}"
        self.moves.setdefault(key, (name, i))
        kind, step = ("f64", 8) if f.kind == "f64" else ("u32", 4)
        words = places(f)[0].shape[1] * BITS[f.kind] // 8 // step
        registers = [*enumerate(names(operand))]
        at = [self.at("%matrix", k % words * step, "i8") for k, _ in registers]
        for k, register in registers[: 0 if loads else words]:
            self.set(at[k], self.read(register, kind), LLVM[kind])
        ld = self.bits(self.read(distance, "s32"), "s32", "s64")
        fault = self.op(
            f"call i1 @{name}(ptr %frame, ptr %shared, ptr %local, i32 %thread, i64 {start}, "
            f"i64 {ld}, ptr %matrix)"
        )
        self.unless(fault, "fault.memory")
        for k, register in registers if loads else ():
            self.write(register, self.get(at[k], LLVM[kind]), kind)

    def move(self: Any, name: str, i: Instruction) -> str:
        """The code of such a function; how it begins."""
        f, contiguous, (_, memory, _) = moved(i)
        bits, loads, base = BITS[f.kind], "load" in i.op, address_of(memory)[0]
        lane = self.op(f"zext i32 {self.op('and i32 %thread, 31')} to i64")
        step = f.together if contiguous else 1
        for first in range(0, places(f)[0].shape[1], step):
            x, y = _where(self, f, first, lane)
            x, y = (x, y) if contiguous else (y, x)
            address = self.calc("i64", f"start + (x * ld + y) * {bits // 8}",
                                start="%start", x=x, y=y, ld="%ld")  # fmt: skip
            there = self.reached(i, base, address, bits // 8 * step, writes=not loads)
            here = self.at("%values", first, f"i{bits}")
            of, to = (there, here) if loads else (here, there)
            for k in range(step):
                value = self.op(f"load i{bits}, ptr {self.at(of, k, f'i{bits}')}, align 1")
                self.do(f"store i{bits} {value}, ptr {self.at(to, k, f'i{bits}')}, align 1")
        self.leave("ret i1 false")
        return (f"define internal i1 @{name}(ptr %frame, ptr %shared, ptr %local, i32 %thread, "
                "i64 %start, i64 %ld, ptr %values) noinline {\nentry:")  # fmt: skip
