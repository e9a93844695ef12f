"""The numerical gradient by central differences, from a function's values alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Exercise
from gpulearn.exercise.gradient_descent import slopes
from gpulearn.optim.numerical import numerical_gradient

__all__ = ["EXERCISE"]

answers = Answers(numerical_gradient)

# what stands in the solution
ROOT = "np.cbrt(np.finfo(x.dtype).eps)"
H = f"{ROOT} * max(1.0, abs(x[i]))"
COPIES = "ahead, behind = x.copy(), x.copy()"
DIFFERENCE = "(function(ahead) - function(behind))"
WAY = "(ahead[i] - behind[i])"
QUOTIENT = f"{DIFFERENCE} / {WAY}"

answers.edit(
    {QUOTIENT: "(function(ahead) - function(x)) / h"},
    "that is the forward difference, (f(x + h) − f(x))/h, whose error falls with h only: go h "
    "ahead and h behind, and the error falls with h².",
)
answers.edit(
    {QUOTIENT: "(function(x) - function(behind)) / h"},
    "that is the backward difference, (f(x) − f(x − h))/h, whose error falls with h only: go h "
    "ahead and h behind, and the error falls with h².",
)
answers.edit(
    {WAY: "h"}, "all slopes are twice what they should be: from behind to ahead it is 2h, not h."
)
answers.edit(
    {QUOTIENT: DIFFERENCE}, "the difference is not divided by the way from behind to ahead, 2h."
)
answers.edit(
    {WAY: "2 * h"},
    "the difference is multiplied by the way: divide by it, in brackets: / (2 * h).",
)
answers.edit(
    {DIFFERENCE: "(function(behind) - function(ahead))"}, "the sign is wrong: ahead minus behind."
)
answers.edit(
    {QUOTIENT: "(function(ahead) - 2 * function(x) + function(behind)) / h**2"},
    "that is the second derivative, the curvature: the slope is (f(x + h) − f(x − h))/2h.",
)
answers.edit({QUOTIENT: f"abs({QUOTIENT})"}, "slopes that fall come out positive: keep the sign.")
answers.edit(
    {QUOTIENT: "(function(ahead) + function(behind)) / 2"},
    "that is the mean of the two values, not how they differ: ahead minus behind, over 2h.",
)
answers.edit(
    {DIFFERENCE: "(function(x + h) - function(x - h))"},
    "h moves all entries at once, which gives the slope in that one direction, the same for "
    "every entry: move one entry at a time.",
)
answers.edit(
    {H: "1e-4"},
    "h is the same for all x: next to 1e8 it is lost in rounding. Let it grow with |x|: h times "
    "max(1, |x|).",
)
answers.edit(
    {H: "1e-6"},
    "h is the same for all x and dtypes: next to 1e8, or in float32, it is lost in rounding. "
    "Take the cube root of np.finfo(x.dtype).eps times max(1, |x|).",
)
answers.edit(
    {"abs(x[i])": "abs(x).max()"},
    "h is the same for all entries, by the largest of them: next to 1e8 an entry of 1 is moved by "
    "hundreds. Scale each entry's own h: max(1, |x[i]|).",
)
answers.edit(
    {ROOT: "1e-6"},
    "h is the same for all dtypes: float32 keeps 7 digits only, and needs the cube root of its "
    "own np.finfo(x.dtype).eps.",
)
answers.edit(
    {ROOT: "1e-12"},
    "h is so small that the two values hardly differ, and rounding decides: take the cube root "
    "of np.finfo(x.dtype).eps, not eps itself.",
)
answers.edit(
    {ROOT: "0.02"},
    "h is so large that the function bends on the way: the error grows with h². Take the cube "
    "root of np.finfo(x.dtype).eps, 6e-6 in float64.",
)
answers.edit(
    {H: "0.02"},
    "h is too large where x is about one, and too small next to 1e8: take the cube root of "
    "np.finfo(x.dtype).eps times max(1, |x|).",
)
answers.edit(
    {"max(1.0, abs(x[i]))": "abs(x[i])"},
    "where an entry of x is zero, h is zero too: take h times max(1, |x|).",
)
answers.edit(
    {H: "1e-5 * abs(x[i])"},
    "where an entry of x is zero, h is zero too, and h is the same part of x for all dtypes: take "
    "the cube root of np.finfo(x.dtype).eps times max(1, |x|).",
)
answers.edit(
    {"abs(x[i])": "x[i]"}, "where an entry of x is below zero, h is not scaled: take max(1, |x|)."
)
answers.edit(
    {COPIES: "ahead = behind = x.copy()", WAY: "(2 * h)"},
    "ahead and behind are one and the same array, so all slopes are 0: copy x twice.",
)
answers.edit(
    {
        "gradient = np.zeros_like(x)": f"gradient = np.zeros_like(x)\n    {COPIES}",
        f"        {COPIES}\n": "",
    },
    "the entries before are still moved, so their slopes are added: copy x anew inside the loop.",
)
answers.edit(
    {
        COPIES: "x[i] += h",
        "ahead[i] += h": "value = function(x)",
        "behind[i] -= h": "x[i] -= 2 * h",
        QUOTIENT: "(value - function(x)) / (2 * h)",
    },
    "it changes x, which the caller still needs: copy it, x.copy(), before each move.",
)
answers.edit(
    {
        "np.ndindex(x.shape)": "range(len(x))",
        "abs(x[i])": "np.abs(x[i]).max()",
        WAY: "(2 * h)",
    },
    "in a matrix, i counts rows, and a whole row moves at once: np.ndindex(x.shape) gives every "
    "entry's index.",
)
answers.edit(
    {"return gradient": "return gradient.ravel()"},
    "the slopes come in one row: give them the shape of x.",
)
answers.edit(
    {"return gradient": "return gradient.sum()"},
    "that adds all slopes to one number: return one for each entry.",
)
answers.edit(
    {"    return gradient": "        return gradient"},
    "the gradient has one entry only: return all of them, after the loop.",
)
answers.edit(
    {"np.zeros_like(x)": "np.zeros(x.shape)"},
    "the gradient of a float32 array comes back as float64: np.zeros_like(x) keeps it.",
)

answers.variant({H: "(1e-2 if x.dtype == np.float32 else 1e-5) * (1 + abs(x[i]))"})
answers.variant(  # moves x itself, and puts it back
    {
        COPIES: "old = x[i]",
        "ahead[i] += h": "x[i] = old + h\n        ahead = function(x)",
        "behind[i] -= h": "x[i] = old - h\n        behind = function(x)\n        x[i] = old",
        QUOTIENT: "(ahead - behind) / (2 * h)",
    }
)


@answers.right
def in_one_row(function: Any, x: Any) -> Any:
    found = []
    for k in range(x.size):
        h = np.finfo(x.dtype).eps ** (1 / 3) * max(1, abs(x.flat[k]))
        step = np.zeros(x.size, x.dtype)
        step[k] = h
        step = step.reshape(x.shape)
        found.append((function(x + step) - function(x - step)) / (2 * h))
    return np.array(found, dtype=x.dtype).reshape(x.shape)


EXERCISE = Exercise(
    name="numerical_gradient",
    task="Take the gradient of a function at x by central differences, entry by entry.",
    reference=numerical_gradient,
    cases=slopes.cases,
    run=slopes.run,
    difference=slopes.difference,
    kinships=(
        lambda got, known: slopes.difference(got, known) is None,
        slopes.same_manner,
    ),
    answers=answers,
)
