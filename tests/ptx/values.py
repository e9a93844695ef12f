"""The registers of all threads, and what an operand of an instruction stands for.

A register holds bits, and the instruction says how they are to be read, so that each is kept
as unsigned numbers, one for each thread, and read through a view.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .parse import NotCovered, Program

Lanes = Any  # numbers of the threads that carry an instruction out, or slice(None) for all
Array = np.ndarray[Any, Any]

TYPES: dict[str, type] = {
    "pred": np.bool_, "b8": np.uint8, "u8": np.uint8, "s8": np.int8,
    "b16": np.uint16, "u16": np.uint16, "s16": np.int16, "f16": np.float16,
    "b32": np.uint32, "u32": np.uint32, "s32": np.int32, "f32": np.float32,
    "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f64": np.float64,
}  # fmt: skip
BITS: dict[int, type] = {0: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
WARP = 32
GLOBAL_BASE = 1 << 40  # so that no address of another space is taken for a global one


def is_type(word: str) -> bool:
    return word in TYPES


class Threads:
    """All threads of a launch, each block padded to whole warps: numbers and registers."""

    def __init__(self, program: Program, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        self.program = program
        self.grid, self.block = grid, block
        self.block_threads = int(np.prod(block))
        self.warps = -(-self.block_threads // WARP)
        self.blocks = int(np.prod(grid))
        self.count = self.blocks * self.warps * WARP
        number = np.arange(self.count)
        self.in_block = number % (self.warps * WARP)
        self.block_of = number // (self.warps * WARP)
        self.exists = self.in_block < self.block_threads
        self._registers: dict[str, Array] = {}
        self.symbols: dict[str, int] = {**program.shared, **program.local}
        self._special = self._specials()

    def _specials(self) -> dict[str, Array]:
        made: dict[str, Array] = {"%laneid": self.in_block % WARP}
        made["%warpid"] = self.in_block // WARP
        inner, outer = self.in_block, self.block_of
        for axis, threads, blocks in zip("xyz", self.block, self.grid, strict=True):
            made[f"%tid.{axis}"], inner = inner % threads, inner // threads
            made[f"%ctaid.{axis}"], outer = outer % blocks, outer // blocks
            made[f"%ntid.{axis}"] = np.full(self.count, threads)
            made[f"%nctaid.{axis}"] = np.full(self.count, blocks)
        bit = np.uint64(1) << made["%laneid"].astype(np.uint64)
        made["%lanemask_lt"] = bit - np.uint64(1)
        made["%lanemask_eq"] = bit
        made["%lanemask_le"] = 2 * bit - np.uint64(1)
        made["%lanemask_gt"] = np.uint64(0xFFFFFFFF) - made["%lanemask_le"]
        made["%lanemask_ge"] = np.uint64(0xFFFFFFFF) - made["%lanemask_lt"]
        return {name: value.astype(np.uint32) for name, value in made.items()}

    def register(self, name: str) -> Array:
        """The bits of a register in every thread; before the first write they are nonsense."""
        found = self._registers.get(name)
        if found is None:
            kind = BITS[self.program.width(name)]
            poison = np.iinfo(kind).max // 3 if kind is not np.bool_ else True
            found = self._registers[name] = np.full(self.count, poison, kind)
        return found

    def read(self, operand: str, kind: str, lanes: Lanes) -> Array:
        """An operand as the type `kind` in the given threads; a constant as an array of one."""
        wanted = TYPES[kind]
        if operand.startswith("%"):
            special = self._special.get(operand)
            bits = (special if special is not None else self.register(operand))[lanes]
            return self._as(bits, np.dtype(wanted))
        if operand.startswith("!"):
            return ~self.read(operand[1:], kind, lanes)
        if operand in self.symbols:
            return np.array([self.symbols[operand]], np.uint64).astype(wanted)
        return constant(operand, wanted)

    @staticmethod
    def _as(bits: Array, wanted: np.dtype[Any]) -> Array:
        if bits.dtype == wanted:
            return bits
        if bits.dtype.itemsize == wanted.itemsize:
            return bits.view(wanted)
        whole = np.dtype(f"u{wanted.itemsize}")  # the lower bits of a wider register
        return bits.astype(whole).view(wanted)

    def write(self, register: str, value: Array, lanes: Lanes) -> None:
        """Write into a register of the given threads; narrower integers are extended."""
        if register == "_":
            return
        target = self.register(register)
        if value.dtype != target.dtype:
            if value.dtype.itemsize < target.dtype.itemsize and value.dtype.kind == "i":
                value = value.astype(f"i{target.dtype.itemsize}")
            if value.dtype.itemsize == target.dtype.itemsize and value.dtype != np.bool_:
                value = np.ascontiguousarray(value).view(target.dtype)
            else:
                value = value.astype(target.dtype)
        target[lanes] = value


def constant(text: str, wanted: type) -> Array:
    """A number as PTX writes it: -3, 0x1f, 0f3F800000 (the bits of a float32)."""
    if text.startswith(("0f", "0F")):
        return np.array([int(text[2:], 16)], np.uint32).view(np.float32).astype(wanted)
    if text.startswith(("0d", "0D")):
        return np.array([int(text[2:], 16)], np.uint64).view(np.float64).astype(wanted)
    if not re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", text):
        raise NotCovered(f"the operand {text}")
    number = int(text.rstrip("U"), 0)
    if np.dtype(wanted).kind == "f":
        return np.array([number], wanted)
    return np.array([number % (1 << 64)], np.uint64).astype(wanted)
