"""How fast each rung is: live on a GPU, recorded on one, or modelled from its counters.

The model has three roofs. Memory: FLOP per byte moved × bandwidth. Arithmetic: the peak rate of
the ordinary units. Shared memory: in each clock cycle a multiprocessor moves 128 bytes, one pass
over its 32 banks of 4 bytes, on Turing half a pass. Meanwhile its float32 lanes, 64 or 128 of them
by architecture, do a multiplication and an addition each. A kernel runs at best at the lowest of
the three. All of these are in `gpulearn.perf.gpus`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpulearn import cuda, require
from gpulearn.errors import BadInput
from gpulearn.kernels.matmul import matmul_flops
from gpulearn.perf import recordings, timing
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.matmul_times import float32_products, random_matrix
from gpulearn.perf.roofline import roof
from gpulearn.perf.series import Provenance
from gpulearn_lessons.matmul.ladder import LADDER, CountedReport, ladder_counts
from simt.device import selection

__all__ = [
    "LIBRARY",
    "PEAK",
    "Rate",
    "kernel_roofs",
    "ladder_rates",
    "live_rates",
    "modelled_rates",
    "recorded_rates",
    "recorded_sizes",
    "whole_of",
]

LIBRARY = "torch.matmul"
PEAK = "peak rate"  # what stands in the library's place where rates are modelled
LIVE_SIZE = 2048  # large enough for every multiprocessor, small enough for the lowest rung
SHOWN_SIZE = 4096  # of a recording; the published numbers are for 4092


@dataclass(frozen=True)
class Rate:
    """Operations per second of one rung; `limit` is the lowest roof, if it is modelled."""

    flops_per_second: float
    provenance: Provenance
    limit: str = ""


def kernel_roofs(report: CountedReport, gpu: str = "T4") -> dict[str, float]:
    """The most operations per second that each of three resources of a GPU lets a kernel do.

    Args:
        report: what `gl.xray` returned, or one of `matmul.ladder_counts`.
        gpu: one of `gpulearn.perf.gpus.GPUS`.

    Returns:
        "memory", "shared memory" and "arithmetic" → operations per second; a resource that the
        kernel does not use is left out.

    Raises:
        BadInput: the launch did no arithmetic, or the GPU is not known.

    >>> roofs = kernel_roofs(ladder_counts(4096)["shared tile"], "T4")
    >>> [f"{name} {rate / 1e9:,.0f}" for name, rate in roofs.items()]
    ['arithmetic 8,100', 'memory 2,550', 'shared memory 982']
    """
    totals: Any = getattr(report, "totals", None)
    work = getattr(totals, "flops32", 0) + getattr(totals, "flops64", 0)
    if not work:
        raise BadInput(f"{require.shown(report)} counts no operations: give a kernel's report.")
    spec, best = gpu_spec(gpu), roof(gpu, units="vector")
    seconds = totals.flops32 / best.peak + totals.flops64 / spec.vector["float64"]
    roofs = {"arithmetic": work / seconds}
    if totals.bytes_moved:
        roofs["memory"] = best.bandwidth * work / totals.bytes_moved
    if passes := totals.shared_load_wavefronts + totals.shared_store_wavefronts:
        passes_per_second = spec.cycles_per_second / spec.multiprocessor.bank_cycles
        roofs["shared memory"] = passes_per_second * work / passes
    return roofs


def modelled_rates(reports: Mapping[str, CountedReport], gpu: str = "T4") -> dict[str, Rate]:
    """Each rung's rate at best, and the peak of the units that they use."""
    where = Provenance("modelled", f"the three roofs of the {gpu}")
    found = {}
    for name, report in reports.items():
        roofs = kernel_roofs(report, gpu)
        limit = min(roofs, key=lambda r: roofs[r])
        found[name] = Rate(roofs[limit], where, limit)
    peak = roof(gpu, units="vector").peak
    return found | {PEAK: Rate(peak, where)}


def whole_of(rates: Mapping[str, Rate]) -> str:
    """What the rates of the rungs are held against: the library, or the peak if modelled."""
    return LIBRARY if LIBRARY in rates else PEAK


def ladder_rates(
    reports: Mapping[str, CountedReport] | None = None, gpu: str | None = None, n: int | None = None
) -> dict[str, Rate]:
    """Each rung's rate, and last the library's in true float32; if modelled, the peak instead.

    Live where there is a GPU, else recorded where there is a recording, else modelled for a T4.

    Args:
        reports: what the model takes, such as `matmul.ladder_counts(n)`; by default that of
            n = 4,096.
        gpu: a GPU to model, whatever is here.
        n: rows and columns of the matrices, of a size that was recorded. Without it, live rates
            are for n = 2,048 and recorded ones for 4,096 or the next smaller size.

    Raises:
        BadInput: the GPU is not known, there is no recording of this size, or `reports` is
            something else.
    """
    if reports is not None and not isinstance(reports, Mapping):
        raise BadInput(
            f"reports is {require.shown(reports)}: give what matmul.ladder_counts() returns."
        )
    if n is not None:
        return recorded_rates(n)
    if gpu is None:
        if selection.current().kind == "gpu":
            return live_rates()
        if sizes := recorded_sizes():
            return recorded_rates(max((n for n in sizes if n <= SHOWN_SIZE), default=min(sizes)))
    return modelled_rates(reports or ladder_counts(SHOWN_SIZE), gpu or "T4")


def recorded_sizes() -> list[int]:
    """The sizes at which the library and a rung were recorded in float32, ascending."""
    recording = recordings.find("ladder")
    if recording is None:
        return []
    timed = [row for row in recording.rows if _in_float32(row)]
    library = {row["n"] for row in timed if row["rung"] == LIBRARY}
    return sorted(library & {row["n"] for row in timed if row["rung"] != LIBRARY})


def recorded_rates(n: int) -> dict[str, Rate]:
    """Each rung's rate and the library's as recorded for n × n products in true float32.

    A rung that was left out, or was wrong, is not among them.

    Raises:
        BadInput: this size was not recorded.
    """
    sizes = recorded_sizes()
    recording = recordings.find("ladder")
    if recording is None or n not in sizes:
        known = ", ".join(map(str, sizes)) or "none: `make gpu` records them on a GPU"
        raise BadInput(f"n is {require.shown(n)}: the recorded sizes are {known}.")
    origin = recording.provenance
    where = Provenance(origin.kind, f"{origin.where}, n = {n}", origin.when)
    seconds = {row["rung"]: row["seconds"] for row in recording.where(n=n) if _in_float32(row)}
    return {
        name: Rate(matmul_flops(n, n, n) / seconds[name], where)
        for name in (*LADDER, LIBRARY)
        if name in seconds
    }


def _in_float32(row: Mapping[str, Any]) -> bool:
    """Whether a row of a recording has a time in float32."""
    return "seconds" in row and row.get("dtype", "float32") == "float32"


def live_rates(n: int = LIVE_SIZE, seconds: float = 0.3) -> dict[str, Rate]:
    """Time every rung and `torch.matmul` on this machine's GPU, matrices already there.

    Args:
        n: rows and columns of the matrices, even.
        seconds: the most time to spend on the repeats of one rung.
    """
    torch = require.package("torch", "Timing the ladder")
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else selection.cpu_name()
    name = f"{name}, n = {n}"
    a, b = (random_matrix(n, seed) for seed in (1, 2))
    factors = cuda.to_device(a), cuda.to_device(b)
    c = cuda.device_array((n, n), a.dtype)
    flops, found = matmul_flops(n, n, n), {}
    for rung in LADDER.values():
        took = timing.measure(partial(rung.launch, *factors, c), seconds=seconds, where=name)
        found[rung.name] = Rate(flops / took.median, took.provenance)
    x, y = (torch.from_numpy(m).to("cuda" if torch.cuda.is_available() else "cpu") for m in (a, b))
    with float32_products(torch, tf32=False):
        took = timing.measure(lambda: x @ y, seconds=seconds, where=name)
    return found | {LIBRARY: Rate(flops / took.median, took.provenance)}
