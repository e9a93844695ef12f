"""A kernel in LLVM's form: the code of one thread, between the places where it waits for others.

A thread runs up to a *point*: a barrier, an operation of its warp, a turn of a loop that waits.
There it stores what it needs later and leaves; it goes on at that point's number. See `scheduler`
for who runs when.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from simt.core.findings import Stop
from simt.core.memory import aligned
from simt.ptx.arithmetic import operand_kinds
from simt.ptx.memory import LOCAL_BITS
from simt.ptx.native.arithmetic import Arithmetic, constant
from simt.ptx.native.emitter import FLOATS, LLVM, NotNative, bits_of
from simt.ptx.native.flatten import flattened
from simt.ptx.native.registers import UNKNOWN, Registers, Root, is_point
from simt.ptx.parse import WINDOWS, Instruction, names, space_of
from simt.ptx.program import PtxProgram
from simt.ptx.translate import ATOMICS, PACKED, SPECIAL, WIDEST, number, result_kind

__all__ = ["FAULTS", "FRAME", "Translator"]

# the words of what a worker is handed: numbers, then addresses
FRAME = ("stop", "noted", "block", "bx", "by", "bz", "gx", "gy", "gz", "threads", "dynamic",
         "count", "shared", "local", "state", "points", "warps", "values", "masks", "tids",
         "published", "table", "slots", "addresses", "caches", "params", "spaces")  # fmt: skip
FAULTS = {"memory": 2, "trap": 3, "barrier": 4, "mask": 5, "waits": 6}
RMW = ("add", "and", "or", "xor", "min", "max")  # those that LLVM has and that commute
NOTHING = ("membar", "fence", "nanosleep", "prefetch", "prefetchu", "pragma", "discard")
BARRIER, WARP, TURN = 1, 2, 3  # kinds of points


class Translator(Arithmetic):
    """The text of one kernel's thread; `scheduler` makes a function of it."""

    def __init__(self, program: PtxProgram, block: tuple[int, int, int], *, even: bool) -> None:
        super().__init__()
        self.program = program
        self.even = even  # pointers lead to multiples of 16 bytes
        self.block, self.threads = block, math.prod(block)
        self.flat = flattened(program)
        self.arrays = {array.name: (n, array) for n, array in program.own_arrays}
        symbols = {*self.arrays, *program.memory.allocations}
        symbols |= {a.name for a in program.module.arrays.values() if program.symbol(a.name)}
        self.known = Registers(self.flat, {p.name for p in program.function.params}, symbols)
        self.points = [k for k, i in enumerate(self.flat.code) if is_point(i)]
        self.kinds = [_kind_of_point(self.flat.code[k]) for k in self.points]
        self.slots: list[Root] = []  # pointers of which is known what they lead to
        self.written: set[Root] = set()
        self.reads: set[Root] = set()  # UNKNOWN: it may be any
        self.caches = 0
        self.offsets: dict[str, dict[str, int]] = {"shared": {}, "local": {}}
        self.sizes = {"shared": 0, "local": 0}
        for _, array in program.own_arrays:
            self.offsets[array.space][array.name] = self.sizes[array.space]
            self.sizes[array.space] += aligned(array.size)
        self.parameters: dict[str, int] = {}  # where each parameter lies
        size = 0
        for p in program.function.params:
            self.parameters[p.name] = size
            size += aligned(p.size)
        self.parameter_bytes = size
        self.state: dict[str, int] = {}  # where each register lies while its thread waits
        self.state_bytes = 0
        for name in sorted({n for some in self.known.saved.values() for n in some},
                           key=lambda n: (-self.flat.widths[n], n)):  # fmt: skip
            self.state[name] = self.state_bytes
            self.state_bytes += max(self.flat.widths[name] // 8, 1)
        self.state_bytes = aligned(self.state_bytes)
        self.values: dict[str, tuple[str, str]] = {}  # registers that are computed anew
        self.head: list[str] = []  # what the function begins with
        self._anew = {id(i) for i in self.known.anew.values()}
        every = [i for i in self.flat.code if i.op[0] in ("atom", "red")]
        self.in_order = self.flat.waits or not all(
            space_of(i) == "shared" or self._commutes(i) for i in every
        )

    def _commutes(self, i: Instruction) -> bool:
        """Whether the order of an atomic operation among others does not matter."""
        heard = i.op[0] == "atom" and i.operands[0] in self.known.used
        return not heard and i.op[-1] not in FLOATS and self._operator(i) in RMW

    def _operator(self, i: Instruction) -> str:
        return next(word for word in i.op[::-1] if word in ATOMICS)

    # --- operands

    def read(self, operand: str, kind: str) -> str:
        """An operand as a type."""
        if operand.startswith("!"):
            return self.op(f"xor i1 {self.read(operand[1:], kind)}, true")
        if operand in self.values:
            value, home = self.values[operand]
            return self.bits(value, home, kind)
        if operand in self.flat.widths:
            home = self.known.homes[operand]
            return self.bits(self.op(f'load {LLVM[home]}, ptr %"{operand}"'), home, kind)
        if operand.startswith(("%clock", "%globaltimer")):
            own = "u64" if "64" in operand or "timer" in operand else "u32"
            ticks = self.bits(self.op("call i64 @llvm.readcyclecounter()"), "u64", own)
            return self.bits(ticks, own, kind)
        if SPECIAL.fullmatch(operand) or operand == "WARP_SZ":
            return self.bits(self._special(operand), "u32", kind)
        symbol = self._symbol(operand)
        if symbol is not None:
            return self.bits(symbol, "u64", kind)
        try:
            return constant(number(operand, kind), kind)
        except (ValueError, Stop):
            raise NotNative(f"the operand {operand}") from None

    def _symbol(self, name: str) -> str | None:
        address = self.program.symbol(name)
        if address is None or name in self.arrays or address < 1 << 39:
            return None if address is None else str(address)
        return self._address(("symbol", name))

    def _address(self, root: Root) -> str:
        """The address that a pointer is, to the kernel."""
        if root[0] == "param":
            return self._parameter(self.parameters[root[1]] + int(root[2]), "u64")
        at = self.slot(root, "into").removesuffix(".into")
        line = f"{at}.address = load i64, ptr {at}.address.at"
        if line not in self.head:
            self.head += [f"{at}.address.at = getelementptr i64, ptr %F.addresses, i64 "
                          f"{self.slots.index(root)}", line]  # fmt: skip
        return f"{at}.address"

    def _special(self, name: str) -> str:
        word, _, axis = name[1:].partition(".")
        if axis:
            return f"%{word}.{axis}"
        lane = self.op("and i32 %thread, 31")
        if word == "laneid":
            return lane
        if word == "warpid":
            return self.op("lshr i32 %thread, 5")
        if name == "WARP_SZ":
            return "32"
        bit = self.op(f"shl i32 1, {lane}")
        below = self.op(f"sub i32 {bit}, 1")
        if word.startswith("lanemask"):
            upto = self.op(f"or i32 {below}, {bit}")
            above = {"ge": below, "gt": upto}.get(word[-2:])
            plain = {"eq": bit, "lt": below, "le": upto}
            return self.op(f"xor i32 {above}, -1") if above else plain[word[-2:]]
        if word == "dynamic_smem_size":
            return self.op("trunc i64 %F.dynamic to i32")
        constants = {"envreg1": "0", "envreg2": "0", "smid": "0", "nsmid": "1", "gridid": "0",
                     "nwarpid": "32"}  # fmt: skip
        if word not in constants or self.program.cooperative:
            raise NotNative(f"the register {name}")
        return constants[word]

    def write(self, target: str, value: str, kind: str) -> None:
        """A register's new value, of a type."""
        if target == "_":
            return
        home = self.known.homes[target]
        if target in self.known.anew:
            self.values[target] = self.bits(value, kind, home), home
        else:
            self.do(f'store {LLVM[home]} {self.bits(value, kind, home)}, ptr %"{target}"')

    def slot(self, root: Root, word: str) -> str:
        """Of the array that a pointer leads to: how far "into" it, its "size", its "data"."""
        if root not in self.slots:
            at = len(self.slots)
            self.slots.append(root)
            for k, (name, kind) in enumerate((("into", "i64"), ("size", "i64"), ("data", "ptr"))):
                self.head += [
                    f"%S.{at}.{name}.at = getelementptr i64, ptr %F.slots, i64 {3 * at + k}",
                    f"%S.{at}.{name} = load {kind}, ptr %S.{at}.{name}.at",
                ]
            if self.even:
                self.head += [
                    f"%S.{at}.low = and i64 %S.{at}.into, 15",
                    f"%S.{at}.zero = icmp eq i64 %S.{at}.low, 0",
                    f"call void @llvm.assume(i1 %S.{at}.zero)",
                ]
        return f"%S.{self.slots.index(root)}.{word}"

    def _parameter(self, start: int, kind: str) -> str:
        """A part of the kernel's parameters."""
        place = f"%P.{start}.{kind}"
        if f"{place} = load {LLVM[kind]}, ptr {place}.at" not in self.head:
            self.head.append(f"{place}.at = getelementptr i8, ptr %F.params, i64 {start}")
            self.head.append(f"{place} = load {LLVM[kind]}, ptr {place}.at")
        return place

    # --- memory

    def place(self, i: Instruction, operand: str, size: int, *, writes: bool = False) -> str:
        """The address of so many bytes on this computer; a fault where a GPU has none."""
        match = re.fullmatch(r"\[(%?[\w$]+)\s*(?:\+\s*(-?\w+))?\]", operand)
        if not match:
            raise NotNative(f"the address {operand}")
        base, further = match[1], int(match[2] or "0", 0)
        space = space_of(i)
        if base in self.arrays and space == "generic":
            space = self.arrays[base][1].space
        kind = "u64" if self.flat.widths.get(base, 64) == 64 else "u32"
        address = self.bits(self.read(base, kind), kind, "u64")
        if further:
            address = self.op(f"add i64 {address}, {further}")
        roots = self.known.origins(base)
        root: Root = next(iter(roots)) if len(roots) == 1 else UNKNOWN
        if root[0] == "symbol" and root[1] in self.arrays:
            return self._private(space, address, root[1], size)
        if root[0] == "symbol" and root[1] not in self.program.memory.allocations:
            root = UNKNOWN
        if space in ("shared", "local"):
            return self._faulting(
                f"call ptr @find_private(ptr %F.spaces, i64 {0 if space == 'shared' else 1}, "
                f"ptr %{space}, i64 {address}, i64 {size})"
            )
        if not writes or i.op[0] != "st":
            self.reads.add(root)
        if root != UNKNOWN:
            moved = self.op(f"sub i64 {address}, {self._address(root)}")
            offset = self.op(f"add i64 {moved}, {self.slot(root, 'into')}")
            if writes:
                self.written.add(root)
            return self._within(offset, self._limit(root, size), self.slot(root, "data"), size)
        return self._found(space, address, size, writes=writes)

    def _limit(self, root: Root, size: int) -> str:
        """Below this an access of so many bytes may begin."""
        whole = self.slot(root, "size")
        name = f"{whole}.{size}"
        line = f"{name} = call i64 @llvm.usub.sat.i64(i64 {whole}, i64 {size - 1})"
        if line not in self.head:
            self.head.append(line)
        return name

    def _askew(self, offset: str, limit: str, size: int) -> str:
        bad = self.op(f"icmp uge i64 {offset}, {limit}")
        if size == 1:
            return bad
        low = self.op(f"and i64 {offset}, {size - 1}")
        return self.op(f"or i1 {bad}, {self.op(f'icmp ne i64 {low}, 0')}")

    def _within(self, offset: str, limit: str, data: str, size: int) -> str:
        self.unless(self._askew(offset, limit, size), "fault.memory")
        return self.op(f"getelementptr i8, ptr {data}, i64 {offset}")

    def _private(self, space: str, address: str, name: str, size: int) -> str:
        """An access to a shared or local array by its name."""
        count, array = self.arrays[name]
        base = count << LOCAL_BITS
        if space == "generic":
            base += WINDOWS[array.space]
        elif space != array.space:
            raise NotNative(f"an access to {array.space} memory as to {space} memory")
        if array.size or array.space == "local":
            whole = aligned(array.size) if array.space == "local" else array.size
            limit = str(max(whole - size + 1, 0))
        else:
            limit = self.op(f"call i64 @llvm.usub.sat.i64(i64 %F.dynamic, i64 {size - 1})")
        start = self.offsets[array.space][array.name]
        data = self.op(f"getelementptr i8, ptr %{array.space}, i64 {start}")
        return self._within(self.op(f"sub i64 {address}, {base}"), limit, data, size)

    def _found(self, space: str, address: str, size: int, *, writes: bool) -> str:
        """An access of which only the address says where it goes; the last array is tried first."""
        row = self.op(f"getelementptr i64, ptr %F.caches, i64 {4 * self.caches}")
        self.caches += 1
        base, whole = (
            self.op(f"load i64, ptr {self.op(f'getelementptr i64, ptr {row}, i64 {k}')}")
            for k in (0, 2 if writes else 1)
        )
        data = self.op(f"load ptr, ptr {self.op(f'getelementptr i64, ptr {row}, i64 3')}")
        limit = self.op(f"call i64 @llvm.usub.sat.i64(i64 {whole}, i64 {size - 1})")
        offset = self.op(f"sub i64 {address}, {base}")
        seek, near, end = (self.name(n) for n in ("seek", "near", "end"))
        self.branch(self._askew(offset, limit, size), seek, near, rare=True)
        self.label(seek)
        generic = space == "generic"
        found = self._faulting(
            f"call ptr @find_{'generic' if generic else 'global'}(ptr %frame, ptr {row}, "
            f"i64 {address}, i64 {size}, i64 {2 if writes else 1}"
            f"{', ptr %shared, ptr %local' if generic else ''})"
        )
        last = self.name("last")
        self.label(last)
        self.jump(end)
        self.label(near)
        place = self.op(f"getelementptr i8, ptr {data}, i64 {offset}")
        self.jump(end)
        self.label(end)
        return self.op(f"phi ptr [ {found}, %{last} ], [ {place}, %{near} ]")

    def _faulting(self, text: str) -> str:
        found = self.op(text)
        self.unless(self.op(f"icmp eq ptr {found}, null"), "fault.memory")
        return found

    def _pieces(self, i: Instruction, operand: str, count: int, *, writes: bool) -> list[str]:
        """The addresses of the parts of a vector."""
        size = bits_of(i.op[-1]) // 8
        many, places = min(count, WIDEST // size), []
        for first in range(0, count, many):
            moved = operand if not first else _moved(operand, first * size)
            whole = self.place(i, moved, many * size, writes=writes)
            places += [self.op(f"getelementptr i8, ptr {whole}, i64 {k * size}") if k else whole
                       for k in range(many)]  # fmt: skip
        return places

    def _do_ld(self, i: Instruction) -> None:
        kind, registers = i.op[-1], names(i.operands[0])
        if space_of(i) == "param":
            match = re.fullmatch(r"\[([\w$]+)(?:\+(\d+))?\]", i.operands[1])
            if match is None or match[1] not in self.parameters:
                raise NotNative(f"the address {i.operands[1]}")
            start = self.parameters[match[1]] + int(match[2] or 0)
            places = []
            for k in range(len(registers)):
                at = start + k * bits_of(kind) // 8
                self.write(registers[k], self._parameter(at, kind), kind)
            return
        places = self._pieces(i, i.operands[1], len(registers), writes=False)
        loaded = [self.op(f"load {LLVM[kind]}, ptr {p}, align 1") for p in places]
        for register, value in zip(registers, loaded, strict=True):
            self.write(register, value, kind)

    _do_ldu = _do_ld

    def _do_st(self, i: Instruction) -> None:
        kind, registers = i.op[-1], names(i.operands[1])
        values = [self.read(r, kind) for r in registers]
        for value, place in zip(values, self._pieces(i, i.operands[0], len(values), writes=True),
                                strict=True):  # fmt: skip
            self.do(f"store {LLVM[kind]} {value}, ptr {place}, align 1")

    def _do_cp(self, i: Instruction) -> None:
        """`cp.async`, which may have written at once."""
        if "bulk" in i.op or i.op[1] != "async" or "mbarrier" in i.op:
            raise NotNative(i.name)
        if {"commit_group", "wait_all", "wait_group"} & set(i.op):
            return
        size = int(i.operands[2])
        sides = ("ld", "global", "b32"), ("st", "shared", "b32")
        load, store = (Instruction(words, ()) for words in sides)
        of, to = self.place(load, i.operands[1], size), self.place(store, i.operands[0], size)
        words = []
        for k in range(size // 4):
            word = self.op(f"load i32, ptr {self._further(of, 4 * k)}, align 1")
            if len(i.operands) > 3:
                more = self.op(f"icmp ugt i32 {self.read(i.operands[3], 'u32')}, {4 * k}")
                word = self.select(more, "i32", word, "0")
            words.append(word)
        for k, word in enumerate(words):
            self.do(f"store i32 {word}, ptr {self._further(to, 4 * k)}, align 1")

    def _further(self, place: str, count: int) -> str:
        return self.op(f"getelementptr i8, ptr {place}, i64 {count}")

    def _do_atom(self, i: Instruction) -> None:
        """No other worker comes between, unless the order does not matter: see `in_order`."""
        kind, name = i.op[-1], self._operator(i)
        target, *rest = i.operands if i.op[0] == "atom" else ("_", *i.operands)
        floats = kind in FLOATS
        if "async" in i.op or "<" in "".join(rest) or kind.startswith(("f16", "bf16")) or (
            floats and name not in ("add", "exch")
        ):  # fmt: skip
            raise NotNative(i.name)
        t, values = LLVM[kind], [self.read(o, kind) for o in rest[1:]]
        place = self.place(i, rest[0], bits_of(kind) // 8, writes=True)
        if space_of(i) != "shared" and self._commutes(i):
            sign = "u" if name in ("min", "max") and kind[0] != "s" else ""
            self.op(f"atomicrmw {sign}{name} ptr {place}, {t} {values[0]} monotonic")
            return
        old = self.op(f"load {t}, ptr {place}, align 1")
        if name == "exch":
            new = values[0]
        elif name == "cas":
            new = self.select(self.op(f"icmp eq {t} {old}, {values[0]}"), t, values[1], old)
        elif name == "inc":
            more = self.op(f"icmp uge {t} {old}, {values[0]}")
            new = self.select(more, t, "0", self.op(f"add {t} {old}, 1"))
        elif name == "dec":
            ends = self.op(f"icmp eq {t} {old}, 0")
            ends = self.op(f"or i1 {ends}, {self.op(f'icmp ugt {t} {old}, {values[0]}')}")
            new = self.select(ends, t, values[0], self.op(f"sub {t} {old}, 1"))
        else:
            new = self.arithmetic((name, kind), [old, values[0]])
        self.do(f"store {t} {new}, ptr {place}, align 1")
        self.write(target, old, kind)

    _do_red = _do_atom

    # --- instructions

    def thread(self) -> None:
        """The code of a thread from `body` on; it leaves at `leave` with the number of a point."""
        code, flat = self.flat.code, self.flat
        for name, i in self.known.anew.items():
            self._carry_out(i)
            assert name in self.values
        for name in flat.widths:
            if name not in self.known.anew:
                home = self.known.homes[name]
                self.variables.append(f'  %"{name}" = alloca {LLVM[home]}')
                self.do(f'store {LLVM[home]} {constant(0, home)}, ptr %"{name}"')
        self.variables.append("  %carry = alloca i1")
        if self.points:
            self.do("store i1 false, ptr %carry")
            point = self.op("load i32, ptr %point")
            targets = " ".join(f"i32 {k + 1}, label %point.{k}" for k in range(len(self.points)))
            self.leave(f"switch i32 {point}, label %L0 [ {targets} ]")
        else:
            self.jump("L0")
        ends = {
            k + 1 for k, i in enumerate(code) if i.op[0] in ("bra", "brx", "ret", "exit", "trap")
        }
        leaders = {0, len(code), *flat.labels.values(), *ends}
        for at, i in enumerate(code):
            if at in leaders:
                self.label(f"L{at}")
            try:
                self._instruction(at, i)
            except (IndexError, KeyError, ValueError):
                raise NotNative(str(i)) from None
            except Stop as stop:
                raise NotNative(stop.finding.message) from None
        self.label(f"L{len(code)}")
        self.jump("finished")
        self.label("finished")
        if self.points:
            self.do("store i32 0, ptr %point")
        self.jump("leave")

    def _instruction(self, at: int, i: Instruction) -> None:
        if i.op[0] in ("bra", "brx", "ret", "exit", "trap"):
            self._jump(at, i)
            return
        if id(i) in self._anew:
            return
        end = ""
        if i.guard:
            on, end = self.name("on"), self.name("end")
            self.branch(self._guard(i), on, end)
            self.label(on)
        if is_point(i):
            self._point(at, i)
        else:
            self._carry_out(i)
        if end:
            self.label(end)

    def _guard(self, i: Instruction) -> str:
        return self.read(f"{'!' * i.negated}{i.guard}", "pred")

    def _jump(self, at: int, i: Instruction) -> None:
        if i.op[0] == "brx":
            if i.guard:
                raise NotNative(str(i))
            table = self.flat.tables[i.operands[1]]
            targets = " ".join(
                f"i32 {k}, label %L{self.flat.labels[t]}" for k, t in enumerate(table)
            )
            index = self.read(i.operands[0], "u32")
            self.leave(f"switch i32 {index}, label %fault.trap [ {targets} ]")
            return
        if i.op[0] == "bra":
            to = self.flat.labels[i.operands[0]]
            target = f"L{to}"
            if to <= at:  # a loop that may never end has to hear when it is to stop
                target = self.name("again")
        else:
            target = "fault.trap" if i.op[0] == "trap" else "finished"
        if i.guard:
            self.branch(self._guard(i), target, f"L{at + 1}")
        else:
            self.jump(target)
        if target.startswith("again"):
            self.label(target)
            stop = self.op("load volatile i64, ptr %frame")
            self.branch(self.op(f"icmp ne i64 {stop}, 0"), "stopped", f"L{to}", rare=True)
            self.label(self.name("behind"))

    def _carry_out(self, i: Instruction) -> None:
        if i.op[0] in NOTHING:
            return
        if i.op[0] in ("addc", "subc", "madc") or "cc" in i.op:
            kind = i.op[-1]
            first = "true" if i.op[0] == "sub" else "false"
            carry = self.op("load i1, ptr %carry") if i.op[0].endswith("c") else first
            operands = [self.read(o, f"u{kind[1:]}" if i.op[0][:3] != "mad" else kind)
                        for o in i.operands[1:]]  # fmt: skip
            value, carry = self.with_carry(i.op, carry, operands)
            self.do(f"store i1 {carry}, ptr %carry")
            self.write(i.operands[0], value, kind)
            return
        special = getattr(self, f"_do_{i.op[0]}", None)
        if special is not None:
            special(i)
            return
        kinds = operand_kinds(i.op)
        operands = [self.read(o, kind) for o, kind in zip(i.operands[1:], kinds, strict=False)]
        self.write(i.operands[0], self.arithmetic(i.op, operands), result_kind(i))

    def _do_mov(self, i: Instruction) -> None:
        target, source = i.operands
        kind = i.op[-1]
        if len(i.op) == 3:
            values = [self.read(s, kind) for s in names(source)]
            for register, value in zip(names(target), values, strict=True):
                self.write(register, value, kind)
        elif "<" in source or "<" in target:
            if PACKED[kind] > 8:
                raise NotNative(i.name)
            parts, n = names(source if "<" in source else target), 8 * PACKED[kind]
            size = n // len(parts)
            if "<" in source:
                whole = "0"
                for k, part in enumerate(parts):
                    value = self.op(f"zext i{size} {self.read(part, f'u{size}')} to i{n}")
                    whole = self.op(f"or i{n} {whole}, {self.op(f'shl i{n} {value}, {k * size}')}")
                self.write(target, whole, f"u{n}")
                return
            value = self.read(source, f"u{n}")
            for k, part in enumerate(parts):
                moved = self.op(f"lshr i{n} {value}, {k * size}")
                self.write(part, self.op(f"trunc i{n} {moved} to i{size}"), f"u{size}")
        else:
            home = self.known.homes.get(target, kind)
            self.write(target, self.read(source, home), home)

    def _do_cvta(self, i: Instruction) -> None:
        space, value = space_of(i), self.read(i.operands[1], "u64")
        if space in ("shared", "local"):
            value = self.op(f"{'sub' if 'to' in i.op else 'add'} i64 {value}, {WINDOWS[space]}")
        elif space == "param":
            raise NotNative(i.name)
        self.write(i.operands[0], value, "u64")

    def _do_cvt(self, i: Instruction) -> None:
        to, of = i.op[-2:]
        if to in ("f16x2", "bf16x2") and of == "f32" and len(i.operands) == 3:
            high, low = (self.converted((*i.op[:-2], to[:-2], of), self.read(o, of))
                         for o in i.operands[1:])  # fmt: skip
            self.write(i.operands[0], self.joined(low, high, to), "u32")
            return
        if len(i.operands) > 2 or to.endswith("x2") or of.endswith("x2"):
            raise NotNative(i.name)
        value = self.converted(i.op, self.read(i.operands[1], of))
        self.write(i.operands[0], value, to)

    def _do_selp(self, i: Instruction) -> None:
        kind = i.op[-1]
        a, b = (self.read(o, kind) for o in i.operands[1:3])
        chosen = self.read(i.operands[3], "pred")
        self.write(i.operands[0], self.select(chosen, LLVM[kind], a, b), kind)

    def _do_slct(self, i: Instruction) -> None:
        kind, of = i.op[-2:]
        a, b = (self.read(o, kind) for o in i.operands[1:3])
        sign = self.read(i.operands[3], of)
        test = "fcmp oge float" if of == "f32" else "icmp sge i32"
        plus = self.op(f"{test} {sign}, {constant(0, of)}")
        self.write(i.operands[0], self.select(plus, LLVM[kind], a, b), kind)

    def _do_setp(self, i: Instruction) -> None:
        kind = i.op[-1]
        condition = self.compare(i.op, [self.read(o, kind) for o in i.operands[1:3]])
        target, *opposite = names(i.operands[0])
        other = self.op(f"xor i1 {condition}, true")
        if len(i.operands) == 4:
            joined = self.read(i.operands[3], "pred")
            condition, other = (self.op(f"{i.op[2]} i1 {c}, {joined}") for c in (condition, other))
        self.write(target, condition, "pred")
        if opposite:
            self.write(opposite[0], other, "pred")

    def _do_set(self, i: Instruction) -> None:
        of = i.op[-1]
        values = [self.read(o, of) for o in i.operands[1:3]]
        joined = self.read(i.operands[3], "pred") if len(i.operands) > 3 else ""
        self.write(i.operands[0], self.flags(i.op, values, joined), i.op[-2])

    # --- where threads wait

    def _point(self, at: int, i: Instruction) -> None:
        """Stores what is needed later and leaves; goes on when the scheduler says so."""
        number = self.points.index(at)
        self._arrive(i)
        for name in self.known.saved[at]:
            home = self.known.homes[name]
            kind = LLVM[home]
            value = self.op(f'load {kind}, ptr %"{name}"')
            place = self._kept(name)
            if kind == "i1":
                value, kind = self.op(f"zext i1 {value} to i8"), "i8"
            self.do(f"store {kind} {value}, ptr {place}")
        self.do(f"store i32 {number + 1}, ptr %point")
        self.jump("leave")
        self.label(f"point.{number}")
        for name in self.known.saved[at]:
            kind = LLVM[self.known.homes[name]]
            place = self._kept(name)
            if kind == "i1":
                value = self.op(f"trunc i8 {self.op(f'load i8, ptr {place}')} to i1")
            else:
                value = self.op(f"load {kind}, ptr {place}")
            self.do(f'store {kind} {value}, ptr %"{name}"')
        self._go_on(i)

    def _kept(self, name: str) -> str:
        """Where a register of a thread that waits is: those of all threads side by side."""
        whole = self._further("%F.state", self.state[name] * self.threads)
        size = max(self.flat.widths[name] // 8, 1)
        return self.op(f"getelementptr i{8 * size}, ptr {whole}, i32 %thread")

    def _leave_word(self, where: str, value: str, kind: str) -> None:
        place = self.op(f"getelementptr {kind}, ptr %F.{where}, i32 %thread")
        self.do(f"store {kind} {value}, ptr {place}")

    def _mask(self, i: Instruction) -> str:
        """The lanes that an operation names; 0 for whoever is there."""
        if i.op[0] == "activemask" or (i.op[0] == "vote" and "sync" not in i.op):
            return "0"
        if i.op[0] in ("bar", "barrier"):
            return self.read(i.operands[0], "u32")
        return self.read(i.operands[-1], "u32")

    def _arrive(self, i: Instruction) -> None:
        name = i.op[0]
        if name == "yield":
            return
        if name in ("bar", "barrier") and "warp" not in i.op:
            if "arrive" in i.op or (len(i.operands) == 2 and "red" not in i.op):
                raise NotNative(str(i))
            if "red" in i.op:
                if len(i.operands) > 3:
                    raise NotNative(str(i))
                value = self.op(f"zext i1 {self.read(i.operands[-1], 'pred')} to i32")
                self._add("%red.true", value)
                self._add("%red.all", "1")
            return
        self._leave_word("masks", self._mask(i), "i32")
        if name in ("shfl", "match", "redux"):
            kind = f"u{i.op[-1][1:]}"
            value = self.bits(self.read(i.operands[1], kind), kind, "u64")
        elif name == "vote":
            value = self.op(f"zext i1 {self.read(i.operands[1], 'pred')} to i64")
        else:
            return
        self._leave_word("values", value, "i64")

    def _add(self, place: str, value: str) -> None:
        before = self.op(f"load i32, ptr {place}")
        self.do(f"store i32 {self.op(f'add i32 {before}, {value}')}, ptr {place}")

    def _go_on(self, i: Instruction) -> None:
        getattr(self, f"_end_{i.op[0]}", lambda _: None)(i)

    def _end_bar(self, i: Instruction) -> None:
        if "red" not in i.op:
            return
        yes, every = (self.op(f"load i32, ptr %red.{n}.seen") for n in ("true", "all"))
        if "popc" in i.op:
            self.write(i.operands[0], yes, "u32")
        else:
            test = f"icmp eq i32 {yes}, {every}" if "and" in i.op else f"icmp ne i32 {yes}, 0"
            self.write(i.operands[0], self.op(test), "pred")

    _end_barrier = _end_bar

    def _published(self, lane: str) -> str:
        place = self.op(f"getelementptr i64, ptr %F.published, i32 {lane}")
        return self.op(f"load i64, ptr {place}")

    def _end_shfl(self, i: Instruction) -> None:
        target, *predicate = names(i.operands[0])
        mine = self.op("and i32 %thread, 31")
        b, c = (self.read(o, "u32") for o in i.operands[2:4])
        b = self.op(f"and i32 {b}, 31")
        segment = self.op(f"and i32 {self.op(f'lshr i32 {c}, 8')}, 31")
        end = self.op(f"and i32 {c}, 31")
        outer = self.op(f"and i32 {segment}, {mine}")
        others = self.op(f"xor i32 {segment}, -1")
        top = self.op(f"or i32 {outer}, {self.op(f'and i32 {end}, {others}')}")
        source = {"up": f"sub i32 {mine}, {b}", "down": f"add i32 {mine}, {b}",
                  "bfly": f"xor i32 {mine}, {b}"}.get(i.op[2])  # fmt: skip
        if source is None:
            source = f"or i32 {outer}, {self.op(f'and i32 {b}, {others}')}"
        place = self.op(source)
        valid = self.op(f"icmp {'sge' if i.op[2] == 'up' else 'sle'} i32 {place}, {top}")
        lane = self.select(valid, "i32", place, mine)
        self.write(target, self.op(f"trunc i64 {self._published(lane)} to i32"), "u32")
        if predicate:
            self.write(predicate[0], valid, "pred")

    def _asked(self, i: Instruction, what: str) -> str:
        """The bits of a warp's lanes, those of the own mask."""
        bits = self.op(f"load i32, ptr %{what}")
        mask = self._mask(i)
        return bits if mask == "0" else self.op(f"and i32 {bits}, {mask}")

    def _end_activemask(self, i: Instruction) -> None:
        self.write(i.operands[0], self.op("load i32, ptr %here"), "u32")

    def _end_vote(self, i: Instruction) -> None:
        yes, here = self._asked(i, "yes"), self._asked(i, "here")
        mode = next(word for word in i.op[1:] if word != "sync")
        if mode == "ballot":
            self.write(i.operands[0], yes, "u32")
            return
        none = self.op(f"icmp eq i32 {yes}, 0")
        every = self.op(f"icmp eq i32 {yes}, {here}")
        value = {"any": f"xor i1 {none}, true", "all": f"or i1 {every}, false",
                 "uni": f"or i1 {every}, {none}"}[mode]  # fmt: skip
        self.write(i.operands[0], self.op(value), "pred")

    def _end_match(self, i: Instruction) -> None:
        target, *predicate = names(i.operands[0])
        mine = self._published(self.op("and i32 %thread, 31"))
        here = self._asked(i, "here")
        same = self.op(f"call i32 @matching(ptr %F.published, i64 {mine})")
        same = self.op(f"and i32 {same}, {here}")
        if i.op[1] == "any":
            self.write(target, same, "u32")
            return
        agree = self.op(f"icmp eq i32 {same}, {here}")
        self.write(target, self.select(agree, "i32", here, "0"), "u32")
        if predicate:
            self.write(predicate[0], agree, "pred")

    def _end_redux(self, i: Instruction) -> None:
        kind, name = i.op[-1], i.op[2]
        if kind in FLOATS:
            raise NotNative(i.name)
        info = np.iinfo(np.int32 if kind[0] == "s" else np.uint32)
        nothing: Any = {"min": info.max, "max": info.min, "and": -1}.get(name, 0)
        total = self.variable("i32")
        self.do(f"store i32 {constant(nothing, 's32' if nothing == -1 else kind)}, ptr {total}")
        here = self._asked(i, "here")
        with self.each("32") as lane:
            bit = self.op(f"and i32 {self.op(f'lshr i32 {here}, {lane}')}, 1")
            with self.when(self.op(f"icmp ne i32 {bit}, 0")):
                value = self.op(f"trunc i64 {self._published(lane)} to i32")
                before = self.op(f"load i32, ptr {total}")
                self.do(f"store i32 {self.arithmetic((name, kind), [before, value])}, ptr {total}")
        self.write(i.operands[0], self.op(f"load i32, ptr {total}"), kind)


def _kind_of_point(i: Instruction) -> int:
    if i.op[0] == "yield":
        return TURN
    return BARRIER if i.op[0] in ("bar", "barrier") and "warp" not in i.op else WARP


def _moved(operand: str, count: int) -> str:
    """`[%rd1+4]`, further on."""
    base, _, offset = operand.strip("[]").partition("+")
    return f"[{base}+{int(offset or '0', 0) + count}]"
