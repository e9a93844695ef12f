"""The GPUs, their number and their terms by which a run costs least, from a table of trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.plan_a_run.choosing import Trial, cheapest_plan

Trials = Sequence[Trial]
answers = Answers(cheapest_plan)

LOST = "trial.interruptions * lost"
FITS = "trial.needed <= trial.memory and "
WORK = "steps * trial.step / 3600"
WAITING = " * (1 + trial.interruptions * wait)"
IN_TIME = f"if paid{WAITING} <= deadline:"
COST = "paid * trial.gpus * trial.price"
LEAST = "min(costs, key=costs.__getitem__, default=None)"


def trial(
    name: str, gpus: int, memory: float, needed: float, step: float, price: float, rate: float = 0.0
) -> Trial:
    """A trial in handy units: GB, seconds, dollars and interruptions an hour."""
    return Trial(name, gpus, memory * 1e9, needed * 1e9, step, price, rate)


def tried() -> list[Trial]:
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
    found = []
    for name in "ABCDEF":
        gpus = int(2 ** rng.integers(0, 6))
        step = float(rng.uniform(1, 2.5)) * 8 / gpus**0.9
        spot = rng.random() < 0.6
        rate = float(rng.uniform(0.05, 1.4)) / lost if spot else 0.0
        price = float(rng.uniform(1, 3)) * (0.4 if spot else 1.0)
        found.append(trial(name, gpus, 80, float(rng.uniform(20, 100)), step, price, rate))
    work = np.median([steps * one.step / 3600 for one in found])
    deadline = float(work * rng.uniform(0.8, 2.5))
    return found, steps, deadline, lost, float(rng.uniform(0, 2))


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
    found = [Case(label, (tried(), *job)) for label, *job in jobs]
    full = [trial("full", 2, 80, 80, 1.0, 1.0), trial("dear", 2, 80, 40, 1.0, 2.0)]
    found.append(Case("a trial that needs all of a GPU's memory", (full, 7200, 10.0, 0.5, 1.0)))
    small = [trial("one", 1, 80, 100, 1.0, 1.0), trial("two", 2, 80, 55, 0.6, 1.0)]
    found.append(Case("a trial that needs more than it has", (small, 7200, 10.0, 0.5, 1.0)))
    hour = [trial("just in time", 1, 80, 40, 3600.0, 1.0), trial("early", 1, 80, 40, 1800.0, 3.0)]
    found.append(Case("20 steps of an hour, in 20 hours", (hour, 20, 20.0, 0.5, 1.0)))
    for said, step in (("half a second more than", 3600.5), ("half a second less than", 3599.5)):
        near = [trial("near", 1, 80, 40, step, 1.0), trial("early", 1, 80, 40, 1800.0, 3.0)]
        label = f"20 steps of {said} an hour, in 20 hours"
        found.append(Case(label, (near, 20, 20.0, 0.5, 1.0)))
    slow = [trial("slow", 1, 80, 40, 7200.0, 1.0)]
    found.append(Case("steps of two hours, to be done in one", (slow, 10, 1.0, 0.5, 1.0)))
    lost = [trial("never", 4, 80, 40, 1.0, 0.1, 2.0), trial("steady", 4, 80, 40, 1.0, 3.0)]
    found.append(Case("half an hour lost, twice an hour", (lost, 3600, 99.0, 0.5, 0.0)))
    worse = [trial("never", 4, 80, 40, 1.0, 0.1, 3.0), trial("steady", 4, 80, 40, 1.0, 3.0)]
    found.append(Case("half an hour lost, three times an hour", (worse, 3600, 99.0, 0.5, 0.0)))
    calm = [trial("spot", 4, 80, 40, 1.0, 0.5, 0.1), trial("steady", 4, 80, 40, 1.0, 1.0)]
    found.append(Case("interruptions that lose nothing", (calm, 36_000, 99.0, 0.0, 0.5)))
    late = [trial("spot", 4, 80, 40, 1.0, 0.5, 0.5), trial("steady", 4, 80, 40, 1.0, 1.0)]
    found.append(Case("a day of waiting each time", (late, 36_000, 99.0, 0.1, 24.0)))
    found.append(Case("a run of 36 seconds, in four days", (calm, 36, 99.0, 0.1, 24.0)))
    seldom = Case(
        "a short run, seldom interrupted, a day of waiting", (calm, 3600, 10.0, 0.1, 24.0)
    )
    found.append(seldom)
    found.append(Case("the same run, to be done in three hours", (calm, 3600, 3.0, 0.1, 24.0)))
    often = [trial("spot", 4, 80, 40, 1.0, 0.2, 1.0), trial("steady", 4, 80, 40, 1.0, 1.0)]
    found.append(
        Case("interrupted once an hour, an hour of waiting", (often, 36_000, 35.0, 0.5, 1.0))
    )
    found.append(Case("no trial", ([], 1000, 10.0, 0.5, 0.5)))
    found += [Case(f"six made-up trials, number {seed}", market(seed)) for seed in range(12)]
    return found


def difference(got: Any, expected: Any) -> str | None:
    """Compare two names, or None with None."""
    if got is None and expected is not None:
        return f"it returns nothing (None), expected {expected!r}"
    if isinstance(got, Trial) and got != expected:
        return f"it returns the whole trial {got.name!r}, expected a name"
    if got != expected:
        return f"it returns {shown(got)}, expected {expected!r}"
    return None


answers.edit(
    {COST: f"paid{WAITING}"},
    "that is the trial that is done first: the least cost is asked for, among those in time.",
)
answers.edit(
    {LOST: "trial.interruptions * (lost + wait)"},
    "waiting counts as lost work in it: nobody pays for it, and nothing interrupts it.",
)
answers.edit(
    {FITS: ""},
    "a trial is taken that does not fit: the bytes needed on the fullest GPU must be at most its "
    "memory.",
)
answers.edit(
    {"trial.needed <= trial.memory": "trial.needed < trial.memory"},
    "a job that needs all of a GPU's memory still fits: compare with <=.",
)
answers.edit(
    {"trial.needed <= trial.memory": "trial.needed <= trial.memory * trial.gpus"},
    "it compares with the memory of all GPUs together: `needed` is what the fullest one uses, and "
    "must fit into one.",
)
answers.edit(
    {"trial.needed <= trial.memory": "trial.needed * trial.gpus <= trial.memory"},
    "it puts the bytes of all GPUs into one: `needed` is what one GPU uses, and each has its own "
    "memory.",
)
answers.edit(
    {" * trial.gpus": ""},
    "that pays for one GPU: the price is of one, and all are paid.",
)
answers.edit(
    {" / useful": ""},
    "interruptions cost no work in it: each costs `lost` hours, which have to be done again.",
)
answers.edit(
    {" / useful": " * (2 - useful)"},
    "it adds what is lost in the hours of work only; the added hours are interrupted too: "
    "h = work + r · lost · h, solved for h.",
)
answers.edit(
    {IN_TIME: "if paid > 0:"}, "the deadline is not looked at: a cheap run that is late is no plan."
)
answers.edit(
    {WAITING: ""},
    "it holds the paid hours against the deadline: the run waits for GPUs as well, `wait` hours "
    "after each interruption.",
)
answers.edit(
    {IN_TIME: "if paid * useful <= deadline:"},
    "it holds the work alone against the deadline: what is lost and the waiting come on top.",
)
answers.edit(
    {IN_TIME: IN_TIME.replace("<=", "<")},
    "a run that ends just at the deadline is in time: compare with <=.",
)
answers.edit(
    {IN_TIME: "if paid + (trial.interruptions > 0) * wait <= deadline:"},
    "it waits once: the run waits after each interruption, and r times h of them come.",
)
AVERAGE = (
    "the hours are those of an average run, in which a tenth of an interruption costs a tenth of "
    "its wait."
)
answers.edit(
    {IN_TIME: "if paid + int(paid * trial.interruptions) * wait <= deadline:"},
    f"it takes a whole number of interruptions: {AVERAGE}",
)
answers.edit(
    {IN_TIME: "if paid - int(-paid * trial.interruptions // 1) * wait <= deadline:"},
    f"it rounds the number of interruptions up: {AVERAGE}",
)
answers.edit(
    {IN_TIME: "if paid * (1 + useful * trial.interruptions * wait) <= deadline:"},
    "it waits after the interruptions of the work alone: hours that are lost and done again are "
    "interrupted as well.",
)
answers.edit(
    {COST: f"paid{WAITING} * trial.gpus * trial.price"},
    "it pays for the hours of waiting: nobody pays for GPUs that are not there.",
)
answers.edit(
    {COST: "paid * useful * trial.gpus * trial.price"},
    "it pays for the work only: the hours that are lost and done again are paid as well.",
)
answers.edit(
    {"- trial.interruptions * lost": "- trial.interruptions * (lost + wait)", WAITING: ""},
    "it treats waiting as work that is lost: nobody pays for it, and nothing interrupts it.",
)
answers.edit(
    {" and useful > 0": " and useful != 0"},
    "a run that loses more than an hour in each hour never ends: its hours come out negative, "
    "and seem to cost less than nothing.",
)
answers.edit(
    {"useful > 0": "useful >= 0"},
    "a run that loses an hour in each hour never ends: do not divide by that 0.",
)
answers.edit(
    {" and useful > 0": ""},
    "a run that loses an hour or more in each hour never ends: leave it out before you divide.",
)
answers.edit({COST: "paid"}, "that is the fastest; asked for is the one that costs least.")
answers.edit(
    {COST: "trial.gpus * trial.price"},
    "that is the lowest price of an hour; what counts is the hours that are paid, times the price.",
)
answers.edit({COST: "trial.price"}, "that is the lowest price of a GPU's hour, not of the run.")
answers.edit({"min(": "max("}, "that is the dearest plan: take the least, not the most.")
answers.edit(
    {", default=None": ""},
    "where no trial fits and ends in time, return None; min of nothing raises an error.",
)
answers.edit(
    {LEAST: "min(costs.values(), default=None)"},
    "that is what the run costs; return the name of the trial.",
)
answers.edit({"[trial.name]": "[trial]"}, "return the trial's name, not the whole trial.")
answers.edit(
    {" / 3600": ""},
    "a step is in seconds and the deadline in hours: an hour has 3600 seconds.",
)
answers.edit(
    {" / 3600": " / 3601"},
    "an hour has 3600 seconds: with another number a run is in time that is not, or the other way "
    "round.",
)
answers.edit(
    {" / 3600": " / 3599"},
    "an hour has 3600 seconds: with another number a run is in time that is not, or the other way "
    "round.",
)
answers.edit(
    {" / 3600": " * 3600"},
    "the seconds are multiplied by 3600: divide them by it, and they are hours.",
)
answers.edit(
    {WORK: "trial.step / 3600"},
    "that is the time of a single step: the run has `steps` of them.",
)
answers.edit(
    {" / 3600": " / 60"},
    "that makes minutes of the seconds; the deadline is in hours, 3600 s each.",
)
answers.edit(
    {LOST: "trial.interruptions * trial.gpus * lost"},
    "it counts the interruptions once for each GPU: `interruptions` is how often they are all "
    "taken away.",
)
answers.edit(
    {LOST: "trial.interruptions"},
    "it loses a whole hour with each interruption: `lost` says how much it is.",
)
answers.edit(
    {LOST: "(trial.interruptions > 0) * lost"},
    "it counts one interruption an hour wherever there are any: `interruptions` says how many.",
)
answers.edit(
    {"useful > 0": "trial.interruptions == 0"},
    "it leaves out every trial that can be interrupted; with the hours lost added, such a plan "
    "may still cost least.",
)
answers.edit(
    {WORK: "steps * trial.step / trial.gpus / 3600"},
    "it divides by the GPUs: the seconds of a step were measured with all of them at work.",
)
answers.edit(
    {f"{WORK} / useful": f"{WORK} + (trial.interruptions > 0) * lost"},
    "it loses `lost` once for the whole run: the run is interrupted again and again.",
)
answers.edit(
    {LEAST: "next(iter(costs), None)"},
    "that is the first trial that fits and is in time: compare the cost of all that do.",
)


@answers.right
def by_loop(trials: Trials, steps: int, deadline: float, lost: float, wait: float) -> Any:
    best, lowest = None, float("inf")
    for one in trials:
        if one.needed > one.memory or one.interruptions * lost >= 1:
            continue
        paid = (one.step / 3600) * steps / (1 - lost * one.interruptions)
        done = paid + one.interruptions * paid * wait
        cost = one.price * one.gpus * paid
        if done <= deadline and cost < lowest:
            best, lowest = one.name, cost
    return best


@answers.right
def lost_again_and_again(
    trials: Trials, steps: int, deadline: float, lost: float, wait: float
) -> Any:
    """The paid hours as the limit of work + r · lost · (work + r · lost · (…))."""
    plans = []
    for one in trials:
        work = one.step * steps / 3600
        paid, added = 0.0, work
        while added > 1e-15 * work and paid <= deadline:
            paid, added = paid + added, added * one.interruptions * lost
        done = paid + one.interruptions * wait * paid
        if one.needed <= one.memory and done <= deadline:
            plans.append((paid * one.price * one.gpus, one.name))
    return sorted(plans)[0][1] if plans else None


answers.edit(
    {'float("inf")': "10_000.0"},
    "the least cost so far begins at a number that a cost can exceed: begin at float('inf').",
    of=by_loop,
)
answers.edit(
    {'float("inf")': "0.0"},
    "it returns None for every run: does it end with return? Where the least cost so far begins "
    "at 0, nothing costs less: begin at float('inf').",
    of=by_loop,
)

EXERCISE = Exercise(
    task="Name the trial by which a run costs least, fits in memory and ends before a deadline.",
    reference=cheapest_plan,
    cases=cases,
    difference=difference,
    answers=answers,
)
