"""The GPU that holds a job and on which the job costs least."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.choosing import Offer, cheapest_gpu_that_fits


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
    result = [Case(label, (market(), *job)) for label, *job in jobs]
    cheap = [gpu("cheap", 16, 5, 500, 0.30), gpu("dear", 16, 40, 600, 0.60)]
    result.append(Case("two GPUs, the dearer one 8 times as fast", (cheap, 1e9, 1e15, 1e9)))
    both = [gpu("old", 16, 5, 300, 1.50), gpu("new", 16, 40, 600, 1.00)]
    result.append(Case("two GPUs, the faster one also cheaper", (both, 1e9, 1e15, 1e9)))
    even = [gpu("even", 16, 10, 1000, 1.0), gpu("lopsided", 16, 6.5, 10_000, 0.9)]
    result.append(Case("a job that is balanced on one of two GPUs", (even, 1e9, 1e13, 1e12)))
    result.append(Case("two GPUs, a job of less than a second", (both, 1e9, 1e12, 1e9)))
    gift = [gpu("paid", 16, 40, 600, 0.10), gpu("free", 16, 5, 300, 0.0), cheap[1]]
    result.append(Case("a GPU that costs nothing", (gift, 1e9, 1e15, 1e9)))
    result.append(Case("only GPUs that are not for rent", ([market()[1]], 1e9, 1e15, 1e12)))
    return result


def compare_names(kind: type, words: str, got: Any, expected: Any) -> str | None:
    if got is None and expected is not None:
        return f"it returns nothing (None), expected {expected!r}"
    if isinstance(got, kind) and got != expected:
        return f"it returns the whole {words} {got.name!r}, expected a name"  # type: ignore[attr-defined]
    if got != expected:
        return f"it returns {shown(got)}, expected {expected!r}"
    return None


EXERCISE = Exercise(
    task="Name the GPU on which a job costs least, among those for rent that can hold it.",
    reference=cheapest_gpu_that_fits,
    cases=cases,
    difference=partial(compare_names, Offer, "offer of"),
)
