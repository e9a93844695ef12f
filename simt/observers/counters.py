"""Counters: what a kernel costs, per source line and per array as Nsight Compute counts it.

A *request* is one load or store carried out by one warp. Memory is read off the addresses
of its active lanes: nothing here is estimated.

| field | meaning | Nsight Compute metric |
|---|---|---|
| instructions | statements carried out by a warp with any active lane (Nsight counts machine instructions: one statement is several) | smsp__inst_executed.sum |
| active_lanes | active lanes, summed over instructions | smsp__thread_inst_executed.sum |
| divergent_branches | branches at which the lanes of a warp part | smsp__sass_branch_targets_threads_divergent.sum |
| barriers | barriers, per warp that arrives | (none) |
| global_load_requests, global_store_requests | requests to global memory | l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum (…_st.sum) |
| global_load_sectors, global_store_sectors | distinct 32-byte sectors of each request | l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum (…_st.sum) |
| distinct_sectors | sectors that its loads and stores touch in the launch, each once: what a cache that holds everything would fetch | (none) |
| block_sectors | sectors that its loads touch in each block, each once, summed over blocks: what a cache of each block's own would fetch, such as L1, which stores pass by | (none) |
| shared_load_wavefronts, shared_store_wavefronts | passes that shared memory needs for a request | l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum (…_st.sum) |
| shared_load_conflicts, shared_store_conflicts | passes beyond those that the width of the data needs | l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum (…_st.sum) |
| atomics | atomic operations, per lane | smsp__inst_executed_op_global_red.sum, smsp__sass_inst_executed_op_global_atom.sum, smsp__inst_executed_op_shared_atom.sum (per warp) |
| atomic_contention | the most lanes of one request that hit one address | (none) |
| bytes_requested | bytes that the active lanes asked of global memory | smsp__sass_data_bytes_mem_global_op_ld.sum plus …_st.sum |
| bytes_moved | 32 bytes for each sector | l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum plus …_st.sum |
| bytes_at_least | 32 bytes for each distinct sector | (none) |
| flops32, flops64 | float operations per active lane; a fused multiply-add counts 2 | smsp__sass_thread_inst_executed_op_fadd_pred_on.sum, …_fmul…, twice …_ffma… (…_dadd…) |

Atomics are counted apart from loads and stores and move no sectors here; local arrays are
taken to live in registers, constant memory in its own cache: both cost nothing here.
"""  # noqa: E501

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from simt.core.chunk import Chunk
from simt.core.findings import Finding
from simt.core.masks import EMPTY, Mask
from simt.core.memory import View, views
from simt.core.values import FLOAT32, FLOAT64, INT64, Value
from simt.observers.balance import Balance
from simt.observers.footprint import WHOLE_LAUNCH, Footprint, Owner
from simt.observers.observer import Index, Lanes, Observer
from simt.observers.traffic import AWAY, SECTOR, WARP, touched, wavefronts

Which = tuple[Lanes, Lanes]  # blocks, sectors


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
    distinct_sectors: int = 0
    block_sectors: int = 0
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
        """Adds another's counts; contention is a worst case, so the larger stays.

        What is distinct in both may be the same: who adds up `distinct_sectors` and
        `block_sectors` has to know that it is not.
        """
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            both = max(mine, theirs) if field.name == "atomic_contention" else mine + theirs
            setattr(self, field.name, both)

    def as_dict(self) -> dict[str, int]:
        """Plain data for JSON."""
        return asdict(self)

    @property
    def bytes_at_least(self) -> int:
        """Bytes that loads and stores move if every sector is fetched or written once."""
        return self.distinct_sectors * SECTOR

    @property
    def lanes_per_instruction(self) -> float:
        """How many of a warp's 32 lanes were active, on average."""
        return self.active_lanes / self.instructions if self.instructions else 0.0

    @property
    def sectors_per_load(self) -> float:
        """Sectors per global load request: 4 is perfect for 32 neighboring 4-byte words."""
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def sectors_per_store(self) -> float:
        """Sectors per global store request."""
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def arithmetic_intensity(self) -> float:
        """Floating-point operations per byte that loads and stores of global memory move.

        Bytes as the warps ask for them, in whole sectors, before any cache; those of atomics
        are not among them. A roofline over DRAM counts fewer bytes where caches hit.
        """
        return _ratio(self.flops32 + self.flops64, self.bytes_moved)


def _ratio(a: int, b: int) -> float:
    return a / b if b else 0.0


class Counters(Observer):
    """The counters of one launch while it runs."""

    once = True

    def __init__(self) -> None:
        self.single = True  # no array holds float64
        self.lines: defaultdict[int, Counts] = defaultdict(Counts)  # by place
        # the fields of a structured array count as one
        self.arrays: defaultdict[str, Counts] = defaultdict(Counts)
        self.footprint = Footprint()
        self.balance = Balance()
        self._activity: tuple[Any, Mask, tuple[int, int]] = (None, EMPTY, (0, 0))

    def restart(self) -> None:
        """Forgets what was counted: the launch starts again."""
        self.lines.clear()
        for name in self.arrays:
            self.arrays[name] = Counts()
        self.footprint = Footprint()
        self.balance = Balance()

    def expect(self, values: tuple[object, ...]) -> None:
        """Lists argument arrays in the report even if nothing touches them."""
        self.single = not any(isinstance(v, View) and v.dtype == FLOAT64 for v in values)
        for view in views(values):
            _ = self.arrays[_name(view)]

    def chunk(self, m: Chunk, last: Chunk | None) -> None:
        """Other blocks begin."""
        self.footprint.end_chunk()
        self.balance.chunk(m)

    def totals(self) -> Counts:
        """The counts of the launch, which has ended."""
        self.footprint.end_chunk()
        totals = Counts()
        for counts in self.lines.values():
            totals.add(counts)
        distinct, in_blocks = self.footprint.distinct(), self.footprint.in_blocks
        owners: list[tuple[Owner, Counts]] = [*self.lines.items(), *self.arrays.items()]
        for owner, counts in [*owners, (WHOLE_LAUNCH, totals)]:
            counts.distinct_sectors, counts.block_sectors = distinct[owner], in_blocks[owner]
        return totals

    def activity(self, m: Chunk) -> tuple[int, int]:
        """(warps with an active lane, active lanes) under the current mask."""
        mask = m.mask
        # "all lanes" is one mask for every chunk, and the last chunk has fewer
        if self._activity[0] is m and self._activity[1] is mask and mask is not EMPTY:
            return self._activity[2]
        if mask is None:
            counts = (m.blocks * m.warps, m.blocks * m.threads)
        elif mask is EMPTY:
            counts = (0, 0)
        else:
            lanes = self.per_warp(m, mask)
            counts = (int(np.count_nonzero(lanes)), int(lanes.sum()))
        self._activity = (m, mask, counts)
        return counts

    def per_warp(self, m: Chunk, mask: Lanes) -> Lanes:
        """Active lanes of each warp, as (blocks, warps)."""
        wide = np.zeros((m.blocks, m.warps * WARP), bool)
        wide[:, : m.threads] = mask
        counts: Lanes = np.count_nonzero(wide.reshape(m.blocks, m.warps, WARP), axis=2)
        return counts

    def statement(self, m: Chunk) -> None:
        """One statement, by all warps with an active lane."""
        warps, lanes = self.activity(m)
        counts = self.lines[m.line]
        counts.instructions += warps
        counts.active_lanes += lanes

    def branch(self, m: Chunk, taken: Mask, other: Mask) -> None:
        """A branch: warps with lanes on both sides."""
        if taken is EMPTY or other is EMPTY or taken is None or other is None:
            return
        both = (self.per_warp(m, taken) > 0) & (self.per_warp(m, other) > 0)
        self.lines[m.line].divergent_branches += int(np.count_nonzero(both))

    def barrier(self, m: Chunk, blocks: Value, grid: bool) -> None:
        """A barrier, by every warp that arrives."""
        self.lines[m.line].barriers += self.activity(m)[0]

    def arrive(self, m: Chunk) -> None:
        """The same of a barrier of some threads."""
        self.lines[m.line].barriers += self.activity(m)[0]

    def widened(self, m: Chunk) -> None:
        """What float64 costs is a finding where no array holds any."""
        key = ("float64-leak", m.line)
        if not self.single or m.findings.again(key):
            return
        message = (
            "float32 data meets float64 here: where the compiler cannot avoid it, the arithmetic "
            "takes most GPUs 32 to 64 times as long; write np.float32(...) around the other operand"
        )
        m.note(key, Finding("float64-leak", m.here(), message))

    def operation(self, m: Chunk, value: Value) -> None:
        """One floating-point operation per active lane, by the type of its result."""
        dtype = FLOAT64 if type(value) is float else getattr(value, "dtype", None)
        if dtype is None:
            return
        if dtype == FLOAT32:
            self.lines[m.line].flops32 += self.activity(m)[1]
        elif dtype == FLOAT64:
            self.lines[m.line].flops64 += self.activity(m)[1]

    def rows(self, m: Chunk, slot: Value) -> tuple[Lanes, Lanes]:
        """Addresses of each warp's lanes, (requests, 32), inactive ones far away; their blocks.

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
        if m.mask is None and slot.shape[1] == m.warps * WARP:
            wide = slot
        else:
            wide = np.full((blocks, m.warps * WARP), AWAY)
            wide[:, : m.threads] = slot if m.mask is None else np.where(m.mask, slot, AWAY)
        rows = wide.reshape(-1, WARP)
        block = np.arange(len(rows)) // m.warps
        if m.mask is not None:
            active = (rows != AWAY).any(axis=1)
            return rows[active], block[active]
        return rows, block

    def access(self, m: Chunk, view: View, slot: Value, index: Index, kind: str) -> None:
        """A load, store or atomic by the active threads."""
        if view.space in ("local", "const") or view.allocation.tiled:
            return
        self.balance.access(m)
        warps, lanes = self.activity(m)
        size = view.dtype.itemsize
        unit = size if view.aligned else 1
        if type(slot) is int and view.space == "global" and kind != "atomic":  # one element for all
            first, last = slot * unit, slot * unit + size - 1
            sector = np.array(sorted({first // SECTOR, last // SECTOR}))
            same_in_blocks = m.mask is None or len(m.mask) == 1
            blocks = np.arange(m.blocks) if same_in_blocks else np.flatnonzero(m.mask.any(axis=1))
            self._count_sectors(m, view, kind, warps * len(sector), (blocks[:, None], sector))
            return
        addresses, block = self.rows(m, np.multiply(slot, unit))
        if not len(addresses):
            return
        times = warps // len(addresses)
        line, array = self.lines[m.line], self.arrays[_name(view)]
        if kind == "atomic":
            self._atomic(line, array, addresses, lanes)
        elif view.space == "shared":
            passes, ideal = wavefronts(addresses, view.allocation.offset, size, kind == "load")
            for counts in (line, array):
                _bump(counts, f"shared_{kind}_wavefronts", passes * times)
                _bump(counts, f"shared_{kind}_conflicts", (passes - ideal) * times)
        else:
            row, sector = touched(addresses, size)
            blocks = block[row]
            if times > 1:  # the same in every block
                blocks, sector = np.arange(m.blocks)[:, None], np.unique(sector)
            self._count_sectors(m, view, kind, len(row) * times, (blocks, sector))

    def _count_sectors(self, m: Chunk, view: View, kind: str, count: int, which: Which) -> None:
        """Counts the sectors of a load or store of global memory, and which blocks touch them."""
        warps, lanes = self.activity(m)
        self.footprint.touch((m.line, _name(view), view.allocation), kind == "load", *which)
        for counts in (self.lines[m.line], self.arrays[_name(view)]):
            _bump(counts, f"global_{kind}_requests", warps)
            _bump(counts, f"global_{kind}_sectors", count)
            counts.bytes_requested += lanes * view.dtype.itemsize
            counts.bytes_moved += count * SECTOR

    def _atomic(self, line: Counts, array: Counts, rows: Lanes, lanes: int) -> None:
        ordered = np.sort(rows, axis=1)
        worst = np.zeros(len(rows), np.int64)
        run = np.zeros(len(rows), np.int64)
        for lane in range(WARP):
            here = ordered[:, lane] != AWAY
            same = ordered[:, lane] == ordered[:, lane - 1] if lane else np.zeros(len(rows), bool)
            run = np.where(same, run + 1, 1) * here
            worst = np.maximum(worst, run)
        for counts in (line, array):
            counts.atomics += lanes
            counts.atomic_contention = max(counts.atomic_contention, int(worst.max(initial=0)))


def _name(view: View) -> str:
    return view.name.split(".")[0]


def _bump(counts: Counts, name: str, amount: int) -> None:
    setattr(counts, name, getattr(counts, name) + amount)
