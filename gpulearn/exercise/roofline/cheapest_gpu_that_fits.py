"""Choose a GPU: it must hold the job, and the job must cost least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpulearn.checker.answers import Answers
from gpulearn.checker.compare import NOTHING
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.perf.choosing import Offer, cheapest_gpu_that_fits
from gpulearn.require import shown

__all__ = ["EXERCISE"]

Offers = Sequence[Offer]
answers = Answers()


def gpu(name: str, memory: float, tflops: float, gbs: float, price: float | None) -> Offer:
    """An offer in handy units: GB, TFLOP/s, GB/s, dollars an hour."""
    return Offer(name, memory * 1e9, tflops * 1e12, gbs * 1e9, 300.0, price)


def market() -> list[Offer]:
    """Five made-up GPUs on which every shortcut goes wrong somewhere."""
    return [
        gpu("wide", 24, 20, 2000, 0.90),
        gpu("owned", 48, 60, 900, None),
        gpu("small", 16, 10, 300, 0.40),
        gpu("strong", 48, 160, 1000, 1.20),
        gpu("huge", 96, 400, 4000, 4.00),
    ]


def cases() -> list[Case]:
    """Jobs limited by arithmetic and by memory, at the edge of fitting, too large."""
    jobs = (
        ("a small job limited by arithmetic", 4e9, 1e15, 1e12),
        ("a small job limited by memory", 4e9, 1e12, 1e13),
        ("a job of exactly 48 GB", 48e9, 1e15, 1e12),
        ("a job of 50 GB", 50e9, 1e15, 1e12),
        ("a job of 20 GB limited by memory", 20e9, 1e13, 1e13),
        ("a job that fits nowhere", 200e9, 1e15, 1e12),
        ("a job with as much to compute as to move", 10e9, 1.2e15, 2.4e13),
        ("a job of exactly 16 GB limited by memory", 16e9, 1e10, 1e12),
        ("a job that costs a fortune", 40e9, 1e27, 1e12),
    )
    found = [Case(label, (market(), *job)) for label, *job in jobs]
    cheap = [gpu("cheap", 16, 5, 500, 0.30), gpu("dear", 16, 40, 600, 0.60)]
    found.append(Case("two GPUs, the dearer one 8 times as fast", (cheap, 1e9, 1e15, 1e9)))
    both = [gpu("old", 16, 5, 300, 1.50), gpu("new", 16, 40, 600, 1.00)]
    found.append(Case("two GPUs, the faster one also cheaper", (both, 1e9, 1e15, 1e9)))
    even = [gpu("even", 16, 10, 1000, 1.0), gpu("lopsided", 16, 6.5, 10_000, 0.9)]
    found.append(Case("a job that is balanced on one of two GPUs", (even, 1e9, 1e13, 1e12)))
    found.append(Case("only GPUs that are not for hire", ([market()[1]], 1e9, 1e15, 1e12)))
    return found


def difference(got: Any, expected: Any) -> str | None:
    """Compare two names, or None with None."""
    if got is None and expected is not None:
        return NOTHING
    if isinstance(got, Offer) and got != expected:
        return f"it returns the whole offer of {got.name!r}, expected a name"
    if got != expected:
        return f"it returns {shown(got)}, expected {expected!r}"
    return None


def hours(offer: Offer, flops: float, moved: float) -> float:
    return max(flops / offer.peak, moved / offer.bandwidth) / 3600


def fitting(offers: Offers, memory: float) -> list[Offer]:
    return [o for o in offers if o.memory >= memory and o.price is not None]


def least(offers: Offers, cost: Callable[[Offer], float]) -> str | None:
    return min(offers, key=cost).name if offers else None


def for_hire(offer: Offer) -> float:
    """The price of an offer that has one."""
    assert offer.price is not None
    return offer.price


@answers.wrong(
    "that is the lowest price of an hour; a dearer GPU that is done sooner can cost less for "
    "the job."
)
def cheapest_hour(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return least(fitting(offers, memory), for_hire)


@answers.wrong("the job does not fit: compare its memory with the GPU's first.")
def ignores_memory(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    hired = fitting(offers, 0)
    return least(hired, lambda o: for_hire(o) * hours(o, flops, bytes_moved))


@answers.wrong("that is the fastest; asked for is the cheapest, time times price.")
def fastest(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return least(fitting(offers, memory), lambda o: hours(o, flops, bytes_moved))


@answers.wrong("that counts the arithmetic only; a job can be limited by its bytes.")
def arithmetic_only(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return least(fitting(offers, memory), lambda o: for_hire(o) * flops / o.peak)


@answers.wrong("that counts the bytes only; a job can be limited by its arithmetic.")
def bytes_only(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return least(fitting(offers, memory), lambda o: for_hire(o) * bytes_moved / o.bandwidth)


@answers.wrong(
    "that adds the time to compute and the time to move; they overlap, the longer one counts."
)
def adds_up(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    def cost(o: Offer) -> float:
        return for_hire(o) * (flops / o.peak + bytes_moved / o.bandwidth)

    return least(fitting(offers, memory), cost)


@answers.wrong("that takes the shorter of the two times; the longer one is the limit.")
def shorter_time(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    def cost(o: Offer) -> float:
        return for_hire(o) * min(flops / o.peak, bytes_moved / o.bandwidth)

    return least(fitting(offers, memory), cost)


@answers.wrong("a job that needs all of a GPU's memory still fits: compare with >=.")
def strictly_more(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    roomy = [o for o in fitting(offers, memory) if o.memory > memory]
    return least(roomy, lambda o: for_hire(o) * hours(o, flops, bytes_moved))


@answers.wrong("a GPU whose price is None is not for hire; it is not free.")
def none_is_free(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    roomy = [o for o in offers if o.memory >= memory]
    return least(roomy, lambda o: (o.price or 0.0) * hours(o, flops, bytes_moved))


@answers.wrong("a GPU whose price is None is not for hire: leave it out before you compute.")
def none_breaks(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    roomy: list[Any] = [o for o in offers if o.memory >= memory]
    best: Any = min(roomy, key=lambda o: o.price * hours(o, flops, bytes_moved), default=None)
    return best.name if best else None


@answers.wrong("where no GPU holds the job, return None; min of nothing raises an error.")
def nothing_fits(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    roomy = fitting(offers, memory)
    return min(roomy, key=lambda o: for_hire(o) * hours(o, flops, bytes_moved)).name


@answers.wrong("return the GPU's name, not the whole offer.")
def whole_offer(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    roomy = fitting(offers, memory)
    return min(roomy, key=lambda o: for_hire(o) * hours(o, flops, bytes_moved), default=None)


@answers.wrong("that is what the job costs; return the name of the GPU.")
def cost_of_it(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    roomy = fitting(offers, memory)
    return min((for_hire(o) * hours(o, flops, bytes_moved) for o in roomy), default=None)


@answers.wrong("that is the dearest: take the least, not the most.")
def dearest(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return least(fitting(offers, memory), lambda o: -for_hire(o) * hours(o, flops, bytes_moved))


@answers.wrong(
    "that divides the price by the time; a job that takes twice as long costs twice as much."
)
def price_per_time(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return least(fitting(offers, memory), lambda o: for_hire(o) / hours(o, flops, bytes_moved))


@answers.wrong(
    "the least cost so far begins at a number that a cost can exceed: begin at float('inf')."
)
def least_begins_low(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    best, lowest = None, 1000.0
    for one in fitting(offers, memory):
        cost = for_hire(one) * hours(one, flops, bytes_moved)
        if cost < lowest:
            best, lowest = one.name, cost
    return best


@answers.wrong(
    "a time is operations over operations per second: divide by the peak, do not multiply."
)
def multiplied(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    def cost(o: Offer) -> float:
        return for_hire(o) * max(flops * o.peak, bytes_moved * o.bandwidth)

    return least(fitting(offers, memory), cost)


@answers.wrong("that is the first GPU that holds the job: compare the cost on all that do.")
def first_that_fits(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return next((o.name for o in fitting(offers, memory)), None)


@answers.wrong("that is the last GPU that holds the job: keep the least cost beside the name.")
def last_that_fits(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return next((o.name for o in reversed(fitting(offers, memory))), None)


@answers.right
def by_loop(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    best, lowest = None, float("inf")
    for one in offers:
        if one.price is None or memory > one.memory:
            continue
        cost = one.price / 3600 * max(flops / one.peak, bytes_moved / one.bandwidth)
        if cost < lowest:
            best, lowest = one.name, cost
    return best


@answers.right
def by_sorting(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    ranked = sorted(
        (for_hire(o) * hours(o, flops, bytes_moved), o.name) for o in fitting(offers, memory)
    )
    return ranked[0][1] if ranked else None


@answers.right
def by_method(offers: Offers, memory: float, flops: float, bytes_moved: float) -> Any:
    return least(fitting(offers, memory), lambda o: o.seconds(flops, bytes_moved) * for_hire(o))


EXERCISE = Exercise(
    name="cheapest_gpu_that_fits",
    notebook="02_roofline",
    task="Name the GPU for hire that holds a job and on which it costs least.",
    reference=cheapest_gpu_that_fits,
    cases=cases,
    difference=difference,
    answers=answers,
)
