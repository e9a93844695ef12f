"""Measures, on a machine with a GPU, what the notebooks show elsewhere: `make gpu`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gpulearn import _require, device
from gpulearn.kernels.matmul import matmul_flops
from gpulearn.performance import recordings
from gpulearn.performance.ladder_rates import live_rates
from gpulearn.performance.matmul_times import live_times
from gpulearn.performance.recordings import Recording

__all__ = ["main", "record_ladder", "record_matmul"]

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
LADDER_SIZE = 4096
DTYPES = ("float64", "float32", "tf32", "bfloat16", "float16")


def record_matmul(
    sizes: Sequence[int] = SIZES, dtypes: Sequence[str] = DTYPES, on: str = "cuda"
) -> Recording:
    """Time n × n products by dtype, with no copies and with copies of both kinds."""
    copies = ("none",) if on == "cpu" else ("none", "pageable", "pinned")
    return recordings.recorded_here("matmul", list(_rows(sizes, dtypes, copies, on)), on)


def record_ladder(n: int = LADDER_SIZE) -> Recording:
    """Time every rung of the ladder of notebook 06, and the library, on n × n products."""
    seconds = {
        name: matmul_flops(n, n, n) / rate.flops_per_second for name, rate in live_rates(n).items()
    }
    rows = [{"n": n, "rung": name, "seconds": took} for name, took in seconds.items()]
    return recordings.recorded_here("ladder", rows)


def _rows(
    sizes: Sequence[int], dtypes: Sequence[str], copies: Sequence[str], on: str
) -> Iterator[dict[str, Any]]:
    for dtype in dtypes:
        for way in copies:
            series = live_times(sizes, dtype, way, on)
            for n, seconds in zip(series.sizes, series.seconds, strict=True):
                yield {"n": n, "dtype": dtype, "copies": way, "seconds": seconds}


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
