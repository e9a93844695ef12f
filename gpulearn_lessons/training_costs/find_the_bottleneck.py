"""What a run with an input pipeline waits for, from the times of its phases."""

import math
from typing import Any

from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.training_costs.pace import find_the_bottleneck

PARTS = ("the phase that sets the pace", "the seconds per step", "the fraction of the GPU")


def cases() -> list[Case]:
    """Each phase as the slowest, with no worker, one, too few and more than enough."""
    work = {
        "a fetch of 8 ms, no worker": (8e-3, 1e-3, 3e-3, 0),
        "a fetch of 8 ms, one worker": (8e-3, 1e-3, 3e-3, 1),
        "a fetch of 8 ms, two workers": (8e-3, 1e-3, 3e-3, 2),
        "a fetch of 8 ms, four workers": (8e-3, 1e-3, 3e-3, 4),
        "a fetch of 100 ms, twelve workers": (100e-3, 1e-3, 5e-3, 12),
        "a slow link, no worker": (1e-3, 9e-3, 2e-3, 0),
        "a slow link, eight workers": (4e-3, 9e-3, 2e-3, 8),
        "a large network, no worker": (2e-3, 1e-3, 250e-3, 0),
        "a large network, one worker": (2e-3, 1e-3, 250e-3, 1),
        "a fetch of a minute, three workers": (60.0, 0.5, 2.0, 3),
        "data that lies on the GPU already": (0.0, 0.0, 5e-3, 0),
    }
    return [Case(label, args) for label, args in work.items()]


def difference(got: Any, expected: Any) -> str | None:
    if got is None:
        return NOTHING
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        return f"it returns {shown(got)}, expected a name and two numbers"
    for part, value, want in zip(PARTS, got, expected, strict=True):
        if isinstance(want, str):
            if value != want:
                return f"{part} is {shown(value)}, expected {want!r}"
        elif not is_number(value):
            return f"{part}: {shown(value)} is not a number"
        elif not math.isclose(value, want, rel_tol=1e-6, abs_tol=1e-12):
            return f"{part}: {float(value):.4g}, expected {want:.4g}"
    return None


EXERCISE = Exercise(
    task="Name the phase that sets the pace, the seconds per step, and the fraction of the GPU.",
    reference=find_the_bottleneck,
    cases=cases,
    difference=difference,
)
