"""The memory accesses in a kernel's machine code, by line of its source.

Reads SASS, the machine code as `nvdisasm -gi` prints it, and PTX, which the last compiler turns
into SASS. Where a counter differs from the SIMT machine's, this shows whether the compiler has
merged, hoisted or widened an access, or moved a variable to local memory.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["Access", "Listing", "parse_ptx", "parse_sass"]

# LD and ST without a space find out at run time which space an address is in
SASS = {
    "LD": ("generic", "load"), "ST": ("generic", "store"), "LDG": ("global", "load"),
    "STG": ("global", "store"), "LDGSTS": ("global", "copy to shared"), "LDS": ("shared", "load"),
    "LDSM": ("shared", "load"), "STS": ("shared", "store"), "LDL": ("local", "load"),
    "STL": ("local", "store"), "RED": ("global", "atomic"), "REDG": ("global", "atomic"),
    "ATOM": ("generic", "atomic"), "ATOMG": ("global", "atomic"), "ATOMS": ("shared", "atomic"),
}  # fmt: skip
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
SPACES = ("global", "shared", "local")
ACTIONS = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}


@dataclass(frozen=True)
class Access:
    """One instruction that touches memory.

    Attributes:
        line: of the source, 0 where the listing does not say.
        space: "global", "shared", "local", or "generic".
        action: "load", "store", "atomic", or "copy to shared".
        width: bytes per lane.
        guard: the predicate without which it does nothing, such as "@!P0", or "".
        text: the instruction.
    """

    line: int
    space: str
    action: str
    width: int
    guard: str
    text: str


@dataclass(frozen=True)
class Listing:
    """What a compiler made of a kernel.

    Attributes:
        form: "SASS" or "PTX".
        accesses: in the order of the code; one inside a loop stands once for each copy of it.
        registers: per thread, None where the compiler did not say.
        spills: bytes per thread that did not fit into registers, None likewise.
    """

    form: str
    accesses: tuple[Access, ...]
    registers: int | None = None
    spills: int | None = None

    def count(self, space: str, action: str) -> int:
        """How many instructions do that."""
        return sum(a.space == space and a.action == action for a in self.accesses)

    def __str__(self) -> str:
        """Instructions by line, those that are equal but for their registers counted."""
        held = "" if self.registers is None else f", {self.registers} registers"
        held += "" if self.spills is None else f", {self.spills} bytes spilled"
        lines = [f"{self.form}{held}"]
        alike = Counter((a.line, a.space, a.action, a.width, bool(a.guard)) for a in self.accesses)
        for (line, space, action, width, guarded), times in sorted(alike.items()):
            lines.append(
                f"  line {line or '?'}: {times} × {space} {action} of {width} bytes"
                f"{', predicated' if guarded else ''}"
            )
        return "\n".join(lines)


def parse_sass(text: str, registers: int | None = None, spills: int | None = None) -> Listing:
    """The accesses in a listing of nvdisasm, with or without its lines of the source.

    >>> text = '''
    ...     //## File "copies.py", line 44
    ...         /*00e0*/              @!P0 LDG.E.64 R4, desc[UR4][R2.64] ;'''
    >>> parse_sass(text).accesses[0].width, parse_sass(text).accesses[0].line
    (8, 44)
    """
    found, line = [], 0
    for row in text.splitlines():
        if place := re.search(r'//## File ".*?", line (\d+)', row):
            line = int(place[1])
        code = re.search(r"/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+ )?\s*([A-Z]+)((?:\.\w+)*) ([^;]*);", row)
        if code is None or code[2] not in SASS:
            continue
        space, action = SASS[code[2]]
        parts = code[3].split(".")
        width = next((WIDTHS[part] for part in parts if part in WIDTHS), 4)
        text_of = f"{code[2]}{code[3]} {code[4].strip()}"
        found.append(Access(line, space, action, width, (code[1] or "").strip(), text_of))
    return Listing("SASS", tuple(found), registers, spills)


def parse_ptx(text: str) -> Listing:
    r"""The accesses in PTX; parameters and constants are no memory traffic and left out.

    >>> parse_ptx(".loc 1 44 1\nld.global.v2.f32 {%f1, %f2}, [%rd4];").accesses[0].width
    8
    """
    found, line = [], 0
    for row in text.splitlines():
        if place := re.match(r"\s*\.loc\s+\d+\s+(\d+)", row):
            line = int(place[1])
        code = re.match(r"\s*(@!?%p\d+\s+)?(ld|st|atom|red)((?:\.\w+)+)\s+([^;]*);", row)
        if code is None or code[3].startswith((".param", ".const")):
            continue
        parts = code[3].split(".")[1:]
        space = next((part for part in parts if part in SPACES), "generic")
        bits = re.search(r"\d+$", parts[-1])
        many = next((int(part[1:]) for part in parts if part in ("v2", "v4", "v8")), 1)
        width = many * (int(bits[0]) if bits else 32) // 8
        guard = (code[1] or "").strip()
        found.append(
            Access(line, space, ACTIONS[code[2]], width, guard, f"{code[2]}{code[3]} {code[4]}")
        )
    return Listing("PTX", tuple(found))
