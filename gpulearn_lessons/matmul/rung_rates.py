"""How fast each rung is: live on a GPU, recorded on one, or modeled from its counters.

The model has three roofs. Memory: FLOP per byte moved × bandwidth. Arithmetic: the peak rate of
the ordinary units. Shared memory: in each clock cycle a multiprocessor moves 128 bytes, one pass
over its 32 banks of 4 bytes, on Turing half a pass. Meanwhile its float32 lanes, 64 or 128 of them
by architecture, do a multiplication and an addition each. A kernel runs at best at the lowest of
the three. All of these are in `gpulearn.perf.gpus`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from gpulearn import cuda, require
from gpulearn.errors import BadInput
from gpulearn.kernels.matmul import matmul_flops
from gpulearn.perf import recordings, timing
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.matmul_times import float32_products, random_matrix
from gpulearn.perf.roofline import roof
from gpulearn.perf.series import Provenance
from gpulearn_lessons.matmul.ladder import LADDER
from simt.device import selection

if TYPE_CHECKING:
    from simt.observers.counters import Counts

LIBRARY = "torch.matmul"
PEAK = "peak rate"  # what stands in the library's place where rates are modeled
SHOWN_SIZE = 4096  # of a recording; the published numbers are for 4092


@dataclass(frozen=True)
class Rate:
    """Operations per second of one rung; `limit` is the lowest roof, if it is modeled."""

    flops_per_second: float
    provenance: Provenance
    limit: str = ""


def kernel_roofs(counts: Counts, gpu: str = "T4") -> dict[str, float]:
    """The most operations per second that each of three resources of a GPU lets a kernel do.

    Args:
        counts: the `totals` of a report, or one of `matmul.ladder_counts`.
        gpu: one of `gpulearn.perf.gpus.GPUS`.

    Returns:
        "memory", "shared memory" and "arithmetic" → operations per second; a resource that the
        kernel does not use is left out.

    >>> from gpulearn_lessons.matmul.ladder import ladder_counts
    >>> roofs = kernel_roofs(ladder_counts(4096)["shared tile"], "T4")
    >>> [f"{name} {rate / 1e9:,.0f}" for name, rate in roofs.items()]
    ['arithmetic 8,100', 'memory 2,550', 'shared memory 982']
    """
    work = getattr(counts, "flops32", 0) + getattr(counts, "flops64", 0)
    if not work:
        raise BadInput(
            f"{require.shown(counts)} counts no operations: give a kernel's report.totals."
        )
    spec, best = gpu_spec(gpu), roof(gpu, units="vector")
    seconds = counts.flops32 / best.peak + counts.flops64 / spec.vector["float64"]
    roofs = {"arithmetic": work / seconds}
    if counts.bytes_moved:
        roofs["memory"] = best.bandwidth * work / counts.bytes_moved
    if passes := counts.shared_load_wavefronts + counts.shared_store_wavefronts:
        passes_per_second = spec.cycles_per_second / spec.multiprocessor.bank_cycles
        roofs["shared memory"] = passes_per_second * work / passes
    return roofs


def modeled_rates(counts: Mapping[str, Counts], gpu: str = "T4") -> dict[str, Rate]:
    """Each rung's rate at best, and the peak of the units that they use."""
    where = Provenance("modeled", f"the three roofs of the {gpu}")
    rates = {}
    for name, counted in counts.items():
        roofs = kernel_roofs(counted, gpu)
        limit = min(roofs, key=roofs.__getitem__)
        rates[name] = Rate(roofs[limit], where, limit)
    return rates | {PEAK: Rate(roof(gpu, units="vector").peak, where)}


def whole_of(rates: Mapping[str, Rate]) -> str:
    """What the rates of the rungs are held against: the library, or the peak if modeled."""
    return LIBRARY if LIBRARY in rates else PEAK


def ladder_rates(counts: Mapping[str, Counts]) -> dict[str, Rate]:
    """Each rung's rate, and last the library's in true float32; if modeled, the peak instead.

    Live where there is a GPU, else recorded where there is a recording, else modeled for a T4 by
    the counts.
    """
    if selection.current().kind == "gpu":
        return live_rates()
    return recorded_rates() or modeled_rates(counts, "T4")


def recorded_rates() -> dict[str, Rate]:
    """Each rung's rate and the library's in true float32, as recorded for up to n = 4,096.

    A rung that was left out, or was wrong, is not among them; without a recording none is.
    """
    recording, times = recordings.find("ladder"), dict[int, dict[str, float]]()
    for row in recording.rows if recording else ():
        if "seconds" in row and row.get("dtype", "float32") == "float32" and row["n"] <= SHOWN_SIZE:
            times.setdefault(row["n"], {})[row["rung"]] = row["seconds"]
    n = max((n for n, rungs in times.items() if LIBRARY in rungs and len(rungs) > 1), default=0)
    if recording is None or not n:
        return {}
    where = replace(recording.provenance, where=f"{recording.provenance.where}, n = {n}")
    flops = matmul_flops(n, n, n)
    return {
        name: Rate(flops / times[n][name], where) for name in (*LADDER, LIBRARY) if name in times[n]
    }


def live_rates(n: int = 2048, seconds: float = 0.3) -> dict[str, Rate]:
    """Time every rung and `torch.matmul` on this machine's GPU, matrices already there.

    The default n, which is even, is large enough for every multiprocessor and small enough for the
    lowest rung; at most `seconds` are spent on the repeats of one rung.
    """
    torch = require.package("torch", "Timing the ladder")
    on = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.cuda.get_device_name() if on == "cuda" else selection.cpu_name()
    a, b = (random_matrix(n, seed) for seed in (1, 2))
    factors, c = (cuda.to_device(a), cuda.to_device(b)), cuda.device_array((n, n), a.dtype)
    x, y = (torch.from_numpy(matrix).to(on) for matrix in (a, b))
    calls = {rung.name: partial(rung.launch, *factors, c) for rung in LADDER.values()}
    calls[LIBRARY] = partial(torch.matmul, x, y)
    rates = {}
    with float32_products(torch, tf32=False):
        for name, call in calls.items():
            result = timing.measure(call, seconds=seconds)
            origin = replace(result.provenance, where=f"{device}, n = {n}")
            rates[name] = Rate(matmul_flops(n, n, n) / result.median, origin)
    return rates
