"""A column-parallel layer: its result, and the gradient of an input that all ranks share."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from gpulearn.judge.answers import Answers
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import all_gather
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.model_parallel.linear import ByColumns, cases
from gpulearn_lessons.model_parallel.tensor_parallel.layers import column_parallel
from gpulearn_lessons.model_parallel.tensor_parallel.operations import copy_to_ranks, sum_of_ranks
from gpulearn_lessons.model_parallel.trial import layer_exercise

answers = Answers(column_parallel)

COPY = "copy_to_ranks(x)"
PRODUCT = "x @ weight.T + bias"

answers.edit(
    {f"    x = {COPY}\n": ""},
    "each rank has only its own columns' part of x's gradient, and nobody adds them: give x to "
    "copy_to_ranks first.",
)
answers.edit(
    {COPY: "sum_of_ranks(x)"},
    "x is the same on all ranks, and their sum is N times x: forward, x only has to be copied. "
    "It is the gradient that is added, which copy_to_ranks does.",
    sum_of_ranks=sum_of_ranks,
)
answers.edit(
    {PRODUCT: "sum_of_ranks(x @ weight.T) + bias"},
    "the columns of different ranks are added to one another: each rank keeps its own columns, and "
    "no sum is needed forward.",
    sum_of_ranks=sum_of_ranks,
)
answers.edit(
    {f"    x = {COPY}\n": "", PRODUCT: "sum_of_ranks(x @ weight.T) + bias"},
    "the columns of different ranks are added to one another: each rank keeps its own columns. It "
    "is the gradient of x that is added, which copy_to_ranks does.",
    sum_of_ranks=sum_of_ranks,
)
answers.edit(
    {f"    x = {COPY}\n": "", PRODUCT: "sum_of_ranks(x @ weight.T + bias)"},
    "the columns of different ranks are added to one another, biases and all: each rank keeps its "
    "own columns. It is the gradient of x that is added, which copy_to_ranks does.",
    sum_of_ranks=sum_of_ranks,
)
answers.edit(
    {PRODUCT: "x @ copy_to_ranks(weight).T + bias"},
    "weight goes to copy_to_ranks as well: each rank has rows of its own, whose gradient belongs "
    "to no other rank's.",
)
answers.edit(
    {PRODUCT: "x @ copy_to_ranks(weight).T + copy_to_ranks(bias)"},
    "weight and bias go to copy_to_ranks as well: each rank has rows of its own, whose gradients "
    "belong to no other rank's.",
)
answers.edit(
    {PRODUCT: "copy_to_ranks(x @ weight.T + bias)"},
    "the result goes to copy_to_ranks as well: its gradient is that of this rank's columns, and "
    "belongs to no other rank's.",
)
answers.edit(
    {f"    x = {COPY}\n": "", PRODUCT: "copy_to_ranks(x @ weight.T + bias)"},
    "copy_to_ranks stands behind the product: there it adds gradients of different columns. It is "
    "the gradient of x that all ranks share: copy x, before the product.",
)
answers.edit(
    {PRODUCT: "x @ weight.T"},
    "the bias is missing: each rank adds that of its own columns.",
)
answers.edit(
    {PRODUCT: "x @ weight.T + bias / world_size()"},
    "the bias is divided by N: no other rank adds to these columns, so each gets its bias whole.",
    world_size=world_size,
)
answers.edit(
    {COPY: "copy_to_ranks(x) / world_size()"},
    "x is divided by N: every rank needs all of it, as it is.",
    world_size=world_size,
)
answers.edit(
    {COPY: "sum_of_ranks(x) / world_size()"},
    "the result is right, since x is the same on all ranks, and its gradient is not added over the "
    "ranks: that is what copy_to_ranks does.",
    sum_of_ranks=sum_of_ranks,
    world_size=world_size,
)
answers.edit(
    {COPY: "copy_to_ranks(x.detach())"},
    "detach cuts x off, so that it gets no gradient: leave it out.",
)


@answers.wrong(
    "the columns of all ranks are gathered: each rank goes on with its own (o/N of them), which is "
    "what a row-parallel layer takes next."
)
def gathered_columns(x: Any, weight: Any, bias: Any) -> Any:
    own = x @ weight.T + bias
    return torch.cat(list(all_gather(own)), -1)


@answers.wrong(
    "weight is this rank's part already, and it is cut once more: multiply by all of it."
)
def cut_twice(x: Any, weight: Any, bias: Any) -> Any:
    rows = len(weight) // world_size()
    mine = slice(rows * rank(), rows * (rank() + 1))
    return copy_to_ranks(x) @ weight[mine].T + bias[mine]


answers.variant({PRODUCT: "functional.linear(x, weight, bias)"}, functional=functional)


@answers.right
def with_a_hook(x: Any, weight: Any, bias: Any) -> Any:
    copied = x.view_as(x)
    copied.register_hook(lambda gradient: all_reduce(gradient.contiguous().clone()))
    return copied @ weight.mT + bias


EXERCISE = layer_exercise(
    task="Make this rank's columns of x·Wᵀ + b, so that x gets its whole gradient.",
    reference=column_parallel,
    cases=lambda: cases(ByColumns),
    answers=answers,
    real=ByColumns(2, (2, 3), 5, 4),
)
