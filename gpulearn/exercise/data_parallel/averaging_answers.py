"""What is written for an average of gradients: wrong answers, and other right ones."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from gpulearn.checker.answers import Answers
from gpulearn.parallel.averaging import average_gradients
from gpulearn.parallel.collectives import broadcast, reduce
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import begin_sum, sum_over_ranks

__all__ = ["answers"]

answers = Answers()


def total_of(samples: int) -> float:
    return sum_over_ranks(torch.tensor(float(samples))).item()


def with_zeros(model: Any) -> list[Any]:
    """The parameters, with a gradient each."""
    parameters = list(model.parameters())
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    return parameters


def averages(model: Any, samples: int) -> None:
    """A right answer, for those that do more or less besides."""
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "that is the sum of the ranks' gradients: a step would be N times as long, with two ranks "
    "twice. Weigh each by its share of the samples before it is added. (A count divided by its own "
    "sum is 1: sum_over_ranks changes the count, too.)"
)
def sum_for_mean(model: Any, samples: int) -> Any:
    for parameter in with_zeros(model):
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "each gradient is weighed by its number of samples, and the sum is not divided by the number "
    "of all samples."
)
def never_divided(model: Any, samples: int) -> Any:
    for parameter in with_zeros(model):
        parameter.grad *= samples
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "that is an average of averages, each rank counted 1/N: right for equal shards alone. With 3 "
    "samples on one rank and 1 on the other, the first counts 3/4."
)
def average_of_averages(model: Any, samples: int) -> Any:
    for parameter in with_zeros(model):
        sum_over_ranks(parameter.grad)
        parameter.grad /= world_size()


@answers.wrong(
    "each rank counts 1/N, which is right for equal shards alone: with 3 samples on one rank and 1 "
    "on the other, the first counts 3/4. And where a rank did not use a parameter, parameter.grad "
    "is None, which breaks it: put zeros there."
)
def average_of_averages_and_none(model: Any, samples: int) -> Any:
    for parameter in model.parameters():
        sum_over_ranks(parameter.grad)
        parameter.grad /= world_size()


@answers.wrong(
    "each gradient is divided by N before the sum, right for equal shards alone: with 3 samples on "
    "one rank and 1 on the other, the first counts 3/4. And a gradient that is None, where a rank "
    "did not use the parameter, cannot be divided: put zeros there."
)
def divided_by_ranks_and_none(model: Any, samples: int) -> Any:
    for parameter in model.parameters():
        parameter.grad /= world_size()
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "each rank counts 1/N, which is right for equal shards alone: with 3 samples on one rank and 1 "
    "on the other, the first counts 3/4. And a rank whose gradient is None skips the collective, "
    "where the others wait for it: put zeros there."
)
def average_of_averages_where_there_is_one(model: Any, samples: int) -> Any:
    for parameter in model.parameters():
        if parameter.grad is not None:
            sum_over_ranks(parameter.grad)
            parameter.grad /= world_size()


@answers.wrong(
    "that is the sum of the ranks' gradients, N times too long: weigh each by its share of the "
    "samples first. And where a rank did not use a parameter, parameter.grad is None, which breaks "
    "it: put zeros there."
)
def sum_for_mean_and_none(model: Any, samples: int) -> Any:
    for parameter in model.parameters():
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "the parameters are averaged in place of the gradients: each rank's optimiser would still "
    "step by its own gradient. Reduce parameter.grad."
)
def averages_parameters(model: Any, samples: int) -> Any:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= samples / total_of(samples)
            sum_over_ranks(parameter)


@answers.wrong(
    "the parameters are averaged as well as the gradients: replicas that began alike and step by "
    "the same gradients stay alike without that."
)
def averages_both(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    with torch.no_grad():
        for parameter in with_zeros(model):
            parameter.grad *= share
            sum_over_ranks(parameter.grad)
            parameter *= share
            sum_over_ranks(parameter)


@answers.wrong(
    "it divides twice, by the number of samples and by N: the shares add up to 1, so their sum is "
    "the mean already."
)
def divided_again_by_ranks(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        sum_over_ranks(parameter.grad)
        parameter.grad /= world_size()


@answers.wrong("it divides by N twice, before the sum and after it; and each rank counts the same.")
def divided_twice(model: Any, samples: int) -> Any:
    for parameter in with_zeros(model):
        parameter.grad /= world_size()
        sum_over_ranks(parameter.grad)
        parameter.grad /= world_size()


@answers.wrong(
    "it divides by the number of all samples, and a gradient is of a mean loss, divided by its "
    "rank's samples already: multiply it by them first."
)
def mean_taken_for_sum(model: Any, samples: int) -> Any:
    total = total_of(samples)
    for parameter in with_zeros(model):
        sum_over_ranks(parameter.grad)
        parameter.grad /= total


@answers.wrong(
    "it weighs after the sum, each rank by its own share: then the replicas' gradients differ. "
    "Weigh before the sum, while the gradient is this rank's."
)
def weighed_after_the_sum(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        sum_over_ranks(parameter.grad)
        parameter.grad *= share


@answers.wrong("the share is upside down: samples / total is at most 1, total / samples at least.")
def upside_down(model: Any, samples: int) -> Any:
    share = total_of(samples) / max(1, samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        sum_over_ranks(parameter.grad)


@answers.wrong("// rounds the share down to 0, and all gradients with it: divide with /.")
def share_rounded(model: Any, samples: int) -> Any:
    share = samples // total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "the number of samples is added up again for every parameter, in place, so that it grows "
    "N-fold each time: add it up once, before the loop."
)
def total_grows(model: Any, samples: int) -> Any:
    total = torch.tensor(float(samples))
    for parameter in with_zeros(model):
        sum_over_ranks(total)
        parameter.grad *= samples / total.item()
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "only rank 0 gets the mean: a reduce ends at one rank, an all-reduce at all. The others would "
    "step by something else, and the replicas drift apart."
)
def only_rank_0(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        reduce(parameter.grad, root=0)


@answers.wrong(
    "all ranks get rank 0's gradient, and what the others have learned from their samples is lost: "
    "a broadcast copies, an all-reduce adds."
)
def broadcasts(model: Any, samples: int) -> Any:
    for parameter in with_zeros(model):
        broadcast(parameter.grad, root=0)


@answers.wrong(
    "a collective inside of if rank() == 0 is a deadlock: rank 0 waits for ranks that never call. "
    "All ranks call sum_over_ranks, or none."
)
def on_rank_0_alone(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        if rank() == 0:
            sum_over_ranks(parameter.grad)


@answers.wrong(
    "a rank without samples returns before the collectives, and the others wait for it for ever: "
    "it has nothing to add, and must take part."
)
def without_samples_returns(model: Any, samples: int) -> Any:
    total = total_of(samples)
    if samples == 0:
        return
    for parameter in with_zeros(model):
        parameter.grad *= samples / total
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "the collective is inside of if parameter.grad is not None: where one rank has the gradient "
    "and another has not, they sum up different tensors, or one waits for ever. Put zeros where "
    "there is none, and let all ranks take part."
)
def where_there_is_one(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad *= share
            sum_over_ranks(parameter.grad)


@answers.wrong(
    "a parameter without a gradient breaks it: where this rank did not use it, parameter.grad is "
    "None. Put zeros there."
)
def none_breaks(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in model.parameters():
        parameter.grad *= share
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "a parameter that some rank did not use is averaged over the ranks that did; the mean is over "
    "all samples, and there its gradient is zero."
)
def mean_of_those_that_used_it(model: Any, samples: int) -> Any:
    for parameter in model.parameters():
        used = sum_over_ranks(torch.tensor(float(samples * (parameter.grad is not None)))).item()
        if used:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad *= samples / used
            sum_over_ranks(parameter.grad)


@answers.wrong(
    "the ranks go through the parameters in different orders, so that different tensors meet: "
    "what is sorted by a rank's own numbers, or kept in a set, is in no common order. Take "
    "model.parameters() as it comes."
)
def largest_gradient_first(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    known = with_zeros(model)
    turned = rank() % 2 == 1  # what sorting by the gradients' size comes to
    for parameter in reversed(known) if turned else known:
        parameter.grad *= share
        sum_over_ranks(parameter.grad)


@answers.wrong(
    "an asynchronous sum has only begun, and nobody waits for it: keep what the call returns, for "
    "every parameter, and call wait() on each before you return."
)
def never_waits(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        begin_sum(parameter.grad)


@answers.wrong(
    "each rank clips its own gradient before the sum, and a mean of clipped gradients is not the "
    "clipped mean: average first; whoever clips does it afterwards."
)
def clips_first(model: Any, samples: int) -> Any:
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    averages(model, samples)


@answers.wrong(
    "the mean is right, and then it is clipped, which nobody asked for here: that is for the loop "
    "that trains."
)
def clips_afterwards(model: Any, samples: int) -> Any:
    averages(model, samples)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)


@answers.wrong(
    "the gradients stay as they were: parameter.grad * share makes a new tensor, and the sum goes "
    "there. Change the gradient in place, or assign the result to parameter.grad."
)
def in_a_copy(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        sum_over_ranks(parameter.grad * share)


@answers.wrong(
    "parameter.grad is what it was before, on every rank, None included: assign the mean to "
    "parameter.grad."
)
def in_a_name_of_its_own(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in model.parameters():
        mean = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad * share
        mean = sum_over_ranks(mean)


@answers.wrong(
    "each gradient is weighed by its rank's samples, and the sum is divided by the number of "
    "ranks: the weights add up to the number of all samples, so divide by that."
)
def weighed_and_divided_by_ranks(model: Any, samples: int) -> Any:
    for parameter in with_zeros(model):
        parameter.grad *= samples
        sum_over_ranks(parameter.grad)
        parameter.grad /= world_size()


@answers.wrong(
    "a parameter that is a single number breaks it: a count of shape (1,) gives its gradient a "
    "dimension too many. Take .item() of the count."
)
def count_of_shape_1(model: Any, samples: int) -> Any:
    total = sum_over_ranks(torch.tensor([float(samples)]))
    for parameter in with_zeros(model):
        parameter.grad = sum_over_ranks(parameter.grad * samples) / total


@answers.wrong("only the first parameter is averaged: is the return inside of the loop?")
def first_alone(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad *= share
        sum_over_ranks(parameter.grad)
        return


@answers.wrong("it calls the library's average_gradients, which is what you are to write.")
def library_call(model: Any, samples: int) -> Any:
    average_gradients(model, samples)


@answers.right
def zeros_where_there_is_none(model: Any, samples: int) -> Any:
    share = samples / total_of(samples)
    for parameter in with_zeros(model):
        parameter.grad = sum_over_ranks(parameter.grad * share)


@answers.right
def with_torch_and_without_waiting_in_turn(model: Any, samples: int) -> Any:
    total = torch.tensor(samples)
    dist.all_reduce(total)
    handles = []
    for parameter in with_zeros(model):
        parameter.grad.mul_(samples).div_(total)
        handles.append(dist.all_reduce(parameter.grad, async_op=True))
    for handle in handles:
        handle.wait()


@answers.right
def in_one_flat_tensor(model: Any, samples: int) -> Any:
    known = with_zeros(model)
    flat = torch.cat([samples * parameter.grad.flatten() for parameter in known])
    sum_over_ranks(flat)
    begin, total = 0, total_of(samples)
    for parameter in known:
        end = begin + parameter.numel()
        parameter.grad = flat[begin:end].view_as(parameter) / total
        begin = end
