"""The translator: each basic block of a PTX function as a Python function over NumPy arrays.

A register holds an array with one number for each thread, (blocks, threads) or what broadcasts to
it. What only one block of instructions uses is a Python variable; the others live in a list.
There a thread's number stays while other threads write theirs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from simt.core.findings import Stop
from simt.core.masks import EMPTY, Mask, split
from simt.ptx.arithmetic import INLINE, TYPES, compare, convert, operand_kinds, operation, set_flags
from simt.ptx.first_guesses import first_guesses, polls, strength, waits_for
from simt.ptx.flow import ENDS, Graph
from simt.ptx.integers import with_carry
from simt.ptx.mbarriers import MbarrierInstructions
from simt.ptx.parse import (
    WINDOWS,
    Function,
    Instruction,
    address_of,
    is_register,
    names,
    not_covered,
    space_of,
)
from simt.ptx.tensor_cores import TensorCores

Symbols = Callable[[str], int | None]  # the address of a symbol, if it is one
SPECIAL = re.compile(
    r"%(n?tid|n?ctaid)\.[xyz]|%laneid|%n?warpid|%lanemask_\w\w|%clock\w*|%globaltimer\w*"
    r"|%smid|%nsmid|%gridid|%envreg\d+|%dynamic_smem_size|%total_smem_size|WARP_SZ"
)
# they write no register
NO_RESULT = (
    *ENDS, "st", "red", "membar", "fence", "nanosleep", "cp", "sust", "prefetch", "prefetchu",
)  # fmt: skip
GEOMETRIES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 3, "acube": 3}  # coordinates
UNSIGNED = {0: "pred", 8: "u8", 16: "u16", 32: "u32", 64: "u64"}
TYPE_OF_PAIR = {"e4m3x2": "u16", "e5m2x2": "u16"}
PACKED = {"b16": 2, "b32": 4, "b64": 8, "b128": 16}
WIDEST = 16  # bytes of one access; a wider one counts as two
INDENT = "    "


@dataclass
class Block:
    """A basic block: its function, and how it ends."""

    run: Callable[[Any, list[Any]], Any]  # (machine, registers): the condition of its branch
    end: str  # the opcode that ends it, or "" if threads just go on
    guarded: bool
    targets: list[int]
    after: int
    meet: int
    place: int  # of its last instruction in the source


@dataclass
class Code:
    """A function that can be carried out."""

    function: Function
    graph: Graph
    blocks: dict[int, Block]
    registers: list[Any]  # what those that several blocks use hold before the first write


def translated(function: Function, symbols: Symbols, unit: int, *, counting: bool) -> Code:
    """The blocks of a function; `unit` is what its source lines are counted from."""
    return _Translator(function, symbols, unit, counting).code()


def result_kind(i: Instruction) -> str:
    """The type of what an instruction gives."""
    name, kind = i.op[0], i.op[-1]
    if name == "setp" or (name == "vote" and "ballot" not in i.op):
        return "pred"
    if name in ("popc", "clz", "bfind", "vote", "activemask", "match", "shfl"):
        return "u32"
    if name in ("cvt", "tex", "tld4", "suld"):
        return "u32" if "pack" in i.op else TYPE_OF_PAIR.get(i.op[-2], i.op[-2])
    if name == "set":
        return i.op[-2]
    if name == "cvta":
        return "u64"
    if name == "isspacep" or (name == "mbarrier" and "wait" in i.op[1]):
        return "pred"
    if name in ("mul", "mad") and "wide" in i.op:
        return f"{kind[0]}{2 * int(kind[1:])}"
    if name == "bar" or name == "barrier":
        return "u32" if "popc" in i.op else "pred"
    if kind not in TYPES:
        raise not_covered(str(i), i.line)
    return kind


def texel(i: Instruction, operand: str) -> tuple[str, str, str | None, list[str]]:
    """`[%rd1, <%f1, %f2>]`: geometry, object, layer if it has layers, coordinates."""
    match = re.fullmatch(r"\[([\w%$]+), <(.*)>\]", operand)
    geometry = next((word for word in i.op if word in GEOMETRIES), "")
    plain = "b" in i.op or ("v4" in i.op and i.op[-2] in ("f32", "s32", "u32"))
    if not match or not geometry or not plain:
        raise not_covered(str(i), i.line)
    where = names(match[2])
    layer = where.pop(0) if geometry.startswith("a") else None
    return geometry, match[1], layer, where[: GEOMETRIES[geometry]]


def _written_registers(function: Function, i: Instruction) -> list[str]:
    """The registers that an instruction writes."""
    if i.op[0] in NO_RESULT or not i.operands or i.op[0] == "call":
        return []
    if i.op[0] in ("bar", "barrier") and "red" not in i.op:
        return []
    if i.op[0] == "mbarrier" and i.op[1] in ("init", "inval", "expect_tx", "complete_tx"):
        return []
    return [name for name in names(i.operands[0]) if is_register(function, name)]


class _Translator(TensorCores, MbarrierInstructions):
    def __init__(self, function: Function, symbols: Symbols, unit: int, counting: bool) -> None:
        self._function, self._symbols, self._unit = function, symbols, unit
        self._counting = counting
        self._graph = Graph(function)
        self._scope: dict[str, Any] = dict(HELPERS)
        self._constants: dict[Any, str] = {}
        self._homes: dict[str, str] = {}  # the type as which a register is kept
        self._numbers: dict[str, int] = {}  # of the registers that several blocks use
        self._lines: list[str] = []
        self._depth = 1
        self._cached: set[str] = set()  # registers that are Python variables by now
        self._guesses = {id(function.instructions[k]) for k in first_guesses(function)}
        self._addresses: set[str] = set()  # those that are one as addresses too
        self._survey()

    # --- which registers there are

    def _survey(self) -> None:
        blocks: dict[str, set[int]] = {}
        first: dict[str, tuple[int, bool]] = {}  # where it is first touched: is it written there?
        guarded = set()
        for start in self._graph.order:
            for pc in range(start, self._graph.stops[start]):
                i = self._function.instructions[pc]
                registers = _written_registers(self._function, i)
                for name in registers:
                    self._home(name, i)
                    if i.guard:
                        guarded.add(name)
                for name in self._registers_of(i):
                    blocks.setdefault(name, set()).add(start)
                    rest = replace(i, operands=i.operands[1:])
                    reads = name not in registers or name in self._registers_of(rest)
                    first.setdefault(name, (start, not reads))
        for name, where in blocks.items():
            if len(where) > 1 or name in guarded or not first[name][1]:
                self._numbers[name] = len(self._numbers)

    def _home(self, name: str, i: Instruction) -> None:
        width = self._function.width(name)
        if (
            i.op[0] in ("mov", "ld", "selp", "atom", "shfl", "ldu", "wmma", "mma", "ldmatrix")
            or names(i.operands[0])[0] != name
        ):
            kind = i.op[-1] if i.op[-1] in TYPES else "b32"
            if names(i.operands[0])[0] != name and not i.operands[0].startswith("<"):
                kind = "pred"
        else:
            kind = result_kind(i)
        size = 8 * np.dtype(TYPES[kind]).itemsize if kind != "pred" else 0
        if width == 0:
            kind = "pred"
        elif size != width or kind[0] == "b":
            kind = UNSIGNED[width] if kind[0] != "s" else f"s{width}"
        self._homes.setdefault(name, kind)
        if self._homes[name][0] == "u" and kind[0] == "f":  # a float that was moved before
            self._homes[name] = kind

    def _registers_of(self, i: Instruction) -> set[str]:
        words = re.findall(r"%?[\w$]+(?:\.[xyz]\b)?", " ".join((*i.operands, i.guard)))
        return {name for name in words if is_register(self._function, name)}

    # --- blocks

    def code(self) -> Code:
        blocks = {}
        for start in self._graph.order:
            blocks[start] = self._block(start)
        text = "\n".join(self._lines)
        exec(compile(text, f"<simt {self._function.name}>", "exec"), self._scope)
        for start, block in blocks.items():
            block.run = self._scope[f"block_{start}"]
        first = [np.zeros((1, 1), TYPES[self._homes.get(name, "u64")]) for name in self._numbers]
        return Code(self._function, self._graph, blocks, first)

    def _emit(self, text: str) -> None:
        self._lines.append(INDENT * self._depth + text)

    def _block(self, start: int) -> Block:
        stop = self._graph.stops[start]
        self._lines.append(f"def block_{start}(m, R):")
        self._depth, self._cached, self._addresses = 1, set(), set()
        self._emit("k = m.merge")
        line, condition, end = -1, "None", ""
        for pc in range(start, stop):
            i = self._function.instructions[pc]
            if i.line != line:
                line = i.line
                place = self._unit + line
                self._emit(f"m.at({place})" if self._counting else f"m.line = {place}")
            if pc in self._graph.ends_block:
                end = i.op[0]
                condition = self._block_end(i)
                break
            try:
                self._instruction(i)
            except (IndexError, KeyError, ValueError):
                raise not_covered(str(i), i.line) from None
            except Stop as fault:
                fault.finding.line = fault.finding.line or i.line or None
                raise
        self._emit(f"return {condition}")
        last = self._function.instructions[stop - 1]
        targets = self._graph.targets(last) if end in ("bra", "brx") else []
        after = self._graph.place(stop)
        return Block(
            _nothing, end, bool(last.guard) and bool(end), targets, after, self._graph.meets[start],
            self._unit + last.line,
        )  # fmt: skip

    def _block_end(self, i: Instruction) -> str:
        condition = "None"
        if i.op[0] in ("bar", "barrier"):
            if i.guard:
                raise not_covered(str(i), i.line)
            number, *count = (self.read(o, "u32") for o in i.operands)
            condition = f"({number}, {count[0] if count else None}, {'arrive' in i.op})"
        elif i.op[0] == "brx":
            condition = self.read(i.operands[0], "s32")
        elif i.guard:
            condition = self.read(i.guard, "pred")
            condition = f"~{condition}" if i.negated else condition
        return condition

    def _instruction(self, i: Instruction) -> None:
        if not i.guard:
            self._carry_out(i)
            return
        for name in sorted(self._registers_of(i)):
            if name in self._numbers and name not in self._cached:
                self._fetch(name)
        condition = self.read(i.guard, "pred")
        self._emit("o, j = m.mask, k")
        self._emit(f"k = m.mask = narrowed(o, m.rely({'~' * i.negated}{condition}))")
        self._emit("if k is not EMPTY:")
        self._depth += 1
        self._carry_out(i)
        self._emit("pass")
        self._depth -= 1
        self._emit("m.mask, k = o, j")

    def _carry_out(self, i: Instruction) -> None:
        if i.op[0] in ("addc", "subc", "madc") or "cc" in i.op:
            self._with_carry(i)
            return
        special = getattr(self, f"_do_{i.op[0]}", None)
        if special is not None:
            special(i)
            return
        kinds = operand_kinds(i.op)
        operands = [self.read(o, kind) for o, kind in zip(i.operands[1:], kinds, strict=False)]
        simple = len(i.op) == 2 or i.op[1:-1] in (("rn",), ("lo",), ("wrapping",))
        simple = simple and i.op[-1] not in ("f16x2", "bf16", "bf16x2")
        function = operation(i.op)
        if simple and i.op[0] in INLINE:
            value = f"({operands[0]} {INLINE[i.op[0]]} {operands[1]})"
        elif simple and i.op[0] == "mul" and "wide" not in i.op:
            value = f"({operands[0]} * {operands[1]})"
        elif i.op == ("mad", "lo", "s32") or i.op == ("mad", "lo", "u32"):
            value = f"({operands[0]} * {operands[1]} + {operands[2]})"
        else:
            value = f"{self._object_name(function)}({', '.join(operands)})"
        self.write(i.operands[0], value, result_kind(i), flops=self._flops(i))

    def _with_carry(self, i: Instruction) -> None:
        """Numbers of several registers: one instruction carries into the next."""
        kind = i.op[-1]
        operands = [self.read(o, kind) for o in i.operands[1:]]
        first = self._constant(int(i.op[0] == "sub"), "u8")  # a difference borrows where it is 0
        operands.append("cc" if i.op[0].endswith("c") else first)
        function = self._object_name(partial(with_carry, i.op))
        self._emit(f"p, cc = {function}({', '.join(operands)})")
        self.write(i.operands[0], "p", kind)

    def _flops(self, i: Instruction) -> int:
        if i.op[-1] not in ("f32", "f64", "f16"):
            return 0
        return {"add": 1, "sub": 1, "mul": 1, "fma": 2, "mad": 2}.get(i.op[0], 0)

    # --- operands

    def _object_name(self, thing: Any) -> str:
        """A name in the generated code for a Python object."""
        name = f"g{len(self._scope)}"
        self._scope[name] = thing
        return name

    def _constant(self, value: Any, kind: str) -> str:
        key = (np.asarray(value).tobytes(), kind)
        if key not in self._constants:
            self._constants[key] = self._object_name(np.array([[value]], TYPES[kind]))
        return self._constants[key]

    def _fetch(self, name: str) -> None:
        self._emit(f"v{self._number(name)} = R[{self._numbers[name]}]")
        self._cached.add(name)

    def _number(self, name: str) -> str:
        return re.sub(r"\W", "_", name)

    def read(self, operand: str, kind: str) -> str:
        """An expression for an operand as the given type."""
        if operand.startswith("!"):
            return f"~{self.read(operand[1:], kind)}"
        if is_register(self._function, operand):
            if operand in self._numbers and operand not in self._cached:
                self._fetch(operand)
            return _viewed(f"v{self._number(operand)}", self._homes.get(operand, kind), kind)
        if SPECIAL.fullmatch(operand):
            return _viewed(f"m.special({operand!r})", "u64" if "64" in operand else "u32", kind)
        if self._function.entry and any(p.name == operand for p in self._function.params):
            return _viewed(f"m.place_of({operand!r})", "u64", kind)
        address = self._symbols(operand)
        if address is not None:
            return self._constant(np.uint64(address % (1 << 64)).astype(TYPES[kind]), kind)
        return self._constant(number(operand, kind), kind)

    def raw(self, operand: str) -> str:
        """A register as it is stored, for an address."""
        if is_register(self._function, operand):
            if operand in self._numbers and operand not in self._cached:
                self._fetch(operand)
            home = self._homes.get(operand, "u64")
            value = f"v{self._number(operand)}"
            if home in ("s32", "s64"):
                return value
            expression = _viewed(value, home, f"s{home[1:]}")
            cached = f"a{self._number(operand)}"
            if operand not in self._addresses:
                if self._depth > 1:  # a guarded instruction, which may not take place
                    return expression
                self._emit(f"{cached} = {expression}")
                self._addresses.add(operand)
            return cached
        address = self._symbols(operand)
        number = address if address is not None else int(operand, 0)
        return self._constant(np.int64(number), "s64")

    def address(self, operand: str) -> tuple[str, int]:
        """`[%rd1+4]` as an expression and a number of bytes."""
        base, offset = address_of(operand)
        return self.raw(base), offset

    def _at_register(self, operand: str) -> bool:
        return is_register(self._function, re.split(r"[\[\]+ ]", operand)[1])

    def _space_at(self, i: Instruction, operand: str) -> str:
        """The memory that an instruction reaches; a variable's name says it too."""
        array = self._function.arrays.get(re.split(r"[\[\]+ ]", operand)[1])
        return array.space if array else space_of(i)

    def write(self, target: str, value: str, kind: str, *, flops: int = 0) -> None:
        """An assignment to a register, of an expression of the given type."""
        if target == "_":
            self._emit(value)
            return
        home = self._homes[target]
        name = f"v{self._number(target)}"
        self._addresses.discard(target)
        text = _viewed(value, kind, home, fresh=True)
        if target not in self._numbers:
            self._emit(f"{name} = {text}")
        else:
            number = self._numbers[target]
            self._emit(f"{name} = {text}")
            self._emit(f"if k is not None: {name} = put(k, R[{number}], {name})")
            self._emit(f"R[{number}] = {name}")
            self._cached.add(target)
        if flops and self._counting:
            for _ in range(flops):
                self._emit(f"m.flop({name})")

    # --- instructions with a shape of their own

    def _do_mov(self, i: Instruction) -> None:
        target, source = i.operands
        kind = i.op[-1]
        if len(i.op) == 3:  # vectors
            self._emit(f"p = {', '.join(self.read(s, kind) for s in names(source))}")
            for k, register in enumerate(names(target)):
                self.write(register, f"p[{k}]", kind)
        elif source.startswith("<"):
            parts = names(source)
            half = f"u{8 * PACKED[kind] // len(parts)}"
            halves = ", ".join(self.read(s, half) for s in parts)
            self.write(target, f"packed(({halves},), {PACKED[kind]})", f"u{8 * PACKED[kind]}")
        elif target.startswith("<"):
            parts = names(target)
            half = f"u{8 * PACKED[kind] // len(parts)}"
            bits = self.read(source, f"u{kind[1:]}")
            self._emit(f"p = unpacked({bits}, {len(parts)})")
            for k, register in enumerate(parts):
                if register != "_":
                    self.write(register, f"p[{k}]", half)
        else:
            if is_register(self._function, source) and kind != "pred":
                kind = self._homes.get(source, kind)
            self.write(target, self.read(source, kind), kind)

    def _do_cvta(self, i: Instruction) -> None:
        space = space_of(i)
        value = self.read(i.operands[1], "s64")
        if space in ("shared", "local"):
            base = self._object_name(np.array([[WINDOWS[space]]], np.int64))
            value = f"({value} - {base})" if "to" in i.op else f"({value} + {base})"
        self.write(i.operands[0], value, "s64")

    def _do_cvt(self, i: Instruction) -> None:
        to, of = result_kind(i), i.op[-1]
        if i.op[-2].endswith("x2") or len(i.operands) > 2:
            kind = "s32" if "pack" in i.op else TYPE_OF_PAIR.get(of, of)
            values = ", ".join(self.read(o, kind) for o in i.operands[1:])
            self.write(i.operands[0], f"{self._object_name(convert(i.op))}({values})", to)
            return
        value = self.read(i.operands[1], of)
        plain = len(i.op) == 3 and to[0] in "su" and of[0] in "sub"
        near = i.op[1] == "rn" and of[0] in "sf" and len(i.op) == 4 and "bf16" not in i.op
        if plain or near or i.op[1:] == ("f64", "f32"):
            self.write(i.operands[0], f"{value}.astype({self._type(to)})", to)
        else:
            self.write(i.operands[0], f"{self._object_name(convert(i.op))}({value})", to)

    def _type(self, kind: str) -> str:
        name = f"t_{kind}"
        self._scope[name] = np.dtype(TYPES[kind])
        return name

    def _do_selp(self, i: Instruction) -> None:
        kind = i.op[-1]
        a, b = (self.read(o, kind) for o in i.operands[1:3])
        chosen = self.read(i.operands[3], "pred")
        self.write(i.operands[0], f"np.where({chosen}, {a}, {b})", kind)

    def _do_setp(self, i: Instruction) -> None:
        kind = i.op[-1]
        a, b = (self.read(o, kind) for o in i.operands[1:3])
        condition = f"{self._object_name(compare(i.op))}({a}, {b})"
        target, *opposite = names(i.operands[0])
        if len(i.operands) == 4:
            sign = {"and": "&", "or": "|", "xor": "^"}[i.op[2]]
            other = self.read(i.operands[3], "pred")
            if opposite:
                self._emit(f"q = ~({condition}) {sign} {other}")
            condition = f"({condition} {sign} {other})"
        elif opposite:
            self._emit(f"q = ~({condition})")
        self.write(target, condition, "pred")
        if opposite:
            self.write(opposite[0], "q", "pred")

    def _do_set(self, i: Instruction) -> None:
        """As `setp`, of numbers: ones, or all bits of a whole number."""
        to, of = i.op[-2:]
        operands = [self.read(o, of) for o in i.operands[1:3]]
        others = [self.read(o, "pred") for o in i.operands[3:]]
        call = f"{self._object_name(set_flags(i.op))}({', '.join(operands + others)})"
        self.write(i.operands[0], call, to)

    def _do_slct(self, i: Instruction) -> None:
        a, b = (self.read(o, i.op[-2]) for o in i.operands[1:3])
        sign = self.read(i.operands[3], i.op[-1])
        self.write(i.operands[0], f"np.where({sign} >= 0, {a}, {b})", i.op[-2])

    def _do_bar(self, i: Instruction) -> None:
        words = i.op
        if "warp" in words:
            self._emit(f"m.sync_warp({self.read(i.operands[0], 'u32')})")
            return
        if "red" in words:
            if len(i.operands) > 3:
                raise not_covered(f"the barrier {i}", i.line)
            predicate = self.read(i.operands[-1], "pred")
            mode = next(w for w in words if w in ("popc", "and", "or"))
            value = f"m.sync_threads_with({mode!r}, {predicate})"
            self.write(i.operands[0], value, "u32" if mode == "popc" else "pred")
        else:
            self._emit("m.sync_threads()")

    _do_barrier = _do_bar

    def _do_membar(self, i: Instruction) -> None:
        self._emit(f"m.fence({'cta' in i.op})")

    _do_fence = _do_membar

    def _do_cp(self, i: Instruction) -> None:
        """`cp.async`: global memory to shared memory, there when it has been waited for."""
        if "bulk" in i.op or i.op[1] != "async":
            raise not_covered(str(i), i.line)
        if "mbarrier" in i.op:
            self._arrive_when_copied(i)
            return
        if "commit_group" in i.op or "wait_all" in i.op or "wait_group" in i.op:
            if "wait_group" not in i.op:
                self._emit("m.commit_copies()")
            if "commit_group" not in i.op:
                self._emit(f"m.wait_for_copies({i.operands[0] if 'wait_group' in i.op else 0})")
            return
        to, start = self.address(i.operands[0])
        of, begin = self.address(i.operands[1])
        many = self.read(i.operands[3], "u32") if len(i.operands) > 3 else i.operands[2]
        self._emit(f"m.copy_later({to}, {start}, {of}, {begin}, {i.operands[2]}, {many})")

    def _do_pragma(self, i: Instruction) -> None:
        self._emit("pass")

    _do_nanosleep = _do_prefetch = _do_prefetchu = _do_pragma

    def _do_ld(self, i: Instruction) -> None:
        kind, registers = i.op[-1], names(i.operands[0])
        space = space_of(i)
        if space == "param" and not self._at_register(i.operands[1]):
            self._load_param(i, registers, kind)
            return
        space = "generic" if space == "param" else self._space_at(i, i.operands[1])
        address, offset = self.address(i.operands[1])
        dtype, size = self._type(kind), np.dtype(TYPES[kind]).itemsize
        flag = "volatile" in i.op and all(
            polls(self._function, name) or waits_for(self._function, i, name) for name in registers
        )
        strong = "sys" if flag or id(i) in self._guesses else strength(i)
        many = min(len(registers), WIDEST // size)  # in one access
        for first in range(0, len(registers), many):
            place = f"{space!r}, {address}, {offset + first * size}"
            call = f"m.load({place}, {dtype}, {many}, {strong!r})"
            if many == 1:
                self.write(registers[first], call, kind)
                continue
            self._emit(f"p = {call}")
            for k, register in enumerate(registers[first : first + many]):
                if register != "_":
                    self.write(register, f"p[..., {k}]", kind)

    _do_ldu = _do_ld

    def _load_param(self, i: Instruction, registers: list[str], kind: str) -> None:
        match = re.fullmatch(r"\[(%?[\w$]+)(?:\+(-?\d+))?\]", i.operands[1])
        if not match:
            raise not_covered(f"the address {i.operands[1]}", i.line)
        offset, size = int(match[2] or 0), np.dtype(TYPES[kind]).itemsize
        for k, register in enumerate(registers):
            where = f"{match[1]!r}, {offset + k * size}"
            self.write(register, f"m.param({where}, {self._type(kind)})", kind)

    def _do_st(self, i: Instruction) -> None:
        kind, registers = i.op[-1], names(i.operands[1])
        space = space_of(i)
        values = [self.read(register, kind) for register in registers]
        if space == "param":
            match = re.fullmatch(r"\[?([\w$]+)(?:\+(\d+))?\]?", i.operands[0])
            if not match:
                raise not_covered(str(i), i.line)
            size = np.dtype(TYPES[kind]).itemsize
            for k, value in enumerate(values):
                offset = int(match[2] or 0) + k * size
                self._emit(f"m.set_param({match[1]!r}, {offset}, {value})")
            return
        space = self._space_at(i, i.operands[0])
        address, offset = self.address(i.operands[0])
        if "release" in i.op:
            self._do_fence(i)
        size = np.dtype(TYPES[kind]).itemsize
        for first in range(0, len(values), WIDEST // size):
            part = values[first : first + WIDEST // size]
            many = f"({', '.join(part)},)" if len(part) > 1 else part[0]
            where = f"{space!r}, {address}, {offset + first * size}, {self._type(kind)}"
            self._emit(f"m.store({where}, {many}, {strength(i)!r})")

    def _do_call(self, i: Instruction) -> None:
        parts = [o.strip() for o in re.split(r",(?![^()]*\))", ", ".join(i.operands))]
        results = names(parts.pop(0).strip("()")) if parts[0].startswith("(") else []
        function = parts.pop(0)
        arguments = names(parts[0].strip("()")) if parts else []
        what = self.read(function, "s64") if function.startswith("%") else repr(function)
        self._emit(f"m.call({what}, {results!r}, {[g.strip() for g in arguments if g]!r})")

    def _do_atom(self, i: Instruction) -> None:
        self._atomic(i, i.operands[0], i.operands[1:])

    def _do_red(self, i: Instruction) -> None:
        if "async" in i.op:
            raise not_covered(str(i), i.line)
        self._atomic(i, "_", i.operands)

    def _atomic(self, i: Instruction, target: str, rest: tuple[str, ...]) -> None:
        kind = i.op[-1]
        name = next(word for word in i.op[::-1] if word in ATOMICS) + "2" * (kind == "f16x2")
        if "noftz" in i.op and kind not in ("f16", "f16x2"):
            raise not_covered(str(i), i.line)
        address, offset = self.address(rest[0])
        values = ", ".join(self.read(o, kind) for o in rest[1:])
        if {"release", "acq_rel"} & set(i.op):
            self._emit(f"m.fence({'cta' in i.op})")
        used = target != "_"
        call = (
            f"m.atomic({space_of(i)!r}, {address}, {offset}, {self._type(kind)}, {name!r}, "
            f"({values},), {used}, {'cta' in i.op})"
        )
        self.write(target, call, kind)
        if {"acquire", "acq_rel"} & set(i.op):
            self._emit(f"m.fence({'cta' in i.op})")

    # --- textures and surfaces

    def _texel(self, i: Instruction, operand: str, kind: str) -> str:
        """The arguments geometry, object, layer, coordinates."""
        geometry, thing, layer, where = texel(i, operand)
        xyz = ", ".join(self.read(x, kind) for x in where)
        layer = layer and self.read(layer, "s32")
        return f"{geometry!r}, {self.read(thing, 'u64')}, {layer}, ({xyz},)"

    def _do_tex(self, i: Instruction) -> None:
        """A fetch; there are no other levels of detail than the first."""
        to, of = i.op[-2:]
        component = f", {'rgba'.index(i.op[1])}" if i.op[0] == "tld4" else ""
        self._emit(f"p = m.fetch({self._texel(i, i.operands[1], of)}, {self._type(to)}{component})")
        self._write_parts(i, to)

    _do_tld4 = _do_tex

    def _write_parts(self, i: Instruction, kind: str) -> None:
        for k, register in enumerate(names(i.operands[0])):
            if register != "_":
                self.write(register, f"p[{k}]", kind)

    def _do_suld(self, i: Instruction) -> None:
        kind, mode = i.op[-2:]
        texel, count = self._texel(i, i.operands[1], "s32"), len(names(i.operands[0]))
        self._emit(f"p = m.surface({mode!r}, {texel}, {self._type(kind)}, {count})")
        self._write_parts(i, kind)

    def _do_sust(self, i: Instruction) -> None:
        kind, mode = i.op[-2:]
        texel = self._texel(i, i.operands[0], "s32")
        parts = [self.read(register, kind) for register in names(i.operands[1])]
        values = f"({', '.join(parts)})"  # of one the number itself
        self._emit(f"m.surface({mode!r}, {texel}, {self._type(kind)}, {len(parts)}, {values})")

    # --- among the lanes of a warp

    def _do_shfl(self, i: Instruction) -> None:
        target, *predicate = names(i.operands[0])
        value, lane, clamp, mask = (self.read(o, "u32") for o in i.operands[1:5])
        self._emit(f"p, q = m.shuffle({i.op[2]!r}, {value}, {lane}, {clamp}, {mask})")
        self.write(target, "p", "u32")
        if predicate:
            self.write(predicate[0], "q", "pred")

    def _do_vote(self, i: Instruction) -> None:
        predicate = self.read(i.operands[1], "pred")
        mode = next(word for word in i.op[1:] if word != "sync")  # `vote.ballot.sync` too
        mask = self.read(i.operands[2], "u32") if "sync" in i.op else "m.active_mask()"
        kind = "u32" if mode == "ballot" else "pred"
        self.write(i.operands[0], f"m.vote({mode!r}, {predicate}, {mask})", kind)

    def _do_match(self, i: Instruction) -> None:
        target, *predicate = names(i.operands[0])
        value, mask = self.read(i.operands[1], f"u{i.op[-1][1:]}"), self.read(i.operands[2], "u32")
        self._emit(f"p, q = m.match({i.op[1]!r}, {value}, {mask})")
        self.write(target, "p", "u32")
        if predicate:
            self.write(predicate[0], "q", "pred")

    def _do_redux(self, i: Instruction) -> None:
        kind = i.op[-1]
        value, mask = self.read(i.operands[1], kind), self.read(i.operands[2], "u32")
        self.write(i.operands[0], f"m.redux({i.op[2]!r}, {value}, {mask})", kind)

    def _do_activemask(self, i: Instruction) -> None:
        self.write(i.operands[0], "m.active_mask()", "u32")


ATOMICS = ("add", "min", "max", "exch", "and", "or", "xor", "inc", "dec", "cas")


def put(mask: Mask, old: Any, new: Any) -> Any:
    """The value of a register after the threads of a mask wrote to it."""
    return np.where(mask, new, old)


def narrowed(mask: Mask, condition: Any) -> Mask:
    """The threads of a mask for which a condition holds."""
    return split(mask, condition)[0]


def packed(parts: tuple[Any, ...], size: int) -> Any:
    """Parts of equal size as one number of so many bytes, the first the lowest."""
    whole = np.dtype(f"u{size}").type
    step = 8 * size // len(parts)
    return sum(part.astype(whole) << whole(k * step) for k, part in enumerate(parts))


def unpacked(bits: Any, count: int) -> list[Any]:
    """The inverse of `packed`."""
    size = bits.dtype.itemsize // count
    shift = bits.dtype.type
    return [(bits >> shift(8 * size * k)).astype(f"u{size}") for k in range(count)]


HELPERS = {
    "np": np, "EMPTY": EMPTY, "put": put, "narrowed": narrowed, "packed": packed,
    "unpacked": unpacked,
}  # fmt: skip


def _nothing(m: Any, registers: list[Any]) -> None:
    """Stands in for a block that is not compiled yet."""


def _viewed(value: str, of: str, to: str, *, fresh: bool = False) -> str:
    """An expression of one type as another: the same bits, or the lower ones."""
    a, b = (np.dtype(TYPES[kind]) for kind in (of, to))
    if a == b:
        return value
    if "pred" in (of, to):
        return f"{value}.astype('{b.str[1:]}')"
    if a.itemsize == b.itemsize:
        return f"{value}.view('{b.str[1:]}')"
    if a.itemsize > b.itemsize:
        return f"{value}.view('u{a.itemsize}').astype('u{b.itemsize}').view('{b.str[1:]}')"
    wide = f"{'i' if a.kind == 'i' else 'u'}{b.itemsize}"  # a wider register is filled up
    bits = value if a.kind in "iu" else f"{value}.view('u{a.itemsize}')"
    return f"{bits}.astype('{wide}').view('{b.str[1:]}')"


def number(text: str, kind: str) -> Any:
    """A number as PTX writes it: -3, 0x1f, 0f3F800000 (the bits of a float32)."""
    dtype = np.dtype(TYPES[kind])
    if text[:2] in ("0f", "0F"):
        return np.array([int(text[2:], 16)], np.uint32).view(np.float32).astype(dtype)[0]
    if text[:2] in ("0d", "0D"):
        return np.array([int(text[2:], 16)], np.uint64).view(np.float64).astype(dtype)[0]
    if not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        raise not_covered(f"a pointer to {text}")
    number = int(text.rstrip("U"), 0)
    if kind == "pred":
        return bool(number)
    if dtype.kind == "f":
        if kind == "f16":  # bits
            return np.array([number], np.uint16).view(np.float16)[0]
        return dtype.type(number)
    return np.array([number % (1 << 64)], np.uint64).astype(dtype)[0]
