"""Gradient averaging: the mean over all samples, on replicas with equal shards and not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from gpulearn.judge.answers import Answer, Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.judge.ranks import demand_on_real_ranks
from gpulearn.parallel.averaging import average_gradients
from gpulearn.parallel.collectives import broadcast, reduce
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import begin_sum, sum_over_ranks
from gpulearn_lessons.data_parallel.defaults import demand_defaults
from gpulearn_lessons.data_parallel.trial import (
    KINSHIPS,
    ReplicaStep,
    act,
    channels_last,
    convolution,
    difference,
    expected,
    judge,
    simulated,
    tied,
)


def cases() -> list[Case]:
    """Equal shards and not, a rank without samples, layers that some ranks do not use."""
    steps = {
        "2 ranks with 1 sample each": ReplicaStep((1, 1)),
        "2 ranks with 3 samples and 1": ReplicaStep((3, 1)),
        "3 ranks with 8 samples each": ReplicaStep((8, 8, 8), convolution),
        "4 ranks with 5, 2, 4 and 1 samples": ReplicaStep((5, 2, 4, 1), convolution),
        "1 rank with 6 samples": ReplicaStep((6,)),
        "3 ranks, of which rank 1 has no samples": ReplicaStep((4, 0, 2)),
        "2 ranks, of which rank 1 did not use the first layer": ReplicaStep(
            (2, 2), unused=((1, 0), (1, 1))
        ),
        "3 ranks, of which one alone used the last layer": ReplicaStep(
            (2, 1, 3), unused=((0, 2), (0, 3), (2, 2), (2, 3)), dtype=torch.float64
        ),
        "2 ranks and a last parameter that one of them used": ReplicaStep(
            (1, 2), convolution, unused=((0, 3),)
        ),
        "2 ranks and a parameter that none has used": ReplicaStep((3, 2), unused=((0, 3), (1, 3))),
        "2 ranks and a first layer that is frozen": ReplicaStep((2, 3), frozen=(0, 1)),
        "2 ranks and a weight that two layers share": ReplicaStep((1, 3), tied),
        "2 ranks and a filter whose channels lie side by side": ReplicaStep((3, 1), channels_last),
        "2 ranks with 70000 samples and 3": ReplicaStep((70_000, 3)),
        "2 ranks and large gradients in float64": ReplicaStep(
            (7, 2), dtype=torch.float64, scale=1e60
        ),
    }
    return [Case(label, (step,)) for label, step in steps.items()]


def real(count: int) -> list[ReplicaStep]:
    """What real ranks average, one after another."""
    uneven = tuple(range(1, count + 1))
    return [
        ReplicaStep((4,) * count, convolution),
        ReplicaStep(uneven, dtype=torch.float64),
        ReplicaStep((*uneven[1:], 0), convolution),
        ReplicaStep(uneven, unused=((0, 0), (count - 1, 3))),
    ]


REAL = demand_on_real_ranks(act, (2, 3), real, judge)


def on_real_ranks_too(answer: Answer, outcomes: Sequence[Any]) -> str | None:
    """What else is asked: the stub's default, and to be right on real ranks."""
    said = demand_defaults(average_gradients)(answer, outcomes)
    return said or REAL(answer, outcomes)


def zeros_everywhere(model: Any, samples: int) -> Any:
    """A right answer with zeros for every gradient that is None, also where no rank has one."""
    total = sum_over_ranks(torch.tensor(float(samples))).item()
    share = samples / total
    for parameter in model.parameters():
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        parameter.grad *= share
        sum_over_ranks(parameter.grad)


answers = Answers(zeros_everywhere)
answers.right(zeros_everywhere)

TOTAL = "total = sum_over_ranks(torch.tensor(float(samples))).item()"
SHARE = "share = samples / total"
ZEROS = (
    "        if parameter.grad is None:\n            parameter.grad = torch.zeros_like(parameter)\n"
)
PASSED_OVER = "        if parameter.grad is None:\n            continue\n"
WEIGH = "        parameter.grad *= share\n"
SUM = "sum_over_ranks(parameter.grad)"
ASSIGN = "parameter.grad = sum_over_ranks(parameter.grad * share)"
BY_RANKS = "\n        parameter.grad /= world_size()"
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
THE_PARAMETER = (
    "with torch.no_grad():\n            parameter *= share\n            sum_over_ranks(parameter)"
)

answers.edit(
    {WEIGH: ""},
    "that is the sum of the ranks' gradients: a step would be N times as long, with two ranks "
    "twice. Weigh each by its share of the samples before it is added. (A count divided by its own "
    "sum is 1: sum_over_ranks changes the count, too.)",
)
answers.edit(
    {"*= share": "*= samples"},
    "each gradient is weighed by its number of samples, and the sum is not divided by the number "
    "of all samples.",
)
answers.edit(
    {WEIGH: "", SUM: f"{SUM}{BY_RANKS}"},
    "that is an average of averages, each rank counted 1/N: right for equal shards alone. With 3 "
    "samples on one rank and 1 on the other, the first counts 3/4.",
    world_size=world_size,
)
answers.edit(
    {ZEROS: "", WEIGH: "", SUM: f"{SUM}{BY_RANKS}"},
    "each rank counts 1/N, which is right for equal shards alone: with 3 samples on one rank and 1 "
    "on the other, the first counts 3/4. And where a rank did not use a parameter, parameter.grad "
    "is None, which breaks it: put zeros there.",
    world_size=world_size,
)
answers.edit(
    {ZEROS: "", "*= share": "/= world_size()"},
    "each gradient is divided by N before the sum, right for equal shards alone: with 3 samples on "
    "one rank and 1 on the other, the first counts 3/4. And a gradient that is None, where a rank "
    "did not use the parameter, cannot be divided: put zeros there.",
    world_size=world_size,
)
answers.edit(
    {ZEROS: PASSED_OVER, WEIGH: "", SUM: f"{SUM}{BY_RANKS}"},
    "each rank counts 1/N, which is right for equal shards alone: with 3 samples on one rank and 1 "
    "on the other, the first counts 3/4. And a rank whose gradient is None skips the collective, "
    "where the others wait for it: put zeros there.",
    world_size=world_size,
)
answers.edit(
    {ZEROS: "", WEIGH: ""},
    "that is the sum of the ranks' gradients, N times too long: weigh each by its share of the "
    "samples first. And where a rank did not use a parameter, parameter.grad is None, which breaks "
    "it: put zeros there.",
)
answers.edit(
    {ZEROS: "", WEIGH: "", SUM: THE_PARAMETER},
    "the parameters are averaged in place of the gradients: each rank's optimiser would still "
    "step by its own gradient. Reduce parameter.grad.",
)
answers.edit(
    {SUM: f"{SUM}\n        {THE_PARAMETER}"},
    "the parameters are averaged as well as the gradients: replicas that began alike and step by "
    "the same gradients stay alike without that.",
)
answers.edit(
    {SUM: f"{SUM}{BY_RANKS}"},
    "it divides twice, by the number of samples and by N: the shares add up to 1, so their sum is "
    "the mean already.",
    world_size=world_size,
)
answers.edit(
    {"*= share": "/= world_size()", SUM: f"{SUM}{BY_RANKS}"},
    "it divides by N twice, before the sum and after it; and each rank counts the same.",
    world_size=world_size,
)
answers.edit(
    {WEIGH: "", SUM: f"{SUM}\n        parameter.grad /= total"},
    "it divides by the number of all samples, and a gradient is of a mean loss, divided by its "
    "rank's samples already: multiply it by them first.",
)
answers.edit(
    {WEIGH: "", SUM: f"{SUM}\n{WEIGH}"},
    "it weighs after the sum, each rank by its own share: then the replicas' gradients differ. "
    "Weigh before the sum, while the gradient is this rank's.",
)
answers.edit(
    {SHARE: "share = total / max(1, samples)"},
    "the share is upside down: samples / total is at most 1, total / samples at least.",
)
answers.edit(
    {SHARE: "share = samples // total"},
    "// rounds the share down to 0, and all gradients with it: divide with /.",
)
answers.edit(
    {
        TOTAL: "total = torch.tensor(float(samples))",
        f"    {SHARE}\n": "",
        WEIGH: "        sum_over_ranks(total)\n        parameter.grad *= samples / total.item()\n",
    },
    "the number of samples is added up again for every parameter, in place, so that it grows "
    "N-fold each time: add it up once, before the loop.",
)
answers.edit(
    {SUM: "reduce(parameter.grad, root=0)"},
    "only rank 0 gets the mean: a reduce ends at one rank, an all-reduce at all. The others would "
    "step by something else, and the replicas drift apart.",
    reduce=reduce,
)
answers.edit(
    {WEIGH: "", SUM: "broadcast(parameter.grad, root=0)"},
    "all ranks get rank 0's gradient, and what the others have learned from their samples is lost: "
    "a broadcast copies, an all-reduce adds.",
    broadcast=broadcast,
)
answers.edit(
    {SUM: f"if rank() == 0:\n            {SUM}"},
    "a collective inside of if rank() == 0 is a deadlock: rank 0 waits for ranks that never call. "
    "All ranks call sum_over_ranks, or none.",
    rank=rank,
)
answers.edit(
    {SHARE: f"if samples == 0:\n        return\n    {SHARE}"},
    "a rank without samples returns before the collectives, and the others wait for it for ever: "
    "it has nothing to add, and must take part.",
)
answers.edit(
    {ZEROS: PASSED_OVER},
    "the collective is inside of if parameter.grad is not None: where one rank has the gradient "
    "and another has not, they sum up different tensors, or one waits for ever. Put zeros where "
    "there is none, and let all ranks take part.",
)
answers.edit(
    {ZEROS: ""},
    "a parameter without a gradient breaks it: where this rank did not use it, parameter.grad is "
    "None. Put zeros there.",
)
answers.edit(
    {
        f"    {SHARE}\n": "",
        ZEROS: (
            "        used = torch.tensor(float(samples * (parameter.grad is not None)))\n"
            "        if sum_over_ranks(used) == 0:\n"
            "            continue\n"
            f"{ZEROS}"
        ),
        "*= share": "*= samples / used.item()",
    },
    "a parameter that some rank did not use is averaged over the ranks that did; the mean is over "
    "all samples, and there its gradient is zero.",
)
answers.edit(
    {"model.parameters()": "list(model.parameters())[:: -1 if rank() % 2 else 1]"},
    "the ranks go through the parameters in different orders, so that different tensors meet: "
    "what is sorted by a rank's own numbers, or kept in a set, is in no common order. Take "
    "model.parameters() as it comes.",
    rank=rank,
)
answers.edit(
    {SUM: "begin_sum(parameter.grad)"},
    "an asynchronous sum has only begun, and nobody waits for it: keep what the call returns, for "
    "every parameter, and call wait() on each before you return.",
    begin_sum=begin_sum,
)
answers.edit(
    {TOTAL: f"{CLIP}\n    {TOTAL}"},
    "each rank clips its own gradient before the sum, and a mean of clipped gradients is not the "
    "clipped mean: average first; whoever clips does it afterwards.",
)
answers.edit(
    {SUM: f"{SUM}\n    {CLIP}"},
    "the mean is right, and then it is clipped, which nobody asked for here: that is for the loop "
    "that trains.",
)
answers.edit(
    {WEIGH: "", SUM: "sum_over_ranks(parameter.grad * share)"},
    "the gradients stay as they were: parameter.grad * share makes a new tensor, and the sum goes "
    "there. Change the gradient in place, or assign the result to parameter.grad.",
)
answers.edit(
    {
        ZEROS: "        mean = torch.zeros_like(parameter)\n",
        WEIGH: (
            "        if parameter.grad is not None:\n            mean = parameter.grad * share\n"
        ),
        SUM: "mean = sum_over_ranks(mean)",
    },
    "parameter.grad is what it was before, on every rank, None included: assign the mean to "
    "parameter.grad.",
)
answers.edit(
    {"*= share": "*= samples", SUM: f"{SUM}{BY_RANKS}"},
    "each gradient is weighed by its rank's samples, and the sum is divided by the number of "
    "ranks: the weights add up to the number of all samples, so divide by that.",
    world_size=world_size,
)
answers.edit(
    {TOTAL: "total = sum_over_ranks(torch.tensor([float(samples)]))", WEIGH: "", SUM: ASSIGN},
    "a parameter that is a single number breaks it: a count of shape (1,) gives its gradient a "
    "dimension too many. Take .item() of the count.",
)
answers.edit(
    {
        ZEROS: f"{ZEROS}    for parameter in model.parameters():\n",
        SUM: f"{SUM}\n        return",
    },
    "only the first parameter is averaged: is the return inside of the loop?",
)

answers.edit(
    {
        WEIGH: "        flat = parameter.grad.flatten()\n        flat *= share\n",
        SUM: "sum_over_ranks(flat)",
    },
    "flatten() gives the gradient itself where its numbers lie in order, and a copy elsewhere, as "
    "for a filter with its channels side by side: then the mean is in the copy. Change "
    "parameter.grad, or assign to it.",
)
answers.edit(
    {SUM: "sum_over_ranks(parameter.grad.reshape(-1))"},
    "reshape(-1) gives the gradient itself where its numbers lie in order, and a copy elsewhere, "
    "as for a filter with its channels side by side: then the sum is in the copy. Change "
    "parameter.grad itself, which needs no other shape, or assign to it.",
)


@answers.wrong("it calls the library's average_gradients, which is what you are to write.")
def library_call(model: Any, samples: int) -> Any:
    average_gradients(model, samples)


answers.variant({WEIGH: "", SUM: ASSIGN})
answers.variant(
    {
        TOTAL: "total = torch.tensor(samples)",
        SHARE: "dist.all_reduce(total)\n    handles = []",
        "*= share": "*= samples / total",
        SUM: (
            "handles.append(dist.all_reduce(parameter.grad, async_op=True))\n"
            "    for handle in handles:\n"
            "        handle.wait()"
        ),
    },
    dist=dist,
)


@answers.right
def in_one_flat_tensor(model: Any, samples: int) -> Any:
    known = list(model.parameters())
    gradients = [torch.zeros_like(one) if one.grad is None else one.grad for one in known]
    flat = torch.cat([samples * gradient.flatten() for gradient in gradients])
    sum_over_ranks(flat)
    begin, total = 0, sum_over_ranks(torch.tensor(float(samples))).item()
    for parameter in known:
        end = begin + parameter.numel()
        parameter.grad = flat[begin:end].view_as(parameter) / total
        begin = end


EXERCISE = Exercise(
    task="Replace each gradient, on every rank, by that of the mean loss over all samples.",
    reference=average_gradients,
    cases=cases,
    answers=answers,
    run=simulated,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=on_real_ranks_too,
    kinships=KINSHIPS,
)
