"""The roofline of the machine at hand: how fast it computes and how fast it moves bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.kernels.matmul import matmul_flops
from gpulearn.perf.matmul_times import float32_products, one_thread_and_all, random_matrix
from gpulearn.perf.roofline import Roof, arithmetic_intensity
from gpulearn.perf.series import Provenance
from gpulearn.perf.timing import fastest, watch_neighbors
from simt.device import selection

ROUNDS = 2  # at most, if other programs disturb


@dataclass(frozen=True)
class RoofPoint:
    """Work that was timed: a point under a roofline, if all is as the model says."""

    name: str
    flops: float
    bytes_moved: float  # between memory and processor, at least
    seconds: float  # of the fastest run
    provenance: Provenance

    @property
    def intensity(self) -> float:
        """Operations per byte."""
        return arithmetic_intensity(self.flops, self.bytes_moved)

    @property
    def rate(self) -> float:
        """Operations per second."""
        return self.flops / self.seconds

    def share(self, roof: Roof) -> float:
        """The part of what a roof allows that was reached; above 1 if a premise is wrong."""
        return self.rate / roof.attainable(self.intensity)


@require.positive("flops", "bytes_moved")
def roof_point(
    name: str, function: Callable[[], object], flops: float, bytes_moved: float
) -> RoofPoint:
    """Time a call without arguments, and place it by its operations and its bytes at least.

    As with `measured_roof`, the fastest of all repeats counts.
    """
    if not callable(function):
        raise BadInput(
            f"function is {require.shown(function)}: give what can be called without arguments."
        )
    seconds, origin = fastest(function)
    return RoofPoint(name, flops, bytes_moved, seconds, origin)


def memory_bandwidth(n: int = 2**24, on: str = "cpu") -> float:
    """The most bytes per second that a "cpu", or a GPU ("cuda"), moves from and to its memory.

    The fastest of all repeats, on one thread and on all, of a copy b ← a, which reads and writes
    8·n bytes, and of a sum a ← a + b, which reads and writes 12·n. Many CPUs read the target of a
    copy before they write it; no count sees that, and the sum, which has read its target, does
    not pay for it. The n float32 numbers of an array have to be several times what a cache holds.
    """
    torch = require.package("torch", "gl.perf.memory_bandwidth")
    a, b = torch.randn(n, device=on), torch.randn(n, device=on)
    best = 0.0
    for _ in one_thread_and_all(on):
        copy, _ = fastest(lambda: b.copy_(a), seconds=0.3)
        add, _ = fastest(lambda: a.add_(b), seconds=0.3)
        best = max(best, 8 * n / copy, 12 * n / add)
    return best


def peak_rate(on: str = "cpu", sizes: Sequence[int] = (512, 1024, 2048)) -> float:
    """The most operations per second in a float32 product of large matrices, by torch.

    Several sizes are tried: a larger product is more efficient, a smaller one is likelier to get
    through undisturbed.
    """
    torch = require.package("torch", "gl.perf.peak_rate")
    best = 0.0
    for n in sizes:
        a, b = (torch.from_numpy(random_matrix(n, seed)).to(on) for seed in (1, 2))
        multiply = partial(torch.matmul, a, b, out=torch.empty_like(a))
        with float32_products(torch, tf32=False):
            for _ in one_thread_and_all(on):
                best = max(best, matmul_flops(n, n, n) / fastest(multiply, seconds=0.3)[0])
    return best


def measured_roof() -> Roof:
    """Measure the float32 roofline of this machine's CPU.

    The roof is the fastest run of a large matrix product, the slope that of a large copy or sum:
    what the machine does when nothing is in its way. Where other programs disturb, it tries
    once again.
    """
    peak = bandwidth = 0.0
    for _ in range(ROUNDS):
        with watch_neighbors() as neighbors:
            peak = max(peak, peak_rate())
            bandwidth = max(bandwidth, memory_bandwidth())
        if not neighbors.disturb:
            break
    name = f"{selection.cpu_name()}, {selection.cores()} cores"
    return Roof(name, peak, bandwidth, Provenance("measured", name, busy=neighbors.disturb))
