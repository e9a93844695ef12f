"""A row-parallel layer: a sum over the ranks, and a bias that is added once."""

from __future__ import annotations

from typing import Any

import torch

from gpulearn.judge.answers import Answers
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import all_gather, reduce
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.model_parallel.linear import ByRows, cases
from gpulearn_lessons.model_parallel.tensor_parallel.layers import row_parallel
from gpulearn_lessons.model_parallel.tensor_parallel.operations import copy_to_ranks
from gpulearn_lessons.model_parallel.trial import layer_exercise

answers = Answers(row_parallel)

PARTIAL = "partial = x @ weight.T"
SUM = "sum_of_ranks(partial) + bias"

answers.edit(
    {SUM: "partial + bias"},
    "the all-reduce after the product is missing: each rank has an addend of the result, made from "
    "its own columns of x.",
)
answers.edit(
    {SUM: "sum_of_ranks(partial + bias)"},
    "every rank's bias is added up, so that it is in it N times: add it once, after the sum.",
)
answers.edit(
    {SUM: "sum_of_ranks(partial + bias / world_size())"},
    "the result is right, but the bias's gradient is N times too small: an N-th of it goes in on "
    "each rank. Add the whole bias, after the sum.",
    world_size=world_size,
)
answers.edit(
    {SUM: "sum_of_ranks(partial + (bias if rank() == 0 else 0))"},
    "the result is right, but on all ranks except 0 the bias gets no gradient: they would keep "
    "the old one and drift apart. Add it on every rank, after the sum.",
    rank=rank,
)
answers.edit(
    {SUM: "sum_of_ranks(partial)"},
    "the bias is missing: add it after the sum.",
)
answers.edit(
    {SUM: "sum_of_ranks(partial) / world_size() + bias"},
    "the addends are averaged: x's columns are dealt out, so that their products add up to the "
    "result, with nothing to divide.",
    world_size=world_size,
)
answers.edit(
    {SUM: "copy_to_ranks(partial) + bias"},
    "copy_to_ranks adds gradients, in the backward pass; here it is the results that are to be "
    "added, in the forward pass: sum_of_ranks.",
    copy_to_ranks=copy_to_ranks,
)
answers.edit(
    {SUM: "copy_to_ranks(sum_of_ranks(partial)) + bias"},
    "the result is right, and the gradients of x and weight are N times too large: each rank has "
    "the whole gradient of the sum already, and copy_to_ranks adds N of them.",
    copy_to_ranks=copy_to_ranks,
)
answers.edit(
    {PARTIAL: "partial = sum_of_ranks(x) @ weight.T", SUM: "partial + bias"},
    "the ranks' columns of x are added before the product, though they are different columns: "
    "multiply first, then add.",
)
answers.edit(
    {SUM: "reduce(partial.clone()) + bias"},
    "the sum arrives on rank 0 alone: all ranks need it, so it is an all-reduce.",
    reduce=reduce,
)


answers.edit(
    {PARTIAL: "partial = copy_to_ranks(x) @ weight.T"},
    "the result is right, and x's gradient is added over the ranks: each rank has columns of its "
    "own, whose gradient it has whole.",
    copy_to_ranks=copy_to_ranks,
)
answers.edit(
    {SUM: "sum_of_ranks(partial) + copy_to_ranks(bias)"},
    "the result is right, and the bias's gradient is added over the ranks, where each has it "
    "whole: it becomes N times too large.",
    copy_to_ranks=copy_to_ranks,
)


@answers.wrong(
    "the addends are gathered side by side: columns of the input were dealt out, so the results "
    "are to be added."
)
def columns_where_rows_belong(x: Any, weight: Any, bias: Any) -> Any:
    return torch.cat(list(all_gather(x @ weight.T)), -1) + bias.repeat(world_size())


answers.variant({SUM: "all_reduce(partial) + bias"}, all_reduce=all_reduce)


@answers.right
def gathered_and_added(x: Any, weight: Any, bias: Any) -> Any:
    partial = x @ weight.mT
    others = all_gather(partial.detach()).sum(0) - partial.detach()
    return partial + others + bias


@answers.right
def by_a_trick(x: Any, weight: Any, bias: Any) -> Any:
    partial = torch.einsum("...i,oi->...o", x, weight)
    total = all_reduce(partial.detach().clone())
    return partial + (total - partial).detach() + bias


EXERCISE = layer_exercise(
    task="Multiply this rank's columns of x, add over the ranks, and add the bias once.",
    reference=row_parallel,
    cases=lambda: cases(ByRows),
    answers=answers,
    real=ByRows(2, (2, 3), 4, 5),
)
