"""From the gradient of a product to those of its factors."""

import numpy as np

from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.layers import backward_matmul
from gpulearn_lessons.backprop.results import named, quietly, same


def cases() -> list[Case]:
    """Products with different sizes, and square ones, in which every order fits."""
    rng = np.random.default_rng(11)
    cases = []
    for m, n, p in ((2, 3, 4), (3, 3, 3), (3, 3, 2), (2, 3, 3), (3, 2, 3), (1, 4, 1), (4, 1, 2)):
        args = tuple(rng.normal(size=size) for size in ((m, n), (n, p), (m, p)))
        cases.append(Case(f"A of shape ({m}, {n}) and B of shape ({n}, {p})", args))
    whole = rng.integers(-9, 9, size=(2, 2)), rng.integers(-9, 9, size=(2, 2))
    cases.append(Case("integer A and B, (2, 2)", (*whole, rng.normal(size=(2, 2)))))
    sizes = (5, 2), (2, 3), (5, 3)
    single = tuple(rng.normal(size=s).astype(np.float32, order="F") for s in sizes)
    cases.append(Case("float32 A (5, 2) and B (2, 3) in Fortran order", single))
    return cases


EXERCISE = Exercise(
    task="From the gradient with respect to C = A·B, compute those with respect to A and B.",
    reference=backward_matmul,
    cases=cases,
    run=quietly,
    difference=named("grad_a", "grad_b"),
    kinships=(same,),
)
