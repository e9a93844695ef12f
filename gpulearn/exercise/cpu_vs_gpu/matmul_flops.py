"""Count the operations of C = A·B."""

from __future__ import annotations

import numpy as np

from gpulearn.checker.answers import Answers
from gpulearn.checker.exercise import Case, Exercise
from gpulearn.kernels.matmul import matmul_flops

__all__ = ["EXERCISE"]

answers = Answers()


def cases() -> list[Case]:
    """Sizes that tell the three apart, and one whose count overflows 32 and 53 bits."""
    all_sizes = ((1, 1, 1), (2, 3, 5), (7, 4, 2), (64, 64, 64), (300_007, 200_003, 100_003))
    return [Case(f"m, n, p = {m}, {n}, {p}", (m, n, p)) for m, n, p in all_sizes]


@answers.wrong("that counts the products; each also takes an addition.")
def products_only(m: int, n: int, p: int) -> float:
    return m * n * p


@answers.wrong("that is two operations for each element of C; each takes n products and n sums.")
def without_n(m: int, n: int, p: int) -> float:
    return 2 * m * p


@answers.wrong(
    "so counted, n products take n − 1 additions. The convention, and every vendor's "
    "peak rate, counts n: the first is added to zero."
)
def one_addition_less(m: int, n: int, p: int) -> float:
    return m * p * (2 * n - 1)


@answers.wrong("that is right for square matrices only; m, n and p differ.")
def square_of_m(m: int, n: int, p: int) -> float:
    return 2 * m**3


@answers.wrong("that is right for square matrices only: n is just one of three sizes.")
def square_of_n(m: int, n: int, p: int) -> float:
    return 2 * n**3


@answers.wrong("that counts the elements of the three matrices, not the operations.")
def elements(m: int, n: int, p: int) -> float:
    return 2 * (m * n + n * p + m * p)


@answers.wrong("that counts the elements of A and B, not the operations.")
def elements_of_a_and_b(m: int, n: int, p: int) -> float:
    return m * n + n * p


@answers.wrong("p is missing: there are m·p elements, and each takes n products and n additions.")
def without_p(m: int, n: int, p: int) -> float:
    return 2 * m * n


@answers.wrong("m is missing: there are m·p elements, and each takes n products and n additions.")
def without_m(m: int, n: int, p: int) -> float:
    return 2 * n * p


@answers.wrong("that is three operations a step; a step is one product and one addition.")
def three_a_step(m: int, n: int, p: int) -> float:
    return 3 * m * n * p


@answers.wrong("that is four operations a step; a step is one product and one addition.")
def four_a_step(m: int, n: int, p: int) -> float:
    return 4 * m * n * p


@answers.wrong("that counts bytes, not operations.")
def matrix_bytes(m: int, n: int, p: int) -> float:
    return 4 * (m * n + n * p + m * p)


@answers.wrong("^ is no power in Python, but a bitwise operation; and m, n and p differ.")
def caret(m: int, n: int, p: int) -> float:
    return 2 * n ^ 3


@answers.wrong("the count overflows 32 bits: use Python's own integers.")
def int32(m: int, n: int, p: int) -> int:
    with np.errstate(over="ignore"):
        return int(np.int32(2) * np.int32(m) * np.int32(n) * np.int32(p))


@answers.wrong("that is in billions (GFLOP); count single operations.")
def in_billions(m: int, n: int, p: int) -> float:
    return 2 * m * n * p / 1e9


@answers.right
def doubled_sum(m: int, n: int, p: int) -> float:
    return m * p * (n + n)


@answers.right
def in_floats(m: int, n: int, p: int) -> float:
    return float(m) * n * p * 2


@answers.right
def two_counts(m: int, n: int, p: int) -> float:
    products = additions = m * n * p
    return products + additions


EXERCISE = Exercise(
    name="matmul_flops",
    notebook="01_cpu_vs_gpu_matmul",
    task="Count the floating-point operations of C = A·B.",
    reference=matmul_flops,
    cases=cases,
    answers=answers,
)
