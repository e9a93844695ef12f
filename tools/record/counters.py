"""The SIMT machine's counters beside Nsight Compute's: equal to the last unit, or with a reason.

`ncu` watches this module as a program, which launches every example once and keeps a journal of
what it launched. Options and metrics are those of "Nsight Compute CLI" and of the "Kernel
Profiling Guide", which defines request, sector and wavefront.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpulearn import cuda
from gpulearn.errors import GpulearnError
from gpulearn.perf.recordings import Recording, recorded_here
from simt.host import api, xray
from tools.record.differences import BY_MACHINE_CODE, BY_PTX
from tools.record.launches import Example, examples

__all__ = ["compare", "find_ncu", "machine_counts", "matched", "record_counters", "summary"]

TRAFFIC = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
WAVES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
PASSES, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"
# counter of the machine -> metrics, with how often each counts
METRICS: dict[str, dict[str, int]] = {
    "global_load_requests": {TRAFFIC.format("requests", "ld"): 1},
    "global_load_sectors": {TRAFFIC.format("sectors", "ld"): 1},
    "global_store_requests": {TRAFFIC.format("requests", "st"): 1},
    "global_store_sectors": {TRAFFIC.format("sectors", "st"): 1},
    "shared_load_wavefronts": {WAVES.format("ld"): 1},
    "shared_store_wavefronts": {WAVES.format("st"): 1},
    # worked out from the addresses of each instruction; ncu's counter of bank conflicts also
    # holds passes that waited for something else
    "shared_conflicts": {PASSES: 1, IDEAL: -1},
}
ATOMICS = "the passes of atomics in shared memory are among those of the instructions"
REASONS = {(d.kernel, c): d for d in (*BY_PTX, *BY_MACHINE_CODE) for c in d.counters}
OPTIONS = (
    "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled",
    "--clock-control", "none", "--target-processes", "application-only",
)  # fmt: skip
PLACES = ("usr/local/cuda*/bin/ncu", "opt/nvidia/nsight-compute/*/ncu")  # below the root

Metrics = dict[str, float]


def find_ncu() -> Path | None:
    """The profiler: on the path, or the newest where NVIDIA's installers put it."""
    if on_path := shutil.which("ncu"):
        return Path(on_path)
    paths = [path for place in PLACES for path in Path("/").glob(place)]
    return max(paths, key=lambda p: [int(n) for n in re.findall(r"\d+", str(p))], default=None)


def machine_counts(example: Example) -> dict[str, int]:
    """What the SIMT machine counts in a launch, by counter."""
    report = xray.xray(example.kernel)[example.shape](*example.arguments(api.to_device))
    counts = report.totals.as_dict()
    conflicts = counts["shared_load_conflicts"] + counts["shared_store_conflicts"]
    return counts | {"shared_conflicts": conflicts}


def record_counters(every: int = 1, seconds: float = 95.0) -> Recording:
    """Profile launches where Nsight Compute is installed, and count them on the machine.

    Args:
        every: how many launches to go on for the next one; 1 for all.
        seconds: for the profiler.

    Returns:
        Rows with `launch`, `kernel`, `counter`, `machine`, `ncu` and `reason`; a `note` where
        there is no profiler, an `error` where it measures nothing.
    """
    chosen = list(examples().values())[::every]

    def rows() -> Iterator[dict[str, Any]]:
        try:
            measured = profile(find_ncu(), chosen, seconds)
        except GpulearnError as error:
            yield {"error": str(error)}
            return
        if not measured:
            yield {"note": "Nsight Compute (ncu) is not installed here."}
        for example in chosen:
            counts = machine_counts(example)
            if metrics := measured.get(example.name):
                yield from compare(example, counts, metrics)

    return recorded_here("counters", rows())


def profile(ncu: Path | None, chosen: Sequence[Example], seconds: float) -> dict[str, Metrics]:
    """The metrics of each launch by its name; without a profiler they are launched alone.

    Raises:
        GpulearnError: the launches fail, or none can be measured.
    """
    root = str(Path(__file__).parents[2])
    places = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory() as folder:
        table, journal, names = (Path(folder) / name for name in ("table", "journal", "names"))
        names.write_text("\n".join(example.name for example in chosen), encoding="utf-8")
        command = [sys.executable, "-m", "tools.record.counters", str(names), str(journal)]
        if ncu:
            metrics = ["--metrics", ",".join(_known(ncu)), "--log-file", str(table)]
            command = [str(ncu), *OPTIONS, *metrics, *command]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=seconds, check=False,
                env=os.environ | {"LC_ALL": "C", "PYTHONPATH": places},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise GpulearnError(f"The launches did not end within {seconds:.0f} s.") from None
        text = table.read_text(encoding="utf-8", errors="replace") if table.exists() else ""
        launched = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    measured = matched(text, [examples()[name] for name in launched])
    if not measured and (ncu or done.returncode):
        lines = (text + done.stdout + done.stderr).strip().splitlines()
        faults = [line for line in lines if line.startswith("==ERROR==")] or lines[-3:]
        raise GpulearnError(f"No launch could be measured: {' '.join(faults)}")
    return measured


def _known(ncu: Path) -> list[str]:
    """The metrics that the profiler lists for this GPU; all where it lists none of them."""
    names = [name for parts in METRICS.values() for name in parts]
    known: set[str] = set()
    for collection in ("profiling", "source"):
        command = [str(ncu), "--query-metrics", "--query-metrics-collection", collection]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        known |= set(re.findall(r"^\w+", done.stdout, re.MULTILINE))
    return [name for name in names if name.partition(".")[0] in known] or names


def matched(table: str, launched: Sequence[Example]) -> dict[str, Metrics]:
    """The metrics of each launch from the profiler's table, which has a row for each, in order.

    Launches of kernels that are not the examples' are passed over. Where the table does not have
    every launch in its order nobody knows which is missing, and none counts.
    """
    kernels = {example.kernel.__name__ for example in launched}
    header: list[str] = []
    rows: list[tuple[str, Metrics]] = []
    for cells in csv.reader(line for line in table.splitlines() if line.startswith('"')):
        if "Kernel Name" in cells:
            header = cells
        elif header and cells[0].isdigit():  # below the header stands a row of units
            row = dict(zip(header, cells, strict=False))
            name = python_name(row["Kernel Name"])
            if name in kernels:
                rows.append((name, {n: v for n, c in row.items() if (v := _number(c)) is not None}))
    if [name for name, _ in rows] != [example.kernel.__name__ for example in launched]:
        return {}
    return {e.name: metrics for e, (_, metrics) in zip(launched, rows, strict=True)}


def _number(cell: str) -> float | None:
    try:
        return float(cell.replace(",", ""))
    except ValueError:  # "n/a", "(!) n/a", or text
        return None


def python_name(mangled: str) -> str:
    """The Python name of a kernel from the name that Numba gave its machine code.

    >>> python_name("_ZN8gpulearn7kernels6copies12copy_stridedB2v1B12cw51cXTLSUwvE5ArrayIfLi1E")
    'copy_strided'
    >>> python_name("_ZN5tests13shared_reader12_3clocals_3e11shared_readB2v1E5ArrayIiLi1E1C")
    'shared_read'
    """
    rest, name = mangled.removeprefix("_ZN"), ""
    while number := re.match(r"\d+", rest):
        rest = rest[number.end() :]
        name, rest = rest[: int(number[0])], rest[int(number[0]) :]
    return name or mangled


def compare(
    example: Example, machine: Mapping[str, int], measured: Metrics
) -> Iterator[dict[str, Any]]:
    """A row for each counter of a launch that was measured."""
    kernel = example.kernel.__name__
    for counter, parts in METRICS.items():
        if not set(parts) <= set(measured):
            continue
        ours = machine[counter]
        theirs = round(sum(times * measured[metric] for metric, times in parts.items()))
        known, reason = REASONS.get((kernel, counter)), ""
        if ours != theirs and known and known.more == (theirs > ours):
            reason = known.reason
        elif ours != theirs and counter == "shared_conflicts" and machine["atomics"]:
            reason = ATOMICS
        row = {"launch": example.name, "kernel": kernel, "counter": counter}
        yield row | {"machine": ours, "ncu": theirs, "reason": reason}


def summary(recording: Recording) -> str:
    """A line for each counter that differs without a reason, and how many are equal."""
    rows = [row for row in recording.rows if "counter" in row]
    differ = [row for row in rows if row["ncu"] != row["machine"]]
    lines = [row["note"] for row in recording.rows if "note" in row]
    lines += [
        f"{row['launch']}: {row['counter']} is {row['machine']:,} on the machine and "
        f"{row['ncu']:,} on {recording.device}."
        for row in differ
        if not row["reason"]
    ]
    explained = sum(bool(row["reason"]) for row in differ)
    equal = len(rows) - len(differ)
    last = f"{equal:,} of {len(rows):,} counters are equal, {explained:,} others explained"
    return "\n".join([*lines, f"{last}, {len(differ) - explained:,} are not."])


def launch_all(names: Path, journal: Path) -> None:
    """What the profiler watches: launch the named examples, and write down which were launched."""
    warnings.simplefilter("ignore")  # small grids are meant
    with journal.open("w", encoding="utf-8", buffering=1) as file:
        for name in names.read_text(encoding="utf-8").splitlines():
            example = examples()[name]
            example.kernel[example.shape](*example.arguments())
            cuda.synchronize()
            print(name, file=file)


if __name__ == "__main__":
    launch_all(Path(sys.argv[1]), Path(sys.argv[2]))
