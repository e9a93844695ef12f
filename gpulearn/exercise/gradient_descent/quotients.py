"""Known answers to `numerical_gradient` whose quotient, or whose h, is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers

__all__ = ["answers", "central", "differences", "usual"]

answers = Answers()


def usual(x: Any, i: Any) -> Any:
    """The h of the task."""
    return np.cbrt(np.finfo(x.dtype).eps) * max(1.0, abs(x[i]))


def differences(
    quotient: Callable[..., Any], h: Callable[[Any, Any], Any] = usual
) -> Callable[..., Any]:
    """A gradient whose entry i is quotient(f, x, step, h), where step is h in entry i, else 0."""

    def numerical_gradient(function: Any, x: Any) -> Any:
        gradient = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[i] = h(x, i)
            gradient[i] = quotient(function, x, step, h(x, i))
        return gradient

    return numerical_gradient


def central(function: Any, x: Any, step: Any, h: Any) -> Any:
    return (function(x + step) - function(x - step)) / (2 * h)


answers.wrong(
    "that is the forward difference, (f(x + h) − f(x))/h, whose error falls with h only: go h "
    "ahead and h behind, and the error falls with h²."
)(differences(lambda f, x, step, h: (f(x + step) - f(x)) / h))

answers.wrong(
    "that is the backward difference, (f(x) − f(x − h))/h, whose error falls with h only: go h "
    "ahead and h behind, and the error falls with h²."
)(differences(lambda f, x, step, h: (f(x) - f(x - step)) / h))

answers.wrong("all slopes are twice what they should be: from behind to ahead it is 2h, not h.")(
    differences(lambda f, x, step, h: (f(x + step) - f(x - step)) / h)
)

answers.wrong("the difference is not divided by the way from behind to ahead, 2h.")(
    differences(lambda f, x, step, h: f(x + step) - f(x - step))
)

answers.wrong("the difference is multiplied by the way: divide by it, in brackets: / (2 * h).")(
    differences(lambda f, x, step, h: (f(x + step) - f(x - step)) / 2 * h)
)

answers.wrong("the sign is wrong: ahead minus behind.")(
    differences(lambda f, x, step, h: (f(x - step) - f(x + step)) / (2 * h))
)

answers.wrong(
    "that is the second derivative, the curvature: the slope is (f(x + h) − f(x − h))/2h."
)(differences(lambda f, x, step, h: (f(x + step) - 2 * f(x) + f(x - step)) / h**2))

answers.wrong("slopes that fall come out positive: keep the sign.")(
    differences(lambda *parts: abs(central(*parts)))
)

answers.wrong(
    "that is the mean of the two values, not how they differ: ahead minus behind, over 2h."
)(differences(lambda f, x, step, h: (f(x + step) + f(x - step)) / 2))

answers.wrong(
    "h moves all entries at once, which gives the slope in that one direction, the same for "
    "every entry: move one entry at a time."
)(differences(lambda f, x, step, h: (f(x + h) - f(x - h)) / (2 * h)))

answers.wrong(
    "h is the same for all x: next to 1e8 it is lost in rounding. Let it grow with |x|: h times "
    "max(1, |x|)."
)(differences(central, lambda x, i: 1e-4))

answers.wrong(
    "h is the same for all x and dtypes: next to 1e8, or in float32, it is lost in rounding. "
    "Take the cube root of np.finfo(x.dtype).eps times max(1, |x|)."
)(differences(central, lambda x, i: 1e-6))

answers.wrong(
    "h is the same for all entries, by the largest of them: next to 1e8 an entry of 1 is moved by "
    "hundreds. Scale each entry's own h: max(1, |x[i]|)."
)(differences(central, lambda x, i: np.cbrt(np.finfo(x.dtype).eps) * max(1.0, abs(x).max())))

answers.wrong(
    "h is the same for all dtypes: float32 keeps 7 digits only, and needs the cube root of its "
    "own np.finfo(x.dtype).eps."
)(differences(central, lambda x, i: 1e-6 * max(1.0, abs(x[i]))))

answers.wrong(
    "h is so small that the two values hardly differ, and rounding decides: take the cube root "
    "of np.finfo(x.dtype).eps, not eps itself."
)(differences(central, lambda x, i: 1e-12 * max(1.0, abs(x[i]))))

answers.wrong(
    "h is so large that the function bends on the way: the error grows with h². Take the cube "
    "root of np.finfo(x.dtype).eps, 6e-6 in float64."
)(differences(central, lambda x, i: 0.02 * max(1.0, abs(x[i]))))

answers.wrong(
    "h is too large where x is about one, and too small next to 1e8: take the cube root of "
    "np.finfo(x.dtype).eps times max(1, |x|)."
)(differences(central, lambda x, i: 0.02))

answers.wrong("where an entry of x is zero, h is zero too: take h times max(1, |x|).")(
    differences(central, lambda x, i: np.cbrt(np.finfo(x.dtype).eps) * abs(x[i]))
)

answers.wrong(
    "where an entry of x is zero, h is zero too, and h is the same part of x for all dtypes: take "
    "the cube root of np.finfo(x.dtype).eps times max(1, |x|)."
)(differences(central, lambda x, i: 1e-5 * abs(x[i])))

answers.wrong("where an entry of x is below zero, h is not scaled: take max(1, |x|).")(
    differences(central, lambda x, i: np.cbrt(np.finfo(x.dtype).eps) * max(1.0, x[i]))
)
