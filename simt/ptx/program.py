"""A kernel of a PTX text as the SIMT machine takes it: its memory, its parameters, its code."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from simt.core.limits import MAX_SHARED
from simt.core.memory import Allocation, View
from simt.core.source import LINE_BITS, Listing
from simt.ptx.memory import LOCAL_BITS
from simt.ptx.parse import (
    Array,
    Function,
    Instruction,
    Module,
    function_address,
    is_register,
    not_covered,
    parse,
)
from simt.ptx.textures import Texels, Texture
from simt.ptx.translate import Code, translated


class PtxListing(Listing):
    """The source of a kernel that is only known as PTX, or the text that it was compiled from."""

    bytes_by = "fourth launch value, kernel[grid, block, stream, bytes]"  # of shared memory

    @property
    def together(self) -> str:
        """How to launch it with all its blocks on the GPU at once."""
        return f'write module["{self.name}"].cooperative[grid, block](...)'


@dataclass
class LaunchMemory:
    """The memory that a launch reaches: allocations by the upper bits of addresses, names."""

    tables: dict[str, dict[int, Allocation]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)


class Memory:
    """The global and constant variables of a PTX text; they keep what kernels write."""

    def __init__(self, module: Module) -> None:
        self.allocations: dict[str, Allocation] = {}
        self.heap: dict[int, Allocation] = {}  # what kernels have taken, by the upper bits
        for array in module.arrays.values():
            if array.space in ("global", "const"):
                size = -(-max(array.size, 1) // 16) * 16
                data = np.zeros(size, np.uint8)
                data[: array.size] = np.frombuffer(array.content, np.uint8)
                allocation = Allocation(array.space, data[: max(array.size, 1)])
                allocation.readonly = array.space == "const"
                self.allocations[array.name] = allocation
        for array in module.arrays.values():
            for at, name, further in array.pointers:
                if name not in self.allocations:
                    raise not_covered(f"a pointer to {name} in a global variable")
                pointer = (self.allocations[name].address + further).to_bytes(8, "little")
                self.allocations[array.name].data[at : at + 8] = np.frombuffer(pointer, np.uint8)


@dataclass
class ChildGrid:
    """A grid that a thread has launched; without a kernel a copy: target, source, bytes.

    Or, with two numbers, the condition of a graph and its value from now on.
    """

    kernel: str
    shape: list[int]  # grid, block, bytes of dynamic shared memory
    arguments: list[bytes]
    line: int | None  # of the launch
    last: bool = False  # after everything else that its parent has launched
    stream: int = 0  # grids of one stream are in order


class PtxProgram:
    """One kernel of a PTX text; what `simt.machine.execution.launch` runs."""

    debug = fastmath = False
    makes_arrays = may_wait = True
    reinterprets = True
    most_shared = MAX_SHARED  # bytes of a block
    launched: list[ChildGrid] | None = None  # by its threads, where somebody carries it out

    def __init__(
        self, module: Module | str, kernel: str | None, source: Listing,
        memory: Memory | None = None, *, cooperative: bool = False,
    ) -> None:  # fmt: skip
        self.module = parse(module) if isinstance(module, str) else module
        kernels = self.module.kernels
        if kernel is None:
            if len(kernels) != 1:
                raise not_covered(f"{len(kernels)} kernels in one PTX text without a name")
            kernel = kernels[0].name
        self.kernel_name = kernel
        self.function = self.module.functions[kernel]
        self.source = source
        self.memory = memory or Memory(self.module)
        self.used = self._reachable_functions()
        numbered = enumerate(self._arrays(), 1)
        self.own_arrays: list[tuple[int, Array]] = list(numbered)
        self._numbers = {array.name: number for number, array in self.own_arrays}
        for number, array in self.own_arrays:  # all dynamic shared arrays are one
            if array.size == 0 and array.space == "shared":
                self._numbers.update(
                    {a.name: number for a in self.module.arrays.values()
                     if a.size == 0 and a.space == "shared"}
                )  # fmt: skip
        self.columns = {space: len(self._sizes(space)) == 1 for space in ("shared", "local")}
        text = "\n".join(source.lines.values())
        self.returns = not text or re.search(r"\breturn\b", text) is not None
        every = [i for f in self.used for i in f.instructions]
        calls = {o for i in every if i.op[0] == "call" for o in i.operands}
        self.copies_go_on = any(i.op[0] == "cp" for i in every)  # while their thread does
        self.cooperative = cooperative or "cudaCGSynchronize" in calls
        self.launches = any(w.startswith("__cudaCDP2") for w in self._operand_words)
        self.waits_for_events = any("StreamWaitEvent" in w for w in self._operand_words)
        self.writes_through = self._through(
            lambda i: not {"st", "atom", "red", "store", "bulk"}.isdisjoint(i.op)
        )
        self.written_parameters = self._names(self.writes_through)
        # through which it does more than strong loads, as of a flag that the host sets meanwhile
        self.uses_plainly = self._through(
            lambda i: i.op[0] != "ld" or not {"volatile", "relaxed", "acquire", "mmio"} & {*i.op}
        )
        self.plain_parameters = self._names(self.uses_plainly)
        self.textures: dict[int, Texture | Texels] = {}  # by the numbers of the objects
        self.fetches = any(i.op[0] in ("tex", "tld4", "suld", "sust") for i in every)
        self.sets_texels = any(i.op[0] == "sust" for i in every)
        self.follows_pointers = -1 in self._through(lambda i: True)  # that lie in memory
        self.reached: dict[str, Allocation] = {}  # through these, or written through a structure
        self.further: dict[str, Allocation] = {}  # the rest, of which a structure may name some
        self.fetched: dict[str, Allocation] = {}  # through texture objects
        self._codes: dict[bool, dict[str, Code]] = {}
        self.native: dict[Any, Any] = {}  # machine code by the block's shape, or why there is none

    @property
    def captured(self) -> list[View]:
        """The global variables that the kernel may write."""
        return self._variables("global")

    @property
    def constants(self) -> list[View]:
        """What the kernel only reads: named variables in constant memory, textures, `further`."""
        words = self._operand_words
        constants = [view for view in self._variables("const") if view.name in words]
        return constants + [_bytes_of(a, n) for n, a in (self.fetched | self.further).items()]

    def _variables(self, space: str) -> list[View]:
        every = (self.memory.allocations | self.reached).items()
        return [_bytes_of(a, name) for name, a in every if a.space == space]

    def _reachable_functions(self) -> list[Function]:
        """The kernel, and the functions that it calls; all of them, if it calls by address."""
        functions, waiting = {self.function.name: self.function}, [self.function]
        while waiting:
            for i in waiting.pop().instructions:
                if i.op[0] != "call":
                    continue
                callees = [o for o in i.operands if o in self.module.functions]
                if any(o.startswith("%") for o in i.operands):
                    callees += [f.name for f in self.module.functions.values() if not f.entry]
                for name in callees:
                    if name not in functions:
                        functions[name] = self.module.functions[name]
                        waiting.append(functions[name])
        return list(functions.values())

    @cached_property
    def _operand_words(self) -> set[str]:
        """The words in operands."""
        used = " ".join(o for f in self.used for i in f.instructions for o in i.operands)
        return set(re.findall(r"[\w$]+", used))

    def _arrays(self) -> list[Array]:
        """The shared and local arrays that the kernel uses; the dynamic one only once."""
        words = self._operand_words
        every = [a for f in self.used for a in f.arrays.values()] + [*self.module.arrays.values()]
        arrays = [a for a in every if a.space in ("shared", "local") and a.name in words]
        dynamic = [a for a in arrays if a.size == 0]
        return [a for a in arrays if a.size] + dynamic[:1]  # which lies behind the others

    def _sizes(self, space: str) -> set[int]:
        """The bytes that accesses to a space take at once."""
        sizes = set()
        for function in self.used:
            for i in function.instructions:
                if i.op[0] == "cp" and i.operands[2:] and "bulk" not in i.op:
                    sizes.add(int(i.operands[2]))
                if i.op[0] in ("wmma", "ldmatrix", "mbarrier") and space == "shared":
                    sizes |= {2, 8, 16}
                if space == "local" and "vprintf" in i.operands:
                    sizes |= {4, 8}  # what it prints, by its format
                if i.op[0] in ("ld", "st", "atom", "red") and "param" not in i.op:
                    spaces = {"global", "shared", "local", "const"} & {
                        w.partition("::")[0] for w in i.op
                    }
                    if not spaces or space in spaces:
                        vector = next((int(w[1]) for w in i.op if re.fullmatch(r"v\d", w)), 1)
                        sizes.add(int(re.sub(r"\D", "", i.op[-1])[:2]) // 8 * vector)
        return sizes

    def symbol(self, name: str) -> int | None:
        """The address of a variable or a function of the program."""
        number = self._numbers.get(name)
        if number is not None:
            return number << LOCAL_BITS
        if name in self.module.functions:
            return function_address(name)
        allocation = self.memory.allocations.get(name)
        return None if allocation is None else allocation.address

    def codes(self, *, counting: bool) -> dict[str, Code]:
        """The functions by name, translated, with or without the calls that report each line."""
        if counting not in self._codes:
            unit = self.source.unit << LINE_BITS
            self._codes[counting] = {
                f.name: translated(f, self.symbol, unit, counting=counting) for f in self.used
            }
        return self._codes[counting]

    def kernel(self, *, counting: bool) -> Any:
        """What carries the kernel out: `run(machine, *values)`."""
        codes = self.codes(counting=counting)
        if self.launched:  # by an attempt before this one
            self.launched.clear()

        def run(machine: Any, *values: Any) -> None:
            machine.start(codes, self.parameters(values), self.launch_memory(values))

        return run

    def launch_memory(self, values: tuple[Any, ...]) -> LaunchMemory:
        """The memory that a launch with these arguments reaches."""
        memory = LaunchMemory({"global": {}, "const": {}})
        for group in (self.fetched, self.further):
            for allocation in group.values():
                allocation.readonly = group is self.fetched
        everything = self.memory.allocations | self.reached | self.fetched | self.further
        for name, allocation in everything.items():
            memory.tables[allocation.space][allocation.address >> 40] = allocation
            memory.names[allocation.number] = name
        for number, allocation in self.memory.heap.items():
            memory.tables["global"][number] = allocation
            memory.names[allocation.number] = "heap"
        for value in values:
            if isinstance(value, View):
                memory.tables["global"][value.allocation.address >> 40] = value.allocation
                memory.names.setdefault(value.allocation.number, value.name)
        return memory

    def parameters(self, values: tuple[Any, ...]) -> dict[str, bytes]:
        """The bytes of each parameter; an array is the address of its first element."""
        function = self.function
        each = zip(function.params, function.kinds, values, strict=True)
        return {array.name: _as_bytes(value, kind, array.size) for array, kind, value in each}

    @cached_property
    def _accesses(self) -> list[tuple[Instruction, set[int]]]:
        """What accesses memory that is not shared alone, by which words of parameters."""
        reach, found = _provenance(self.function), []
        for i in self.function.instructions:
            if "param" not in i.op and (i.op[0] == "cp" or "shared" not in i.op):
                registers = re.findall(r"%\w+", " ".join(o for o in i.operands if "[" in o))
                found.append((i, set[int]().union(*(reach.get(r, set()) for r in registers))))
        return found

    def _names(self, words: set[int]) -> set[str]:
        names = self.source.parameters
        return set(names) if -1 in words else {names[word >> 16] for word in words}

    def _through(self, accesses: Callable[[Instruction], bool]) -> set[int]:
        """Words of parameters, number << 16 | byte, that may lead such accesses; -1: others."""
        if len(self.used) > 1 or self.launches:
            return {-1}
        return set[int]().union(*(words for i, words in self._accesses if accesses(i)))


def _bytes_of(allocation: Allocation, name: str) -> View:
    return View(allocation, np.dtype(np.uint8), (len(allocation.data),), (1,), 0, name)


def _provenance(function: Function) -> dict[str, set[int]]:
    """From which words of parameters what is in each register may have come; -1: from anywhere."""
    numbers = {array.name: k for k, array in enumerate(function.params)}
    reach: dict[str, set[int]] = {}
    changed = True
    while changed:
        changed = False
        for i in function.instructions:
            if not i.operands or i.op[0] in ("st", "red", "bra", "call") or "store" in i.op:
                continue
            sources = _comes_from(i, numbers, reach)
            for target in re.findall(r"%\w+", i.operands[0]):
                if is_register(function, target) and not sources <= reach.setdefault(target, set()):
                    reach[target] |= sources
                    changed = True
    return reach


def _comes_from(i: Instruction, numbers: dict[str, int], reach: dict[str, set[int]]) -> set[int]:
    if i.op[0] == "ld" and "param" in i.op:
        name, *at = re.findall(r"[\w$]+", i.operands[1])
        if name not in numbers:
            return {-1}
        first, size = int(at[0]) if at else 0, int(i.op[-1][1:]) // 8
        count = next((int(w[1]) for w in i.op if re.fullmatch(r"v\d", w)), 1)
        return {numbers[name] << 16 | first + b for b in range(0, count * size, min(size, 8))}
    if i.op[0] in ("ld", "atom"):
        return {-1} if i.op[-1] in ("u64", "b64", "s64") else set()
    if i.op[0] == "setp":
        return set()
    sources: set[int] = set()
    for operand in i.operands[1:]:
        for register in re.findall(r"%\w+", operand):
            sources |= reach.get(register, set())
    halves = i.op == ("bfi", "b64") or (i.op == ("mov", "b64") and "<" in i.operands[1])
    return {-1} if halves and not sources else sources  # perhaps of a pointer in memory


def _as_bytes(value: Any, kind: str, size: int) -> bytes:
    """An argument as the bytes of a parameter."""
    if isinstance(value, View):
        return int(value.allocation.address + int(value.offset)).to_bytes(8, "little")
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.generic):
        return bytes(value.tobytes().ljust(size, b"\0")[:size])
    if isinstance(value, float):
        single = kind in ("f32", "b32")
        return bytes(np.array(value, np.float32 if single else np.float64).tobytes())
    return (int(value) % (1 << 8 * size)).to_bytes(size, "little")
