"""Take a gradient from values alone, by central differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.checker.exercise import Exercise
from gpulearn.exercise.gradient_descent import slopes
from gpulearn.exercise.gradient_descent.quotients import answers, central, differences, usual
from gpulearn.optim.numerical import numerical_gradient

__all__ = ["EXERCISE"]


@answers.wrong("ahead and behind are one and the same array, so all slopes are 0: copy x twice.")
def one_copy(function: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        ahead = behind = x.copy()
        ahead[i] += usual(x, i)
        behind[i] -= usual(x, i)
        gradient[i] = (function(ahead) - function(behind)) / (2 * usual(x, i))
    return gradient


@answers.wrong(
    "the entries before are still moved, so their slopes are added: copy x anew inside the loop."
)
def copies_once(function: Any, x: Any) -> Any:
    gradient, ahead, behind = np.zeros_like(x), x.copy(), x.copy()
    for i in np.ndindex(x.shape):
        ahead[i] += usual(x, i)
        behind[i] -= usual(x, i)
        gradient[i] = (function(ahead) - function(behind)) / (2 * usual(x, i))
    return gradient


@answers.wrong("it changes x, which the caller still needs: copy it, x.copy(), before each move.")
def moves_x(function: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        h = usual(x, i)
        x[i] += h
        ahead = function(x)
        x[i] -= 2 * h
        gradient[i] = (ahead - function(x)) / (2 * h)
    return gradient


@answers.wrong(
    "in a matrix, i counts rows, and a whole row moves at once: np.ndindex(x.shape) gives every "
    "entry's index."
)
def row_by_row(function: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    for i in range(len(x)):
        h = np.cbrt(np.finfo(x.dtype).eps) * max(1.0, np.abs(x[i]).max())
        ahead, behind = x.copy(), x.copy()
        ahead[i] += h
        behind[i] -= h
        gradient[i] = (function(ahead) - function(behind)) / (2 * h)
    return gradient


@answers.wrong("the slopes come in one row: give them the shape of x.")
def flat(function: Any, x: Any) -> Any:
    return differences(central)(function, x).ravel()


@answers.wrong("that adds all slopes to one number: return one for each entry.")
def total(function: Any, x: Any) -> Any:
    return differences(central)(function, x).sum()


@answers.wrong("the gradient has one entry only: return all of them, after the loop.")
def returns_at_once(function: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[i] += usual(x, i)
        behind[i] -= usual(x, i)
        gradient[i] = (function(ahead) - function(behind)) / (2 * usual(x, i))
        return gradient
    return gradient


@answers.wrong("the gradient of a float32 array comes back as float64: np.zeros_like(x) keeps it.")
def dtype_lost(function: Any, x: Any) -> Any:
    gradient = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        gradient[i] = differences(central)(function, x)[i]
    return gradient


@answers.right
def from_the_front(function: Any, x: Any) -> Any:
    slopes = np.empty_like(x)
    for i, old in np.ndenumerate(x):
        h = 1e-2 if x.dtype == np.float32 else 1e-5
        h = h * (1 + abs(old))
        ahead, behind = x.copy(), x.copy()
        ahead[i], behind[i] = old + h, old - h
        slopes[i] = (function(ahead) - function(behind)) / (ahead[i] - behind[i])
    return slopes


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


@answers.right
def puts_back(function: Any, x: Any) -> Any:
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        old, h = x[i], usual(x, i)
        x[i] = old + h
        ahead = function(x)
        x[i] = old - h
        behind = function(x)
        x[i] = old
        gradient[i] = (ahead - behind) / (2 * h)
    return gradient


EXERCISE = Exercise(
    name="numerical_gradient",
    notebook="10_gradient_descent",
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
