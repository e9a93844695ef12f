"""The GPUs, their number and their terms by which a run costs least, from a table of trials."""

from __future__ import annotations

from functools import partial

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn_lessons.plan_a_run.cheapest_gpu_that_fits import compare_names
from gpulearn_lessons.plan_a_run.choosing import Trial, cheapest_plan


def trial(
    name: str, gpus: int, memory: float, needed: float, step: float, price: float, rate: float = 0.0
) -> Trial:
    """A trial in handy units: GB, seconds, dollars and interruptions an hour."""
    return Trial(name, gpus, memory * 1e9, needed * 1e9, step, price, rate)


def nine_trials() -> list[Trial]:
    """One job on two kinds of GPU, four numbers of them and two terms; it does not fit on one."""
    return [
        trial("1 × A100", 1, 80, 118, 14.0, 1.40),
        trial("4 × A100", 4, 80, 61, 3.9, 1.40),
        trial("8 × A100", 8, 80, 52, 2.1, 1.40),
        trial("8 × A100, spot", 8, 80, 52, 2.1, 0.60, 0.25),
        trial("16 × A100, spot", 16, 80, 47, 1.2, 0.60, 0.45),
        trial("4 × H100", 4, 80, 61, 1.75, 2.70),
        trial("8 × H100", 8, 80, 52, 0.95, 2.70),
        trial("8 × H100, spot", 8, 80, 52, 0.95, 0.85, 1.8),
        trial("16 × H100", 16, 80, 47, 0.55, 2.70),
    ]


def market(seed: int) -> tuple[list[Trial], int, float, float, float]:
    """Six made-up trials of a job, steps, and three numbers of hours, in which little is alike."""
    rng = np.random.default_rng(seed)
    lost, steps = float(rng.uniform(0.3, 1.2)), int(rng.integers(20, 200)) * 1000
    trials = []
    for name in "ABCDEF":
        gpus = int(2 ** rng.integers(0, 6))
        step = float(rng.uniform(1, 2.5)) * 8 / gpus**0.9
        spot = rng.random() < 0.6
        rate = float(rng.uniform(0.05, 1.4)) / lost if spot else 0.0
        price = float(rng.uniform(1, 3)) * (0.4 if spot else 1.0)
        trials.append(trial(name, gpus, 80, float(rng.uniform(20, 100)), step, price, rate))
    work = np.median([steps * t.step / 3600 for t in trials])
    deadline = float(work * rng.uniform(0.8, 2.5))
    return trials, steps, deadline, lost, float(rng.uniform(0, 2))


def cases() -> list[Case]:
    """One job with several deadlines, edges of memory and time, and markets at random."""
    jobs = (
        ("nine trials and three days", 100_000, 72.0, 0.5, 0.25),
        ("nine trials and two days", 100_000, 48.0, 0.5, 0.25),
        ("nine trials and two days, long waits", 100_000, 48.0, 0.5, 1.0),
        ("nine trials and one day", 100_000, 24.0, 0.5, 0.25),
        ("nine trials and five days, little lost each time", 100_000, 120.0, 0.1, 0.25),
        ("nine trials and an hour", 100_000, 1.0, 0.5, 0.25),
        ("a long run and all the time that there is", 10_000_000, 1e15, 0.5, 0.25),
        ("interruptions that cost two hours", 50_000, 200.0, 2.0, 0.25),
    )
    result = [Case(label, (nine_trials(), *job)) for label, *job in jobs]
    full = [trial("full", 2, 80, 80, 1.0, 1.0), trial("dear", 2, 80, 40, 1.0, 2.0)]
    result.append(Case("a trial that needs all of a GPU's memory", (full, 7200, 10.0, 0.5, 1.0)))
    small = [trial("one", 1, 80, 100, 1.0, 1.0), trial("two", 2, 80, 55, 0.6, 1.0)]
    result.append(Case("a trial that needs more than it has", (small, 7200, 10.0, 0.5, 1.0)))
    hour = [trial("just in time", 1, 80, 40, 3600.0, 1.0), trial("early", 1, 80, 40, 1800.0, 3.0)]
    result.append(Case("20 steps of an hour, in 20 hours", (hour, 20, 20.0, 0.5, 1.0)))
    for words, step in (("half a second more than", 3600.5), ("half a second less than", 3599.5)):
        near = [trial("near", 1, 80, 40, step, 1.0), trial("early", 1, 80, 40, 1800.0, 3.0)]
        label = f"20 steps of {words} an hour, in 20 hours"
        result.append(Case(label, (near, 20, 20.0, 0.5, 1.0)))
    slow = [trial("slow", 1, 80, 40, 7200.0, 1.0)]
    result.append(Case("steps of two hours, to be done in one", (slow, 10, 1.0, 0.5, 1.0)))
    lost = [trial("never", 4, 80, 40, 1.0, 0.1, 2.0), trial("steady", 4, 80, 40, 1.0, 3.0)]
    result.append(Case("half an hour lost, twice an hour", (lost, 3600, 99.0, 0.5, 0.0)))
    worse = [trial("never", 4, 80, 40, 1.0, 0.1, 3.0), trial("steady", 4, 80, 40, 1.0, 3.0)]
    result.append(Case("half an hour lost, three times an hour", (worse, 3600, 99.0, 0.5, 0.0)))
    calm = [trial("spot", 4, 80, 40, 1.0, 0.5, 0.1), trial("steady", 4, 80, 40, 1.0, 1.0)]
    result.append(Case("interruptions that lose nothing", (calm, 36_000, 99.0, 0.0, 0.5)))
    late = [trial("spot", 4, 80, 40, 1.0, 0.5, 0.5), trial("steady", 4, 80, 40, 1.0, 1.0)]
    result.append(Case("a day of waiting each time", (late, 36_000, 99.0, 0.1, 24.0)))
    result.append(Case("a run of 36 seconds, in four days", (calm, 36, 99.0, 0.1, 24.0)))
    result.append(Case("a short run, interrupted seldom for a day", (calm, 3600, 10.0, 0.1, 24.0)))
    result.append(Case("the same run, to be done in three hours", (calm, 3600, 3.0, 0.1, 24.0)))
    often = [trial("spot", 4, 80, 40, 1.0, 0.2, 1.0), trial("steady", 4, 80, 40, 1.0, 1.0)]
    result.append(Case("interrupted once an hour for an hour", (often, 36_000, 35.0, 0.5, 1.0)))
    hour = [trial("66 minutes", 1, 80, 40, 1.1, 1.0), trial("54 minutes", 1, 80, 40, 0.9, 1.5)]
    result.append(Case("about an hour, which need not be whole", (hour, 3600, 9.0, 0.5, 1.0)))
    gift = [*often, trial("own", 4, 80, 40, 1.0, 0.0), trial("dear", 4, 80, 40, 1.0, 2.0)]
    result.append(Case("GPUs that cost nothing", (gift, 36_000, 99.0, 0.5, 1.0)))
    result.append(Case("no trial", ([], 1000, 10.0, 0.5, 0.5)))
    result += [Case(f"six made-up trials, number {seed}", market(seed)) for seed in range(12)]
    return result


EXERCISE = Exercise(
    task="Name the cheapest trial that fits in memory and meets a deadline.",
    reference=cheapest_plan,
    cases=cases,
    difference=partial(compare_names, Trial, "trial"),
)
