"""What is written for an all-reduce via one root: wrong answers, and other right ones."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from gpulearn.checker.answers import Answers
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.communicator import irecv, isend, rank, recv, send, sendrecv, world_size

__all__ = ["answers"]

answers = Answers()


def collect(tensor: Any) -> None:
    """A right first half: rank 0 holds the sum."""
    if rank() == 0:
        arrived = torch.empty_like(tensor)
        for source in range(1, world_size()):
            tensor += recv(arrived, source)
    else:
        send(tensor, 0)


def spread(tensor: Any) -> None:
    """A right second half: all hold what rank 0 holds."""
    if rank() == 0:
        for to in range(1, world_size()):
            send(tensor, to)
    else:
        recv(tensor, 0)


@answers.wrong(
    "that is the mean: an all-reduce adds up, and whoever wants the mean divides by N afterwards."
)
def mean(tensor: Any) -> Any:
    collect(tensor)
    spread(tensor)
    tensor /= world_size()


@answers.wrong(
    "that is the mean, rounded down to a whole number: an all-reduce adds up and does not divide."
)
def mean_rounded_down(tensor: Any) -> Any:
    collect(tensor)
    spread(tensor)
    tensor //= world_size()


@answers.wrong(
    "only rank 0 has the sum, the others what they began with: rank 0 must send it to them."
)
def only_the_root(tensor: Any) -> Any:
    collect(tensor)


@answers.wrong(
    "rank 0 adds up what arrives and forgets its own numbers: add what arrives to its tensor."
)
def own_forgotten(tensor: Any) -> Any:
    if rank() == 0:
        total = torch.zeros_like(tensor)
        for source in range(1, world_size()):
            total += recv(torch.empty_like(tensor), source)
        if world_size() > 1:
            tensor.copy_(total)
        spread(tensor)
    else:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong(
    "rank 0 receives straight into its tensor, so each message replaces what was there: receive "
    "into a buffer and add."
)
def overwrites(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size()):
            recv(tensor, source)
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "rank 0 receives straight into its tensor and then adds that to itself: receive into a buffer."
)
def doubles(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size()):
            tensor += recv(tensor, source)
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "rank 0 has the sum, and sends the others its own old numbers: send the tensor that holds "
    "the sum."
)
def old_numbers_sent(tensor: Any) -> Any:
    own = tensor.clone()
    collect(tensor)
    spread(own if rank() == 0 else tensor)


@answers.wrong(
    "the others get the sum, and rank 0 keeps what it had: tensor = tensor + … makes a new "
    "tensor, tensor += … changes the one that was given."
)
def root_adds_elsewhere(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size()):
            tensor = tensor + recv(torch.empty_like(tensor), source)
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "rank 0 has the sum, and the others receive it into another tensor: recv(tensor, 0) writes "
    "into the one that was given, tensor = … gives its name to a new one."
)
def others_receive_elsewhere(tensor: Any) -> Any:
    collect(tensor)
    if rank() == 0:
        spread(tensor)
    else:
        tensor = recv(torch.empty_like(tensor), 0)


@answers.wrong(
    "rank 0 adds only what came last: the addition belongs inside the loop, after each recv."
)
def last_alone_added(tensor: Any) -> Any:
    if rank() == 0:
        arrived = torch.empty_like(tensor)
        for source in range(1, world_size()):
            recv(arrived, source)
        if world_size() > 1:
            tensor += arrived
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "all end with what rank 0 had: what arrives is never added to its tensor. tensor.add(arrived) "
    "makes a new tensor; tensor += arrived changes this one."
)
def never_added(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size()):
            recv(torch.empty_like(tensor), source)
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "rank 0 has the sum, and sends the others its buffer, with the last rank's numbers: send the "
    "tensor that holds the sum."
)
def buffer_sent(tensor: Any) -> Any:
    if rank() == 0:
        arrived = torch.empty_like(tensor)
        for source in range(1, world_size()):
            tensor += recv(arrived, source)
        spread(arrived)
    else:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong(
    "no message is sent, and every rank keeps what it had: the others send to rank 0, and rank 0 "
    "sends them the sum."
)
def nothing_sent(tensor: Any) -> Any:
    return None


@answers.wrong(
    "what arrives is cut off to whole numbers before it is added: add it as it is, in the "
    "tensor's own dtype."
)
def whole_numbers_added(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size()):
            tensor += recv(torch.empty_like(tensor), source).int()
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "rank 0 answers each rank at once with what it has so far: only the last one gets the whole "
    "sum. Receive from all first, then send to all."
)
def partial_sums(tensor: Any) -> Any:
    if rank() == 0:
        for other in range(1, world_size()):
            tensor += recv(torch.empty_like(tensor), other)
            send(tensor, other)
    else:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong(
    "the others add the sum to their own numbers, which are in it already: receive it into the "
    "tensor."
)
def others_add(tensor: Any) -> Any:
    collect(tensor)
    if rank() == 0:
        spread(tensor)
    else:
        tensor += recv(torch.empty_like(tensor), 0)


@answers.wrong(
    "a deadlock: rank 0 sends to the others while they send to it, and a send ends only when the "
    "other side receives. Rank 0 receives first, and each of the others sends once."
)
def root_sends_first(tensor: Any) -> Any:
    if rank() == 0:
        for to in range(1, world_size()):
            send(tensor, to)
        for source in range(1, world_size()):
            tensor += recv(torch.empty_like(tensor), source)
    else:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong(
    "a deadlock: rank 0 waits for the others and they wait for it. They send first, then receive."
)
def others_receive_first(tensor: Any) -> Any:
    if rank() == 0:
        collect(tensor)
        spread(tensor)
    else:
        recv(tensor, 0)
        send(tensor, 0)


@answers.wrong(
    "a deadlock: all ranks send to rank 0 and then wait for its answer, and rank 0 has ended. It "
    "needs a branch of its own, if rank() == 0."
)
def root_does_nothing(tensor: Any) -> Any:
    if rank() != 0:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong(
    "a deadlock: rank 0 never receives from the last rank, which waits. The other ranks are "
    "range(1, count), whose end is left out already."
)
def last_left_out(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size() - 1):
            tensor += recv(torch.empty_like(tensor), source)
        for to in range(1, world_size() - 1):
            send(tensor, to)
    else:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong(
    "a deadlock: rank 0 receives from the ranks in turn, and sends the sum to only some of them."
)
def last_not_answered(tensor: Any) -> Any:
    collect(tensor)
    if rank() == 0:
        for to in range(1, world_size() - 1):
            send(tensor, to)
    else:
        recv(tensor, 0)


@answers.wrong("rank 0 speaks to itself: the other ranks are range(1, count), without 0.")
def from_all_and_itself(tensor: Any) -> Any:
    if rank() == 0:
        arrived = torch.empty_like(tensor)
        for source in range(world_size()):
            tensor += recv(arrived, source)
        for to in range(world_size()):
            send(tensor, to)
    else:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong(
    "rank 0 sends to itself: it went into the branch of the others. rank is a function, and "
    "rank == 0 is never true: write rank() == 0."
)
def rank_without_brackets(tensor: Any) -> Any:
    send(tensor, 0)
    recv(tensor, 0)


@answers.wrong(
    "four ranks are taken for granted: world_size() says how many there are, and the others are "
    "range(1, world_size())."
)
def four_ranks(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, 4):
            tensor += recv(torch.empty_like(tensor), source)
        for to in range(1, 4):
            send(tensor, to)
    else:
        send(tensor, 0)
        recv(tensor, 0)


@answers.wrong("there is no rank N: the last one is N−1, and range(1, count) ends with it.")
def one_rank_too_many(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size() + 1):
            tensor += recv(torch.empty_like(tensor), source)
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "all messages are received into one buffer at the same time, and the last to arrive is what "
    "is added each time: wait for one and add it before the next, or take a buffer for each."
)
def one_buffer_for_all(tensor: Any) -> Any:
    if rank() == 0:
        arrived = torch.empty_like(tensor)
        handles = [irecv(arrived, source) for source in range(1, world_size())]
        for handle in handles:
            handle.wait()
        for _ in handles:
            tensor += arrived
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "the sums are right, but every rank sends to every other, N(N−1) messages: send to rank 0 "
    "alone, which sends the sum back, 2(N−1)."
)
def everybody_to_everybody(tensor: Any) -> Any:
    me, count = rank(), world_size()
    own = tensor.clone()
    for shift in range(1, count):
        to, source = (me + shift) % count, (me - shift) % count
        tensor += sendrecv(own, to, torch.empty_like(tensor), source)


@answers.wrong(
    "the buffer for what arrives is float32, whatever the tensor is: torch.empty_like(tensor) has "
    "its dtype as well as its shape."
)
def float_buffer(tensor: Any) -> Any:
    if rank() == 0:
        for source in range(1, world_size()):
            tensor += recv(torch.empty(tensor.shape), source)
    else:
        send(tensor, 0)
    spread(tensor)


@answers.wrong(
    "it returns the sums in a new tensor and leaves the one that it was given as it was: work on "
    "tensor itself, in place."
)
def new_tensor(tensor: Any) -> Any:
    total = tensor.clone()
    collect(total)
    spread(total)
    return total


@answers.wrong(
    "a tensor with gaps, such as a column, is copied by contiguous; the sums stay in the copy. "
    "Use the tensor itself, or copy the result back."
)
def contiguous_copy(tensor: Any) -> Any:
    flat = tensor.contiguous()
    collect(flat)
    spread(flat)


@answers.wrong(
    "a transposed matrix is copied by reshape and flatten; the sums stay in the copy. Use the "
    "tensor itself, or copy the result back."
)
def flat_copy(tensor: Any) -> Any:
    flat = tensor.reshape(-1)
    collect(flat)
    spread(flat)


@answers.wrong(
    "isend has only begun to send when the tensor is overwritten by what is received: wait() for "
    "the message first."
)
def overwritten_under_way(tensor: Any) -> Any:
    if rank() == 0:
        collect(tensor)
        spread(tensor)
    else:
        leaving = isend(tensor, 0)
        recv(tensor, 0)
        leaving.wait()


@answers.wrong("it calls an all-reduce that is there already: write it from send and recv.")
def library_call(tensor: Any) -> Any:
    all_reduce(tensor, algorithm="root")


@answers.wrong(
    "it goes through torch.distributed, whose all_reduce is what you are to write here: send and "
    "receive with send and recv of gpulearn, which simulated ranks have too."
)
def torch_call(tensor: Any) -> Any:
    dist.all_reduce(tensor)


@answers.right
def collect_and_spread(tensor: Any) -> Any:
    collect(tensor)
    spread(tensor)
    return tensor


@answers.right
def last_rank_is_the_root(tensor: Any) -> Any:
    root = world_size() - 1
    if rank() != root:
        send(tensor, root)
        recv(tensor, root)
        return
    for source in range(root):
        tensor.add_(recv(torch.empty_like(tensor), source))
    for to in range(root):
        send(tensor, to)


@answers.right
def a_buffer_for_each(tensor: Any) -> Any:
    others = range(1, world_size())
    if rank() == 0:
        arrived = [torch.empty_like(tensor) for _ in others]
        for handle in [irecv(arrived[other - 1], other) for other in others]:
            handle.wait()
        for one in arrived:
            tensor += one
        for handle in [isend(tensor, other) for other in others]:
            handle.wait()
    else:
        send(tensor.clone(), to=0)
        tensor.copy_(recv(torch.empty_like(tensor), source=0))
