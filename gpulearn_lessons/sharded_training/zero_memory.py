"""Bytes that a rank keeps in each stage of sharding."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpulearn.judge import compare
from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.require import shown
from gpulearn_lessons.sharded_training.memory import zero_memory

answers = Answers(zero_memory)

SIZES: dict[str, float] = {"weights": 4, "gradients": 4, "state": 8}


def cases() -> list[Case]:
    """Each stage; counts that N divides and that it does not; fewer numbers than ranks."""
    plans: list[tuple[list[int], int, int, dict[str, float]]] = [
        *(([1000], 4, stage, SIZES) for stage in range(4)),
        *(([7_500_000_000], 64, stage, {}) for stage in range(4)),
        *(([10, 7, 1], 4, stage, SIZES) for stage in range(4)),
        ([5, 3], 1, 3, {}),
        ([9, 9, 2], 4, 3, {}),
        ([3], 8, 3, {"weights": 2, "gradients": 4, "state": 16}),
        ([100, 100], 8, 2, {"weights": 4, "gradients": 4, "state": 0}),
    ]
    return [
        Case(
            f"{shown(counts)} parameters, {ranks} rank{'s' * (ranks > 1)}, stage {stage}",
            (counts, ranks, stage, sizes),
        )
        for counts, ranks, stage, sizes in plans
    ]


def run(answer: Answer, case: Case) -> Any:
    """Call an answer; the bytes of each number by name, or by default."""
    counts, ranks, stage, sizes = case.args
    return partial(answer, list(counts), ranks, stage)(**sizes)


def difference(got: Any, wanted: Any) -> str | None:
    """Three numbers, by what they are for."""
    if isinstance(got, np.ndarray) and got.shape == (3,):
        got = got.tolist()
    if not isinstance(got, tuple | list) or len(got) != 3:
        return f"it returns {shown(got)}, expected three numbers: weights, gradients, state"
    for name, found, right in zip(("weights", "gradients", "state"), got, wanted, strict=True):
        if compare.numbers_or_none(found, right) is not None:
            size = f"{found:,.12g}" if compare.is_number(found) else shown(found)
            take = "takes" if name == "state" else "take"
            return f"the {name} {take} {size} bytes, expected {right:,.0f}"
    return None


CUT = "sum(-(-count // ranks) for count in counts)"
WEIGHTS = "weights * (cut if stage >= 3 else whole)"
GRADIENTS = "gradients * (cut if stage >= 2 else whole)"
STATE = "state * (cut if stage >= 1 else whole)"

answers.edit(
    {WEIGHTS: "weights * (cut if stage >= 1 else whole)", STATE: "state * (cut if stage >= 3 else "
     "whole)"},
    "the stages go the other way: stage 1 cuts the optimiser's state, which is the largest part, "
    "and stage 3 the weights too.",
)  # fmt: skip
answers.edit(
    {WEIGHTS: "weights * whole"},
    "in stage 3 the weights are cut as well: between two steps no rank has them whole.",
)
answers.edit(
    {GRADIENTS: "gradients * (cut if stage >= 3 else whole)"},
    "stage 2 cuts the gradients already: each rank keeps the part that its optimiser needs.",
)
answers.edit(
    {STATE: "state * (cut if stage == 1 else whole)"},
    "each stage cuts what the stages before it cut: in stages 2 and 3 the state is in shards too.",
)
answers.edit(
    {GRADIENTS: "gradients * (cut if stage >= 1 else whole)"},
    "in stage 1 the gradients are whole on each rank: backward computes all of them, and only the "
    "optimiser's state is cut.",
)
answers.edit(
    {CUT: "sum(counts) / ranks"},
    "where N does not divide a block, its shards are padded: each has ⌈count/N⌉ numbers, and the "
    "sum over blocks is more than the sum of all divided by N.",
)
answers.edit(
    {CUT: "-(-sum(counts) // ranks)"},
    "all parameters are cut as one row: here each block is cut by itself, and padded by itself.",
)
answers.edit(
    {CUT: "sum(count // ranks for count in counts)"},
    "rounded down, the last numbers of a block belong to nobody: shards have ⌈count/N⌉ numbers.",
)
answers.edit(
    {CUT: "sum(counts)"},
    "nothing is divided by the number of ranks: what is cut takes ⌈count/N⌉ numbers a block.",
)
answers.edit(
    {STATE: "state * (cut if stage >= 1 else whole) * ranks"},
    "the state is counted on all ranks together: count what one rank keeps.",
)
answers.edit(
    {WEIGHTS: "2 * (cut if stage >= 3 else whole)"},
    "the bytes of a weight are an argument: 2 is what they are in mixed precision.",
)
answers.edit(
    {
        WEIGHTS: "weights * (cut if stage == 3 else whole)",
        GRADIENTS: "gradients * (cut if stage == 2 else whole)",
        STATE: "state * (cut if stage == 1 else whole)",
    },
    "each stage cuts one thing alone: stage 2 cuts the state as well, and stage 3 all three.",
)
answers.variant({CUT: "sum((count + ranks - 1) // ranks for count in counts)"})


@answers.right
def by_a_table(
    counts: Any, ranks: Any, stage: Any, *, weights: Any = 2, gradients: Any = 2, state: Any = 12
) -> Any:
    each = [weights, gradients, state]
    return [
        b * sum(np.ceil(c / ranks) if stage >= from_stage else c for c in counts)
        for b, from_stage in zip(each, (3, 2, 1), strict=True)
    ]


@answers.right
def as_an_array(
    counts: Any, ranks: Any, stage: Any, *, weights: Any = 2, gradients: Any = 2, state: Any = 12
) -> Any:
    every = np.array(counts)
    cut = np.where(np.array([3, 2, 1]) <= stage, (-(-every // ranks)).sum(), every.sum())
    return cut * np.array([weights, gradients, state])


EXERCISE = Exercise(
    task="Say how many bytes of weights, gradients and state one rank keeps, in each stage.",
    reference=zero_memory,
    cases=cases,
    answers=answers,
    run=run,
    difference=difference,
    kinships=(partial(compare.same_numbers, relative=1e-12),),
)
