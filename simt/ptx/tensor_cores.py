"""Tensor cores: `wmma`, `mma.sync`, and `ldmatrix`, which loads 8×8 matrices for them.

A fragment is cut into tiles of 8 rows that lie in the warp as the PTX ISA draws those of
`mma.sync`: lane 4·row + column holds p neighbors of a row, p being what fits a register (two of
an accumulator); tiles follow each other down first. B lies as its transpose does. The layout of
`wmma` is not documented; here it is the same, with the tiles repeated where a fragment has more
registers. Its loads and stores take the p neighbors in one access where they lie together.

Products are exact, and so is their sum with C in float64 unless their exponents differ by far:
it goes by ascending k and is rounded to the type of D once. Of float64 each product and each
sum is rounded. Hardware computes exact products too, but truncates as it adds, in an order that is
not documented: of float32 results expect a relative difference of 2⁻²² of the largest term.
"""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from simt.core.masks import EMPTY, split
from simt.intrinsics.sync import returned
from simt.intrinsics.warps import WARP, from_rows, warp_rows
from simt.ptx.arithmetic import TYPES
from simt.ptx.narrow import from_bfloat16
from simt.ptx.parse import Instruction, names, not_covered, space_of

Lanes = Any
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "s8": 8, "u8": 8,
        "s4": 4, "u4": 4, "b1": 1}  # fmt: skip
ROWS = 8  # of a tile


def _small(words: Lanes, bits: int, *, signed: bool) -> Lanes:
    """The whole numbers of 1 or 4 bits in words of 32, the lowest bits first."""
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    parts = (words[..., None] >> shifts & np.uint32((1 << bits) - 1)).astype(np.int64)
    parts -= (parts >> (bits - 1) << bits) if signed else 0
    return parts.reshape(*words.shape[:-1], -1)


DECODE: dict[str, Callable[[Lanes], Lanes]] = {
    "f16": lambda x: x.view(np.float16),
    "bf16": lambda x: from_bfloat16(x.view(np.uint16)),
    "tf32": lambda x: (x & np.uint32(0xFFFFE000)).view(np.float32),
    "f32": lambda x: x.view(np.float32), "f64": lambda x: x.view(np.float64),
    "s32": lambda x: x.view(np.int32), "s8": lambda x: x.view(np.int8),
    "u8": lambda x: x.view(np.uint8), "s4": partial(_small, bits=4, signed=True),
    "u4": partial(_small, bits=4, signed=False), "b1": partial(_small, bits=1, signed=False),
}  # fmt: skip


class Fragment(NamedTuple):
    """A matrix in the registers of a warp: its rows and columns, and the type of its numbers."""

    rows: int
    columns: int
    kind: str
    together: int  # numbers of a row that a lane holds side by side

    @property
    def word(self) -> str:
        """The type of a register."""
        return "u64" if self.kind == "f64" else "u32"


def _fragments(shape: str, types: list[str]) -> tuple[Fragment, Fragment, Fragment, Fragment]:
    """D, A, B transposed and C of a product such as "m16n8k16"."""
    m, n, k = map(int, re.findall(r"\d+", shape))
    of_d, of_a, of_b, of_c = types
    side = max(32 // BITS[of_a], 1)
    return (
        Fragment(m, n, of_d, 2), Fragment(m, k, of_a, side), Fragment(n, k, of_b, side),
        Fragment(m, n, of_c, 2),
    )  # fmt: skip


@cache
def places(fragment: Fragment) -> tuple[Lanes, Lanes]:
    """Row and column of each number that a lane holds, (32, numbers)."""
    lane = np.arange(WARP)[:, None, None]
    width = 4 * fragment.together
    down = fragment.rows // ROWS
    tile = np.arange(down * (fragment.columns // width))[:, None]
    row = tile % down * ROWS + lane // 4
    column = tile // down * width + lane % 4 * fragment.together + np.arange(fragment.together)
    row, column = (x.reshape(WARP, -1) for x in np.broadcast_arrays(row, column))
    return row, column


def _whole_warps(m: Any, name: str) -> None:
    """Stops the launch if some lanes of a warp are here and others are not."""
    if m.mask is EMPTY or (m.mask is None and m.threads % WARP == 0):
        return
    here = warp_rows(m, m.spread(True if m.mask is None else m.mask))
    rows, lanes = np.nonzero(~here & here.any(axis=1, keepdims=True))
    if not len(rows):
        return
    row, lane = int(rows[0]), int(lanes[0])
    first, inside = row // m.warps * m.threads, row % m.warps * WARP
    who = [m.thread_name(first + inside + int(here[row].argmax()))]
    if inside + lane >= m.threads:
        fate = f"lane {lane} does not exist: give a block a multiple of 32 threads"
    else:
        left = returned(m).ravel()[first + inside + lane]
        who.append(m.thread_name(first + inside + lane))
        fate = f"lane {lane} has left" if left else f"lane {lane} took another path"
    message = f"{name} is an instruction of all 32 lanes of a warp: {m.text(who[0])} waits, {fate}"
    raise m.stop("barrier-divergence", message, *who)


# --- products


def _matrix(m: Any, fragment: Fragment, registers: tuple[Lanes, ...]) -> Lanes:
    """The matrix of each warp as float64, (warps, rows, columns)."""
    row, column = places(fragment)
    words = np.stack([warp_rows(m, m.spread(m.rely(r))) for r in registers], axis=-1)
    numbers = DECODE[fragment.kind](words.view(TYPES[fragment.word]))[..., : row.shape[1]]
    matrix = np.empty((len(words), fragment.rows, fragment.columns))
    matrix[:, row, column] = numbers
    return matrix


def product(
    m: Any, fragments: tuple[Fragment, ...], op: tuple[str, ...], a: tuple[Lanes, ...],
    b: tuple[Lanes, ...], c: tuple[Lanes, ...],
) -> list[Lanes]:  # fmt: skip
    """`mma.sync` and `wmma.mma`: the registers of D = A·B + C."""
    _whole_warps(m, op[0])
    to = fragments[0]
    left, right, total = (_matrix(m, f, x) for f, x in zip(fragments[1:], (a, b, c), strict=True))
    for k in range(left.shape[2]):
        x, y = left[:, :, None, k], right[:, None, :, k]
        total += np.abs(x - y) if "xor" in op else x * y
    if to.kind == "s32":
        limits = np.iinfo(np.int32)
        total = np.clip(total, limits.min, limits.max) if "satfinite" in op else total
        result = total.astype(np.int64).astype(np.int32)
    else:
        result = total.astype(f"f{BITS[to.kind] // 8}")
    row, column = places(to)
    words = np.ascontiguousarray(result[:, row, column]).view(TYPES[to.word])
    return [from_rows(m, words[..., k]) for k in range(words.shape[-1])]


# --- loads and stores


def _accesses(
    m: Any, f: Fragment, contiguous: bool, ld: Lanes
) -> tuple[list[Lanes], np.dtype[Any], int]:
    """How many bytes from the first element each access of a lane goes, its type and numbers."""
    lane, bits = np.arange(m.threads) % WARP, BITS[f.kind]
    x, y = (place[lane].astype(np.int64) for place in places(f))
    if not contiguous:
        x, y = y, x
    step = f.together if contiguous else 1
    index = x * np.asarray(ld).astype(np.int64)[..., None] + y
    offsets = [index[..., k] * bits // 8 for k in range(0, x.shape[1], step)]
    # numbers smaller than a byte come as words
    return offsets, *((np.dtype("u4"), 1) if bits < 8 else (np.dtype(f"u{bits // 8}"), step))


def load_matrix(
    m: Any, fragment: Fragment, contiguous: bool, space: str, address: Lanes, ld: Lanes, count: int
) -> list[Lanes]:  # fmt: skip
    """`wmma.load`: the registers of a matrix whose rows (or columns) lie `ld` elements apart."""
    _whole_warps(m, "wmma.load")
    offsets, dtype, many = _accesses(m, fragment, contiguous, ld)
    parts = [m.rely(m.load(space, address + offset, 0, dtype, many)) for offset in offsets]
    shape = m.blocks, m.threads, many
    loaded = [np.broadcast_to(p if many > 1 else p[..., None], shape) for p in parts]
    words = np.concatenate(loaded, axis=-1).view(TYPES[fragment.word])
    return [words[..., k % words.shape[-1]] for k in range(count)]


def store_matrix(
    m: Any, fragment: Fragment, contiguous: bool, space: str, address: Lanes, ld: Lanes,
    registers: tuple[Lanes, ...],
) -> None:  # fmt: skip
    """`wmma.store`."""
    _whole_warps(m, "wmma.store")
    offsets, dtype, many = _accesses(m, fragment, contiguous, ld)
    words = np.stack([m.spread(m.rely(r)) for r in registers], axis=-1).view(dtype)
    for k, offset in enumerate(offsets):
        numbers = tuple(words[..., k * many + n] for n in range(many))
        m.store(space, address + offset, 0, dtype, numbers if many > 1 else numbers[0])


def load_rows(
    m: Any, transposed: bool, space: str, address: Lanes, offset: int, count: int
) -> list[Lanes]:
    """`ldmatrix`: lanes 8·j to 8·j + 7 give the rows of matrix j, each of 16 bytes."""
    _whole_warps(m, "ldmatrix")
    if m.mask is EMPTY:
        return [np.zeros((1, 1), np.uint32)] * count
    before, lanes = m.mask, (np.arange(m.threads) % WARP < ROWS * count)[None, :]
    m.mask = split(before, lanes)[0]  # who gives an address
    loaded = m.rely(m.load(space, address, offset, np.dtype(np.uint16), 8))
    m.mask = before
    loaded = np.broadcast_to(loaded, (m.blocks, m.threads, 8))
    rows = np.stack([warp_rows(m, loaded[..., k]) for k in range(8)], axis=-1)
    lane, pair = np.arange(WARP)[:, None], np.arange(2)
    row, column = np.broadcast_arrays(lane // 4, lane % 4 * 2 + pair)
    row, column = (column, row) if transposed else (row, column)
    parts = (rows[:, ROWS * number + row, column] for number in range(count))
    return [from_rows(m, np.ascontiguousarray(p).view(np.uint32)[..., 0]) for p in parts]


# --- translation


def _shape(i: Instruction) -> str:
    return next(word for word in i.op if re.fullmatch(r"m\d+n\d+k\d+", word))


def multiplied(i: Instruction) -> tuple[Fragment, Fragment, Fragment, Fragment]:
    """D, A, B transposed and C of `mma.sync` or `wmma.mma`."""
    shape, types = _shape(i), [word for word in i.op if word in BITS]
    if len(types) == 2 and i.op[0] == "wmma":  # of D and C: A and B hold float16
        types = [types[0], "f16", "f16", types[1]]
    if "sp" in i.op or (i.op[0], shape, types[1]) == ("mma", "m8n8k4", "f16"):
        raise not_covered(str(i), i.line)
    return _fragments(shape, types)


def moved(i: Instruction) -> tuple[Fragment, bool, list[str]]:
    """Of `wmma.load` or `wmma.store`: the matrix, and whether its rows lie in memory as rows.

    Last come the operands: registers, address, the distance of two rows.
    """
    role, kind = i.op[2], next(word for word in i.op if word in BITS)
    fragment = _fragments(_shape(i), [kind] * 4)["dabc".index(role)]
    contiguous = ("row" in i.op) != (role == "b")
    first = i.operands[:2] if "load" in i.op else i.operands[1::-1]
    near = str(fragment.columns if contiguous else fragment.rows)
    return fragment, contiguous, [*first, *(i.operands[2:] or [near])]


class TensorCores:
    """What the translator makes of their instructions."""

    def _registers(self: Any, operand: str, word: str) -> str:
        return f"({', '.join(self.read(r, word) for r in names(operand))},)"

    def _write_all(self: Any, operand: str, call: str, word: str) -> None:
        self._emit(f"p = {call}")
        for k, register in enumerate(names(operand)):
            self.write(register, f"p[{k}]", word)

    def _do_mma(self: Any, i: Instruction) -> None:
        fragments = multiplied(i)
        operands = [
            self._registers(o, f.word) for o, f in zip(i.operands[1:4], fragments[1:], strict=True)
        ]
        what = f"{self._object_name(fragments)}, {i.op!r}, {', '.join(operands)}"
        call = f"{self._object_name(product)}(m, {what})"
        self._write_all(i.operands[0], call, fragments[0].word)

    def _do_wmma(self: Any, i: Instruction) -> None:
        if "load" not in i.op and "store" not in i.op:
            self._do_mma(i)
            return
        fragment, contiguous, (registers, memory, ld) = moved(i)
        begin = f"m, {self._object_name(fragment)}, {contiguous}, {space_of(i)!r}, "
        where = f"{' + '.join(map(str, self.address(memory)))}, {self.read(ld, 's32')}"
        if "load" in i.op:
            call = f"{self._object_name(load_matrix)}({begin}{where}, {len(names(registers))})"
            self._write_all(registers, call, fragment.word)
        else:
            values = self._registers(registers, fragment.word)
            self._emit(f"{self._object_name(store_matrix)}({begin}{where}, {values})")

    def _do_ldmatrix(self: Any, i: Instruction) -> None:
        if "m8n8" not in i.op or i.op[-1] != "b16":
            raise not_covered(str(i), i.line)
        registers, memory = i.operands
        address, offset = self.address(memory)
        where = f"m, {'trans' in i.op}, {space_of(i)!r}, {address}, {offset}"
        call = f"{self._object_name(load_rows)}({where}, {len(names(registers))})"
        self._write_all(registers, call, "u32")
