"""Latency and seconds per byte from measured times."""

from typing import Any

import numpy as np

from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.costs import fit_alpha_beta
from gpulearn.require import shown

TOLERANCE = 1e-5  # the normal equations lose half of the digits
ZERO = 1e-18  # far below any α or β: rounding, where an answer gives 0


def cases() -> list[Case]:
    """Exact times, rough ones, in any order, over few and many orders of magnitude; arrays.

    In one the times of large messages are longer than the model has them, so that α is negative;
    in one the times fall, and β is.
    """
    wide = [2**k for k in range(6, 27, 4)]
    mixed = [4_000_000, 1_000, 64_000, 16_000_000, 256, 1_000_000]
    rough = (1.04, 0.97, 1.02, 0.95, 1.05, 0.98)
    works = {
        "two exact times": ([1_000, 1_000_000], [20.5e-6, 520e-6]),
        "six exact times": (wide, [50e-6 + 2e-10 * s for s in wide]),
        "six rough times": (wide, _times(wide, 12e-6, 1e-9, rough)),
        "six rough times in no order": (mixed, _times(mixed, 80e-6, 8e-11, rough)),
        "rough times of small messages": (
            [100, 200, 400, 800, 1600, 3200],
            _times([100, 200, 400, 800, 1600, 3200], 5e-6, 4e-9, rough),
        ),
        "sizes that were measured twice": (
            [1000, 1000, 50_000, 50_000, 9_000_000, 9_000_000],
            _times([1000, 1000, 50_000, 50_000, 9_000_000, 9_000_000], 30e-6, 5e-10, rough),
        ),
        "times that grow faster than the sizes": (
            [10_000, 20_000, 40_000, 80_000],
            [8e-6, 20e-6, 44e-6, 100e-6],
        ),
        "times that fall": ([100, 200, 400, 800], [31e-6, 30e-6, 30.4e-6, 29e-6]),
        "a message of no bytes among them": (
            [0, 1_000, 1_000_000],
            _times([0, 1_000, 1_000_000], 20e-6, 5e-10, rough),
        ),
        "two arrays": (np.array(wide, dtype=float), np.array(_times(wide, 9e-6, 2e-9, rough))),
    }
    return [Case(label, (sizes, seconds)) for label, (sizes, seconds) in works.items()]


def _times(sizes: Any, alpha: float, beta: float, errors: Any) -> list[float]:
    used = errors[: len(sizes)]
    return [(alpha + beta * s) * error for s, error in zip(sizes, used, strict=True)]


def difference(got: Any, want: Any) -> str | None:
    """α first, then β, each relative to its own size."""
    if got is None:
        return NOTHING
    try:
        pair = [value.item() if hasattr(value, "item") else value for value in got]
    except (TypeError, ValueError):
        pair = []
    if len(pair) != 2 or not all(map(is_number, pair)):
        return f"it returns {shown(got)}, expected two numbers, α and β"
    for name, unit, number, expected in zip(
        ("α", "β"), ("s", "s per byte"), pair, want, strict=True
    ):
        if not abs(float(number) - expected) <= TOLERANCE * abs(expected) + ZERO:
            return f"{name} is {float(number):.6g}, expected {expected:.6g} {unit}"
    return None


EXERCISE = Exercise(
    task="Fit α and β of seconds = α + β · size to measured times, by their relative errors.",
    reference=fit_alpha_beta,
    cases=cases,
    difference=difference,
)
