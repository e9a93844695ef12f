"""Measures, on a machine with a GPU, what the notebooks show elsewhere: `make gpu`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpulearn import _require, device
from gpulearn.hardware.recording.matmul import record_matmul
from gpulearn.kernels.matmul import matmul_flops
from gpulearn.performance import recordings
from gpulearn.performance.ladder_rates import live_rates
from gpulearn.performance.recordings import Recording

__all__ = ["main", "record_ladder"]

LADDER_SIZE = 4096


def record_ladder(n: int = LADDER_SIZE) -> Recording:
    """Time every rung of the ladder of notebook 06, and the library, on n × n products."""
    seconds = {
        name: matmul_flops(n, n, n) / rate.flops_per_second for name, rate in live_rates(n).items()
    }
    rows = [{"n": n, "rung": name, "seconds": took} for name, took in seconds.items()]
    return recordings.recorded_here("ladder", rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record everything; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m gpulearn.performance.record", description=__doc__
    )
    parser.add_argument("--folder", type=Path, default=recordings.FOLDER)
    folder = parser.parse_args(arguments).folder
    _require.package("torch", "make gpu")
    if not device.torch_gpu():
        print(f"make gpu needs a GPU that torch can use: {device.current().reason}.")
        return 1
    for recording in (record_matmul(), record_ladder()):
        print(f"recorded {recordings.save(recording, folder)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
