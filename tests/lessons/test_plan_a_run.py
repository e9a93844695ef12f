"""The exercises of notebook 23 on choosing GPUs, with answers by other hands."""

import numpy as np
import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose


def gpu_all_that_fit(gpus, need, work, traffic):
    return [g.name for g in gpus if g.memory >= need]


def gpu_that_empties_its_list(gpus, need, work, traffic):
    while gpus:
        gpus.pop()


def gpu_by_index(gpus, need, work, traffic):
    bills = [
        np.inf
        if g.price is None or g.memory < need
        else np.maximum(work / g.peak, traffic / g.bandwidth) * g.price
        for g in gpus
    ]
    i = int(np.argmin(bills))
    return gpus[i].name if np.isfinite(bills[i]) else None


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


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("cheapest_gpu_that_fits", gpu_by_index, None),
        ("cheapest_plan", plan_in_arrays, None),
        ("cheapest_gpu_that_fits", gpu_all_that_fit, "expected 'strong'"),
        ("cheapest_gpu_that_fits", gpu_that_empties_its_list, "it changes its input"),
        ("cheapest_gpu_that_fits", lambda g, m, f, b: "huge", "it returns 'huge', expected"),
        ("cheapest_plan", plan_with_rates_as_shares, "expected"),
        ("cheapest_plan", plan_by_the_hour, "expected"),
        ("cheapest_plan", lambda t, s, d, l, w: t[0].name, "expected"),
        ("cheapest_plan", lambda t, s, d, l, w: "8 × A100", "it returns '8 × A100', expected"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert diagnosis is None if said is None else said in diagnosis
