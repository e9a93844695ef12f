"""Each instruction, carried out by all of its active threads in one step."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .arithmetic import COUNTS, compare, compute, convert
from .memory import Memory
from .parse import Instruction, NotCovered
from .tally import Tally
from .values import TYPES, WARP, Array, Threads, is_type

SPACES = ("global", "shared", "local", "const", "param")
PAIR = {"b64": "b32", "b32": "b16"}  # what a mov packs or unpacks


class Executor:
    """Carries out instructions that are no jumps and no barriers."""

    def __init__(self, threads: Threads, memory: Memory, tally: Tally, params: list[Any]) -> None:
        self.threads, self.memory, self.tally = threads, memory, tally
        self._params = params
        self._call: dict[str, Array] = {}  # st.param and ld.param around a call

    def step(self, pc: int, instruction: Instruction, lanes: Array) -> None:
        """Carry one instruction out in the threads `lanes`, which its guard has let through."""
        name = instruction.op[0]
        run = getattr(self, f"_{name}", None)
        if run is not None:
            run(pc, instruction, lanes)
        else:
            self._arithmetic(pc, instruction, lanes)

    # --- between registers

    def _arithmetic(self, pc: int, i: Instruction, lanes: Array) -> None:
        kinds = operand_kinds(i)
        given = [
            self.threads.read(operand, kind, lanes)
            for operand, kind in zip(i.operands[1:], kinds, strict=False)
        ]
        self.tally.arithmetic(pc, i, len(lanes))
        self.threads.write(i.operands[0], compute(i.op, given), lanes)

    def _mov(self, pc: int, i: Instruction, lanes: Array) -> None:
        target, source = i.operands
        kind = i.op[-1]
        if source.startswith("<"):
            low, high = (self.threads.read(s, PAIR[kind], lanes) for s in names(source))
            whole = TYPES[kind]
            half = 4 * np.dtype(whole).itemsize
            value = low.astype(whole) | (high.astype(whole) << whole(half))
            self.threads.write(target, value, lanes)
        elif target.startswith("<"):
            bits = self.threads.read(source, kind, lanes)
            half = 4 * bits.dtype.itemsize
            small = TYPES[PAIR[kind]]
            for k, register in enumerate(names(target)):
                self.threads.write(
                    register, (bits >> bits.dtype.type(k * half)).astype(small), lanes
                )
        else:
            self.threads.write(target, self.threads.read(source, kind, lanes), lanes)

    def _cvta(self, pc: int, i: Instruction, lanes: Array) -> None:
        if "global" not in i.op and "local" not in i.op:
            raise NotCovered(str(i))  # one number space for all memory
        self.threads.write(i.operands[0], self.threads.read(i.operands[1], "u64", lanes), lanes)

    def _cvt(self, pc: int, i: Instruction, lanes: Array) -> None:
        to, of = i.op[-2:]
        value = self.threads.read(i.operands[1], of, lanes)
        self.threads.write(i.operands[0], convert(i.op, value, to), lanes)

    def _selp(self, pc: int, i: Instruction, lanes: Array) -> None:
        a, b = (self.threads.read(o, i.op[-1], lanes) for o in i.operands[1:3])
        chosen = self.threads.read(i.operands[3], "pred", lanes)
        self.threads.write(i.operands[0], np.where(chosen, a, b), lanes)

    def _setp(self, pc: int, i: Instruction, lanes: Array) -> None:
        a, b = (self.threads.read(o, i.op[-1], lanes) for o in i.operands[1:3])
        found = compare(i.op, a, b)
        if len(i.operands) == 4:
            other = self.threads.read(i.operands[3], "pred", lanes)
            combine = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
            found = combine[i.op[2]](found, other)
        target, _, opposite = i.operands[0].partition("|")
        self.threads.write(target, found, lanes)
        if opposite:
            self.threads.write(opposite, ~found, lanes)

    # --- memory

    def _address(self, operand: str, lanes: Array) -> Array:
        found = re.fullmatch(r"\[(%?[\w$]+)\s*(?:\+\s*(-?\d+))?\]", operand)
        if not found:
            raise NotCovered(f"the address {operand}")
        base = self.threads.read(found[1], "s64", lanes) + np.int64(found[2] or 0)
        return np.broadcast_to(base, lanes.shape)

    def _ld(self, pc: int, i: Instruction, lanes: Array) -> None:
        space, kind = space_of(i), i.op[-1]
        if space == "param":
            self._ld_param(i, lanes)
            return
        registers = names(i.operands[0])
        address = self._address(i.operands[1], lanes)
        size = np.dtype(TYPES[kind]).itemsize
        self.tally.access(pc, space, "load", address, size * len(registers), lanes)
        for k, register in enumerate(registers):
            value = self.memory.load(space, address + k * size, kind, lanes)
            self.threads.write(register, value, lanes)

    def _st(self, pc: int, i: Instruction, lanes: Array) -> None:
        space, kind = space_of(i), i.op[-1]
        if space == "param":
            self._call[i.operands[0]] = self.threads.read(i.operands[1], kind, lanes)
            return
        registers = names(i.operands[1])
        address = self._address(i.operands[0], lanes)
        size = np.dtype(TYPES[kind]).itemsize
        self.tally.access(pc, space, "store", address, size * len(registers), lanes)
        for k, register in enumerate(registers):
            value = self.threads.read(register, kind, lanes)
            self.memory.store(space, address + k * size, kind, value, lanes)

    def _ld_param(self, i: Instruction, lanes: Array) -> None:
        kind = TYPES[i.op[-1]]
        number = re.search(r"_param_(\d+)\]$", i.operands[1])
        if number is None:  # what a call returned: only cooperative groups' handle and status
            self.threads.write(i.operands[0], np.zeros(1, kind), lanes)
            return
        given = self._params[int(number[1])]
        value = np.array([given]) if not isinstance(given, int) else np.array([given % 2**64], "u8")
        if value.dtype != kind:
            value = value.astype(kind) if value.dtype.kind in "iub" else value.view(kind)
        self.threads.write(i.operands[0], value, lanes)

    def _atom(self, pc: int, i: Instruction, lanes: Array) -> None:
        self._update(pc, i, lanes, i.operands[0], i.operands[1:])

    def _red(self, pc: int, i: Instruction, lanes: Array) -> None:
        self._update(pc, i, lanes, "_", i.operands)

    def _update(self, pc: int, i: Instruction, lanes: Array, target: str, rest: Any) -> None:
        space, kind = space_of(i), i.op[-1]
        name = next(word for word in i.op[::-1] if word in UPDATES)
        address = self._address(rest[0], lanes)
        value, *other = (self.threads.read(o, kind, lanes) for o in rest[1:])
        self.tally.atomic(pc, space, address, lanes)
        found = self.memory.atomic(
            space, name, address, kind, value, lanes, other[0] if other else None
        )
        self.threads.write(target, found, lanes)

    # --- between the lanes of a warp

    def _whole(self, value: Array, lanes: Array) -> tuple[Array, Array]:
        """A value of every thread, and who is here; the others have zeros."""
        here = np.zeros(self.threads.count, bool)
        here[lanes] = True
        whole = np.zeros(self.threads.count, value.dtype)
        whole[lanes] = value
        return whole, here

    def _shfl(self, pc: int, i: Instruction, lanes: Array) -> None:
        """A lane that asks beyond its segment, or for one that is not here, keeps its own."""
        mode = i.op[2]
        value, b, c = (self.threads.read(o, "u32", lanes) for o in i.operands[1:4])
        whole, here = self._whole(value, lanes)
        lane = lanes % WARP
        b, c = b.astype(np.int64) & 31, c.astype(np.int64)
        segment, clamp = (c >> 8) & 31, c & 31
        top = (lane & segment) | (clamp & ~segment)
        low = lane & segment
        source = {
            "up": lane - b, "down": lane + b, "bfly": lane ^ b,
            "idx": low | (b & ~segment),
        }[mode]  # fmt: skip
        valid = source >= top if mode == "up" else source <= top
        source = np.where(valid, source, lane) + (lanes - lane)
        result = np.where(here[source], whole[source], value)
        target, _, predicate = i.operands[0].partition("|")
        self.threads.write(target, result.astype(np.uint32), lanes)
        if predicate:
            self.threads.write(predicate, valid, lanes)

    def _vote(self, pc: int, i: Instruction, lanes: Array) -> None:
        mode = i.op[2]
        said = np.broadcast_to(self.threads.read(i.operands[1], "pred", lanes), lanes.shape)
        yes, here = (x.reshape(-1, WARP) for x in self._whole(said, lanes))
        bits = np.uint64(1) << np.arange(WARP, dtype=np.uint64)
        per_warp = {
            "ballot": lambda: (yes * bits).sum(axis=1).astype(np.uint32),
            "any": lambda: yes.any(axis=1),
            "all": lambda: (yes | ~here).all(axis=1),
        }[mode]()
        self.threads.write(i.operands[0], per_warp[lanes // WARP], lanes)

    def _activemask(self, pc: int, i: Instruction, lanes: Array) -> None:
        _, here = self._whole(np.zeros(len(lanes), bool), lanes)
        bits = np.uint64(1) << np.arange(WARP, dtype=np.uint64)
        masks = (here.reshape(-1, WARP) * bits).sum(axis=1).astype(np.uint32)
        self.threads.write(i.operands[0], masks[lanes // WARP], lanes)

    def _fence(self, pc: int, i: Instruction, lanes: Array) -> None:
        """Nothing waits in a cache here."""

    _membar = _fence


UPDATES = ("add", "min", "max", "exch", "and", "or", "xor", "inc", "dec", "cas")


def operand_kinds(i: Instruction) -> list[str]:
    """The types of an arithmetic instruction's operands: not all are the opcode's last word."""
    kind = i.op[-1]
    if not is_type(kind):
        raise NotCovered(str(i))
    if i.op[0] in COUNTS:  # a value and a count; bfi: two values, where and how many bits
        values = 2 if i.op[0] == "bfi" else 1
        return [kind] * values + ["u32"] * 2
    if i.op[0] == "mad" and "wide" in i.op:
        return [kind, kind, f"{kind[0]}{2 * int(kind[1:])}"]
    return [kind] * 3


def names(operand: str) -> list[str]:
    """The registers of a vector `<%f1, %f2>`, or the one that stands alone."""
    return [name.strip() for name in operand.strip("<>").split(",")]


def space_of(i: Instruction) -> str:
    found = next((word for word in i.op[1:] if word in SPACES), None)
    if found is None:
        raise NotCovered(f"an address that may lie in any space: {i}")
    return found
