"""From the gradient after a rectified linear unit to the one before it."""

from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import backward_relu
from gpulearn_lessons.backprop.results import quietly, same

Array = np.ndarray[Any, Any]


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
    single = tuple(array.astype(np.float32, order="F") for array in pair(4, 3))
    return [
        Case("x of shape (3, 4)", (x, gradient)),
        Case("x with zeros", with_zeros),
        Case("a negative gradient everywhere", (pair(5)[0], -np.arange(1.0, 6.0))),
        Case("x negative everywhere", (-np.arange(1.0, 5.0), np.array([1.0, -2.0, 3.0, -4.0]))),
        Case("x positive everywhere", (np.arange(1.0, 5.0), np.array([1.0, -2.0, 3.0, -4.0]))),
        Case("x close to zero and far from zero", near),
        Case("integer x, gradients with fractions", whole),
        Case("images, x of shape (2, 3, 4, 5)", pair(2, 3, 4, 5)),
        Case("float32 x of shape (4, 3) in Fortran order", single),
    ]


EXERCISE = Exercise(
    task="From the gradient with respect to max(x, 0), compute the one with respect to x.",
    reference=backward_relu,
    cases=cases,
    run=quietly,
    difference=compare.arrays,
    kinships=(same,),
)
