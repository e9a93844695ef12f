"""Which Nsight Compute is on this machine, and which metrics it has for the GPU here."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["PLACES", "find_ncu", "known", "version"]

# below the root of the file system
PLACES = (
    "usr/local/cuda*/bin/ncu",
    "opt/nvidia/nsight-compute/*/ncu",
    "usr/local/cuda*/nsight-compute-*/ncu",
)
# metrics of counters, of the instructions' addresses, and of the launch are listed apart
COLLECTIONS = ("profiling", "source", "launch")
CHIP = "gh100"  # asked for where the profiler cannot tell which GPU is here


def find_ncu() -> Path | None:
    """The profiler: on the path, or the newest where NVIDIA's installers put it."""
    on_path = shutil.which("ncu")
    if on_path:
        return Path(on_path)
    found = [path for place in PLACES for path in Path("/").glob(place)]
    numbers = (tuple(int(n) for n in re.findall(r"\d+", str(path))) for path in found)
    return max(zip(numbers, found, strict=True), default=(None, None))[1]


def _ask(ncu: Path, options: Sequence[str], seconds: float) -> str:
    """What the profiler prints for a question, or "" where it has no answer in time."""
    try:
        done = subprocess.run(
            [ncu, *options], capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def version(ncu: Path) -> str:
    """The profiler's version, such as "2025.3.1.0", or "unknown"."""
    said = re.search(r"Version (\S+)", _ask(ncu, ["--version"], 10))
    return said[1] if said else "unknown"


def known(ncu: Path, seconds: float = 10) -> set[str]:
    """The base names of all metrics that the profiler has for this GPU; empty if it won't say."""
    names: set[str] = set()
    for collection in COLLECTIONS:
        # an older profiler has one list and no name for it
        which = () if collection == "profiling" else ("--query-metrics-collection", collection)
        for chip in ((), ("--chips", CHIP)):
            said = _ask(ncu, ["--query-metrics", *which, *chip], seconds)
            found = re.findall(r"^(\w+__\w+|memory_\w+)", said, re.MULTILINE)
            names |= set(found)
            if found:
                break
    return names
