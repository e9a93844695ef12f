"""What is known of a kernel's registers before it is translated.

Which of them each thread computes anew from its place and the arguments, which are needed where a
thread goes on after it has waited, and which array an address is made from.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from simt.ptx.native.emitter import FLOATS, bits_of
from simt.ptx.native.flatten import PURE, WORD, Flat, for_its_warp, is_point
from simt.ptx.parse import Instruction, names
from simt.ptx.translate import NO_RESULT, result_kind

Root = tuple[str, ...]  # ("param", name, offset) or ("symbol", name)
UNKNOWN: Root = ("?",)
CARRIES = {"mov", "cvta", "cvt", "add", "sub", "selp", "min", "max", "and", "or"}


@dataclass
class Registers:
    """The registers of a list of instructions."""

    flat: Flat
    symbols: set[str]
    homes: dict[str, str] = field(default_factory=dict)  # the type as which each is kept
    anew: dict[str, Instruction] = field(default_factory=dict)  # computed where a thread begins
    # what a thread keeps at each point, and what it takes up again there
    stored: dict[int, list[str]] = field(default_factory=dict)
    loaded: dict[int, list[str]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)  # all of those
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
            kind = result_kind(i) if i.op[0] in ("cvt", "tex", "tld4") else i.op[-1]
            for name in written if kind in FLOATS and i.op[0] not in ("setp", "set") else ():
                if name not in known and self.flat.widths[name] == bits_of(kind):
                    self.homes[name] = kind
                    known.add(name)

    def _find_anew(self) -> None:
        counts = Counter(n for written in self._defined for n in written)
        for i, used in zip(self.flat.code, self._read, strict=True):
            counts.update(used * 2 if for_its_warp(i) else ())  # they have to be kept
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
        again = any(word in sources for word in ("<", "|", "%clock", "%globaltimer"))
        return i.op[0] in PURE and not again and "cc" not in i.op

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
        warp = {k for k in points if for_its_warp(code[k])}  # they work where registers are kept
        stored: dict[int, int] = {}

        def needed(sure: set[int]) -> list[int]:
            """What each instruction or a later one reads or stores, up to those points."""
            found, changed = [0] * (len(code) + 1), True
            while changed:
                changed = False
                for at in range(len(code) - 1, -1, -1):
                    later = 0 if at in sure else reduce(or_, (found[k] for k in follow[at]), 0)
                    read = 0 if sure and at in warp else uses[at]
                    now = read | stored.get(at, 0) | (later & ~kills[at])
                    found[at], changed = now, changed or now != found[at]
            return found

        new, changed = [0] * (len(code) + 1), True  # what may have changed since the last point
        while changed:
            changed = False
            for at, after in enumerate(follow):
                out = (0 if at in warp else writes[at]) | (0 if at in all_wait else new[at])
                for k in after:
                    new[k], changed = new[k] | out, changed or bool(out & ~new[k])
        live = needed(set())
        stored |= {at: live[at] & new[at] for at in points}
        near = needed(all_wait)
        for at in points:
            more = reduce(or_, (near[k] for k in follow[at]), 0)
            more = more if at in warp else uses[at] | (more & ~kills[at])
            self.stored[at] = [n for n in kept if stored[at] & bit[n]]
            self.loaded[at] = [n for n in kept if more & bit[n]]
            mine = (*self._defined[at], *self._read[at]) if at in warp else ()
            self.kept |= {*self.stored[at], *self.loaded[at], *mine}

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
