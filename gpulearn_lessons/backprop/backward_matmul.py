"""From the gradient of a product to those of its factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import backward_matmul
from gpulearn_lessons.backprop.results import named, quietly, same

Matrix = np.ndarray[Any, Any]
Pair = tuple[Matrix, Matrix]
answers = Answers(backward_matmul)

GRAD_A = "gradient @ b.T"
GRAD_B = "a.T @ gradient"
RETURN = "return grad_a, grad_b"


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


answers.edit(
    {"b.T": "b", "a.T": "a"},
    "neither factor is transposed: a square case hides it, any other has no such product. "
    "grad_a needs Bᵀ, grad_b needs Aᵀ.",
)
answers.edit(
    {"b.T": "b"}, "grad_a lacks a transpose: element [i, k] collects gradient[i, j] · B[k, j]."
)
answers.edit(
    {"a.T": "a"}, "grad_b lacks a transpose: element [k, j] collects A[i, k] · gradient[i, j]."
)
answers.edit(
    {GRAD_A: "gradient.T @ b", GRAD_B: "a @ gradient.T"},
    "it is the other factor that is transposed in each product, not the gradient.",
)
answers.edit(
    {GRAD_A: "b.T @ gradient", GRAD_B: "gradient @ a.T"},
    "the factors stand in the wrong order in both: as in C = A·B, what belongs to A's place "
    "stands on the left, what belongs to B's on the right.",
)
answers.edit(
    {GRAD_A: "b.T @ gradient"}, "in grad_a the gradient belongs on the left: it has the rows of A."
)
answers.edit(
    {GRAD_B: "gradient @ a.T"},
    "in grad_b the gradient belongs on the right: it has the columns of B.",
)
answers.edit(
    {RETURN: "return grad_b, grad_a"},
    "the two are returned in the wrong order: grad_a comes first.",
)
answers.edit(
    {"b.T": "a.T", "a.T": "b.T"},
    "each factor's gradient is made with that factor itself; the slope with respect to A is B, "
    "and the other way round.",
)
answers.edit(
    {GRAD_A: "b @ gradient.T", GRAD_B: "gradient.T @ a"},
    "both results are transposed: the gradient of a matrix has the shape of that matrix.",
)
answers.edit({GRAD_A: "b @ gradient.T"}, "grad_a is transposed: it must have the shape of A.")
answers.edit({GRAD_B: "gradient.T @ a"}, "grad_b is transposed: it must have the shape of B.")
answers.edit(
    {GRAD_A: "np.ones(gradient.shape) @ b.T", GRAD_B: "a.T @ np.ones(gradient.shape)"},
    "the arriving gradient is never used, as if it were all ones: it says how much the loss "
    "feels each element of C.",
)
answers.edit(
    {GRAD_A: "b.T", GRAD_B: "a.T"},
    "these are the factors, transposed; each must still be multiplied by the arriving gradient.",
)
answers.edit(
    {GRAD_A: "gradient * b.T", GRAD_B: "a.T * gradient"},
    "* multiplies element by element; each element of A takes part in a whole row of C: use @.",
)
answers.edit(
    {GRAD_A: "gradient * b", GRAD_B: "gradient * a"},
    "* without transposes multiplies each factor with the gradient place by place: use @.",
)
answers.edit(
    {GRAD_B: f"{GRAD_B} / len(a)"},
    "grad_b is divided by the number of rows: the chain rule adds up; a mean, if there is one, "
    "is already in the arriving gradient.",
)
answers.edit(
    {GRAD_A: f"{GRAD_A} / len(a)", GRAD_B: f"{GRAD_B} / len(a)"},
    "both are divided by the number of rows: the chain rule adds up, without a mean.",
)


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
answers.edit(
    {RETURN: "return -grad_a, -grad_b"},
    "the sign is turned round: the gradient points uphill; the step down comes later.",
)
answers.edit(
    {"b.T": "b.reshape(b.shape[::-1])", "a.T": "a.reshape(a.shape[::-1])"},
    "reshape gives the shape of the transposed matrix and leaves its elements in their order, row "
    "by row: take .T, which swaps rows and columns.",
)
answers.edit({RETURN: "return grad_a"}, "that is grad_a alone: return grad_a, grad_b.")
answers.edit({RETURN: "return grad_b"}, "that is grad_b alone: return grad_a, grad_b.")

answers.variant(
    {GRAD_A: 'np.einsum("ij,kj->ik", gradient, b)', GRAD_B: 'np.einsum("ik,ij->kj", a, gradient)'}
)
answers.variant(
    {
        GRAD_A: "np.dot(b, gradient.T).T",
        GRAD_B: "np.dot(gradient.T, a).T",
        RETURN: "return [grad_a, grad_b]",
    }
)


@answers.right
def by_outer_products(a: Matrix, b: Matrix, gradient: Matrix) -> Pair:
    grad_b = sum(np.outer(row, arriving) for row, arriving in zip(a, gradient, strict=True))
    return np.array([b @ arriving for arriving in gradient]), np.asarray(grad_b)


EXERCISE = Exercise(
    task="From the gradient with respect to C = A·B, find those with respect to A and to B.",
    reference=backward_matmul,
    cases=cases,
    run=quietly,
    difference=named("grad_a", "grad_b"),
    kinships=(same,),
    answers=answers,
)
