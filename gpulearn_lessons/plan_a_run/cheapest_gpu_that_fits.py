"""The GPU that holds a job and on which the job costs least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.choosing import Offer, cheapest_gpu_that_fits

Offers = Sequence[Offer]
answers = Answers(cheapest_gpu_that_fits)

LONGER = "max(flops / offer.peak, bytes_moved / offer.bandwidth)"
COST = "offer.price * seconds"
LEAST = "min(costs, key=costs.__getitem__, default=None)"


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
        ("a job of 48.3 GB", 48.3e9, 1e15, 1e12),
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
    found.append(Case("two GPUs, a job of less than a second", (both, 1e9, 1e12, 1e9)))
    gift = [gpu("paid", 16, 40, 600, 0.10), gpu("free", 16, 5, 300, 0.0)]
    found.append(Case("a GPU that costs nothing", (gift, 1e9, 1e15, 1e9)))
    found.append(Case("only GPUs that are not for hire", ([market()[1]], 1e9, 1e15, 1e12)))
    return found


def difference(got: Any, expected: Any) -> str | None:
    """Compare two names, or None with None."""
    if got is None and expected is not None:
        return f"it returns nothing (None), expected {expected!r}"
    if isinstance(got, Offer) and got != expected:
        return f"it returns the whole offer of {got.name!r}, expected a name"
    if got != expected:
        return f"it returns {shown(got)}, expected {expected!r}"
    return None


answers.edit(
    {COST: "offer.price"},
    "that is the lowest price of an hour; a dearer GPU that is done sooner can cost less for "
    "the job.",
)
answers.edit(
    {" and offer.memory >= memory": ""},
    "the job does not fit: compare its memory with the GPU's first.",
)
answers.edit({COST: "seconds"}, "that is the fastest; asked for is the cheapest, time times price.")
answers.edit(
    {LONGER: "flops / offer.peak"},
    "that counts the arithmetic only; a job can be limited by its bytes.",
)
answers.edit(
    {LONGER: "bytes_moved / offer.bandwidth"},
    "that counts the bytes only; a job can be limited by its arithmetic.",
)
answers.edit(
    {LONGER: "flops / offer.peak + bytes_moved / offer.bandwidth"},
    "that adds the time to compute and the time to move; they overlap, the longer one counts.",
)
answers.edit(
    {"flops / ": "flops // ", "bytes_moved / ": "bytes_moved // "},
    "// rounds down to whole seconds: divide with /.",
)
answers.edit(
    {"offer.memory >= memory": "round(offer.memory / 1e9) >= round(memory / 1e9)"},
    "it compares whole gigabytes: a job of 48.3 GB does not fit into 48.",
)
answers.edit(
    {"max(": "min("}, "that takes the shorter of the two times; the longer one is the limit."
)
answers.edit({">=": ">"}, "a job that needs all of a GPU's memory still fits: compare with >=.")
answers.edit(
    {"offer.price is not None and ": "", COST: "(offer.price or 0.0) * seconds"},
    "a GPU whose price is None is not for hire; it is not free.",
)
answers.edit(
    {"offer.price is not None and ": ""},
    "a GPU whose price is None is not for hire: leave it out before you compute.",
)
answers.edit(
    {"offer.price is not None": "offer.price"},
    "a price of 0 is a price, and the best one: only None means that a GPU is not for hire.",
)


@answers.wrong(
    "it returns None for every job: does it end with return? Where the least cost so far begins "
    "at 0, nothing costs less: begin at float('inf'), or with the "
    "first GPU that holds the job."
)
def begins_at_zero(offers: Offers, memory: float, flops: float, bytes_moved: float) -> str | None:
    least, best = 0.0, None
    for offer in offers:
        if offer.price is not None and offer.memory >= memory:
            cost = offer.price * max(flops / offer.peak, bytes_moved / offer.bandwidth)
            if cost < least:
                least, best = cost, offer.name
    return best


answers.edit(
    {", default=None": ""},
    "where no GPU holds the job, return None; min of nothing raises an error.",
)
answers.edit({"[offer.name]": "[offer]"}, "return the GPU's name, not the whole offer.")
answers.edit(
    {LONGER: f"{LONGER} / 3600", LEAST: "min(costs.values(), default=None)"},
    "that is what the job costs; return the name of the GPU.",
)
answers.edit({"min(": "max("}, "that is the dearest: take the least, not the most.")
answers.edit(
    {COST: "offer.price / seconds"},
    "that divides the price by the time; a job that takes twice as long costs twice as much.",
)


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


answers.edit(
    {'float("inf")': "1000.0"},
    "the least cost so far begins at a number that a cost can exceed: begin at float('inf').",
    of=by_loop,
)
answers.edit(
    {"flops / offer.peak": "flops * offer.peak", "moved / offer": "moved * offer"},
    "a time is operations over operations per second: divide by the peak, do not multiply.",
)
answers.edit(
    {LEAST: "next(iter(costs), None)"},
    "that is the first GPU that holds the job: compare the cost on all that do.",
)
answers.edit(
    {LEAST: "next(reversed(costs), None)"},
    "that is the last GPU that holds the job: keep the least cost beside the name.",
)
answers.variant(
    {LEAST: "sorted((cost, name) for name, cost in costs.items())[0][1] if costs else None"}
)
answers.variant({LONGER: "offer.seconds(flops, bytes_moved)"})

EXERCISE = Exercise(
    task="Name the GPU for hire that holds a job and on which it costs least.",
    reference=cheapest_gpu_that_fits,
    cases=cases,
    difference=difference,
    answers=answers,
)
