"""A kernel in LLVM's form: the code of one thread, between the places where it waits for others.

A thread runs up to a *point*: a barrier, an operation of its warp, a turn of a loop that waits.
There it stores what it needs later and leaves; it goes on at that point's number. See `scheduler`
for who runs when.
"""

import math
import re
from itertools import accumulate

import numpy as np

from simt.core.findings import Stop
from simt.core.memory import aligned
from simt.ptx.arithmetic import operand_kinds
from simt.ptx.flow import ENDS
from simt.ptx.lanes import conversions
from simt.ptx.memory import LOCAL_BITS
from simt.ptx.native.arithmetic import constant
from simt.ptx.native.emitter import FLOATS, LLVM, NotNative, bits_of
from simt.ptx.native.flatten import flattened, for_its_warp, is_point
from simt.ptx.native.mbarriers import Mbarriers
from simt.ptx.native.registers import UNKNOWN, Registers, Root
from simt.ptx.native.tensor_cores import TensorCores
from simt.ptx.parse import WINDOWS, Instruction, address_of, names, space_of
from simt.ptx.program import PtxProgram
from simt.ptx.translate import ATOMICS, PACKED, SPECIAL, WIDEST, number, result_kind

Triple = tuple[int, int, int]
# the words of what a worker is handed: numbers, then addresses
OWN = ("shared", "local", "state", "points", "warps", "values", "masks", "said")  # of a block
FRAME = ("stop", "noted", "block", "gx", "gy", "gz", "dynamic", "count", "grid", "own", "printed",
         *OWN, "tids", "prints", "published", "table", "slots", "addresses", "caches", "params",
         "spaces", "objects")  # fmt: skip
# what the threads of a block leave at a barrier and hear behind it; where they are; their turns
SAID = ("true", "all", "true.seen", "all.seen", "gathered", "turns")
MOST_PRINTED = 1 << 20  # bytes of a worker
FAULTS = {"memory": 2, "trap": 3, "barrier": 4, "mask": 5, "waits": 6}
RMW = ("add", "and", "or", "xor", "min", "max")  # those that LLVM has and that commute
COUNTS = {"inc": "0 if old >= most else old + 1",
          "dec": "most if old == 0 or old > most else old - 1"}  # fmt: skip
SOURCES = {"up": "t - b", "down": "t + b", "bfly": "t ^ b", "idx": "s & t | b & ~s"}  # lanes
LANES = {  # registers, from a thread's number in its block
    "smid": "0", "nsmid": "1", "gridid": "0", "nwarpid": "32", "ARP_SZ": "32",
    "laneid": "t & 31", "warpid": "t >> 5", "lanemask_eq": "1 << (t & 31)",
    "lanemask_lt": "(1 << (t & 31)) - 1", "lanemask_ge": "-1 << (t & 31)",
    "lanemask_le": "(2 << (t & 31)) - 1", "lanemask_gt": "-2 << (t & 31)",
}  # fmt: skip
NOTHING = ("membar", "fence", "nanosleep", "prefetch", "prefetchu", "pragma", "discard")
BARRIER, WARP, TURN = 1, 2, 3  # kinds of points


class Translator(TensorCores, Mbarriers):
    """The text of one kernel's thread; `scheduler` makes a function of it."""

    def __init__(
        self, program: PtxProgram, block: Triple, *, even: bool, together: bool, apart: bool
    ) -> None:
        super().__init__()
        self.program = program
        self.even = even  # pointers lead to multiples of 16 bytes
        self.block, self.threads = block, math.prod(block)
        self.flat = flattened(program)
        self.arrays = {array.name: (n, array) for n, array in program.own_arrays}
        self.parameters, self.parameter_bytes = _laid_out(
            [(p.name, aligned(p.size)) for p in program.function.params]
        )
        symbols = {*self.arrays, *program.memory.allocations, *self.parameters}
        symbols |= {a.name for a in program.module.arrays.values() if program.symbol(a.name)}
        self.known = Registers(self.flat, symbols)
        self.points = [k for k, i in enumerate(self.flat.code) if is_point(i)]
        self.kinds = [_kind_of_point(self.flat.code[k]) for k in self.points]
        self.together = together  # all blocks at once
        self.apart = apart  # each warp comes to a barrier of the block at a place of its own
        self.warps = together or apart or bool({WARP, TURN} & {*self.kinds})
        self.slots: list[Root] = []  # pointers of which is known what they lead to
        self.written: set[Root] = set()
        self.texts: list[list[tuple[str, str, int, int]]] = []  # what is printed
        self.caches = 0
        self.fetches: list[tuple[str, str, int | None]] = []  # functions that do: see `textures`
        self.offsets, self.sizes = {}, {}  # of arrays
        for space in ("shared", "local"):
            own = [(a.name, aligned(a.size)) for _, a in program.own_arrays if a.space == space]
            self.offsets[space], self.sizes[space] = _laid_out(own)
        widths = self.flat.widths  # a register lies in `state` while its thread waits
        saved = sorted(self.known.kept, key=lambda n: (-widths[n], n))
        self.state, size = _laid_out([(n, max(widths[n] // 8, 1)) for n in saved])
        self.state_bytes = aligned(size)
        self.values: dict[str, tuple[str, str]] = {}  # registers that are computed anew
        self.head: dict[str, None] = {}  # the lines that the function begins with
        self._anew = {id(i) for i in self.known.anew.values()}
        every = [i for i in self.flat.code if i.op[0] in ("atom", "red")]
        self.in_order = (
            self.together
            or self.flat.waits
            or not all(space_of(i) == "shared" or self._commutes(i) for i in every)
        )

    def _commutes(self, i: Instruction) -> bool:
        """Whether the order of an atomic operation among others does not matter."""
        heard = i.op[0] == "atom" and i.operands[0] in self.known.used
        return not heard and "f" not in i.op[-1] and self._operator(i) in RMW

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
            return self.bits(self.op(f'load {LLVM[home]}, ptr %"{operand}$"'), home, kind)
        if operand.startswith(("%clock", "%globaltimer")):
            time = self.op("call i64 @llvm.readcyclecounter()")
            wide = "64" in operand or "timer" in operand
            return self.bits(time if wide else self.bits(time, "u64", "u32"),
                             "u64" if wide else "u32", kind)  # fmt: skip
        if SPECIAL.fullmatch(operand):
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
        if name in self.parameters or ((address or 0) >= 1 << 39 and name not in self.arrays):
            return self._address(("symbol", name))
        return None if address is None else str(address)

    def _address(self, root: Root) -> str:
        """The address that a pointer is, to the kernel."""
        if root[0] == "param":
            return self._parameter(self.parameters[root[1]] + int(root[2]), "u64")
        at = self.slot(root, "into").removesuffix("into") + "address"
        return self._once(at, "i64", "%F.addresses", 8 * self.slots.index(root))

    def _once(self, name: str, kind: str, base: str, start: int) -> str:
        """What is so many bytes behind an address, read where the function begins."""
        place = f"{name}.at = getelementptr i8, ptr {base}, i64 {start}"
        self.head |= dict.fromkeys([place, f"{name} = load {kind}, ptr {name}.at"])
        return name

    def _special(self, name: str) -> str:
        word, _, axis = name[1:].partition(".")
        if axis:
            return f"%{word}.{axis}"
        if word in LANES:
            return self.calc("i32", LANES[word], t="%thread")
        if word == "dynamic_smem_size":
            return self.op("trunc i64 %F.dynamic to i32")
        if word in ("envreg1", "envreg2"):  # where the word is by which a grid waits
            half = self.op("lshr i64 %F.grid, 32") if word == "envreg1" else "%F.grid"
            return self.op(f"trunc i64 {half} to i32")
        raise NotNative(f"the register {name}")

    def write(self, target: str, value: str, kind: str) -> None:
        """A register's new value, of a type."""
        if target == "_":
            return
        home = self.known.homes[target]
        if target in self.known.anew:
            self.values[target] = self.bits(value, kind, home), home
        else:
            self.do(f'store {LLVM[home]} {self.bits(value, kind, home)}, ptr %"{target}$"')

    def slot(self, root: Root, word: str) -> str:
        """Of the array that a pointer leads to: how far "into" it, its "size", its "data"."""
        if root not in self.slots:
            at = len(self.slots)
            self.slots.append(root)
            for k, (name, kind) in enumerate((("into", "i64"), ("size", "i64"), ("data", "ptr"))):
                self._once(f"%S.{at}.{name}", kind, "%F.slots", 24 * at + 8 * k)
            if self.even:
                self.head |= dict.fromkeys([
                    f"%S.{at}.low = and i64 %S.{at}.into, 15",
                    f"%S.{at}.zero = icmp eq i64 %S.{at}.low, 0",
                    f"call void @llvm.assume(i1 %S.{at}.zero)",
                ])  # fmt: skip
        return f"%S.{self.slots.index(root)}.{word}"

    def _parameter(self, start: int, kind: str) -> str:
        """A part of the kernel's parameters."""
        return self._once(f"%P.{start}.{kind}", LLVM[kind], "%F.params", start)

    # --- memory

    def place(self, i: Instruction, operand: str, size: int, *, writes: bool = False) -> str:
        """The address of so many bytes on this computer; a fault where a GPU has none."""
        return self.reached(i, *self.address(operand), size, writes=writes)

    def address(self, operand: str) -> tuple[str, str]:
        """`[%rd1+4]` as what it is counted from, and the address."""
        base, further = address_of(operand)
        kind = "u64" if self.flat.widths.get(base, 64) == 64 else "u32"
        address = self.bits(self.read(base, kind), kind, "u64")
        return base, self.op(f"add i64 {address}, {further}") if further else address

    def reached(
        self, i: Instruction, base: str, address: str, size: int, *, writes: bool = False
    ) -> str:
        """Where an address is that is counted from an operand."""
        space = space_of(i)
        if base in self.arrays and space == "generic":
            space = self.arrays[base][1].space
        roots = self.known.origins(base)
        root: Root = next(iter(roots)) if len(roots) == 1 else UNKNOWN
        if root[0] == "symbol" and root[1] in self.arrays:
            return self._private(space, address, root[1], size)
        other = root[0] == "symbol" and root[1] not in self.parameters
        if other and root[1] not in self.program.memory.allocations:
            root = UNKNOWN
        if space in ("shared", "local"):
            which = "0" if space == "shared" else "1"
            return self.numbered(which, f"%{space}", address, str(size), "fault.memory")
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
        line = f"{whole}.{size} = call i64 @llvm.usub.sat.i64(i64 {whole}, i64 {size - 1})"
        self.head[line] = None
        return f"{whole}.{size}"

    def limit(self, whole: str, size: str) -> str:
        """Below this an access of so many bytes may begin, of so many in all."""
        return self.call("usub.sat", "i64", whole, self.calc("i64", "size - 1", size=size))

    def outside(self, offset: str, limit: str, size: str) -> str:
        """Whether an access may not begin there: beyond its limit, or askew."""
        bad = self.calc("i64", "at >= limit", at=offset, limit=limit)
        if size == "1":
            return bad
        return self.calc("i64", "bad or at & size - 1 != 0", bad=bad, at=offset, size=size)

    def numbered(self, which: str, base: str, address: str, size: str, wrong: str) -> str:
        """Where an address of shared (0) or local (1) memory is that names no array."""
        number = self.calc("i64", f"a + {1 << LOCAL_BITS - 1} >> {LOCAL_BITS}", a=address)
        count = self.get("%F.spaces", "i64")
        self.unless(self.calc("i64", "n >= count", n=number, count=count), wrong)
        row = self.at("%F.spaces", self.calc("i64", "n * 4 + w * 2 + 1", n=number, w=which), "i64")
        offset = self.calc("i64", f"a - (n << {LOCAL_BITS})", a=address, n=number)
        limit = self.limit(self.get(row, "i64"), size)
        self.unless(self.outside(offset, limit, size), wrong)
        start = self.get(self.at(row, 1, "i64"), "i64")
        return self.at(base, self.op(f"add i64 {start}, {offset}"), "i8")

    def _within(self, offset: str, limit: str, data: str, size: int) -> str:
        self.unless(self.outside(offset, limit, str(size)), "fault.memory")
        return self.at(data, offset, "i8")

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
            limit = self.limit("%F.dynamic", str(size))
        start = self.offsets[array.space][array.name]
        data = self.at(f"%{array.space}", start, "i8")
        return self._within(self.op(f"sub i64 {address}, {base}"), limit, data, size)

    def _found(self, space: str, address: str, size: int, *, writes: bool) -> str:
        """An access of which only the address says where it goes; the last array is tried first."""
        row = self.at("%F.caches", 4 * self.caches, "i64")
        self.caches += 1
        base, whole = (self.get(self.at(row, k, "i64"), "i64") for k in (0, 2 if writes else 1))
        data = self.get(self.at(row, 3, "i64"), "ptr")
        offset = self.op(f"sub i64 {address}, {base}")
        seek, near, end, last = (self.name(n) for n in ("seek", "near", "end", "last"))
        bad = self.outside(offset, self.limit(whole, str(size)), str(size))
        self.branch(bad, seek, near, rare=True)
        self.label(seek)
        generic = "true" if space in ("generic", "param") else "false"
        found = self.op(
            f"call ptr @find(ptr %frame, ptr {row}, i64 {address}, i64 {size}, "
            f"i64 {2 if writes else 1}, i1 {generic}, ptr %shared, ptr %local)"
        )
        self.unless(self.op(f"icmp eq ptr {found}, null"), "fault.memory")
        self.label(last)
        self.jump(end)
        self.label(near)
        place = self.at(data, offset, "i8")
        self.label(end)
        return self.op(f"phi ptr [ {found}, %{last} ], [ {place}, %{near} ]")

    def _pieces(self, i: Instruction, operand: str, count: int, *, writes: bool) -> list[str]:
        """The addresses of the parts of a vector."""
        size = bits_of(i.op[-1]) // 8
        many, places = min(count, WIDEST // size), []
        for first in range(0, count, many):
            moved = operand if not first else _moved(operand, first * size)
            whole = self.place(i, moved, many * size, writes=writes)
            places += [self.at(whole, k * size, "i8") for k in range(many)]
        return places

    def _do_ld(self, i: Instruction) -> None:
        kind, registers = i.op[-1], names(i.operands[0])
        if space_of(i) == "param" and "%" not in i.operands[1]:
            match = re.fullmatch(r"\[([\w$]+)(?:\+(\d+))?\]", i.operands[1])
            if match is None or match[1] not in self.parameters:
                raise NotNative(f"the address {i.operands[1]}")
            start = self.parameters[match[1]] + int(match[2] or 0)
            for k, register in enumerate(registers):
                value = self._parameter(start + k * bits_of(kind) // 8, kind)
                self.write(register, value, kind)
            return
        places = self._pieces(i, i.operands[1], len(registers), writes=False)
        loaded = [self.op(f"load {LLVM[kind]}, ptr {p}, align 1") for p in places]
        for register, value in zip(registers, loaded, strict=True):
            self.write(register, value, kind)

    _do_ldu = _do_ld

    def _do_st(self, i: Instruction) -> None:
        kind, registers = i.op[-1], names(i.operands[1])
        bits_of(kind)
        values = [self.read(r, kind) for r in registers]
        for value, place in zip(values, self._pieces(i, i.operands[0], len(values), writes=True),
                                strict=True):  # fmt: skip
            self.do(f"store {LLVM[kind]} {value}, ptr {place}, align 1")

    def _do_cp(self, i: Instruction) -> None:
        """`cp.async`, which may have written at once."""
        if "bulk" in i.op or i.op[1] != "async":
            raise NotNative(i.name)
        if "noinc" in i.op:  # else it is one more that is expected, and comes
            self.arrive(self.place(i, i.operands[0], 8), "1", "0")
        if {"mbarrier", "commit_group", "wait_all", "wait_group"} & set(i.op):
            return
        size = int(i.operands[2])
        load, store = (Instruction(("ld", space), ()) for space in ("global", "shared"))
        base, address = self.address(i.operands[1])
        to, count, many = self.place(store, i.operands[0], size), str(size), f"i{8 * size}"
        if len(i.operands) > 3:
            count = self.bits(self.read(i.operands[3], "u32"), "u32", "u64")
            with self.when(self.calc("i64", f"count < {size}", count=count)):
                self.do(f"store {many} 0, ptr {to}, align 1")
                with self.each(count, "i64") as k:
                    of = self.reached(load, base, self.op(f"add i64 {address}, {k}"), 1)
                    self.set(self.at(to, k, "i8"), self.get(of, "i8"), "i8")
        with self.when(self.calc("i64", f"count >= {size}", count=count)):
            of = self.reached(load, base, address, size)
            value = self.op(f"load {many}, ptr {of}, align 1")
            self.do(f"store {many} {value}, ptr {to}, align 1")

    def _do_atom(self, i: Instruction) -> None:
        """No other worker comes between, unless the order does not matter: see `in_order`."""
        target, *rest = i.operands if i.op[0] == "atom" else ("_", *i.operands)
        kind, name = i.op[-1], self._operator(i)
        floats = kind in FLOATS
        if "async" in i.op or "<" in "".join(rest) or kind.startswith("bf16") or (
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
            new = self.calc(t, "v if old == a else old", old=old, a=values[0], v=values[1])
        elif name in COUNTS:
            new = self.calc(t, COUNTS[name], old=old, most=values[0])
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
                self.variables.append(f'  %"{name}$" = alloca {LLVM[home]}')
                self.do(f'store {LLVM[home]} {constant(0, home)}, ptr %"{name}$"')
        self.variables.append("  %carry = alloca i1")
        if self.points:
            self.do("store i1 false, ptr %carry")
            point = self.get("%point")
            targets = " ".join(f"i32 {k + 1}, label %point.{k}" for k in range(len(self.points)))
            self.leave(f"switch i32 {point}, label %L0 [ {targets} ]")
        else:
            self.jump("L0")
        ends = {k + 1 for k, i in enumerate(code) if i.op[0] in ENDS}
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
        if self.points:
            self.set("%point", 0)
        self.jump("leave")

    def _instruction(self, at: int, i: Instruction) -> None:
        if i.op[0] in ENDS:
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
        to, back = len(self.flat.code), False
        if i.op[0] == "bra":
            to = self.flat.labels[i.operands[0]]
            back = to <= at  # a loop that may never end has to hear when it is to stop
        target = self.name("again") if back else "fault.trap" if i.op[0] == "trap" else f"L{to}"
        if i.guard:
            self.branch(self._guard(i), target, f"L{at + 1}")
        else:
            self.jump(target)
        if back:
            self.label(target)
            self.hear()
            self.jump(f"L{to}")

    def hear(self) -> None:
        """Stops where the launch is to stop."""
        stop = self.op("load volatile i64, ptr %frame")
        self.unless(self.calc("i64", "n != 0", n=stop), "stopped")

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
                values = [self.read(part, f"u{size}") for part in parts]
                self.write(target, self.packed(values, size, n), f"u{n}")
                return
            values = self.unpacked(self.read(source, f"u{n}"), size, n)
            for part, value in zip(parts, values, strict=True):
                self.write(part, value, f"u{size}")
        else:
            home = self.known.homes.get(target, kind)
            self.write(target, self.read(source, home), home)

    def _do_cvta(self, i: Instruction) -> None:
        space, value = space_of(i), self.read(i.operands[1], "u64")
        if space in ("shared", "local"):
            value = self.op(f"{'sub' if 'to' in i.op else 'add'} i64 {value}, {WINDOWS[space]}")
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
        self.write(
            i.operands[0], self.converted(i.op, self.read(i.operands[1], i.op[-1])), i.op[-2]
        )

    def _do_selp(self, i: Instruction) -> None:
        kind = i.op[-1]
        bits_of(kind)
        a, b = (self.read(o, kind) for o in i.operands[1:3])
        chosen = self.read(i.operands[3], "pred")
        self.write(i.operands[0], self.select(chosen, LLVM[kind], a, b), kind)

    def _do_slct(self, i: Instruction) -> None:
        kind, of = i.op[-2:]
        a, b = (self.read(o, kind) for o in i.operands[1:3])
        test = "x >= 0.0" if of == "f32" else f"x < {1 << 31}"
        plus = self.calc(LLVM[of], test, x=self.read(i.operands[3], of))
        self.write(i.operands[0], self.select(plus, LLVM[kind], a, b), kind)

    def _do_setp(self, i: Instruction) -> None:
        for target, holds in zip(names(i.operands[0]), self._test(i), strict=False):
            self.write(target, holds, "pred")

    def _test(self, i: Instruction) -> tuple[str, str]:
        """A comparison and its opposite, each joined to a predicate if there is one."""
        holds = self.compare(i.op, [self.read(o, i.op[-1]) for o in i.operands[1:3]])
        other = self.op(f"xor i1 {holds}, true")
        if len(i.operands) < 4:
            return holds, other
        joined = self.read(i.operands[3], "pred")
        return self.op(f"{i.op[2]} i1 {holds}, {joined}"), self.op(
            f"{i.op[2]} i1 {other}, {joined}"
        )

    def _do_set(self, i: Instruction) -> None:
        to, of = i.op[-2:]
        if of.endswith("x2") and len(i.operands) == 3:
            half = to[:-2] if to.endswith("x2") else f"{to[0]}16"
            op, values = (*i.op[:-2], half, of[:-2]), [self.read(o, of) for o in i.operands[1:]]
            low, high = (
                self._flag(half, self.compare(op, [self.half(v, up, of) for v in values]))
                for up in (False, True)
            )
            self.write(i.operands[0], self.joined(low, high, f"{half}x2"), "u32")
            return
        self.write(i.operands[0], self._flag(to, self._test(i)[0]), to)

    def _flag(self, to: str, holds: str) -> str:
        """One, or all bits of a whole number, where something holds."""
        yes = 1 if to in FLOATS else 0x3F80 if to == "bf16" else -1
        signed = to.replace("u", "s") if to[0] == "u" else to
        return self.select(holds, LLVM[to], constant(yes, signed), constant(0, to))

    def _do_print(self, i: Instruction) -> None:
        """Block, thread, which text, and what is to be printed in it, for after the launch."""
        arrays, roots = self.program.module.arrays, self.known.origins(i.operands[0])
        if len(roots) != 1 or (name := next(iter(roots))[-1]) not in arrays:
            raise NotNative("a format that is not known")
        pieces = conversions(arrays[name].content.split(b"\0")[0].decode(errors="replace"))
        size = pieces[-1][2] + pieces[-1][3]
        used = self.get("%F.printed.at", "i64")
        end = self.op(f"add i64 {used}, {16 + aligned(size)}")
        self.unless(self.calc("i64", f"n > {MOST_PRINTED}", n=end), "fault.trap")
        record, load = self.at("%F.prints", used, "i8"), Instruction(("ld",), ())
        self.set(record, self.get("%F.block.at", "i64"), "i64")
        words = ["%thread", f"{len(self.texts)}"]
        for k in range(0, size, 4):
            words.append(self.get(self.place(load, f"[{i.operands[1]}+{k}]", 4)))
        for k, word in enumerate(words, 2):
            self.set(self.at(record, k), word)
        self.set("%F.printed.at", end, "i64")
        self.texts.append(pieces)

    # --- where threads wait

    def _point(self, at: int, i: Instruction) -> None:
        """Stores what is needed later and leaves; goes on when the scheduler says so."""
        number = self.points.index(at)
        self._arrive(i)
        self._move(at, keep=True)
        self.set("%point", number + 1)
        self.jump("leave")
        self.label(f"point.{number}")
        if for_its_warp(i):
            with self.when(self.calc("i32", "t & 31 == 0", t="%thread")):
                for part in getattr(i, "parts", (i,)):
                    self.for_its_warp(part)
        self._move(at, keep=False)
        getattr(self, f"_end_{i.op[0]}", lambda _: None)(i)

    def _move(self, at: int, *, keep: bool) -> None:
        """Registers of a thread that waits to where those of all threads are, and back."""
        for name in (self.known.stored if keep else self.known.loaded)[at]:
            kind = LLVM[self.known.homes[name]]
            kept = self.kept(name)
            of, to = (f'%"{name}$"', kept) if keep else (kept, f'%"{name}$"')
            self.set(to, self.get(of, kind), kind)

    def kept(self, name: str) -> str:
        """Where a register of a thread that waits is; those of the next threads lie behind it."""
        row = self.at("%F.state", self.state[name] * self.threads, "i8")
        size = max(self.flat.widths[name], 8)
        return self.op(f"getelementptr i{size}, ptr {row}, i32 %thread")

    def _leave_word(self, where: str, value: str, kind: str) -> None:
        self.set(self.op(f"getelementptr {kind}, ptr %F.{where}, i32 %thread"), value, kind)

    def _mask(self, i: Instruction) -> str:
        """The lanes that an operation names; 0 for whoever is there."""
        if i.op[0] == "activemask" or (i.op[0] == "vote" and "sync" not in i.op):
            return "0"
        if i.op[0] in ("bar", "barrier"):
            return self.read(i.operands[0], "u32")
        if for_its_warp(i):
            return "-1"
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
                self.update(self.said("true"), "x + more", more=value)
                self.update(self.said("all"), "x + 1")
            return
        if for_its_warp(i) and self.threads % 32:
            raise NotNative("a part of a warp")
        self._leave_word("masks", self._mask(i), "i32")
        if name in ("shfl", "match", "redux"):
            kind = f"u{i.op[-1][1:]}"
            value = self.bits(self.read(i.operands[1], kind), kind, "u64")
        elif name == "vote":
            value = self.op(f"zext i1 {self.read(i.operands[1], 'pred')} to i64")
        else:
            return
        self._leave_word("values", value, "i64")

    def said(self, name: str) -> str:
        """Where a block's threads have said something."""
        return self.at("%F.said", SAID.index(name))

    def _end_bar(self, i: Instruction) -> None:
        if "red" not in i.op:
            return
        yes, every = (self.get(self.said(n)) for n in SAID[2:4])
        if "popc" in i.op:
            self.write(i.operands[0], yes, "u32")
        else:
            test = "yes == every" if "and" in i.op else "yes != 0"
            self.write(i.operands[0], self.calc("i32", test, yes=yes, every=every), "pred")

    _end_barrier = _end_bar

    def _published(self, lane: str) -> str:
        return self.get(self.op(f"getelementptr i64, ptr %F.published, i32 {lane}"), "i64")

    def mark(self, place: str, holds: str, lane: str) -> None:
        """Sets a lane's bit of a mask where something holds."""
        self.update(place, "x | one << lane", one=self.op(f"zext i1 {holds} to i32"), lane=lane)

    def _end_shfl(self, i: Instruction) -> None:
        target, *predicate = names(i.operands[0])
        b, c = (self.read(o, "u32") for o in i.operands[2:4])
        values = {"t": self.op("and i32 %thread, 31"), "b": self.op(f"and i32 {b}, 31"), "c": c}
        values["s"] = self.calc("i32", "c >> 8 & 31", c=c)  # the segment
        top = self.calc("i32", "s & t | c & 31 & ~s", **values)
        place = self.calc("i32", SOURCES[i.op[2]], **values)
        valid = self.op(f"icmp {'sge' if i.op[2] == 'up' else 'sle'} i32 {place}, {top}")
        lane = self.select(valid, "i32", place, values["t"])
        self.write(target, self.op(f"trunc i64 {self._published(lane)} to i32"), "u32")
        if predicate:
            self.write(predicate[0], valid, "pred")

    def _asked(self, i: Instruction, what: str) -> str:
        """The bits of a warp's lanes, those of the own mask."""
        bits, mask = self.get(f"%{what}"), self._mask(i)
        return bits if mask == "0" else self.op(f"and i32 {bits}, {mask}")

    def _end_activemask(self, i: Instruction) -> None:
        self.write(i.operands[0], self.get("%here"), "u32")

    def _end_vote(self, i: Instruction) -> None:
        yes, here = self._asked(i, "yes"), self._asked(i, "here")
        mode = next(word for word in i.op[1:] if word != "sync")
        if mode == "ballot":
            self.write(i.operands[0], yes, "u32")
            return
        test = {"any": "yes != 0", "all": "yes == here", "uni": "yes == here or yes == 0"}[mode]
        self.write(i.operands[0], self.calc("i32", test, yes=yes, here=here), "pred")

    def _end_match(self, i: Instruction) -> None:
        target, *predicate = names(i.operands[0])
        mine = self._published(self.op("and i32 %thread, 31"))
        here, bits = self._asked(i, "here"), self.variable("i32")
        self.set(bits, 0)
        with self.each("32") as lane:
            alike = self.calc("i64", "a == b", a=self._published(lane), b=mine)
            self.mark(bits, alike, lane)
        same = self.op(f"and i32 {self.get(bits)}, {here}")
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
        total, here = self.variable("i32"), self._asked(i, "here")
        self.set(total, {"min": info.max, "max": info.min, "and": -1}.get(name, 0))
        with self.each("32") as lane:
            taken = self.calc("i32", "here >> lane & 1 != 0", here=here, lane=lane)
            with self.when(taken):
                value = self.op(f"trunc i64 {self._published(lane)} to i32")
                self.set(total, self.arithmetic((name, kind), [self.get(total), value]))
        self.write(i.operands[0], self.get(total), kind)


def _laid_out(sizes: list[tuple[str, int]]) -> tuple[dict[str, int], int]:
    """Where each of several things begins that lie one behind the other, and where they end."""
    ends = [*accumulate((size for _, size in sizes), initial=0)]
    return {name: start for (name, _), start in zip(sizes, ends, strict=False)}, ends[-1]


def _kind_of_point(i: Instruction) -> int:
    if i.op[0] == "yield":
        return TURN
    return BARRIER if i.op[0] in ("bar", "barrier") and "warp" not in i.op else WARP


def _moved(operand: str, count: int) -> str:
    """`[%rd1+4]`, further on."""
    base, offset = address_of(operand)
    return f"[{base}+{offset + count}]"
