"""Which assumption of `gl.estimate` a recorded time breaks, as far as the counters tell.

The estimate lists what it takes for granted. A counter that it leaves out, and that would have
cost as much as what is missing, is named; it is the first suspect, not a proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulearn.perf.estimates import Estimate
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.rung_rates import CYCLES, LANES, OTHER_LANES

if TYPE_CHECKING:
    from gpulearn.simt.report.report import Report

__all__ = ["AGREE", "reason"]

AGREE = 1.25  # within this factor nothing has to be explained
PART = 0.4  # of the missing time: who costs as much is named
FILLS = 2**17  # threads; fewer leave multiprocessors of a large GPU idle
FULL = 24.0  # active lanes of 32
SCHEDULERS = 4  # of a multiprocessor, an instruction of a warp each in a clock cycle


def reason(recorded: float, found: Estimate, report: Report, row: Mapping[str, Any]) -> str:
    """Why the recorded seconds are not the estimated ones; empty where they agree.

    Args:
        recorded: seconds on the GPU.
        found: the estimate.
        report: what the SIMT machine counted.
        row: of the recording, with `blocks`, `threads` of a block, and `bytes` of all arrays.
    """
    if recorded > AGREE * found.seconds:
        return _slower(recorded, found, report, row)
    if AGREE * recorded < found.seconds:
        return _faster(found, row)
    return ""


def _faster(found: Estimate, row: Mapping[str, Any]) -> str:
    if found.limit == "launch":
        return "the launch costs less than assumed"
    if found.limit == "arithmetic":
        return "the compiler leaves operations out that the source has"
    again = found.bytes_moved / row["bytes"] if row.get("bytes") else 0.0
    if again > AGREE:
        return f"a cache hits: its sectors are {again:.1f} times its arrays"
    return "a cache hits: some of its arrays, or what it wrote, stay in the cache"


def _slower(recorded: float, found: Estimate, report: Report, row: Mapping[str, Any]) -> str:
    totals, missing = report.totals, recorded - found.seconds
    cycles = _cycles_per_second(found.gpu)  # of all multiprocessors together
    passes = totals.shared_load_wavefronts + totals.shared_store_wavefronts
    if passes * CYCLES.get(found.gpu, 1) / cycles > PART * missing:
        conflicts = totals.shared_load_conflicts + totals.shared_store_conflicts
        return f"shared memory: {passes:,} passes, {conflicts / passes:.0%} of them conflicts"
    if totals.atomics:
        worst = totals.atomic_contention
        return f"atomics: {totals.atomics:,}, up to {worst} lanes of a warp on one address"
    if row.get("blocks", FILLS) * row.get("threads", 1) < FILLS:
        return f"too few threads to fill the GPU: {row['blocks'] * row['threads']:,}"
    if totals.instructions / (SCHEDULERS * cycles) > PART * missing:
        lanes = totals.lanes_per_instruction
        if lanes < FULL:
            return f"divergence: {lanes:.0f} of 32 lanes active on average"
        return "instructions that are no float arithmetic: indices, loops, comparisons"
    if totals.lanes_per_instruction < FULL:
        return f"divergence: {totals.lanes_per_instruction:.0f} of 32 lanes active on average"
    if totals.barriers:
        return "barriers: warps wait for each other"
    return "memory does not reach its full bandwidth: latency, or too few loads under way"


def _cycles_per_second(gpu: str) -> float:
    """Clock cycles of all multiprocessors in a second: peak = cycles · lanes · 2."""
    return gpu_spec(gpu).vector["float32"] / (2 * LANES.get(gpu, OTHER_LANES))
