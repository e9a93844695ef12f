"""`gl.estimate` against the recorded times of all kernels: how far off it is, and where and why.

The estimate is a roofline from the SIMT machine's counters. The recording `kernels` says what
the launches took. This runs on any CPU, from the recording.

The estimate lists what it takes for granted. A counter that it leaves out, and that would have
cost as much as what is missing, is named; it is the first suspect, not a proof.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpulearn.errors import BadInput, GpulearnError
from gpulearn.perf import recordings
from gpulearn.perf.estimates import Estimate, estimate
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.recorders.loading import sheet_of
from gpulearn.perf.recordings import Recording
from tools.gpu.case import Case
from tools.gpu.cases import CASES
from tools.gpu.estimates.accuracy import Compared, Comparison, counted
from tools.gpu.estimates.sampling import sampled_report
from tools.gpu.runner.step import seconds_left

if TYPE_CHECKING:
    from simt.report.report import Report

__all__ = ["AGREE", "compare_estimates", "main", "reason"]

SPREAD = 0.02  # two samples' counts that are further apart do not stand for the launch
SECONDS = 600.0

AGREE = 1.25  # within this factor nothing has to be explained
PART = 0.4  # of the missing time: who costs as much is named
FILLS = 2**17  # threads; fewer leave multiprocessors of a large GPU idle
FULL = 24.0  # active lanes of 32
SCHEDULERS = 4  # of a multiprocessor, an instruction of a warp each in a clock cycle


def compare_estimates(
    recording: Recording | None = None,
    gpu: str | None = None,
    cases: Mapping[str, Case] = CASES,
    seconds: float = SECONDS,
) -> Comparison:
    """Hold `gl.estimate` against the recorded time of every kernel.

    The SIMT machine counts each recorded launch, in a sample of its blocks where it is large.

    Args:
        recording: what `record_kernels` made; by default the newest in the package.
        gpu: the name of the GPU to model; by default the one that was recorded.
        cases: the launches by name.
        seconds: when they are up, the remaining cases are left out by name.

    Raises:
        BadInput: there is no recording, it has no times, or its device has no data sheet here.
    """
    recording = recordings.find("kernels") if recording is None else recording
    if recording is None:
        raise BadInput("No times of kernels are recorded yet: `make gpu` on a GPU records them.")
    gpu = gpu or sheet_of(recording.device)
    if gpu is None:
        raise BadInput(f"There is no data sheet for {recording.device!r}: name a GPU to model.")
    gpu_spec(gpu)
    end = time.monotonic() + seconds
    rows: list[Compared] = []
    left_out: dict[str, str] = {}
    for row in recording.rows:
        found = _compared(row, gpu, cases) if time.monotonic() < end else "the time was up"
        if isinstance(found, str):
            left_out[row["case"]] = found
        else:
            rows.append(found)
    if not rows:
        raise BadInput(f"No kernel of {recording.device} can be compared: {counted(left_out)}.")
    return Comparison(gpu, recording, tuple(rows), left_out)


def _compared(row: Mapping[str, Any], gpu: str, cases: Mapping[str, Case]) -> Compared | str:
    """A recorded case with its estimate, or why there is none."""
    if "seconds" not in row:
        return "it was not timed"
    if row["case"] not in cases:
        return "the catalogue has no such case any more"
    try:
        sampled = sampled_report(cases[row["case"]], row["size"])
        found = estimate(sampled.report, gpu)
    except GpulearnError as error:
        return str(error)
    if sampled.spread > SPREAD:
        return f"two samples of its blocks differ by {sampled.spread:.0%}"
    why = reason(row["seconds"], found, sampled.report, row)
    return Compared(row["case"], row["seconds"], found.seconds, found.limit, why)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, and write `estimates-<device>.json`; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.estimates")
    parser.add_argument("--folder", type=Path, default=recordings.FOLDER)
    parser.add_argument("--gpu", help="the GPU to model, if not the one that was recorded")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--seconds", type=float, default=seconds_left(SECONDS, 8.0))
    given = parser.parse_args(arguments)
    recording = recordings.find("kernels", given.folder)
    if recording is None:
        print(f"{given.folder} has no recording of kernels' times to compare with.")
        return 1
    gpu = "T4" if given.rehearse else given.gpu
    found = compare_estimates(recording, gpu, seconds=given.seconds)
    recordings.save(replace(recording, name="estimates", rows=found.as_rows()), given.folder)
    print(f"{found}\n{found.headline}")
    return 0


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
    totals, missing, spec = report.totals, recorded - found.seconds, gpu_spec(found.gpu)
    cycles = spec.cycles_per_second
    passes = totals.shared_load_wavefronts + totals.shared_store_wavefronts
    if passes * spec.multiprocessor.bank_cycles / cycles > PART * missing:
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


if __name__ == "__main__":
    sys.exit(main())
