"""A kernel with the functions that it calls as one list of instructions.

A called function stands in the place of its call, under names of its own; what is handed over to
it and back are registers.
"""

import re
from dataclasses import dataclass, field, replace
from functools import cache

from simt.ptx.flow import ENDS
from simt.ptx.native.emitter import NotNative, bits_of
from simt.ptx.parse import (
    Function,
    Instruction,
    function_address,
    is_register,
    names,
    parse,
    space_of,
)
from simt.ptx.program import PtxProgram

FAULT = Instruction(("trap",), ())  # the executor carries out who comes there
YIELD = Instruction(("yield",), ())  # lets the others of the block go on
WORD = re.compile(r"%?[\w$]+")
POINTS = ("yield", "shfl", "vote", "match", "redux", "activemask", "bar", "barrier")
# what is computed from its operands alone, and quickly
PURE = {"add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "min", "max", "cvta",
        "cvt", "mov", "setp", "selp", "neg", "bfe", "bfi"}  # fmt: skip
# functions of the CUDA runtime: each block's first thread counts the blocks that have come
SYSTEM = """
.func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope) { ret; }
.func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags) {
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<2>;
  bar.sync 0;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
  or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra $BEHIND;
  mov.u32 %r2, %envreg2; mov.u32 %r3, %envreg1; mov.b64 %rd1, <%r2, %r3>;
  mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z;
  mul.lo.u32 %r4, %r4, %r5; mul.lo.u32 %r4, %r4, %r6;
  atom.global.add.u32 %r5, [%rd1], 1;
  div.u32 %r5, %r5, %r4;
$WAIT:
  ld.volatile.global.u32 %r6, [%rd1];
  div.u32 %r6, %r6, %r4;
  setp.eq.u32 %p2, %r5, %r6;
  @%p2 bra $WAIT;
$BEHIND:
  bar.sync 0;
  ret;
}
"""
MAX_INSTRUCTIONS = 20_000


def is_point(i: Instruction) -> bool:
    """Whether a thread waits there for others."""
    return i.op[0] in POINTS or for_its_warp(i)


def for_its_warp(i: Instruction) -> bool:
    """Whether one lane carries it out for all of its warp."""
    return i.op[0] in ("mma", "ldmatrix") or i.op[:2] == ("wmma", "mma")


@dataclass(frozen=True)
class Several(Instruction):
    """Instructions that one lane carries out for its warp, one after the other."""

    parts: tuple[Instruction, ...] = ()


@dataclass
class Flat:
    """Instructions, where labels are, the bits of registers, and the targets of `brx.idx`."""

    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    waits: bool = False  # whether a thread may wait for what others do


def flattened(program: PtxProgram) -> Flat:
    """A program's kernel."""
    flat = Flat()
    copies = _Copies(program, flat)
    copies.add(program.function, "", {}, ())
    variables = {at.rsplit("$$", 2)[0] for at in copies.given}
    if any(at.rsplit("$$", 2)[0] in variables for at in copies.taken - copies.given):
        raise NotNative("a parameter of which a function reads parts")
    _gather(flat)
    return flat


def _gather(flat: Flat) -> None:
    """What one lane does for its warp waits until it is needed: a warp stops once for several."""
    if not any(map(for_its_warp, flat.code)):
        return
    code: list[Instruction] = []
    waiting: list[Instruction] = []
    places, targets = dict[int, int](), {*flat.labels.values()}

    def settle() -> None:
        if waiting:
            made: dict[str, None] = {}
            used: list[str] = []
            for i in waiting:
                used += [w for o in i.operands[1:] for w in WORD.findall(o) if w not in made]
                made |= dict.fromkeys(names(i.operands[0]))
            operands = f"<{', '.join(made)}>", *used
            code.append(Several(("mma", "b32"), operands, line=waiting[0].line, parts=(*waiting,)))
            waiting.clear()

    for at, i in enumerate(flat.code):
        if at in targets:
            settle()
        places[at] = len(code)
        if for_its_warp(i) and not i.guard:
            waiting.append(i)
            continue
        made = {n for w in waiting for n in names(w.operands[0])}
        touched = made.union(*(WORD.findall(o) for w in waiting for o in w.operands[1:]))
        mine = {w for o in (*i.operands, i.guard) for w in WORD.findall(o)}
        reads = any(w.op[0] == "ldmatrix" for w in waiting)  # what `i` might write
        if (i.op[0] in ENDS or is_point(i) or (reads and i.op[0] not in PURE) or mine & made
                or touched & {*WORD.findall("".join(i.operands[:1]))}):  # fmt: skip
            settle()
        code.append(i)
    settle()
    places[len(flat.code)] = len(code)
    flat.labels = {label: places[at] for label, at in flat.labels.items()}
    flat.code = code


class _Copies:
    def __init__(self, program: PtxProgram, flat: Flat) -> None:
        self._functions = _system() | program.module.functions
        self._flat, self._count = flat, 0
        words = {
            o for f in program.used for i in f.instructions if i.op[0] == "mov" for o in i.operands
        }
        held = b"".join(a.content for a in program.module.arrays.values())
        self._addressed = [
            f for f in program.used
            if f.name in words or function_address(f.name).to_bytes(8, "little") in held
        ]  # fmt: skip
        self._own = {p.name for p in program.function.params}
        self._last: dict[str, str] = {}  # what was last handed over, by its place
        self.given: set[str] = set()  # registers that stand for what is handed over
        self.taken: set[str] = set()

    def add(
        self, function: Function, mark: str, handed: dict[str, str], inside: tuple[str, ...]
    ) -> None:
        """A function's instructions; `mark` ends its names, `handed` are its parameters'."""
        flat, code = self._flat, function.instructions
        targets: dict[int, list[str]] = {}
        for label, at in function.labels.items():
            targets.setdefault(at, []).append(label + mark)
        for name, table in function.tables.items():
            flat.tables[name + mark] = tuple(target + mark for target in table)
        turns = _turns(function)
        flat.waits |= bool(turns)

        def own(word: re.Match[str]) -> str:
            name = word[0]
            if is_register(function, name):
                flat.widths[name + mark] = function.width(name) or 1
                return name + mark
            return name + mark if name in function.labels or name in function.tables else name

        for at, plain in enumerate(code):
            for label in targets.get(at, ()):
                flat.labels[label] = len(flat.code)
            if len(flat.code) > MAX_INSTRUCTIONS:
                raise NotNative(f"more than {MAX_INSTRUCTIONS:,} instructions")
            operands = tuple(WORD.sub(own, o) for o in plain.operands)
            guard = plain.guard and WORD.sub(own, plain.guard)
            i = replace(plain, operands=operands, guard=guard)
            around = i.guard and (for_its_warp(i) or i.op[0] == "call")
            skip = f"skipped$${at}{mark}"
            if around:  # by a branch
                flat.code.append(replace(i, op=("bra",), operands=(skip,), negated=not i.negated))
                i = replace(i, guard="", negated=False)
            shared = i.op[0] == "st" and "volatile" in i.op and space_of(i) != "global"
            flat.waits |= shared
            flat.code += [YIELD] if at in turns or shared else []
            if i.op[0] == "call":
                self._call(i, mark, handed, (*inside, function.name))
            elif i.op[0] in ("ld", "st") and "param" in i.op and "[%" not in i.operands[1]:
                self._pass(i, mark, handed)
            elif i.op[0] == "ret" and mark:
                flat.code.append(replace(i, op=("bra",), operands=(f"end{mark}",)))
            else:
                flat.code.append(i)
            flat.code += [YIELD] if shared else []
            if around:
                flat.labels[skip] = len(flat.code)
        for label in targets.get(len(code), ()):
            flat.labels[label] = len(flat.code)
        if mark:
            flat.labels[f"end{mark}"] = len(flat.code)

    def _pass(self, i: Instruction, mark: str, handed: dict[str, str]) -> None:
        """A parameter that is read or set: of a call a register, else as it is."""
        load = i.op[0] == "ld"
        match = re.fullmatch(r"\[?([\w$]+)(?:\+(\d+))?\]?", i.operands[0 if not load else 1])
        if load and (match is None or (not mark and match[1] in self._own)):
            self._flat.code.append(i)
            return
        if match is None:
            raise NotNative(f"the address of {i}")
        name, start = match[1], int(match[2] or 0)
        place, kind = handed.get(name, name + mark), i.op[-1]
        for k, register in enumerate(names(i.operands[0 if load else 1])):
            at = f"{place}$${start + k * bits_of(kind) // 8}$${bits_of(kind)}"
            self._flat.widths[at] = bits_of(kind)
            (self.taken if load else self.given).add(at)
            self._last[at] = register
            pair = (register, at) if load else (at, register)
            self._flat.code.append(replace(i, op=("mov", kind), operands=pair))

    def _call(
        self, i: Instruction, mark: str, handed: dict[str, str], inside: tuple[str, ...]
    ) -> None:
        parts = [o.strip() for o in re.split(r",(?![^()]*\))", ", ".join(i.operands))]
        results = names(parts.pop(0).strip("()")) if parts[0].startswith("(") else []
        name = parts.pop(0)
        arguments = [a for a in names(parts[0].strip("()")) if a] if parts else []
        flat, by_address = self._flat, name in self._flat.widths
        if by_address:
            callees = [f for f in self._addressed if len(f.params) == len(arguments)]
            callees = [f for f in callees if f.name not in inside]
        elif name in self._functions and name not in inside:
            callees = [self._functions[name]]
        elif name == "vprintf":
            values = tuple(self._last.get(f"{a}{mark}$$0$$64", "") for a in arguments)
            flat.code.append(replace(i, op=("print",), operands=values))
            return
        else:  # of the system, such as malloc, or a function that calls itself
            flat.code.append(replace(FAULT, line=i.line))
            return
        self._count += 1
        end = f"called$${self._count}"

        def place(variable: str) -> str:
            return handed.get(variable, variable + mark)

        for callee in callees:
            self._count += 1
            on = f"other$${self._count}"
            if by_address:
                flat.widths[f"{on}$$"] = 1
                address = str(function_address(callee.name))
                test = replace(i, op=("setp", "ne", "u64"), operands=(f"{on}$$", name, address))
                flat.code += [test, replace(i, op=("bra",), operands=(on,), guard=f"{on}$$")]
            inner = {p.name: place(a) for p, a in zip(callee.params, arguments, strict=True)}
            inner |= {r: place(a) for r, a in zip(callee.results, results, strict=False)}
            self.add(callee, f"$${self._count}", inner, inside)
            if by_address:
                flat.code.append(replace(i, op=("bra",), operands=(end,)))
                flat.labels[on] = len(flat.code)
        if by_address:
            flat.code.append(FAULT)
            flat.labels[end] = len(flat.code)


@cache
def _system() -> dict[str, Function]:
    return parse(SYSTEM).functions


def _turns(function: Function) -> set[int]:
    """The backward jumps of loops in which a thread may wait for what others write."""
    code = function.instructions

    def strong(i: Instruction) -> bool:
        reads = i.op[0] == "ld" and {"volatile", "relaxed", "acquire"} & set(i.op)
        waits = i.op[0] == "mbarrier" and "wait" in i.op[1]
        return bool(reads) or waits or (i.op[0] == "atom" and i.operands[0] != "_")

    waiting = [k for k, i in enumerate(code) if strong(i)]
    jumps = {k: function.labels.get(i.operands[0], k + 1) for k, i in enumerate(code)
             if i.op[0] == "bra"}  # fmt: skip
    return {k for k, to in jumps.items() if any(to <= at < k for at in waiting)}
