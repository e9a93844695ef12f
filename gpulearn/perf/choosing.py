"""Which GPU for a job: does it fit, how long does it take, what does it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import GPUS
from gpulearn.perf.roofline import roof

__all__ = ["Offer", "cheapest_gpu_that_fits", "offers"]


@dataclass(frozen=True)
class Offer:
    """A GPU that may be for hire.

    Attributes:
        name: the GPU's name.
        memory: bytes.
        peak: operations per second.
        bandwidth: bytes per second.
        power: watts at most.
        price: dollars an hour; None if it is not for hire.
    """

    name: str
    memory: float
    peak: float
    bandwidth: float
    power: float
    price: float | None

    def seconds(self, flops: float, bytes_moved: float) -> float:
        """The least seconds for the work, by the roofline."""
        return max(flops / self.peak, bytes_moved / self.bandwidth)


def offers(dtype: str = "float32", price: str = "low") -> list[Offer]:
    """Every GPU of `gpulearn.perf.gpus.GPUS` that has an arithmetic, with one price.

    Args:
        dtype: the arithmetic whose peak counts. "half" is bfloat16, or float16 where a GPU has
            no bfloat16.
        price: "low" or "high": which end of the GPU's range of prices.

    Raises:
        BadInput: an argument is not known.

    >>> [offer.name for offer in offers("float64")][:2]
    ['T4', 'L4']
    """
    known = ("float64", "float32", "tf32", "bfloat16", "float16", "half")
    require.choice("dtype", dtype, known)
    require.choice("price", price, ("low", "high"))
    found = []
    for spec in GPUS.values():
        half = "bfloat16" if "bfloat16" in spec.peak else "float16"
        arithmetic = half if dtype == "half" else dtype
        if arithmetic in spec.peak:
            top = roof(spec.name, arithmetic).peak
            asked = getattr(spec.price, price) if spec.price else None
            found.append(
                Offer(spec.name, spec.memory, top, spec.bandwidth, spec.power, price=asked)
            )
    return found


def _offers(values: object) -> None:
    if not isinstance(values, Sequence) or not all(isinstance(o, Offer) for o in values):
        raise BadInput(
            f"offers is {require.shown(values)}: give a list of gl.perf.Offer, such as "
            f"gl.perf.offers()."
        )


@require.checked(offers=_offers)
@require.positive("memory", "bytes_moved", or_zero=("flops",))
def cheapest_gpu_that_fits(
    offers: Sequence[Offer], memory: float, flops: float, bytes_moved: float
) -> str | None:
    """The name of the GPU on which a job costs least, among those whose memory holds it.

    A job takes max(flops / peak, bytes_moved / bandwidth) seconds, and costs that times the
    price of an hour. A GPU without a price is not for hire.

    Args:
        offers: GPUs with `name`, `memory`, `peak`, `bandwidth` and `price`.
        memory: the bytes that the job needs at once.
        flops: its operations.
        bytes_moved: the bytes that it moves from and to memory.

    Returns:
        A name, or None if no GPU for hire holds the job.

    Raises:
        BadInput: an argument is not what it should be.

    >>> cheapest_gpu_that_fits(offers(), memory=10e9, flops=1e15, bytes_moved=1e12)
    'RTX 4090'
    """
    costs = {}
    for offer in offers:
        if offer.price is not None and offer.memory >= memory:
            seconds = max(flops / offer.peak, bytes_moved / offer.bandwidth)
            costs[offer.name] = offer.price * seconds
    return min(costs, key=costs.__getitem__, default=None)
