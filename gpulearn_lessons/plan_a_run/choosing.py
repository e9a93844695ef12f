"""Which GPUs for a job, and on which terms: whether it fits, how long it takes, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.perf.gpus import GPUS


@dataclass(frozen=True)
class Offer:
    """A GPU that may be for rent."""

    name: str  # the GPU's
    memory: float  # bytes
    peak: float  # operations per second
    bandwidth: float  # bytes per second
    power: float  # watts at most
    price: float | None  # dollars an hour; None if it is not for rent

    def seconds(self, flops: float, bytes_moved: float) -> float:
        """The least seconds for the work, by the roofline."""
        return max(flops / self.peak, bytes_moved / self.bandwidth)


@dataclass(frozen=True)
class Trial:
    """A job that was tried out on some GPUs for a few minutes, and the terms of their rent."""

    name: str  # of the GPUs and the terms, such as "8 × H100, spot"
    gpus: int  # how many
    memory: float  # bytes that one of them has
    needed: float  # bytes that were in use on the fullest of them
    step: float  # seconds
    price: float  # dollars an hour for one GPU
    interruptions: float = 0.0  # how often all are taken away in a paid hour; 0 if never


def offers(price: str = "low") -> list[Offer]:
    """Every GPU of `gpulearn.perf.gpus.GPUS`, with its peak in 16 bits and one price.

    The price is the "low" or the "high" end of the GPU's range.

    >>> [offer.name for offer in offers()][:2]
    ['T4', 'L4']
    """
    require.choice("price", price, ("low", "high"))
    market = []
    for spec in GPUS.values():
        peak = spec.peak.get("bfloat16") or spec.peak["float16"]
        dollars = getattr(spec.price, price) if spec.price else None
        market.append(Offer(spec.name, spec.memory, peak, spec.bandwidth, spec.power, dollars))
    return market


def _check_list(name: str, kind: type, expected: str, values: object) -> None:
    if not isinstance(values, Sequence) or not all(isinstance(value, kind) for value in values):
        raise BadInput(f"{name} is {require.shown(values)}: give a list of {expected}.")


@require.checked(
    offers=partial(_check_list, "offers", Offer, "plan_a_run.Offer, such as plan_a_run.offers()")
)
@require.positive("memory", "bytes_moved", or_zero=("flops",))
def cheapest_gpu_that_fits(
    offers: Sequence[Offer], memory: float, flops: float, bytes_moved: float
) -> str | None:
    """The name of the GPU on which a job costs least, among those whose memory holds it.

    A job takes max(flops / peak, bytes_moved / bandwidth) seconds, and costs that times the
    price of an hour. It needs `memory` bytes at once. A GPU without a price is not for rent; if
    none holds the job, the answer is None.

    >>> cheapest_gpu_that_fits(offers(), memory=10e9, flops=1e15, bytes_moved=1e12)
    'H100'
    """
    costs = {}
    for offer in offers:
        if offer.price is not None and offer.memory >= memory:
            seconds = max(flops / offer.peak, bytes_moved / offer.bandwidth)
            costs[offer.name] = offer.price * seconds
    return min(costs, key=costs.__getitem__, default=None)


@require.checked(trials=partial(_check_list, "trials", Trial, "plan_a_run.Trial"))
@require.positive("steps", "deadline", or_zero=("lost", "wait"))
def cheapest_plan(
    trials: Sequence[Trial], steps: int, deadline: float, lost: float, wait: float
) -> str | None:
    """The name of the trial by which a run costs least, among those that fit and are in time.

    Of a run that is interrupted r times an hour, a part r · lost of each hour goes into work that
    was done before. So it pays for h = work / (1 − r · lost) hours, and never ends if r · lost is
    1 or more. It is done after h + r · h · wait hours, since waiting costs time and no money.
    That is right to first order: what is lost must be small beside what lies between two
    interruptions. If no trial fits in memory and ends in time, the answer is None.

    Args:
        trials: what was tried.
        steps: of the whole run.
        deadline: hours after which it must be done.
        lost: hours of paid work that an interruption costs.
        wait: hours until there are GPUs again, which nobody pays.

    >>> slow = Trial("8 × A100", 8, 80e9, 60e9, step=2.0, price=1.4)
    >>> fast = Trial("8 × H100", 8, 80e9, 60e9, step=0.9, price=2.7)
    >>> cheapest_plan([slow, fast], steps=36_000, deadline=24, lost=0.5, wait=0.5)
    '8 × H100'
    """
    costs = {}
    for trial in trials:
        useful = 1 - trial.interruptions * lost  # part of each hour
        if trial.needed <= trial.memory and useful > 0:
            paid = steps * trial.step / 3600 / useful
            if paid * (1 + trial.interruptions * wait) <= deadline:
                costs[trial.name] = paid * trial.gpus * trial.price
    return min(costs, key=costs.__getitem__, default=None)
