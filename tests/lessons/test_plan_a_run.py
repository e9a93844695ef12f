"""The exercises of notebook 23 on choosing GPUs, with answers by other hands."""

import numpy as np
import pytest

from gpulearn import check
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose


def gpu_by_first_that_fits(gpus, need, work, traffic):
    for g in gpus:
        if g.memory >= need and g.price:
            return g.name
    return None


def gpu_cheapest_ignoring_traffic(gpus, need, work, traffic):
    found = [
        (g.price * work / g.peak, g.name) for g in gpus if g.price is not None and g.memory >= need
    ]
    return min(found)[1] if found else None


def gpu_all_that_fit(gpus, need, work, traffic):
    return [g.name for g in gpus if g.memory >= need]


def gpu_that_empties_its_list(gpus, need, work, traffic):
    while gpus:
        gpus.pop()


def gpu_that_costs_nothing_left_out(gpus, need, work, traffic):
    found = [g for g in gpus if g.price and g.memory >= need]
    cost = [g.price * max(work / g.peak, traffic / g.bandwidth) for g in found]
    return found[cost.index(min(cost))].name if found else None


def gpu_by_index(gpus, need, work, traffic):
    bills = [
        np.inf
        if g.price is None or g.memory < need
        else np.maximum(work / g.peak, traffic / g.bandwidth) * g.price
        for g in gpus
    ]
    i = int(np.argmin(bills))
    return gpus[i].name if np.isfinite(bills[i]) else None


def gpu_by_groups(gpus, need, work, traffic):
    left = filter(lambda g: g.price is not None and not g.memory < need, gpus)
    bill = {}
    for g in left:
        time = work / g.peak
        if traffic / g.bandwidth > time:
            time = traffic / g.bandwidth
        bill[time * g.price] = g.name
    if not bill:
        return None
    return bill[min(bill)]


def plan_with_rates_as_shares(trials, steps, deadline, lost, wait):
    found = []
    for t in trials:
        if t.needed <= t.memory:
            h = t.step * steps / 3600
            h += h * t.interruptions * (lost + wait)  # all in one, and once
            if h <= deadline:
                found.append((h * t.price * t.gpus, t.name))
    return min(found)[1] if found else None


def plan_by_the_hour(trials, steps, deadline, lost, wait):
    good = [t for t in trials if t.needed <= t.memory]
    good = [t for t in good if t.step * steps / 3600 <= deadline]
    return min(good, key=lambda t: t.price * t.gpus).name if good else None


def plan_on_demand_only(trials, steps, deadline, lost, wait):
    good = {}
    for t in trials:
        hours = t.step * steps / 3600
        if t.interruptions == 0 and t.needed <= t.memory and hours <= deadline:
            good[hours * t.gpus * t.price] = t.name
    return good[min(good)] if good else None


def plan_that_takes_the_memory_of_all(trials, steps, deadline, lost, wait):
    best = None
    for t in trials:
        r = t.interruptions * lost
        if r < 1 and t.needed <= t.gpus * t.memory:
            h = steps * t.step / 3600 / (1 - r)
            if h + h * t.interruptions * wait <= deadline:
                bill = h * t.gpus * t.price
                if best is None or bill < best[0]:
                    best = bill, t.name
    return best and best[1]


def plan_with_the_wait_lost(trials, steps, deadline, lost, wait):
    names, bills = [], []
    for t in trials:
        r = t.interruptions * (lost + wait)
        if r < 1 and t.needed <= t.memory:
            h = steps * t.step / 3600 / (1 - r)
            if h <= deadline:
                names.append(t.name)
                bills.append(h * t.gpus * t.price)
    return names[bills.index(min(bills))] if bills else None


def plan_in_arrays(trials, steps, deadline, lost, wait):
    if not trials:
        return None
    keys = ("gpus", "memory", "needed", "step", "price", "interruptions")
    gpus, memory, needed, step, price, rate = (
        np.array([getattr(t, key) for t in trials], float) for key in keys
    )
    with np.errstate(all="ignore"):
        paid = np.where(rate * lost < 1, steps * step / 3600 / (1 - rate * lost), np.inf)
        late = paid + rate * paid * wait > deadline
        bill = np.where((needed > memory) | late | np.isinf(paid), np.inf, paid * gpus * price)
    return trials[bill.argmin()].name if np.isfinite(bill.min()) else None


def plan_by_sorting(trials, steps, deadline, lost, wait):
    def paid(t):
        return steps * (t.step / (60 * 60)) / (1 - lost * t.interruptions)

    able = filter(lambda t: not t.needed > t.memory and 1 > lost * t.interruptions, trials)
    timely = [t for t in able if paid(t) + wait * (t.interruptions * paid(t)) <= deadline]
    timely.sort(key=lambda t: paid(t) * t.price * t.gpus)
    return next((t.name for t in timely), None)


def plan_with_seconds(trials, steps, deadline, lost, wait):
    chosen, least = None, None
    for t in trials:
        rate = t.interruptions / 3600
        if t.memory < t.needed or rate * lost * 3600 >= 1:
            continue
        seconds = steps * t.step / (1 - rate * lost * 3600)
        if seconds * (1 + rate * wait * 3600) > deadline * 3600:
            continue
        dollars = seconds / 3600 * t.gpus * t.price
        if least is None or dollars < least:
            chosen, least = t.name, dollars
    return chosen


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("cheapest_gpu_that_fits", gpu_by_first_that_fits, "compare the cost on all that do"),
        ("cheapest_gpu_that_fits", gpu_cheapest_ignoring_traffic, "counts the arithmetic only"),
        ("cheapest_gpu_that_fits", gpu_that_costs_nothing_left_out, "a price of 0 is a price"),
        ("cheapest_gpu_that_fits", gpu_all_that_fit, "expected 'strong'"),
        ("cheapest_gpu_that_fits", gpu_that_empties_its_list, "it changes its input"),
        ("cheapest_gpu_that_fits", lambda g, m, f, b: "huge", "it returns 'huge', expected"),
        ("cheapest_plan", plan_with_rates_as_shares, "expected"),
        ("cheapest_plan", plan_by_the_hour, "expected"),
        ("cheapest_plan", plan_on_demand_only, "it leaves out every trial that can be interrupted"),
        ("cheapest_plan", plan_that_takes_the_memory_of_all, "the memory of all GPUs together"),
        ("cheapest_plan", plan_with_the_wait_lost, "it treats waiting as work that is lost"),
        ("cheapest_plan", lambda t, s, d, l, w: t[0].name, "expected"),
        ("cheapest_plan", lambda t, s, d, l, w: "8 × A100", "it returns '8 × A100', expected"),
    ],
)
def test_other_hands_make_the_same_mistakes(name, answer, said):
    assert said in diagnose(find(name), answer)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("cheapest_gpu_that_fits", gpu_by_index),
        ("cheapest_gpu_that_fits", gpu_by_groups),
        ("cheapest_plan", plan_in_arrays),
        ("cheapest_plan", plan_by_sorting),
        ("cheapest_plan", plan_with_seconds),
    ],
)
def test_right_in_another_way(name, answer):
    assert check(name, answer).name == name
