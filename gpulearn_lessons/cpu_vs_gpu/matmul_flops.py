"""The floating-point operations of C = A·B."""

from __future__ import annotations

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.kernels.matmul import matmul_flops

answers = Answers(matmul_flops)

COUNT = "2 * m * n * p"


def cases() -> list[Case]:
    """Sizes that tell the three apart, and one whose count overflows 32 and 53 bits."""
    all_sizes = ((1, 1, 1), (2, 3, 5), (7, 4, 2), (64, 64, 64), (300_007, 200_003, 100_003))
    return [Case(f"m, n, p = {m}, {n}, {p}", (m, n, p)) for m, n, p in all_sizes]


answers.edit({"2 * ": ""}, "that counts the products; each also takes an addition.")
answers.edit(
    {" * n": ""}, "that is two operations for each element of C; each takes n products and n sums."
)
answers.edit(
    {COUNT: "m * p * (2 * n - 1)"},
    "so counted, n products take n − 1 additions. The convention, and every vendor's "
    "peak rate, counts n: the first is added to zero.",
)
answers.edit({COUNT: "2 * m**3"}, "that is right for square matrices only; m, n and p differ.")
answers.edit(
    {COUNT: "2 * n**3"}, "that is right for square matrices only: n is just one of three sizes."
)
answers.edit(
    {COUNT: "2 * (m * n + n * p + m * p)"},
    "that counts the elements of the three matrices, not the operations.",
)
answers.edit({COUNT: "m * n + n * p"}, "that counts the elements of A and B, not the operations.")
answers.edit(
    {" * p": ""}, "p is missing: there are m·p elements, and each takes n products and n additions."
)
answers.edit(
    {"m * ": ""}, "m is missing: there are m·p elements, and each takes n products and n additions."
)
answers.edit({"2": "3"}, "that is three operations a step; a step is one product and one addition.")
answers.edit({"2": "4"}, "that is four operations a step; a step is one product and one addition.")
answers.edit({COUNT: "4 * (m * n + n * p + m * p)"}, "that counts bytes, not operations.")
answers.edit(
    {COUNT: "2 * n ^ 3"}, "^ is no power in Python, but a bitwise operation; and m, n and p differ."
)


@answers.wrong("the count overflows 32 bits: use Python's own integers.")
def int32(m: int, n: int, p: int) -> int:
    with np.errstate(over="ignore"):
        return int(np.int32(2) * np.int32(m) * np.int32(n) * np.int32(p))


answers.edit({COUNT: f"{COUNT} / 1e9"}, "that is in billions (GFLOP); count single operations.")


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
    task="Count the floating-point operations of C = A·B.",
    reference=matmul_flops,
    cases=cases,
    answers=answers,
)
