"""`gl.estimate` against the recorded times of all kernels: how far off it is, and where and why.

The estimate is a roofline from the SIMT machine's counters. The recording `kernels` says what
the launches took. This runs on any CPU, from the recording.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpulearn.errors import BadInput, GpulearnError
from gpulearn.perf import recordings
from gpulearn.perf.estimates import estimate
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.recordings import Recording
from gpulearn.recorders.loading import sheet_of
from tools.gpu.case import Case
from tools.gpu.cases import CASES
from tools.gpu.estimates.accuracy import Compared, Comparison, counted
from tools.gpu.estimates.reasons import reason
from tools.gpu.estimates.sampling import sampled_report
from tools.gpu.runner.step import seconds_left

__all__ = ["compare_estimates", "main"]

SPREAD = 0.02  # two samples' counts that are further apart do not stand for the launch
SECONDS = 600.0


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


if __name__ == "__main__":
    sys.exit(main())
