"""From the gradient after a rectified linear unit to the one before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import backward_relu
from gpulearn_lessons.backprop.results import quietly, same

Array = np.ndarray[Any, Any]
answers = Answers(backward_relu)

MASK = "(x > 0)"
PASSED = f"gradient * {MASK}"


def cases() -> list[Case]:
    """Inputs and gradients of both signs, independent of each other, and zeros in both."""
    rng = np.random.default_rng(12)

    def pair(*shape: int) -> tuple[Array, Array]:
        x, gradient = 2.0 * rng.normal(size=shape), 3.0 * rng.normal(size=shape)
        return x, gradient

    x, gradient = pair(3, 4)
    with_zeros = np.array([0.0, -0.0, 1.5, -2.5, 0.0, 3.5]), np.array([4.0, 5.0, 6.0, 7.0, -8, 0])
    near = np.array([1e-300, -1e-300, 1e12, -1e12]), np.array([2.5, 3.5, -4.5, 5.5])
    whole = rng.integers(-5, 5, size=(3, 5)), rng.normal(size=(3, 5))
    single = pair(4, 3)
    return [
        Case("x of shape (3, 4)", (x, gradient)),
        Case("x with zeros", with_zeros),
        Case("a negative gradient everywhere", (pair(5)[0], -np.arange(1.0, 6.0))),
        Case("x below zero everywhere", (-np.arange(1.0, 5.0), np.array([1.0, -2.0, 3.0, -4.0]))),
        Case("x above zero everywhere", (np.arange(1.0, 5.0), np.array([1.0, -2.0, 3.0, -4.0]))),
        Case("x close to zero and far from it", near),
        Case("x of whole numbers, gradients with fractions", whole),
        Case("images, x of shape (2, 3, 4, 5)", pair(2, 3, 4, 5)),
        Case("float32 x of shape (4, 3)", tuple(one.astype(np.float32) for one in single)),
    ]


answers.edit(
    {"x > 0": "x >= 0"},
    "at exactly zero it lets the gradient through; PyTorch, and this course, take 0 there.",
)
answers.edit(
    {MASK: "np.heaviside(x, 0.5)"},
    "at exactly zero it takes half of the gradient; PyTorch, and this course, take 0 there.",
)
answers.edit(
    {"x > 0": "gradient > 0"},
    "the mask comes from the gradient's sign: what decides is the sign of the input x; a "
    "negative gradient passes like any other.",
)
answers.edit(
    {MASK: "((x > 0) & (gradient > 0))"},
    "it lets through only what is positive in both; the sign of the gradient does not matter.",
)
answers.edit(
    {PASSED: "np.maximum(x, 0)"},
    "that is the layer's output, max(x, 0): the gradient never enters.",
)
answers.edit(
    {MASK: "np.maximum(x, 0)"},
    "it multiplies by the layer's output, max(x, 0): its slope is 1 there, not x.",
)
answers.edit({MASK: "x"}, "it multiplies by x itself: the slope is 1 above zero and 0 below.")
answers.edit(
    {PASSED: "np.where(x > 0, 1.0, 0.0)"},
    "that is the slope alone, 0 or 1: multiply the arriving gradient by it.",
)
answers.edit(
    {PASSED: "np.where(gradient > 0, x, 0)"},
    "it returns x where the gradient should stand: x only decides what passes.",
)
answers.edit(
    {PASSED: "np.where(x * gradient > 0, gradient, 0)"},
    "it keeps the gradient where x · gradient is above zero; the sign of x alone decides.",
)
answers.edit(
    {"x > 0": "x < 0"},
    "the mask is the wrong way round: the gradient passes where x is above zero.",
)
answers.edit(
    {"x > 0": "x <= 0"}, "the mask is the wrong way round, and zero passes: keep where x > 0."
)
answers.edit(
    {"x > 0": "x > 1e-12"},
    "x above zero, but close to it, is taken for zero: compare x itself with 0, in its own dtype.",
)
answers.edit(
    {PASSED: "gradient.copy()"},
    "it passes all of the gradient: where x was not above zero, nothing passes.",
)
answers.edit({MASK: "np.sign(x)"}, "np.sign gives −1 below zero; the slope is 0 there.")
answers.edit(
    {PASSED: "np.where(x > 0, gradient, 0.01 * gradient)"},
    "below zero a hundredth passes: that is the leaky ReLU; here it is 0.",
)
answers.edit(
    {PASSED: f"-{PASSED}"},
    "the sign is turned round: the gradient points uphill; the step down comes later.",
)


@answers.right
def on_a_copy(x: Array, gradient: Array) -> Array:
    result = gradient.copy()
    result[x <= 0] = 0
    return result


answers.edit(
    {"gradient.copy()": "gradient"},
    "it changes an array that it was given; others still need it. Make a new one, such as "
    "gradient * (x > 0).",
    of=on_a_copy,
)
answers.edit(
    {PASSED: "gradient[x > 0]"},
    "gradient[x > 0] takes out what passes and drops the rest: zeros must stand in their places.",
)


@answers.right
def by_loop(x: Array, gradient: Array) -> Array:
    result = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        if x[place] > 0:
            result[place] = gradient[place]
    return result


answers.edit(
    {"np.zeros(x.shape)": "np.zeros_like(x)"},
    "the gradient loses its fractions: np.zeros_like(x) has the dtype of x; take gradient's.",
    of=by_loop,
)
answers.edit(
    {PASSED: "gradient if x > 0 else 0 * gradient"},
    "if, and, or and max(x, 0) ask for one truth value, and x has many: compare element by "
    "element, x > 0 is a mask.",
)

answers.variant({PASSED: f"np.asarray({PASSED})"})
answers.variant({MASK: "(np.maximum(x, 0) > 0).astype(gradient.dtype)"})


EXERCISE = Exercise(
    task="From the gradient with respect to max(x, 0), find the one with respect to x.",
    reference=backward_relu,
    cases=cases,
    run=quietly,
    difference=compare.arrays,
    kinships=(same,),
    answers=answers,
)
