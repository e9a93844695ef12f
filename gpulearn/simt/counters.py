"""What a kernel costs, counted per source line and per array as Nsight Compute counts it.

A *request* is one load or store carried out by one warp. Memory is read off the addresses
of its active lanes: nothing here is estimated.

| field | meaning | Nsight Compute metric |
|---|---|---|
| instructions | statements carried out by a warp with any active lane (Nsight counts machine instructions: one statement is several) | smsp__inst_executed.sum |
| active_lanes | active lanes, summed over instructions | smsp__thread_inst_executed.sum |
| divergent_branches | branches at which the lanes of a warp part | smsp__sass_branch_targets_threads_divergent.sum |
| barriers | barriers, per warp that arrives | smsp__inst_executed_op_barrier (barrier instructions) |
| global_load_requests, global_store_requests | requests to global memory | l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum (…_st.sum) |
| global_load_sectors, global_store_sectors | distinct 32-byte sectors of each request | l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum (…_st.sum) |
| shared_load_wavefronts, shared_store_wavefronts | passes that shared memory needs for a request | l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum (…_st.sum) |
| shared_load_conflicts, shared_store_conflicts | passes beyond those that the width of the data needs | l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum (…_st.sum) |
| atomics | atomic operations, per lane | smsp__inst_executed_op_global_red/atom (per warp) |
| atomic_contention | the most lanes of one request that hit one address | (none) |
| bytes_requested | bytes that the active lanes asked of global memory | smsp__sass_data_bytes_mem_global |
| bytes_moved | 32 bytes for each sector | l1tex__t_bytes_pipe_lsu_mem_global |
| flops32, flops64 | float operations per active lane; a fused multiply-add counts 2 | smsp__sass_thread_inst_executed_op_fadd/fmul/ffma_pred_on (dadd…) |
"""  # noqa: E501

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulearn.simt.masks import EMPTY, Mask
from gpulearn.simt.memory import View
from gpulearn.simt.trace import Recorder
from gpulearn.simt.values import FLOAT32, FLOAT64, INT64, Value

if TYPE_CHECKING:
    from gpulearn.simt.chunk import Chunk

__all__ = ["Counters", "Counts", "bank_passes", "distinct", "sectors"]

WARP = 32
SECTOR = 32  # bytes
BANKS = 32
BANK_BYTES = 4
Lanes = np.ndarray[Any, Any]
_AWAY = np.iinfo(np.int64).max


@dataclass
class Counts:
    """The counters of one line, one array, or a whole launch (see the module's table)."""

    instructions: int = 0
    active_lanes: int = 0
    divergent_branches: int = 0
    barriers: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    shared_load_wavefronts: int = 0
    shared_load_conflicts: int = 0
    shared_store_wavefronts: int = 0
    shared_store_conflicts: int = 0
    atomics: int = 0
    atomic_contention: int = 0
    bytes_requested: int = 0
    bytes_moved: int = 0
    flops32: int = 0
    flops64: int = 0

    def add(self, other: Counts) -> None:
        """Adds another's counts; contention is a worst case, so the larger stays."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            both = max(mine, theirs) if field.name == "atomic_contention" else mine + theirs
            setattr(self, field.name, both)

    def as_dict(self) -> dict[str, int]:
        """Plain data for JSON."""
        return asdict(self)

    @property
    def lanes_per_instruction(self) -> float:
        """How many of a warp's 32 lanes were active, on average."""
        return self.active_lanes / self.instructions if self.instructions else 0.0

    @property
    def sectors_per_load(self) -> float:
        """Sectors per global load request: 4 is perfect for 32 neighbouring 4-byte words."""
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def sectors_per_store(self) -> float:
        """Sectors per global store request."""
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def arithmetic_intensity(self) -> float:
        """Floating-point operations per byte moved between L1 and the rest of memory."""
        return _ratio(self.flops32 + self.flops64, self.bytes_moved)


def _ratio(a: int, b: int) -> float:
    return a / b if b else 0.0


def distinct(rows: Lanes) -> Lanes:
    """How many different numbers each row holds; the largest int64 is not counted.

    >>> distinct(np.array([[3, 1, 3, 1], [5, 5, 5, 5]])).tolist()
    [2, 1]
    """
    ordered = rows if (rows[:, 1:] >= rows[:, :-1]).all() else np.sort(rows, axis=1)
    steps = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] != _AWAY)
    found: Lanes = np.count_nonzero(steps, axis=1) + (ordered[:, 0] != _AWAY)
    return found


def sectors(addresses: Lanes, size: int) -> Lanes:
    """Sectors per request for rows of byte addresses of words of `size` bytes.

    >>> sectors(4 * np.arange(32)[None, :], 4).tolist()
    [4]
    >>> sectors(4 * np.arange(1, 33)[None, :], 4).tolist()
    [5]
    """
    first = np.where(addresses == _AWAY, _AWAY, addresses // SECTOR)
    last = np.where(addresses == _AWAY, _AWAY, (addresses + (size - 1)) // SECTOR)
    if size == 1 or (first == last).all():
        return distinct(first)
    return distinct(np.concatenate([first, last], axis=1))


def _worst_bank(words: Lanes) -> Lanes:
    """The most different words that fall into one bank, for each row of word numbers."""
    here = words != _AWAY
    ordered = np.sort(np.where(here, (words % BANKS << 40) | words, _AWAY), axis=1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    new &= ordered != _AWAY
    row, column = np.nonzero(new)
    bank = ordered[row, column] >> 40
    counts = np.bincount(row * BANKS + bank, minlength=len(words) * BANKS)
    worst: Lanes = counts.reshape(len(words), BANKS).max(axis=1)
    return worst


def bank_passes(addresses: Lanes, size: int) -> tuple[Lanes, Lanes]:
    """Wavefronts per request of shared memory, and those that the width alone needs.

    Words of 4 bytes or less go in one pass if all different words lie in different banks.
    A warp's 8-byte words are served as two halves of 16 lanes, 16-byte ones as four
    quarters; halves without an active lane cost nothing.

    >>> rows = 4 * np.arange(32)[None, :]
    >>> [int(bank_passes(rows * stride, 4)[0][0]) for stride in (1, 2, 32, 33)]
    [1, 2, 32, 1]
    """
    if size <= BANK_BYTES:
        words = np.where(addresses == _AWAY, _AWAY, addresses // BANK_BYTES)
        passes = _worst_bank(words)
        return passes, (passes > 0).astype(np.int64)
    per_lane = size // BANK_BYTES
    groups = min(per_lane, WARP)
    parts = addresses.reshape(len(addresses) * groups, WARP // groups)
    first = np.where(parts == _AWAY, _AWAY, parts // BANK_BYTES)
    words = np.concatenate(
        [np.where(first == _AWAY, _AWAY, first + k) for k in range(per_lane)], axis=1
    )
    passes = _worst_bank(words).reshape(len(addresses), groups)
    total: Lanes = passes.sum(axis=1)
    ideal: Lanes = np.count_nonzero(passes, axis=1)
    return total, ideal


class Counters:
    """The counters of one launch while it runs; `recorder` hears every statement too."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder = recorder
        self.lines: dict[int, Counts] = {}
        self.arrays: dict[str, Counts] = {}
        self._activity: tuple[Mask, tuple[int, int]] = (EMPTY, (0, 0))
        self._patterns: dict[tuple[bytes, int], tuple[int, int]] = {}

    def restart(self) -> None:
        """Forgets what was counted: the launch starts again."""
        self.lines.clear()
        for name in self.arrays:
            self.arrays[name] = Counts()
        if self.recorder is not None:
            self.recorder.clear()

    def expect(self, values: tuple[object, ...]) -> None:
        """Arguments that are arrays appear in the report even if nobody touches them."""
        for value in values:
            if isinstance(value, View):
                self.array(value)
            elif isinstance(value, tuple):
                self.expect(value)

    def line(self, place: int) -> Counts:
        """The counts of a place in the source."""
        found = self.lines.get(place)
        if found is None:
            found = self.lines[place] = Counts()
        return found

    def array(self, view: View) -> Counts:
        """The counts of an array; the fields of a structured array count as one."""
        name = view.name.split(".")[0]
        found = self.arrays.get(name)
        if found is None:
            found = self.arrays[name] = Counts()
        return found

    def activity(self, m: Chunk) -> tuple[int, int]:
        """(warps with an active lane, active lanes) under the current mask."""
        mask = m.mask
        if self._activity[0] is mask and mask is not EMPTY:
            return self._activity[1]
        if mask is None:
            found = (m.blocks * m.warps, m.blocks * m.threads)
        elif mask is EMPTY:
            found = (0, 0)
        else:
            lanes = self.per_warp(m, mask)
            found = (int(np.count_nonzero(lanes)), int(lanes.sum()))
        self._activity = (mask, found)
        return found

    def per_warp(self, m: Chunk, mask: Lanes) -> Lanes:
        """Active lanes of each warp, as (blocks, warps)."""
        wide = np.zeros((m.blocks, m.warps * WARP), bool)
        wide[:, : m.threads] = mask
        counts: Lanes = np.count_nonzero(wide.reshape(m.blocks, m.warps, WARP), axis=2)
        return counts

    def statement(self, m: Chunk) -> None:
        """One statement, by all warps with an active lane."""
        warps, lanes = self.activity(m)
        if self.recorder is not None:
            self.recorder.statement(m)
        counts = self.line(m.line)
        counts.instructions += warps
        counts.active_lanes += lanes

    def diverged(self, m: Chunk, taken: Mask, other: Mask) -> None:
        """A branch: warps with lanes on both sides."""
        if taken is EMPTY or other is EMPTY or taken is None or other is None:
            return
        both = (self.per_warp(m, taken) > 0) & (self.per_warp(m, other) > 0)
        self.line(m.line).divergent_branches += int(np.count_nonzero(both))

    def barrier(self, m: Chunk) -> None:
        """A barrier, by every warp that arrives."""
        self.line(m.line).barriers += self.activity(m)[0]

    def flop(self, m: Chunk, value: Value) -> None:
        """One floating-point operation per active lane, by the type of its result."""
        dtype = FLOAT64 if type(value) is float else getattr(value, "dtype", None)
        if dtype is None:
            return
        if dtype == FLOAT32:
            self.line(m.line).flops32 += self.activity(m)[1]
        elif dtype == FLOAT64:
            self.line(m.line).flops64 += self.activity(m)[1]

    def rows(self, m: Chunk, slot: Value) -> Lanes:
        """Values of each warp's lanes, (requests, 32), with inactive lanes far away.

        Without a mask, equal blocks are counted once: the number of rows is then that of
        one block, and the caller multiplies.
        """
        slot = np.asarray(slot, dtype=INT64)
        if slot.ndim == 0:
            slot = slot.reshape(1, 1)
        blocks = m.blocks
        if m.mask is None:
            blocks = slot.shape[0]
        elif m.mask.shape[0] == 1 and slot.shape[0] == 1:
            blocks = 1
        wide = np.full((blocks, m.warps * WARP), _AWAY)
        wide[:, : m.threads] = slot
        if m.mask is not None:
            wide[:, : m.threads][~np.broadcast_to(m.mask, (blocks, m.threads))] = _AWAY
        rows = wide.reshape(-1, WARP)
        if m.mask is not None:
            rows = rows[(rows != _AWAY).any(axis=1)]
        return rows

    def access(self, m: Chunk, view: View, slot: Value, kind: str) -> None:
        """A load, store or atomic by the active threads."""
        if view.space == "local":
            return
        warps, lanes = self.activity(m)
        size = view.dtype.itemsize
        unit = size if view.aligned else 1
        rows = self.rows(m, slot)
        if not len(rows):
            return
        times = warps // len(rows)
        line, array = self.line(m.line), self.array(view)
        addresses = np.where(rows == _AWAY, _AWAY, rows * unit)
        if view.space == "shared":
            passes, ideal = self._shared(addresses, view, size)
            word = "shared_store" if kind == "store" else "shared_load"
            if kind != "atomic":
                for counts in (line, array):
                    _bump(counts, f"{word}_wavefronts", passes * times)
                    _bump(counts, f"{word}_conflicts", (passes - ideal) * times)
        elif kind != "atomic":
            count = int(sectors(addresses, size).sum()) * times
            for counts in (line, array):
                _bump(counts, f"global_{kind}_requests", warps)
                _bump(counts, f"global_{kind}_sectors", count)
                counts.bytes_requested += lanes * size
                counts.bytes_moved += count * SECTOR
        if kind == "atomic":
            self._atomic(line, array, rows, lanes)
        if self.recorder is not None:
            self.recorder.access(m, view, slot, kind)

    def _shared(self, addresses: Lanes, view: View, size: int) -> tuple[int, int]:
        """Wavefronts and ideal wavefronts; equal patterns are worked out once."""
        key = (addresses.tobytes(), size) if addresses.size <= 4096 else None
        if key is not None and key in self._patterns:
            return self._patterns[key]
        offset = view.allocation.offset
        passes, ideal = bank_passes(np.where(addresses == _AWAY, _AWAY, addresses + offset), size)
        found = int(passes.sum()), int(ideal.sum())
        if key is not None and len(self._patterns) < 4096:
            self._patterns[key] = found
        return found

    def _atomic(self, line: Counts, array: Counts, rows: Lanes, lanes: int) -> None:
        ordered = np.sort(rows, axis=1)
        worst = np.zeros(len(rows), np.int64)
        run = np.zeros(len(rows), np.int64)
        for lane in range(WARP):
            here = ordered[:, lane] != _AWAY
            same = ordered[:, lane] == ordered[:, lane - 1] if lane else np.zeros(len(rows), bool)
            run = np.where(same, run + 1, 1) * here
            worst = np.maximum(worst, run)
        for counts in (line, array):
            counts.atomics += lanes
            counts.atomic_contention = max(counts.atomic_contention, int(worst.max(initial=0)))


def _bump(counts: Counts, name: str, amount: int) -> None:
    setattr(counts, name, getattr(counts, name) + amount)
