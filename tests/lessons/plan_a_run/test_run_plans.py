"""Figures of planned runs: what they say is what the plan says."""

import pytest

from gpulearn.errors import BadInput
from gpulearn_lessons.plan_a_run import best_layout, plan_bars, plan_explorer, published_runs
from gpulearn_lessons.plan_a_run.plan.published import models, published
from gpulearn_lessons.plan_a_run.run_plans import COMMON, MODELS, draw


def test_bars_say_seconds_and_gigabytes():
    plan = best_layout(**COMMON, **models()[MODELS["7 billion"]], gpus=8)
    picture = plan_bars({"eight": plan})
    assert f"eight {plan.step_seconds:.3g} s" in picture.alt
    assert f"{sum(plan.memory_per_gpu.values()) / 1e9:.0f} GB on a GPU" in picture.alt
    with pytest.raises(BadInput, match="plans is {}"):
        plan_bars({})
    with pytest.raises(BadInput, match="what plan_run returned"):
        plan_bars({"none": 3})


def test_published_runs_are_counted_and_the_farthest_is_named():
    picture = published_runs(published())
    assert picture.alt.startswith("Of 45 published speeds the plan is within 10% of 35 and within")
    assert "20% of 39; 29 plans are too slow" in picture.alt
    assert "MT-NLG: GPT 529.6B on 3,360, planned +26%" in picture.alt
    one = published_runs(published()[3:4])
    assert one.alt.startswith("Of 1 published speeds the plan is within 10% of 1")
    for wrong in ([], [3]):
        with pytest.raises(BadInput, match="give what published\\(\\) returned"):
            published_runs(wrong)
    with pytest.raises(BadInput, match="no set of runs 'all': choose from fitted, held out"):
        published("all")


def test_the_explorer_draws_anew_and_says_what_limits():
    explorer = plan_explorer()
    assert "1,024 × H100" in repr(explorer)
    explorer.controls["gpus"].value = 16_384
    assert "16,384 × H100" in explorer.picture.value
    assert "It is limited by" in explorer.picture.value
    explorer.controls["model"].value = "1 trillion"
    explorer.controls["gpus"].value = 1
    assert "No layout of 1 GPU works" in explorer.picture.value
    assert not explorer.faults.outputs


def test_a_run_costs_what_its_hours_cost():
    _, text = draw("1.3 billion", 20e9, "T4", 8, "10 Gbit")  # float16, PCI Express
    assert "20 billion tokens take" in text
    assert text.count("$") == 1  # one price is known of it, and two of an H100
    _, short = draw("1.3 billion", 20e9, "H100", 1024, "400 Gbit")
    assert "hours" in short
    assert short.count("$") == 2
    assert ", and then by " in short
    _, long = draw("7 billion", 15e12, "H100", 8, "400 Gbit")
    assert "years" in long
    _, unpriced = draw("1.3 billion", 20e9, "RTX 4060 Laptop", 8, "10 Gbit")
    assert "No layout" in unpriced or " (no price known), and at most" in unpriced
