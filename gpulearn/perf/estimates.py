"""How long a kernel would take on a named GPU, from what the SIMT machine counted."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import gpu_spec
from gpulearn.perf.roofline import LAUNCH_SECONDS
from gpulearn.perf.series import Provenance
from gpulearn.perf.timing import format_seconds

if TYPE_CHECKING:
    from gpulearn.simt.report.report import Report

__all__ = ["Estimate", "estimate"]

# What the model leaves out; it stands under every estimate.
ASSUMPTIONS = (
    "every sector that a warp moves comes from memory, at full bandwidth: a cache that hits "
    "makes it faster",
    "the ordinary float32 and float64 units run at full rate: no tensor cores",
    "memory and arithmetic overlap fully, and there are threads enough to keep both busy",
    "shared memory, its bank conflicts, atomics, barriers, divergence and whole-number arithmetic "
    "cost nothing",
    f"the launch costs {format_seconds(LAUNCH_SECONDS)}",
)


@dataclass(frozen=True)
class Estimate:
    """What one launch costs on a GPU by its roofline: seconds, and what they are spent on.

    Attributes:
        kernel: the kernel's name.
        gpu: the GPU's name.
        memory: seconds to move the bytes.
        arithmetic: seconds to compute, float32 and float64 one after the other.
        launch: seconds until the GPU begins.
        bytes_moved: as counted, in whole sectors.
        flops32: operations in float32, as counted.
        flops64: operations in float64, as counted.
    """

    kernel: str
    gpu: str
    memory: float
    arithmetic: float
    launch: float
    bytes_moved: int
    flops32: int
    flops64: int

    @property
    def seconds(self) -> float:
        """max(memory, arithmetic) + launch."""
        return max(self.memory, self.arithmetic) + self.launch

    @property
    def limit(self) -> str:
        """Where most of the time goes: "memory", "arithmetic" or "launch"."""
        parts = {"memory": self.memory, "arithmetic": self.arithmetic, "launch": self.launch}
        return max(parts, key=parts.__getitem__)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the model takes for granted, a sentence each."""
        return ASSUMPTIONS

    @property
    def provenance(self) -> Provenance:
        """The label under which these seconds are shown: they are modelled."""
        return Provenance("modelled", f"the {self.gpu}'s roofline")

    @property
    def _rows(self) -> tuple[tuple[str, str, str], ...]:
        spec = gpu_spec(self.gpu)
        work = [
            f"{count:,} {name} operations at {spec.vector[name] / 1e12:.3g} TFLOP/s"
            for name, count in (("float32", self.flops32), ("float64", self.flops64))
            if count
        ]
        moved = f"{self.bytes_moved:,} bytes at {spec.bandwidth / 1e9:,.4g} GB/s"
        return (
            ("memory", format_seconds(self.memory), moved),
            ("arithmetic", format_seconds(self.arithmetic), " + ".join(work) or "no operations"),
            ("launch", format_seconds(self.launch), "assumed"),
        )

    @property
    def _headline(self) -> str:
        return (
            f"{self.kernel}: {format_seconds(self.seconds)}, {self.provenance}; "
            f"the limit is {_LIMITS[self.limit]}."
        )

    def __str__(self) -> str:
        parts = "\n".join(f"  {name:10}  {time:>8}  {how}" for name, time, how in self._rows)
        return f"{self._headline}\n{parts}\nAssumed: {'; '.join(ASSUMPTIONS)}."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{name}</th><td>{escape(time)}</td>'
            f'<td style="text-align:left">{escape(how)}</td></tr>'
            for name, time, how in self._rows
        )
        sides = {"part": "left", "time": "right", "from": "left"}
        head = "".join(
            f'<th scope="col" style="text-align:{side}">{word}</th>' for word, side in sides.items()
        )
        assumed = "".join(f"<li>{escape(sentence)}</li>" for sentence in ASSUMPTIONS)
        return (
            f"<p><strong>{escape(self._headline)}</strong></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<details><summary>What this model assumes</summary><ul>{assumed}</ul></details>"
        )


_LIMITS = {"memory": "memory", "arithmetic": "arithmetic", "launch": "the launch itself"}


def estimate(report: Report, gpu: str = "T4") -> Estimate:
    """Estimate the time of a launch on a named GPU from its counters.

    max(bytes moved / bandwidth, float32 operations / peak + float64 operations / peak) + launch,
    with the GPU's bandwidth and peaks by its data sheet. The estimate prints its assumptions.

    Args:
        report: what `gl.xray` returned.
        gpu: one of `gpulearn.perf.gpus.GPUS`.

    Raises:
        BadInput: `report` is no report, its launch was stopped, or the GPU is not known.

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
    return Estimate(
        kernel=report.kernel,
        gpu=gpu,
        memory=totals.bytes_moved / spec.bandwidth,
        arithmetic=totals.flops32 / spec.vector["float32"]
        + totals.flops64 / spec.vector["float64"],
        launch=LAUNCH_SECONDS,
        bytes_moved=totals.bytes_moved,
        flops32=totals.flops32,
        flops64=totals.flops64,
    )
