"""How long a kernel would take on a named GPU, from what the SIMT machine counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import GPUS, GpuSpec, gpu_spec
from gpulearn.perf.roofline import LAUNCH_SECONDS
from gpulearn.perf.timing import format_seconds
from gpulearn.tables import table
from simt.observers.traffic import SECTOR

if TYPE_CHECKING:
    from simt.report.report import Report

# What the model leaves out; it stands under every estimate.
ASSUMPTIONS = (
    "every sector that a warp moves comes from memory, at full bandwidth; where a range is given, "
    "its lower end is for caches that let each sector come once",
    "the ordinary float32 and float64 units run at full rate, no tensor cores: that rate counts a "
    "product and a sum in one instruction as two operations, so without such pairs arithmetic "
    "takes twice as long",
    "memory and arithmetic overlap fully, and there are threads enough to keep both busy; only "
    "blocks that are fewer than the multiprocessors leave a part of both rates unused",
    "shared memory, its bank conflicts, atomics, barriers, divergence and whole-number arithmetic "
    "cost nothing",
    f"the launch costs {format_seconds(LAUNCH_SECONDS)}",
)


@dataclass(frozen=True)
class Estimate:
    """What one launch costs on a GPU by its roofline: seconds, and what they are spent on."""

    kernel: str
    gpu: str
    blocks: int
    memory: float  # seconds to move the bytes, by the whole GPU
    arithmetic: float  # seconds to compute, float32, then float64, by the whole GPU
    bytes_moved: int  # in whole sectors
    bytes_at_least: int  # of the distinct sectors, which an empty cache cannot spare
    bytes_loaded: int  # of the loads, which are all that an L1 can spare
    bytes_in_blocks: int  # of the distinct sectors that each block loads, summed
    flops32: int
    flops64: int

    @property
    def spec(self) -> GpuSpec:
        """The GPU's data sheet."""
        return gpu_spec(self.gpu)

    @property
    def busy(self) -> float:
        """The part of the multiprocessors that get a block."""
        return min(1.0, self.blocks / self.spec.multiprocessors)

    @property
    def seconds(self) -> float:
        """max(memory, arithmetic) / busy + launch."""
        return max(self.memory, self.arithmetic) / self.busy + LAUNCH_SECONDS

    @property
    def seconds_at_least(self) -> float:
        """The same if every distinct sector comes from memory once."""
        memory = self.bytes_at_least / self.spec.bandwidth
        return max(memory, self.arithmetic) / self.busy + LAUNCH_SECONDS

    @property
    def limit(self) -> str:
        """Where most of the time goes: "memory", "arithmetic" or "launch"."""
        launch = LAUNCH_SECONDS * self.busy
        parts = {"memory": self.memory, "arithmetic": self.arithmetic, "launch": launch}
        return max(parts, key=parts.__getitem__)

    @property
    def caches(self) -> str:
        """Which caches could hold what is moved more than once; empty if nothing is."""
        again = self.bytes_moved - self.bytes_at_least
        if not again:
            return ""
        spec, each = self.spec, self.bytes_in_blocks / self.blocks
        l1, l2 = spec.multiprocessor.cache_bytes, spec.l2_bytes
        within = self.bytes_loaded - self.bytes_in_blocks
        some = f"{_size(within)} of them" if within else "none"
        text = f"{_size(again)} are moved again, {some} by loads within a block"
        if within and each <= l1:
            text += f" ({_size(each)} each, of {_size(l1)} L1 and shared memory)"
        text += f"; all {_size(self.bytes_at_least)}"
        if self.bytes_at_least <= l2:
            return f"{text} fit into the L2 of {_size(l2)}"
        large = [name for name, gpu in GPUS.items() if gpu.l2_bytes >= self.bytes_at_least]
        others = f", only into that of: {', '.join(large)}" if large else ", nor into another's"
        return f"{text} do not fit into the L2 of {_size(l2)}{others}"

    @property
    def _rows(self) -> list[tuple[str, str, str]]:
        """Part, time, and how it comes about."""
        spec = self.spec
        moved = f"{self.bytes_moved:,} bytes at {spec.bandwidth / 1e9:,.4g} GB/s"
        rows = [("memory", format_seconds(self.memory), moved)]
        if self.caches:
            cached = format_seconds(self.bytes_at_least / spec.bandwidth)
            rows.append(("if cached", cached, self.caches))
        operations = " + ".join(
            f"{count:,} {name} operations at {spec.vector[name] / 1e12:.3g} TFLOP/s"
            for name, count in (("float32", self.flops32), ("float64", self.flops64))
            if count
        )
        rows.append(("arithmetic", format_seconds(self.arithmetic), operations or "no operations"))
        if self.busy < 1:
            blocks = "1 block uses" if self.blocks == 1 else f"{self.blocks} blocks use"
            used = f"{blocks} {self.blocks} of {spec.multiprocessors} multiprocessors"
            rows.append(("idle", f"× {1 / self.busy:.3g}", used))
        return [*rows, ("launch", format_seconds(LAUNCH_SECONDS), "assumed")]

    @property
    def _headline(self) -> str:
        times = dict.fromkeys(map(format_seconds, (self.seconds_at_least, self.seconds)))
        limit = "the launch itself" if self.limit == "launch" else self.limit
        return (
            f"{self.kernel}: {' to '.join(times)}, modeled by the {self.gpu}'s roofline; the limit "
            f"is {limit}."
        )

    def __str__(self) -> str:
        parts = "\n".join(f"  {name:10}  {time:>8}  {how}" for name, time, how in self._rows)
        return f"{self._headline}\n{parts}\nAssumed: {'; '.join(ASSUMPTIONS)}."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [dict(zip(("part", "time", "from"), row, strict=True)) for row in self._rows]
        assumed = "".join(f"<li>{escape(sentence)}</li>" for sentence in ASSUMPTIONS)
        return (
            f"<p><strong>{escape(self._headline)}</strong></p>"
            f"{table(rows)._repr_html_()}"
            f"<details><summary>What this model assumes</summary><ul>{assumed}</ul></details>"
        )


def _size(count: float) -> str:
    """Bytes with three digits, in the units of caches.

    >>> [_size(n) for n in (31, 2048, 3 << 19)]
    ['31 B', '2 KB', '1.5 MB']
    """
    for unit, bytes_each in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= bytes_each:
            return f"{count / bytes_each:.4g} {unit}"
    return f"{count:.4g} B"


def estimate(report: Report, gpu: str = "T4") -> Estimate:
    """Estimate the time of a launch on a named GPU from its counters, as `gl.xray` reports them.

    max(bytes moved / bandwidth, float32 operations / peak + float64 operations / peak) + launch,
    with the GPU's bandwidth and peaks by its data sheet: a range, from `seconds_at_least`, where
    every distinct sector comes from memory once, to `seconds`, where no cache hits; `caches` says
    which could. Of fewer blocks than multiprocessors both rates are taken to be that part: this is
    a model, in which a multiprocessor draws no more than its part of the bandwidth. The estimate
    prints its assumptions.

    >>> import numpy as np
    >>> from gpulearn import cuda, xray
    >>> @cuda.jit
    ... def double(a):
    ...     i = cuda.grid(1)
    ...     a[i] *= np.float32(2)
    >>> report = xray(double)[1024, 256](np.ones(1024 * 256, np.float32))
    >>> estimate(report, "T4").limit
    'memory'
    """
    totals: Any = getattr(report, "totals", None)
    if not hasattr(totals, "bytes_moved"):
        raise BadInput(
            f"estimate was given {require.shown(report)}: give it the report that "
            f"gl.xray(kernel)[grid, block](…) returns."
        )
    if not totals.instructions and not report.ok:
        raise BadInput(
            f"{report.kernel} did not run, so there is nothing to estimate: "
            f"{report.findings[0].message}"
        )
    spec = gpu_spec(gpu)
    float32, float64 = (spec.vector[name] for name in ("float32", "float64"))
    counted = totals.distinct_sectors  # not in a sample of blocks
    return Estimate(
        kernel=report.kernel,
        gpu=gpu,
        blocks=math.prod(report.grid),
        memory=totals.bytes_moved / spec.bandwidth,
        arithmetic=totals.flops32 / float32 + totals.flops64 / float64,
        bytes_moved=totals.bytes_moved,
        bytes_at_least=totals.bytes_at_least if counted else totals.bytes_moved,
        bytes_loaded=totals.global_load_sectors * SECTOR,
        bytes_in_blocks=(totals.block_sectors if counted else totals.global_load_sectors) * SECTOR,
        flops32=totals.flops32,
        flops64=totals.flops64,
    )
