"""What a machine with a GPU has: device, driver, clocks, tools, versions. Nothing is changed."""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path

from simt.device import selection
from tools.gpu.recording.record import Rows

__all__ = ["find_tool", "main", "record_environment"]

# asked one by one where nvidia-smi refuses all, since it does not know one
QUERIES = (
    "name", "driver_version", "vbios_version", "persistence_mode", "mig.mode.current",
    "ecc.mode.current", "power.limit", "temperature.gpu", "clocks.sm", "clocks.mem",
    "clocks.max.sm", "clocks.max.mem", "clocks.applications.graphics",
    "clocks_throttle_reasons.active", "pcie.link.gen.current", "pcie.link.width.current",
)  # fmt: skip
TOOLS = ("nvidia-smi", "nvcc", "ptxas", "ncu", "nvdisasm", "cuobjdump", "compute-sanitizer")
PLACES = ("/usr/local/nvidia/bin", "/usr/local/cuda*/bin", "/opt/nvidia/nsight-compute/*")
PACKAGES = (
    "cloudpickle", "cuda", "hypothesis", "llvmlite", "matplotlib", "numba", "numpy", "nvidia",
    "pytest", "torch", "triton",
)  # fmt: skip
PROPERTIES = (
    "name", "major", "minor", "multi_processor_count", "total_memory", "L2_cache_size",
    "shared_memory_per_block", "shared_memory_per_block_optin",
    "shared_memory_per_multiprocessor", "regs_per_multiprocessor",
    "max_threads_per_multi_processor", "warp_size",
)  # fmt: skip


def find_tool(name: str) -> str | None:
    """The path of one of NVIDIA's programs: on the search path, or where its installers put it.

    >>> find_tool("no-such-program") is None
    True
    """
    if found := shutil.which(name):
        return found
    root = Path("/")
    found_there = [p for place in PLACES for p in root.glob(f"{place[1:]}/{name}") if p.is_file()]
    return str(sorted(found_there)[-1]) if found_there else None


def record_environment(rows: Rows) -> None:
    """Add all that is known of this machine, a fact each: what, and its value."""
    for what, value in _facts():
        rows.add(what=what, value=value)


def _facts() -> Iterator[tuple[str, str]]:
    yield "platform", platform.platform()
    yield "cpu", f"{selection.cpu_name()}, {selection.cores()} cores"
    yield "device", selection.current().reason
    for tool in TOOLS:
        path = find_tool(tool)
        yield f"tool {tool}", _version(path) if path else "not there"
    if smi := find_tool("nvidia-smi"):
        yield from _queried(smi)
    yield from _torch()
    packages = {str(package.name).lower(): package.version for package in distributions()}
    for name in sorted(packages):
        if name.startswith(PACKAGES):
            yield f"package {name}", packages[name]


def _queried(smi: str) -> Iterator[tuple[str, str]]:
    """All at once, since each start takes up to a second; one by one where that is refused."""
    together = _said([smi, f"--query-gpu={','.join(QUERIES)}", "--format=csv,noheader"])
    first = [value.strip() for value in together.partition("\n")[0].split(",")]
    if len(first) == len(QUERIES):
        yield from zip(QUERIES, first, strict=True)
        return
    for query in QUERIES:
        yield query, _said([smi, f"--query-gpu={query}", "--format=csv,noheader"])


def _torch() -> Iterator[tuple[str, str]]:
    try:
        import torch
    except Exception as error:  # a broken build is a fact like others
        yield "torch", f"cannot be imported: {error}"
        return
    yield "torch's CUDA", str(torch.version.cuda)
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        for name in PROPERTIES:
            if hasattr(properties, name):
                yield f"torch {name}", str(getattr(properties, name))


def _version(tool: str) -> str:
    """The line of what it says of itself that has a version in it."""
    lines = _said([tool, "--version"]).splitlines()
    return next((ln for ln in lines if "release" in ln.lower() or "version" in ln.lower()), "?")


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"? {error}"
    return (done.stdout or done.stderr).strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write `environment-<device>.json`; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.gpu.runner.environment")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args(arguments)
    rows = Rows("environment", given.folder, "cpu" if given.rehearse else "cuda")
    record_environment(rows)
    for row in rows.write().rows:
        if not row["what"].startswith("package "):
            print(f"{row['what']}: {row['value']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
