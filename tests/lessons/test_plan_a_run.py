"""The exercises of notebook 23 on choosing GPUs, with answers by other hands."""

import pytest

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose


def gpu_all_that_fit(gpus, need, work, traffic):
    return [g.name for g in gpus if g.memory >= need]


def gpu_that_empties_its_list(gpus, need, work, traffic):
    while gpus:
        gpus.pop()


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


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
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
    assert said in diagnose(find(name), answer)
