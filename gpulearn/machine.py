"""The roofline of the machine at hand: how fast it computes and how fast it moves bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpulearn import _require, device, timing
from gpulearn.kernels.matmul_times import live_times, peak_rate
from gpulearn.roofline import Roof, arithmetic_intensity
from gpulearn.series import Provenance

__all__ = ["RoofPoint", "copy_bandwidth", "measured_roof", "roof_point"]


@dataclass(frozen=True)
class RoofPoint:
    """Work that was timed: a point under a roofline, if all is as the model says.

    Attributes:
        name: what was done.
        flops: its operations.
        bytes_moved: what must be moved between memory and processor at least.
        seconds: the fastest run.
        provenance: where it ran.

    Raises:
        BadInput: a number is not above zero.
    """

    name: str
    flops: float
    bytes_moved: float
    seconds: float
    provenance: Provenance

    def __post_init__(self) -> None:
        _require.above_zero("flops", self.flops)
        _require.above_zero("bytes_moved", self.bytes_moved)
        _require.above_zero("seconds", self.seconds)

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


def roof_point(
    name: str, function: Callable[[], object], flops: float, bytes_moved: float
) -> RoofPoint:
    """Time a call, and place it by its operations and its bytes.

    As with `measured_roof`, the fastest of all repeats counts.

    Args:
        name: what is done.
        function: does it, without arguments.
        flops: its operations, counted by whoever wrote it.
        bytes_moved: the bytes that it must move at least.

    Raises:
        BadInput: `function` cannot be called, or a number is not above zero.
        MissingPackage: torch, which does the timing, is not installed.
    """
    _require.above_zero("flops", flops)
    _require.above_zero("bytes_moved", bytes_moved)
    timed = timing.measure(function, seconds=0.5)
    return RoofPoint(name, flops, bytes_moved, min(timed.times), timed.provenance)


@_require.sizes("n")
def copy_bandwidth(n: int = 2**25, on: str = "cpu") -> float:
    """The most bytes per second that this machine shows in copying a large array.

    The fastest of all repeats of copying `n` float32 numbers; 4·n bytes are read and 4·n
    written. The default, 128 MiB twice, is more than the caches of most processors hold.

    Args:
        n: how many numbers.
        on: "cpu", or "cuda" for the memory of a GPU that torch can use.

    Raises:
        BadInput: an argument is none of these.
        MissingPackage: torch is not installed.
    """
    torch = _require.package("torch", "gl.copy_bandwidth")
    _require.choice("device", on, ("cpu", "cuda"))
    source, target = torch.ones(n, device=on), torch.zeros(n, device=on)
    fastest = min(timing.measure(lambda: target.copy_(source)).times)
    return float(2 * source.nbytes / fastest)


def measured_roof(on: str = "cpu") -> Roof:
    """Measure the float32 roofline of this machine's CPU, or of its GPU.

    The roof is the fastest run of a large matrix product, the slope the fastest run of a large
    copy: what the machine does when nothing is in its way.

    Args:
        on: "cpu", or "cuda" for a GPU that torch can use.

    Raises:
        BadInput: `on` is neither.
        MissingPackage: torch is not installed.
    """
    torch = _require.package("torch", "gl.measured_roof")
    _require.choice("device", on, ("cpu", "cuda"))
    if on == "cpu":
        name = f"{device.cpu_name()}, {device.cores()} cores"
        peak = peak_rate()
    else:
        name = torch.cuda.get_device_name()
        n = 4096
        peak = 2 * n**3 / live_times([n], on="cuda").seconds[0]
    return Roof(name, peak, copy_bandwidth(on=on), Provenance("measured", name))
