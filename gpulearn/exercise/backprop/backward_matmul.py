"""From the gradient of a product to those of its factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.exercise.backprop.results import named, quietly, same
from gpulearn.nn.layers import backward_matmul

__all__ = ["EXERCISE"]

Matrix = np.ndarray[Any, Any]
Pair = tuple[Matrix, Matrix]
answers = Answers()


def cases() -> list[Case]:
    """Products whose sizes tell factors apart, and square ones, in which every order fits."""
    rng = np.random.default_rng(11)
    cases = []
    for m, n, p in ((2, 3, 4), (3, 3, 3), (3, 3, 2), (2, 3, 3), (3, 2, 3), (1, 4, 1), (4, 1, 2)):
        args = tuple(rng.normal(size=size) for size in ((m, n), (n, p), (m, p)))
        cases.append(Case(f"A of shape ({m}, {n}) and B of shape ({n}, {p})", args))
    whole = rng.integers(-9, 9, size=(2, 2)), rng.integers(-9, 9, size=(2, 2))
    cases.append(Case("A and B of whole numbers, (2, 2)", (*whole, rng.normal(size=(2, 2)))))
    single = tuple(rng.normal(size=s).astype(np.float32) for s in ((5, 2), (2, 3), (5, 3)))
    cases.append(Case("float32 A (5, 2) and B (2, 3)", single))
    return cases


@answers.wrong(
    "neither factor is transposed: a square case hides it, any other has no such product. "
    "grad_a needs Bᵀ, grad_b needs Aᵀ."
)
def no_transposes(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b, a @ gradient


@answers.wrong("grad_a lacks a transpose: element [i, k] collects gradient[i, j] · B[k, j].")
def a_lacks_transpose(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b, a.T @ gradient


@answers.wrong("grad_b lacks a transpose: element [k, j] collects A[i, k] · gradient[i, j].")
def b_lacks_transpose(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b.T, a @ gradient


@answers.wrong("it is the other factor that is transposed in each product, not the gradient.")
def gradient_transposed(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient.T @ b, a @ gradient.T


@answers.wrong(
    "the factors stand in the wrong order in both: as in C = A·B, what belongs to A's place "
    "stands on the left, what belongs to B's on the right."
)
def order_swapped(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return b.T @ gradient, gradient @ a.T


@answers.wrong("in grad_a the gradient belongs on the left: it has the rows of A.")
def a_order_swapped(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return b.T @ gradient, a.T @ gradient


@answers.wrong("in grad_b the gradient belongs on the right: it has the columns of B.")
def b_order_swapped(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b.T, gradient @ a.T


@answers.wrong("the two are returned in the wrong order: grad_a comes first.")
def results_exchanged(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return a.T @ gradient, gradient @ b.T


@answers.wrong(
    "each factor's gradient is made with that factor itself; the slope with respect to A is B, "
    "and the other way round."
)
def own_factor(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ a.T, b.T @ gradient


@answers.wrong(
    "both results are transposed: the gradient of a matrix has the shape of that matrix."
)
def results_transposed(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return b @ gradient.T, gradient.T @ a


@answers.wrong("grad_a is transposed: it must have the shape of A.")
def a_result_transposed(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return b @ gradient.T, a.T @ gradient


@answers.wrong("grad_b is transposed: it must have the shape of B.")
def b_result_transposed(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b.T, gradient.T @ a


@answers.wrong(
    "the arriving gradient is never used, as if it were all ones: it says how much the loss "
    "feels each element of C."
)
def gradient_ignored(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    ones = np.ones((a.shape[0], b.shape[1]))
    return ones @ b.T, a.T @ ones


@answers.wrong(
    "these are the factors, transposed; each must still be multiplied by the arriving gradient."
)
def local_slopes(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return b.T, a.T


@answers.wrong(
    "* multiplies element by element; each element of A takes part in a whole row of C: use @."
)
def elementwise(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient * b.T, a.T * gradient


@answers.wrong(
    "* without transposes multiplies each factor with the gradient place by place: use @."
)
def elementwise_plain(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient * b, gradient * a


@answers.wrong(
    "grad_b is divided by the number of rows: the chain rule adds up; a mean, if there is one, "
    "is already in the arriving gradient."
)
def mean_over_rows(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b.T, a.T @ gradient / len(a)


@answers.wrong("both are divided by the number of rows: the chain rule adds up, without a mean.")
def both_mean(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b.T / len(a), a.T @ gradient / len(a)


@answers.wrong(
    "it takes whichever product has sizes that fit; square matrices fit in every order. Find out "
    "which one is right."
)
def whatever_fits(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    try:
        grad_a = gradient @ b
    except ValueError:
        grad_a = gradient @ b.T
    try:
        grad_b = a @ gradient
    except ValueError:
        grad_b = a.T @ gradient
    return grad_a, grad_b


@answers.right
def by_loops(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    grad_a, grad_b = np.zeros(a.shape), np.zeros(b.shape)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                grad_a[i, k] += gradient[i, j] * b[k, j]
                grad_b[k, j] += gradient[i, j] * a[i, k]
    return grad_a, grad_b


answers.edit(
    {"np.zeros(a.shape), np.zeros(b.shape)": "np.zeros_like(a), np.zeros_like(b)"},
    "the gradients lose their fractions: np.zeros_like(a) has the dtype of A, which may be whole "
    "numbers; take that of the gradient.",
    of=by_loops,
)


@answers.wrong("the sign is turned round: the gradient points uphill; the step down comes later.")
def negative(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return -(gradient @ b.T), -(a.T @ gradient)


@answers.wrong(
    "reshape gives the shape of the transposed matrix and leaves its elements in their order, row "
    "by row: take .T, which swaps rows and columns."
)
def reshaped(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return gradient @ b.reshape(b.shape[::-1]), a.reshape(a.shape[::-1]) @ gradient


@answers.wrong("that is grad_a alone: return grad_a, grad_b.")
def only_a(a: Matrix, b: Matrix, gradient: Matrix) -> Matrix:
    return gradient @ b.T


@answers.wrong("that is grad_b alone: return grad_a, grad_b.")
def only_b(a: Matrix, b: Matrix, gradient: Matrix) -> Matrix:
    return a.T @ gradient


@answers.right
def by_einsum(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    return np.einsum("ij,kj->ik", gradient, b), np.einsum("ik,ij->kj", a, gradient)


@answers.right
def by_transposing_twice(a: Matrix, b: Matrix, gradient: Matrix) -> list[Matrix]:
    return [np.dot(b, gradient.T).T, np.dot(gradient.T, a).T]


@answers.right
def by_outer_products(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    grad_b = sum(np.outer(row, arriving) for row, arriving in zip(a, gradient, strict=True))
    return np.array([b @ arriving for arriving in gradient]), np.asarray(grad_b)


EXERCISE = Exercise(
    name="backward_matmul",
    notebook="11_backprop",
    task="From the gradient with respect to C = A·B, find those with respect to A and to B.",
    reference=backward_matmul,
    cases=cases,
    run=quietly,
    difference=named("grad_a", "grad_b"),
    kinships=(same,),
    answers=answers,
)
