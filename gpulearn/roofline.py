"""How long work could take at best on a named GPU: the roofline model.

Work of F operations that moves B bytes takes at least max(F / peak, B / bandwidth)
seconds (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpulearn import _require
from gpulearn.errors import BadInput

__all__ = ["GPUS", "GpuSpec", "gpu_spec", "matmul_seconds"]

# Assumed for every GPU, and said wherever a model's time is shown: what it costs the host
# to launch one kernel or to start one copy.
LAUNCH_SECONDS = 5e-6
COPY_SECONDS = 10e-6

BYTES = {"float64": 8, "float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class GpuSpec:
    """A GPU by its data sheet.

    `peak` is operations per second by arithmetic (dense, no sparsity), `bandwidth` and
    `link` (to the host, one direction) are bytes per second.
    """

    name: str
    peak: Mapping[str, float]
    bandwidth: float
    link: float
    source: str


GPUS = {
    spec.name: spec
    for spec in (
        GpuSpec(
            name="T4",
            peak={"float32": 8.1e12, "float16": 65e12, "float64": 8.1e12 / 32},
            bandwidth=320e9,
            link=15.75e9,  # PCIe 3.0, 16 lanes
            source="NVIDIA T4 data sheet; bandwidth: Turing white paper (2018)",
        ),
        GpuSpec(
            name="H200",
            peak={"float64": 67e12, "float32": 67e12, "tf32": 494.5e12, "bfloat16": 989e12}
            | {"float16": 989e12},  # the sheet's tensor-core rates are for sparse matrices: half
            bandwidth=4.8e12,
            link=63e9,  # PCIe 5.0, 16 lanes
            source="NVIDIA H200 data sheet (SXM version)",
        ),
    )
}


def gpu_spec(name: str) -> GpuSpec:
    """Look a GPU up by name.

    Raises:
        BadInput: the name is not in `GPUS`; the nearest is named.
    """
    return GPUS[_require.choice("GPU", name, GPUS)]


def matmul_seconds(
    m: int, n: int, p: int, *, gpu: str, dtype: str = "float32", copies: bool = False
) -> float:
    """Estimate the seconds that C = A·B takes on a GPU at its best, with A (m, n), B (n, p).

    max(2·m·n·p / peak, bytes / bandwidth) + one launch; with `copies` also A and B to the
    GPU and C back, over the link. Each matrix is moved once, so a real GPU is
    slower, unless its cache helps.

    Raises:
        BadInput: a size is not above zero, or the GPU or its arithmetic is unknown.
    """
    spec = gpu_spec(gpu)
    if dtype not in spec.peak:
        raise BadInput(f"The {gpu} has no {dtype} arithmetic: choose from {', '.join(spec.peak)}.")
    m, n, p = (_require.whole(name, size) for name, size in (("m", m), ("n", n), ("p", p)))
    moved = (m * n + n * p + m * p) * BYTES[dtype]
    seconds = LAUNCH_SECONDS + max(2 * m * n * p / spec.peak[dtype], moved / spec.bandwidth)
    if copies:
        seconds += 3 * COPY_SECONDS + moved / spec.link
    return seconds
