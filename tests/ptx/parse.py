"""PTX text as instructions: what Numba's compiler made of a kernel, taken apart.

The grammar is that of NVIDIA's "PTX ISA", as far as the compiler uses it for kernels: one
entry function, no calls but those of cooperative groups, everything else inlined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
WIDTHS = {"pred": 0, "8": 8, "16": 16, "32": 32, "64": 64}  # bits; a predicate has none


class NotCovered(NotImplementedError):
    """Something that this executor does not know: the message names it."""


@dataclass(frozen=True)
class Instruction:
    """One instruction: `@!%p1 ld.global.f32 %f1, [%rd2+4];`."""

    op: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""  # the register of a predicate in front, if there is one
    negated: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.op)

    def __str__(self) -> str:
        guard = f"@{'!' * self.negated}{self.guard} " if self.guard else ""
        return f"{guard}{self.name} {', '.join(self.operands)}"


@dataclass
class Program:
    """A kernel: instructions, where its labels point, its registers and its memory."""

    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)  # prefix -> bits
    params: list[str] = field(default_factory=list)  # types in order: "u64", "f32"
    shared: dict[str, int] = field(default_factory=dict)  # name -> offset
    shared_bytes: int = 0
    local: dict[str, int] = field(default_factory=dict)
    local_bytes: int = 0
    globals: dict[str, tuple[int, bytes]] = field(default_factory=dict)  # alignment, content

    def width(self, register: str) -> int:
        """Bits of a register; 0 for a predicate."""
        return self.registers[re.sub(r"\d+$", "", register)]


ARRAY = re.compile(
    r"\.(?P<space>shared|local|global|const)\s+\.align\s+(?P<align>\d+)\s+"
    r"\.[bfsu](?P<bits>\d+)\s+(?P<name>[\w$]+)(?:\[(?P<count>\d*)\])?(?:\s*=\s*\{(?P<init>[^}]*)\})?;"
)


def parse(text: str) -> Program:
    """The only kernel that a PTX text holds."""
    text = re.sub(r"//[^\n]*", "", text)
    entries = re.findall(r"\.entry\s+[\w$]+\s*\(([^)]*)\)[^{]*\{", text)
    if len(entries) != 1:
        raise NotCovered(f"{len(entries)} kernels in one PTX text")
    if re.search(r"(?<!\.extern )\.func\b", text):
        raise NotCovered("a device function that was not inlined")
    program = Program()
    program.params = re.findall(r"\.param\s+\.(\w+)\s", entries[0])
    for found in ARRAY.finditer(text):
        place(program, found)
    body = text[text.index("{", text.index(".entry")) + 1 : text.rindex("}")]
    for statement in statements(body):
        read_statement(program, statement)
    missing = {t for i in program.instructions for t in targets(i)} - set(program.labels)
    if missing:
        raise NotCovered(f"jumps to {missing}")
    return program


def place(program: Program, found: re.Match[str]) -> None:
    """Memory that the kernel declares, each array behind the one before."""
    space, name, align = found["space"], found["name"], int(found["align"])
    size = BYTES[found["bits"]] * int(found["count"] or (0 if "[" in found[0] else 1))
    if space in ("shared", "local"):
        taken = getattr(program, f"{space}_bytes")
        offset = -(-taken // align) * align
        getattr(program, space)[name] = offset
        setattr(program, f"{space}_bytes", offset + size)
    else:
        if found["init"] and found["bits"] != "8":
            raise NotCovered(f"{name} with initial values of {found['bits']} bits")
        given = bytes(int(v) & 255 for v in found["init"].split(",")) if found["init"] else b""
        program.globals[name] = (align, given.ljust(size, b"\0"))


def statements(body: str) -> list[str]:
    """Labels (with their colon) and statements, in order; braces only scope registers."""
    found = []
    for chunk in re.split(r"[;{}]", re.sub(r"\{([^{};]*)\}", r"<\1>", body)):
        rest = chunk.strip()
        while label := re.match(r"([\w$]+):(?!:)\s*", rest):
            found.append(label[0].strip())
            rest = rest[label.end() :]
        if rest:
            found.append(" ".join(rest.split()))
    return found


def read_statement(program: Program, statement: str) -> None:
    if statement.endswith(":"):
        program.labels[statement[:-1]] = len(program.instructions)
        return
    if declared := re.match(r"\.reg \.(\w+) (.*)", statement):
        bits = re.sub(r"^[bfsu](?=\d)", "", declared[1])
        for name in declared[2].split(","):
            prefix = re.sub(r"<\d+>|\d+$", "", name.strip())
            program.registers[prefix] = WIDTHS[bits]
        return
    if statement.startswith("."):
        return  # .pragma, .loc, .param and arrays, which `place` has read
    guard, negated = "", False
    if guarded := re.match(r"@(!?)(%\w+) (.*)", statement):
        negated, guard, statement = bool(guarded[1]), guarded[2], guarded[3]
    op, _, rest = statement.partition(" ")
    program.instructions.append(
        Instruction(tuple(op.split(".")), tuple(split(rest)), guard, negated)
    )


def split(operands: str) -> list[str]:
    """The operands, at the commas that stand in no bracket."""
    parts = re.split(r",(?![^\[(<]*[\])>])", operands)
    return [part.strip() for part in parts if part.strip()]


def targets(instruction: Instruction) -> tuple[str, ...]:
    """The label that a branch goes to."""
    return instruction.operands[:1] if instruction.op[0] == "bra" else ()
