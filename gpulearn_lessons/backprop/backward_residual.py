"""A backward pass that is given with three mistakes, to be mended."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.nn.autograd import Variable
from gpulearn.nn.layers import backward_residual
from gpulearn_lessons.backprop.results import named, quietly, same

Array = np.ndarray[Any, Any]
Four = tuple[Array, Array, Array, Array]
answers = Answers(backward_residual)

BACK = "gradient @ w.T"
SUMMED = "grad_z.sum(axis=0)"
BOTH = "gradient + grad_z @ v.T"
MASK = "(z > 0)"
GIVEN = {BACK: "gradient @ w", SUMMED: "grad_z.mean(axis=0)", BOTH: "grad_z @ v.T"}
answers.give(GIVEN)


def cases() -> list[Case]:
    """Blocks that grow and shrink, square ones, one example and one unit; no two sizes alike."""
    rng = np.random.default_rng(15)
    cases = []
    for n, d, m in ((5, 3, 3), (4, 2, 3), (2, 5, 3), (1, 3, 3), (6, 1, 4), (3, 4, 1), (3, 3, 3)):
        sizes = (n, d), (d, m), (m,), (m, d), (n, d)
        label = f"{n} examples of {d} numbers, {m} hidden units"
        cases.append(Case(label, tuple(rng.normal(size=size) for size in sizes)))
    sizes = (4, 3), (3, 2), (2,), (2, 3), (4, 3)
    single = tuple(rng.normal(size=size).astype(np.float32) for size in sizes)
    return [
        *cases,
        Case("float32, 4 examples of 3 numbers, 2 hidden units", single),
        Case("inputs of exactly 0 and no biases", zeros(rng)),
    ]


def zeros(rng: np.random.Generator) -> tuple[Array, ...]:
    """Hidden units that stand at exactly 0, where ReLU passes nothing back."""
    w = rng.normal(size=(2, 3))
    return np.zeros((2, 3)), rng.normal(size=(3, 2)), np.zeros(2), w, rng.normal(size=(2, 3))


answers.edit(
    GIVEN,
    "all three mistakes are still there: compare each line with the rules of section 5, and count "
    "how often x and b are used.",
)
answers.edit(
    {BOTH: "grad_z @ v.T"},
    "grad_x lacks what comes by the way round: x is used twice, so two shares are added.",
)
answers.edit(
    {BACK: "gradient @ w"},
    "w is not transposed on the way back: square blocks hide it, any other has no such product.",
)
answers.edit(
    {SUMMED: "grad_z.mean(axis=0)"},
    "grad_b is a mean over the examples: each of them used the biases, so their shares add up.",
)
answers.edit(
    {BOTH: "grad_z @ v.T", SUMMED: "grad_z.mean(axis=0)"},
    "the transpose is mended, two mistakes are left: grad_x lacks what comes by the way round, "
    "and grad_b is a mean where it must be a sum.",
)
answers.edit(
    {BACK: "gradient @ w", SUMMED: "grad_z.mean(axis=0)"},
    "grad_x adds up, two mistakes are left: gradient @ w fits square blocks only, and grad_b is a "
    "mean where it must be a sum.",
)
answers.edit(
    {BACK: "gradient @ w", BOTH: "grad_z @ v.T"},
    "grad_b is mended, two mistakes are left: gradient @ w fits square blocks only, and grad_x "
    "lacks what comes by the way round.",
)
answers.edit(
    {BOTH: "x + grad_z @ v.T"},
    "grad_x adds x itself: what comes back by the way round is the gradient.",
)
answers.edit(
    {BOTH: "1 + grad_z @ v.T"},
    "grad_x adds 1, the slope of the way round, without the gradient that arrives.",
)
answers.edit(
    {BOTH: "gradient * (grad_z @ v.T)"}, "the two shares of x are multiplied; they are added."
)
answers.edit(
    {BOTH: "gradient"}, "grad_x holds the way round alone: the first layer sends a share too."
)
answers.edit(
    {BOTH: "(gradient + grad_z @ v.T) / 2"},
    "grad_x is the mean of its two shares; they are added.",
)
answers.edit(
    {BOTH: "(gradient + grad_z) @ v.T"},
    "the way round has no weights: only grad_z is multiplied by Vᵀ.",
)
answers.edit(
    {SUMMED: "grad_z"},
    "grad_b has a row for each example: biases have the shape (m,), so the rows are added up.",
)
answers.edit(
    {SUMMED: "grad_z.sum()"},
    "grad_b is one number: add up over the examples only, axis=0.",
)
answers.edit(
    {SUMMED: "grad_z.sum(axis=1)"},
    "grad_b is summed over the units: sum over the examples, axis=0.",
)
answers.edit(
    {SUMMED: "gradient.sum(axis=0)"},
    "grad_b takes what arrives at the block: b is added before ReLU, where grad_z arrives.",
)
answers.edit(
    {f" * {MASK}": ""},
    "ReLU's rule is gone: where z was not above 0, nothing passes.",
)
answers.edit({MASK: "(z >= 0)"}, "at exactly 0 ReLU passes nothing back: z > 0.")
answers.edit(
    {MASK: "hidden"},
    "it multiplies by ReLU's output: its slope is 1 above 0, and 0 elsewhere.",
)
answers.edit(
    {BACK: "gradient @ w.reshape(w.shape[::-1])"},
    "w has the shape of Wᵀ, but its numbers have kept their order, as reshape leaves them: take "
    "w.T.",
)
answers.edit(
    {"return grad_x, grad_v, grad_b, grad_w": "return grad_x, grad_v, grad_w, grad_b"},
    "grad_b and grad_w are returned in the wrong order.",
)
answers.edit(
    {"return grad_x, grad_v, grad_b, grad_w": "return grad_x"},
    "that is grad_x alone: return all four.",
)

answers.variant({MASK: "(hidden > 0)"})
answers.variant(
    {
        BACK: 'np.einsum("nd,md->nm", gradient, w)',
        SUMMED: "np.ones(len(x), grad_z.dtype) @ grad_z",
        BOTH: "(v @ grad_z.T).T + gradient",
    }
)


@answers.right
def by_the_graph(x: Array, v: Array, b: Array, w: Array, gradient: Array) -> list[Any]:
    given = [Variable(one) for one in (x, v, b, w)]
    i, first, bias, second = given
    (i + (i @ first + bias).relu() @ second).backward(gradient)
    return [one.grad for one in given]


EXERCISE = Exercise(
    task="Mend the backward pass of a residual block, so that all four gradients are right.",
    reference=backward_residual,
    cases=cases,
    run=quietly,
    difference=named("grad_x", "grad_v", "grad_b", "grad_w"),
    kinships=(same,),
    answers=answers,
)
