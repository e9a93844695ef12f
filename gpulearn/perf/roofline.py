"""How long work could take at best: the roofline model.

Work of F operations that moves B bytes takes at least max(F / peak, B / bandwidth)
seconds (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009). Peaks are operations per
second, bandwidths bytes per second, intensities operations per byte.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import BYTES, gpu_spec
from gpulearn.perf.series import Provenance

# Assumed for every GPU, and said wherever a model's time is shown: what it costs the host
# to launch one kernel or to start one copy.
LAUNCH_SECONDS = 5e-6
COPY_SECONDS = 10e-6


@require.positive("bytes_moved", or_zero=("flops",))
def arithmetic_intensity(flops: float, bytes_moved: float) -> float:
    """Operations for each byte that is moved between memory and processor: F / B.

    >>> arithmetic_intensity(flops=2e6, bytes_moved=12e6)
    0.16666666666666666
    """
    return flops / bytes_moved


@require.positive("peak", "bandwidth")
def ridge_point(peak: float, bandwidth: float) -> float:
    """The arithmetic intensity from which arithmetic is the limit.

    >>> ridge_point(peak=8e12, bandwidth=320e9)
    25.0
    """
    return peak / bandwidth


@require.positive("intensity", "peak", "bandwidth")
def attainable(intensity: float, peak: float, bandwidth: float) -> float:
    """The most operations per second that work of this intensity can reach.

    min(peak, intensity · bandwidth): the roofline itself.

    >>> attainable(intensity=2.0, peak=8e12, bandwidth=320e9)
    640000000000.0
    """
    return min(peak, intensity * bandwidth)


@dataclass(frozen=True)
class Roof:
    """One roofline."""

    name: str
    peak: float
    bandwidth: float
    provenance: Provenance

    @property
    def ridge(self) -> float:
        """The ridge point."""
        return ridge_point(self.peak, self.bandwidth)

    @property
    def origin(self) -> str:
        """The provenance without the name of the machine, which is the roof's own."""
        if self.provenance.kind == "modeled":
            return str(self.provenance)
        if self.provenance.kind == "recorded":
            return f"recorded {self.provenance.when}"
        return "measured here" + (", while busy" if self.provenance.busy else "")

    def attainable(self, intensity: float) -> float:
        """The most operations per second at an intensity."""
        return attainable(intensity, self.peak, self.bandwidth)

    def seconds(self, flops: float, bytes_moved: float) -> float:
        """The least seconds for work of `flops` operations that moves `bytes_moved` bytes."""
        return max(flops / self.peak, bytes_moved / self.bandwidth)

    def limit(self, flops: float, bytes_moved: float) -> str:
        """What those seconds are spent on: "memory" or "arithmetic"."""
        return "memory" if flops / self.peak < bytes_moved / self.bandwidth else "arithmetic"

    def __str__(self) -> str:
        return (
            f"{self.name}: {plain(self.peak / 1e9)} GFLOP/s, {plain(self.bandwidth / 1e9)} GB/s, "
            f"ridge at {self.ridge:.3g} FLOP per byte ({self.origin})"
        )

    __repr__ = __str__


def plain(value: float) -> str:
    """A rate without exponent: three digits, or all whole ones."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def roof(gpu: str, dtype: str = "float32", units: str = "any") -> Roof:
    """The roofline of a named GPU by its data sheet, for one arithmetic.

    `units` are "any" (tensor cores where they are faster) or "vector" (the ordinary units only,
    which is what a kernel of our own uses).

    >>> roof("T4").ridge
    25.3125
    """
    spec = gpu_spec(gpu)
    require.choice("kind of units", units, ("any", "vector"))
    rates = spec.peak if units == "any" else spec.vector
    if dtype not in list(rates):
        raise BadInput(f"The {gpu} has no {dtype} arithmetic: choose from {', '.join(rates)}.")
    name = gpu if dtype == "float32" else f"{gpu}, {dtype}"
    origin = Provenance("modeled", f"the {gpu}'s data sheet")
    return Roof(name, rates[dtype], spec.bandwidth, origin)


def matmul_seconds(n: int, gpu: str, dtype: str = "float32", copies: bool = False) -> float:
    """Estimate the seconds that an n × n product C = A·B takes on a GPU at its best.

    max(2·n³ / peak, bytes / bandwidth) + one launch; with `copies` also A and B to the
    GPU and C back, over the link. Each matrix is moved once, so a real GPU is
    slower, unless its cache helps.
    """
    moved = 3 * n * n * BYTES[dtype]
    seconds = LAUNCH_SECONDS + roof(gpu, dtype).seconds(2 * n**3, moved)
    if copies:
        seconds += 3 * COPY_SECONDS + moved / gpu_spec(gpu).link
    return seconds
