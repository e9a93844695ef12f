"""PTX text as instructions, functions and memory: what a compiler made of CUDA C++ or Numba.

The grammar is that of NVIDIA's "PTX ISA", as far as compilers use it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from zlib import crc32

from simt.core.findings import Finding, Stop
from simt.ptx.text import HEAD, PARAM, closing, passing_parameters, scoped

SPACES = ("global", "shared", "local", "const", "param")
WINDOWS = {"shared": 1 << 36, "local": 1 << 37}  # where generic addresses of a space begin
# bits of registers; a predicate has none
WIDTHS = {"pred": 0, "8": 8, "16": 16, "16x2": 32, "32": 32, "64": 64}


def not_covered(what: str, line: int | None = None) -> Stop:
    """What to raise for something that this executor does not know."""
    message = f"the SIMT machine does not carry out {what}, which the compiler made of this line"
    return Stop(Finding("unsupported", line or None, message))


@dataclass(frozen=True)
class Instruction:
    """One instruction: `@!%p1 ld.global.f32 %f1, [%rd2+4];`."""

    op: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""  # the register of a predicate in front, if there is one
    negated: bool = False
    line: int = 0  # of the source that was compiled; 0 where nothing is known

    @property
    def name(self) -> str:
        """The opcode as it is written."""
        return ".".join(self.op)

    def __str__(self) -> str:
        guard = f"@{'!' * self.negated}{self.guard} " if self.guard else ""
        return f"{guard}{self.name} {', '.join(self.operands)}"


@dataclass(frozen=True)
class Array:
    """Memory that a program declares: bytes in one space, with what they hold at first."""

    name: str
    space: str
    align: int
    size: int  # bytes; 0 if a launch says how many
    content: bytes = b""
    pointers: tuple[tuple[int, str, int], ...] = ()  # at which byte, to which variable, how far in


@dataclass
class Function:
    """A kernel or a device function: instructions, labels, registers, its own memory."""

    name: str
    entry: bool
    params: list[Array] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)  # types of the parameters: "u64", "f32", "b8"
    results: list[str] = field(default_factory=list)  # names of what it returns
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of `brx.idx`
    registers: dict[str, int] = field(default_factory=dict)  # name or its beginning -> bits
    arrays: dict[str, Array] = field(default_factory=dict)

    def width(self, register: str) -> int:
        """Bits of a register; 0 for a predicate."""
        bits = self.registers.get(register)
        if bits is None:
            bits = self.registers[re.sub(r"\d+$", "", register)]
        return bits


@dataclass
class Module:
    """A PTX text: its functions by name, and the memory that they share."""

    functions: dict[str, Function] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)

    @property
    def kernels(self) -> list[Function]:
        """The functions that a launch can begin with."""
        return [f for f in self.functions.values() if f.entry]


ARRAY = re.compile(
    r"\.(?P<space>shared|local|global|const)\s+(?:\.attribute\([^)]*\)\s*)?"
    r"(?:\.align\s+(?P<align>\d+)\s+)?"
    r"\.(?P<kind>[bfsu]\d+)\s+(?P<name>[\w$]+)\s*(?P<axes>(?:\[\d*\])*)"
    r"(?:\s*=\s*(?P<init>\{[^}]*\}|[^;]+))?\s*(?:;|$)"
)


def parse(text: str, bases: Mapping[str, int] | None = None) -> Module:
    """A whole PTX text.

    `bases` says of files, by the numbers that the text gives them, what their lines are counted
    from; without it lines are those of the file that was compiled.
    """
    bases = bases or {_own_file(text): 0}
    text = re.sub(r"^\s*\.file[^\n]*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\.section\s+\S+\s*\{[^}]*\}", "", text)
    text = re.sub(r"(^\s*\.loc[^\n]*)$", r"\1;", text, flags=re.MULTILINE)
    text = re.sub(r"(vabsdiff\d)(\S+)\.add\b", r"\1.add\2", passing_parameters(text))
    module, outside, at = Module(), [], 0
    while head := HEAD.search(text, at):
        outside.append(text[at : head.start()])
        at = head.end()
        if head["end"] == ";":
            continue
        stop = closing(text, at)
        function = _function(head, text[at:stop], bases)
        module.functions[function.name] = function
        module.arrays |= {
            a.name: a for a in function.arrays.values() if a.space in ("global", "const")
        }
        at = stop + 1
    outside.append(text[at:])
    for statement in "\n".join(outside).split(";"):
        if declaration := ARRAY.search(statement.strip()):
            array = _array(declaration, module.functions)
            module.arrays[array.name] = array
    return module


def files_of(text: str) -> dict[str, str]:
    """The files that a text was compiled from, by their numbers."""
    return dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, flags=re.MULTILINE))


def _own_file(text: str) -> str:
    """The number of the file that was compiled, among those that it includes."""
    files = files_of(text)
    compiled = [number for number, name in files.items() if name.endswith(".cu")]
    return next(iter([*compiled, *files]), "1")


def _size(kind: str) -> int:
    return int(re.sub(r"\D", "", kind)) // 8 if kind != "pred" else 1


def _array(declaration: re.Match[str], functions: Iterable[str] = ()) -> Array:
    size = _size(declaration["kind"])
    for count in re.findall(r"\[(\d*)\]", declaration["axes"]):
        size *= int(count or 0)
    content, pointers, width = b"", [], _size(declaration["kind"])
    for item in (declaration["init"] or "").strip("{}<> ").split(","):
        text = re.sub(r"^generic\((.*)\)", r"\1", item.strip())
        name, _, further = text.partition("+")
        if re.fullmatch(r"[A-Za-z_$%][\w$]*", name.strip()) and name.strip() not in functions:
            pointers.append((len(content), name.strip(), int(further or 0)))
            text = "0"
        content += _bytes(text, width, functions) if text else b""
    align = int(declaration["align"] or _size(declaration["kind"]))
    name, space, content = declaration["name"], declaration["space"], content.ljust(size, b"\0")
    return Array(name, space, align, size, content, tuple(pointers))


def _bytes(text: str, size: int, functions: Iterable[str]) -> bytes:
    if text in functions:
        number = function_address(text)
    elif text[:2].lower() in ("0f", "0d"):
        number = int(text[2:], 16)
    elif re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        number = int(text.rstrip("U"), 0)
    else:
        raise not_covered(f"a pointer to {text} in a global variable")
    return (number % (1 << 8 * size)).to_bytes(size, "little")


def _parameters(text: str | None) -> tuple[list[Array], list[str]]:
    arrays, kinds = [], []
    for declaration in PARAM.finditer((text or "").strip()):
        size = _size(declaration["kind"]) * int(declaration["count"] or 1)
        size *= int((declaration["vector"] or "1").strip(" .v"))
        arrays.append(Array(declaration["name"], "param", int(declaration["align"] or size), size))
        kinds.append(declaration["kind"])
    return arrays, kinds


def _function(head: re.Match[str], body: str, bases: Mapping[str, int]) -> Function:
    params, kinds = _parameters(head["params"])
    results = [array.name for array in _parameters(head["results"])[0]]
    function = Function(head["name"], head["kind"] == "entry", params, kinds, results)
    line = 0
    for statement in scoped(body):
        if statement.startswith(".loc "):
            line = _line(statement, bases, line)
        else:
            _read(function, statement, line)
    next_line = 0  # an instruction without one has that of the next
    for at in range(len(function.instructions) - 1, -1, -1):
        next_line = function.instructions[at].line or next_line
        function.instructions[at] = replace(function.instructions[at], line=next_line)
    return function


def _line(statement: str, bases: Mapping[str, int], last: int) -> int:
    """The line that a `.loc` stands for: one of another file is where that is used."""
    places = re.findall(r"(?:\.loc|inlined_at) (\d+) (\d+)", statement)
    return next((bases[file] + int(line) for file, line in places if file in bases), last)


def _read(fn: Function, statement: str, line: int) -> None:
    if statement.endswith(":"):
        fn.labels[statement[:-1]] = len(fn.instructions)
    elif registers := re.match(r"\.reg ?\.(\w+) (.*)", statement):
        bits = re.sub(r"^(b|f|s|u|bf)(?=\d)", "", registers[1])
        for name in registers[2].split(","):
            base, _, count = name.strip(" >").partition("<")
            several = range(int(count)) if count and base[0] != "%" else ()
            fn.registers |= dict.fromkeys([f"{base}{k}" for k in several] or [base], WIDTHS[bits])
    elif statement.startswith((".branchtargets", ".calltargets")):
        label = next(name for name, at in fn.labels.items() if at == len(fn.instructions))
        targets = statement.partition(" ")[2].split(",")
        fn.tables[label] = tuple(name.strip() for name in targets)
    elif statement.startswith(".") or ".callprototype" in statement:
        if declaration := ARRAY.match(statement):
            array = _array(declaration)
            fn.arrays[array.name] = array
    else:
        guard, negated = "", False
        if guarded := re.match(r"@(!?)(%?[\w$]+) (.*)", statement):
            negated, guard, statement = bool(guarded[1]), guarded[2], guarded[3]
        op, _, rest = statement.partition(" ")
        operands = tuple(_split(rest))
        fn.instructions.append(Instruction(tuple(op.split(".")), operands, guard, negated, line))


def _split(operands: str) -> list[str]:
    """The operands, at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for piece in re.split(r"([\[(<\])>,])", operands):
        depth += (piece in "[(<") - (piece in "])>") if piece else 0
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts if part.strip()]


def function_address(name: str) -> int:
    """The number that stands for a function where its address is taken: below that of any memory.

    It is the same in each text that has the function.
    """
    return (1 << 35) + 4 * crc32(name.encode())


def is_register(function: Function, operand: str) -> bool:
    """Whether an operand is a register that the function declares."""
    if operand in function.registers:
        return True
    return operand.startswith("%") and re.sub(r"\d+$", "", operand) in function.registers


def address_of(operand: str) -> tuple[str, int]:
    """`[%rd1+4]` as a name and a number of bytes."""
    match = re.fullmatch(r"\[(%?[\w$]+)\s*(?:\+\s*(-?\w+))?\]", operand)
    if not match:
        raise not_covered(f"the address {operand}")
    return match[1], int(match[2] or "0", 0)


def names(operand: str) -> list[str]:
    """The registers of a vector `<%f1, %f2>` or of a pair `%r1|%p1`, or the one alone."""
    return [name.strip() for name in re.split(r"[,|]", operand.strip("<>"))]


def space_of(i: Instruction) -> str:
    """The memory that an instruction reaches: one of `SPACES`, or "generic"."""
    words = (word.partition("::")[0] for word in i.op[1:])
    return next((word for word in words if word in SPACES), "generic")
