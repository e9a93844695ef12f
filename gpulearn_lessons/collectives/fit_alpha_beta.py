"""Latency and seconds per byte from measured times."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.compare import NOTHING, is_number
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.costs import fit_alpha_beta
from gpulearn.require import shown

TOLERANCE = 1e-5  # the normal equations lose half of the digits
ZERO = 1e-18  # far below any α or β: rounding, where an answer gives 0

answers = Answers(fit_alpha_beta)

WEIGHTS = "1 / np.asarray(seconds, dtype=float)"
SIZES = "np.asarray(sizes, dtype=float)"
SCALE = "terms.max(axis=0)"
WEIGH = " * weights[:, None]"
EQUAL = "np.ones(len(sizes))"
ONES = f"rows, {EQUAL}"
WEIGHED = "rows, weights * seconds"
ALPHA = "alpha / scale[0]"
BETA = "beta / scale[1]"
RETURN = f"return float({ALPHA}), float({BETA})"
SWAPPED = f"return float({BETA}), float({ALPHA})"


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


def difference(got: Any, wanted: Any) -> str | None:
    """α first, then β, each relative to its own size."""
    if got is None:
        return NOTHING
    try:
        pair = [value.item() if hasattr(value, "item") else value for value in got]
    except (TypeError, ValueError):
        pair = []
    if len(pair) != 2 or not all(map(is_number, pair)):
        return f"it returns {shown(got)}, expected two numbers, α and β"
    for name, unit, found, expected in zip(
        ("α", "β"), ("s", "s per byte"), pair, wanted, strict=True
    ):
        if not abs(float(found) - expected) <= TOLERANCE * abs(expected) + ZERO:
            return f"{name} is {float(found):.6g}, expected {expected:.6g} {unit}"
    return None


answers.edit(
    {RETURN: SWAPPED},
    "α and β are swapped: np.polyfit, for one, gives the slope first. Return α, β.",
)
answers.edit(
    {WEIGHTS: EQUAL, ONES: WEIGHED},
    "each point counts by its absolute error, so that the longest times decide alone and α is "
    "lost in their noise: weigh each point by 1 / seconds.",
)
answers.edit(
    {WEIGHTS: EQUAL, ONES: WEIGHED, RETURN: SWAPPED},
    "α and β are swapped, and each point counts by its absolute error: return α, β, and weigh "
    "each point by 1 / seconds.",
)
answers.edit(
    {"(alpha, beta)": "(beta,)", ONES: f"rows[:, 1:], {EQUAL}", ALPHA: "0.0"},
    "the line goes through the origin: a message without content takes α, so fit both.",
)


answers.edit(
    {ALPHA: f"max(0.0, {ALPHA})"},
    "α is cut off at 0: where times grow faster than sizes, least squares gives one below zero, "
    "which says that the model does not fit. Return what comes out.",
)
answers.edit(
    {BETA: f"max(0.0, {BETA})"},
    "β is cut off at 0: where times fall, as noise can make them, least squares gives one below "
    "zero. Return what comes out.",
)
answers.edit(
    {
        "terms = ": "sizes = np.asarray(sizes, dtype=float)\n    sizes /= 1e6\n    terms = ",
        SIZES: "sizes",
        BETA: f"1e-6 * {BETA}",
    },
    "an array that it is given is changed: np.asarray of an array is that array itself, so that "
    "sizes /= … or *= … reaches the caller. Write sizes = sizes / …, or take np.array.",
)


LINE_OF_LOGS = "that is a power law, a line through the logarithms: α + β · size is none."


@answers.wrong(LINE_OF_LOGS)
def log_log(sizes: Any, seconds: Any) -> Any:
    return _power_law(np.maximum(sizes, 1.0), seconds)


@answers.wrong(LINE_OF_LOGS)
def log_log_beside_zero(sizes: Any, seconds: Any) -> Any:
    return _power_law(np.asarray(sizes) + 1e-9, seconds)


def _power_law(sizes: Any, seconds: Any) -> Any:
    power, factor = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(np.exp(factor)), float(power)


answers.edit(
    {ALPHA: f"1e3 * {ALPHA}", BETA: f"1e3 * {BETA}"},
    "α and β are in milliseconds: both are asked for in seconds.",
)
answers.edit(
    {ALPHA: f"1e6 * {ALPHA}", BETA: f"1e6 * {BETA}"},
    "α and β are in microseconds: both are asked for in seconds.",
)
answers.edit(
    {BETA: "scale[1] / beta"},
    "the second number is the bandwidth, bytes per second: β is 1 / bandwidth.",
)
answers.edit({BETA: f"{BETA} / 8"}, "β is per bit: the sizes are in bytes.")
answers.edit(
    {ONES: "rows[[0, -1]], np.ones(2)"},
    "two measurements make the line, the first and the last: use all, each is a little wrong.",
)
answers.edit(
    {ONES: "rows[np.lexsort((seconds, sizes))[[0, -1]]], np.ones(2)"},
    "two measurements make the line, the smallest and the largest: use all, each is a little "
    "wrong.",
)


@answers.wrong(
    "α is the shortest time, and β what the longest one needs per byte: fit both to all times."
)
def from_the_extremes(sizes: Any, seconds: Any) -> Any:
    return min(seconds), max(seconds) / max(sizes)


answers.edit(
    {WEIGHTS: f"{WEIGHTS} ** 2", ONES: WEIGHED},
    "the weights are 1 / seconds²: each equation is divided by its time once, and least squares "
    "takes the square, so the weights are 1 / seconds.",
)
answers.edit(
    {WEIGHTS: f"{WEIGHTS} ** 0.5", ONES: WEIGHED},
    "the weights are 1 / √seconds: they multiply the error itself, not its square, so that a "
    "relative error takes 1 / seconds.",
)
answers.edit(
    {WEIGHTS: "np.asarray(seconds, dtype=float)", ONES: WEIGHED},
    "the weights are the times themselves, so that the longest count most: weigh by 1 / seconds.",
)
answers.edit(
    {SIZES: f"{SIZES} * weights", WEIGH: ""},
    "it fits with α = 1 and β = 0, since α's column and the right-hand side are the same: divide "
    "every part by seconds, which makes 1 / seconds, size / seconds and 1.",
)
answers.edit(
    {ONES: "rows, np.asarray(seconds)"},
    "the columns are divided by the times and the right-hand side is not: seconds / seconds is 1 "
    "for each point, np.ones(len(sizes)).",
)
answers.edit(
    {"[np.ones(len(sizes))": "[weights", WEIGH: ""},
    "α's column is divided by the times and the sizes are not: β's column is size / seconds.",
)
answers.edit(
    {SCALE: "np.ones(2)", ONES: f"rows.T, {EQUAL}"},
    "the matrix lies on its side: it has a row for each point and a column for each of α and β. "
    "Transpose it, or stack with axis=1.",
)
answers.edit(
    {"(alpha, beta), *_": "alpha, beta", "lstsq": "solve"},
    "np.linalg.solve wants as many points as unknowns, two; np.linalg.lstsq takes all of them.",
)
answers.edit(
    {BETA: "1e-9 * scale[1] / beta"},
    "the second number is the bandwidth in GB/s: β is in seconds per byte.",
)
answers.edit(
    {ALPHA: f"1e6 * {ALPHA}"},
    "α is in microseconds and β in seconds: both are asked for in seconds.",
)
answers.edit(
    {"(alpha, beta)": "(beta,)", WEIGHTS: EQUAL, ONES: "rows[:, 1:], seconds", ALPHA: "0.0"},
    "the line goes through the origin, and the longest times decide: fit α too, and weigh each "
    "point by 1 / seconds.",
)


@answers.wrong(
    "that is the line for the size as a function of the time: sizes are given, times fit."
)
def other_axis(sizes: Any, seconds: Any) -> Any:
    slope, start = np.polyfit(seconds, np.asarray(sizes, dtype=float), 1)
    return -start / slope, 1 / slope


@answers.right
def normal_equations(sizes: Any, seconds: Any) -> Any:
    s, t = np.asarray(sizes, dtype=float), np.asarray(seconds, dtype=float)
    w = 1 / t**2
    middle, mean = (w * s).sum() / w.sum(), (w * t).sum() / w.sum()
    beta = (w * (s - middle) * (t - mean)).sum() / (w * (s - middle) ** 2).sum()
    return mean - beta * middle, beta


@answers.right
def by_polyfit(sizes: Any, seconds: Any) -> Any:
    beta, alpha = np.polyfit(sizes, seconds, 1, w=1 / np.array(seconds))
    return alpha, beta


answers.variant({SCALE: "np.ones(2)", RETURN: "return np.array([alpha, beta])"})


EXERCISE = Exercise(
    task="Fit α and β of seconds = α + β · size to measured times, by their relative errors.",
    reference=fit_alpha_beta,
    cases=cases,
    answers=answers,
    difference=difference,
)
