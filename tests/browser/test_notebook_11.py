"""Notebook 11 in JupyterLab: a schedule is mended, and its curve drawn anew."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

CELLS = (
    "11_noise_and_schedules",
    "def warm_up_cosine_rate",
    'gl.check("warm_up_cosine_rate"',
    "as_it_is = ",
)


def test_a_learner_mends_the_schedule(notebook):
    notebook.has_only_unsolved()
    curve = notebook.cell("as_it_is = ")
    picture = curve.locator(".jp-OutputArea img")
    assert "highest 0.285 at 19" in picture.get_attribute("alt")

    lines = [
        "def warm_up_cosine_rate(step, lr, warm_up, steps, lowest=0.0):",
        "done = min((step - warm_up) / (steps - warm_up), 1.0)",
        "falling = lowest + (lr - lowest) * (1 + math.cos(math.pi * done)) / 2",
        "return lr * (step + 1) / warm_up if step < warm_up else falling",
    ]
    assert notebook.answer("def warm_up_cosine_rate", lines).startswith(
        "✓ warm_up_cosine_rate is right in all"
    )
    notebook.run(curve)
    expect(picture).to_have_attribute("alt", re.compile("highest 0.3 at 19"))
    notebook.screenshot("11-schedule")
