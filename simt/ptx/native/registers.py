"""What is known of a kernel's registers before it is translated.

Which of them each thread computes anew from its place and the arguments, which are needed where a
thread goes on after it has waited, and which array an address is made from.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from simt.ptx.native.emitter import FLOATS, bits_of
from simt.ptx.native.flatten import Flat
from simt.ptx.parse import Instruction, names
from simt.ptx.translate import NO_RESULT, result_kind

Root = tuple[str, ...]  # ("param", name, offset) or ("symbol", name)
UNKNOWN: Root = ("?",)
POINTS = ("yield", "shfl", "vote", "match", "redux", "activemask", "bar", "barrier")
# what is computed from its operands alone, and quickly
PURE = {"add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "min", "max", "cvta",
        "cvt", "mov", "setp", "selp", "neg", "bfe", "bfi"}  # fmt: skip
CARRIES = {"mov", "cvta", "cvt", "add", "sub", "selp", "min", "max", "and", "or"}
WORD = re.compile(r"%?[\w$]+")


def is_point(i: Instruction) -> bool:
    """Whether a thread waits there for others."""
    return i.op[0] in POINTS


@dataclass
class Registers:
    """The registers of a list of instructions."""

    flat: Flat
    symbols: set[str]
    homes: dict[str, str] = field(default_factory=dict)  # the type as which each is kept
    anew: dict[str, Instruction] = field(default_factory=dict)  # computed where a thread begins
    # what a thread stores at each point, and what it loads there
    saved: dict[int, list[list[str]]] = field(default_factory=dict)
    roots: dict[str, set[Root]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.homes = {n: f"u{b}" if b > 1 else "pred" for n, b in self.flat.widths.items()}
        self._defined = [self._written(i) for i in self.flat.code]
        self._read = [self._used(i) for i in self.flat.code]
        self.used = {name for some in self._read for name in some}
        self._find_homes()
        self._find_anew()
        self._find_saved()
        self._find_roots()

    def _written(self, i: Instruction) -> list[str]:
        if i.op[0] in (*NO_RESULT, "yield", "print") or not i.operands:
            return []
        if i.op[0] in ("bar", "barrier") and "red" not in i.op:
            return []
        return [n for n in names(i.operands[0]) if n in self.flat.widths]

    def _used(self, i: Instruction) -> list[str]:
        several = i.operands[1:] if self._written(i) else i.operands
        words = WORD.findall(" ".join((*several, i.guard)))
        return [w for w in words if w in self.flat.widths]

    def _find_homes(self) -> None:
        """A float's register is kept as a float."""
        known = set()
        for i, written in zip(self.flat.code, self._defined, strict=True):
            kind = result_kind(i) if i.op[0] == "cvt" else i.op[-1]
            for name in written if kind in FLOATS and i.op[0] not in ("setp", "set") else ():
                if name not in known and self.flat.widths[name] == bits_of(kind):
                    self.homes[name] = kind
                    known.add(name)

    def _find_anew(self) -> None:
        counts = Counter(n for written in self._defined for n in written)
        waiting = {
            written[0]: (i, used)
            for i, written, used in zip(self.flat.code, self._defined, self._read, strict=True)
            if len(written) == 1 and counts[written[0]] == 1 and not i.guard and self._plain(i)
        }
        while more := [n for n, (_, used) in waiting.items() if self.anew.keys() >= {*used}]:
            for name in more:
                self.anew[name] = waiting.pop(name)[0]

    def _plain(self, i: Instruction) -> bool:
        if i.op[0] == "ld":
            return "param" in i.op and "<" not in i.operands[0] and "%" not in i.operands[1]
        sources = " ".join(i.operands)
        return i.op[0] in PURE and "<" not in sources and "|" not in sources and "cc" not in i.op

    # --- liveness

    def after(self, at: int) -> list[int]:
        """The instructions that may come after one."""
        i = self.flat.code[at]
        if i.op[0] == "bra":
            targets = [self.flat.labels[i.operands[0]]]
        elif i.op[0] == "brx":
            targets = [self.flat.labels[t] for t in self.flat.tables[i.operands[1]]]
        else:
            targets = []
        stays = i.op[0] not in ("bra", "brx", "ret", "exit", "trap") or i.guard
        return [*targets, at + 1] if stays else targets

    def _find_saved(self) -> None:
        code = self.flat.code
        points = [k for k, i in enumerate(code) if is_point(i)]
        if not points:
            return
        kept = [n for n in self.homes if n not in self.anew]
        bit = {name: 1 << k for k, name in enumerate(kept)}
        uses, writes = ([sum({bit.get(n, 0) for n in some}) for some in several]
                        for several in (self._read, self._defined))  # fmt: skip
        kills = [0 if i.guard else w for i, w in zip(code, writes, strict=True)]
        follow = [self.after(k) for k in range(len(code))]
        all_wait = {k for k in points if not code[k].guard}
        stored: dict[int, int] = {}

        def needed(sure: set[int]) -> list[int]:
            """What each instruction or a later one reads or stores, up to those points."""
            found, changed = [0] * (len(code) + 1), True
            while changed:
                changed = False
                for at in range(len(code) - 1, -1, -1):
                    later = 0 if at in sure else reduce(or_, (found[k] for k in follow[at]), 0)
                    now = uses[at] | stored.get(at, 0) | (later & ~kills[at])
                    found[at], changed = now, changed or now != found[at]
            return found

        new, changed = [0] * (len(code) + 1), True  # what may have changed since the last point
        while changed:
            changed = False
            for at, after in enumerate(follow):
                out = writes[at] | (0 if at in all_wait else new[at])
                for k in after:
                    new[k], changed = new[k] | out, changed or bool(out & ~new[k])
        live = needed(set())
        stored |= {at: live[at] & new[at] for at in points}
        near = needed(all_wait)
        for at in points:
            more = uses[at] | (reduce(or_, (near[k] for k in follow[at]), 0) & ~kills[at])
            self.saved[at] = [[n for n in kept if some & bit[n]] for some in (stored[at], more)]

    # --- addresses

    def _find_roots(self) -> None:
        changed = True
        while changed:
            changed = False
            for i, written in zip(self.flat.code, self._defined, strict=True):
                for name in written:
                    new = self._origins(i) - self.roots.setdefault(name, set())
                    self.roots[name] |= new
                    changed |= bool(new)

    def origins(self, operand: str) -> set[Root]:
        """What an operand may be an address in."""
        if operand in self.flat.widths:
            return self.roots.get(operand, set())
        return {("symbol", operand)} if operand in self.symbols else set()

    def _origins(self, i: Instruction) -> set[Root]:
        wide = i.op[-1][1:] == "64"
        if i.op[0] == "ld":
            if "param" not in i.op or "%" in i.operands[1] or not wide:
                return {UNKNOWN} if wide else set()
            name, _, offset = i.operands[1].strip("[]").partition("+")
            return {("param", name, offset or "0")}
        if i.op[0] == "mad":
            return self.origins(i.operands[3])
        if i.op[0] not in CARRIES or "<" in i.operands[0]:
            return set()
        if "<" in " ".join(i.operands):
            return {UNKNOWN} if wide else set()
        return set().union(*(self.origins(o) for o in i.operands[1:3]))
