"""All-reduce via one root: right in place on every rank, in 2(N−1) messages."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.allreduce import all_reduce, all_reduce_via_root
from gpulearn.parallel.communicator import irecv, isend, rank, recv, send, sendrecv, world_size
from gpulearn_lessons.collectives.trial import (
    KINSHIPS,
    Work,
    expected,
    on_real_ranks,
    results,
    simulated,
)

answers = Answers(all_reduce_via_root)

BEGIN = "    if rank() == 0:"
BUFFER = "arrived = torch.empty_like(tensor)"
SOURCES = "source in range(1, world_size())"
ADD = "tensor += recv(arrived, source)"
TARGETS = "to in range(1, world_size())"
ANSWER = "send(tensor, to)"
ASK = "send(tensor, to=0)"
END = "recv(tensor, source=0)"
COLLECT = f"        {BUFFER}\n        for {SOURCES}:\n            {ADD}\n"
SPREAD = f"        for {TARGETS}:\n            {ANSWER}\n"


def cases() -> list[Case]:
    """One rank to five; numbers of several kinds, none, gaps, matrices.

    One rank comes last: an endless loop is noticed within 2 seconds where another rank waits.
    """
    works = {
        "2 ranks and 4 numbers": Work(2, (4,), kind="digits"),
        "3 ranks and 2 numbers": Work(3, (2,), kind="digits"),
        "3 ranks and 1 number": Work(3, (1,)),
        "4 ranks and 5 numbers": Work(4, (5,)),
        "5 ranks and 2 numbers": Work(5, (2,)),
        "3 ranks and no numbers": Work(3, (0,)),
        "4 ranks and 3 integers": Work(4, (3,), "int64"),
        "3 ranks and 6 numbers of 32 bits": Work(3, (6,), "float32"),
        "3 ranks and 4 numbers with gaps between them": Work(3, (4,), layout="gaps"),
        "2 ranks and a matrix of shape (2, 3)": Work(2, (2, 3)),
        "4 ranks and a transposed matrix": Work(4, (3, 2), layout="turned"),
        "3 ranks and 5 large numbers": Work(3, (5,), kind="wide"),
        "3 ranks and 5 large numbers of 32 bits": Work(3, (5,), "float32", kind="wide"),
        "3 ranks and 5 large integers": Work(3, (5,), "int64", kind="wide"),
        "1 rank and 3 numbers": Work(1, (3,)),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[Work]:
    """What real ranks reduce, one after another."""
    return [
        Work(count, (1000,)),
        Work(count, (2, 3), "float32", layout="turned"),
        Work(count, (3,), "int64", layout="gaps"),
        Work(count, (0,)),
    ]


def difference(got: Any, wanted: Any) -> str | None:
    """The numbers first, then who speaks to whom and what it costs."""
    if sentence := results(got, wanted):
        return sentence
    work: Work = got.work
    both_ways = 2 * (work.ranks - 1)
    pairs = dict(got.pairs)
    if not all(0 in pair for pair in pairs):
        return (
            "the sums are right, but some messages neither come from rank 0 nor go to it: all "
            "should go via rank 0, to it and back"
        )
    if sum(pairs.values()) > both_ways:
        return (
            f"the sums are right, but {sum(pairs.values())} messages are sent, and "
            f"2(N−1) = {both_ways} are enough"
        )
    if sum(got.bytes) > both_ways * work.size:
        return (
            f"the sums are right, but {sum(got.bytes):,} bytes are sent, and 2(N−1) · S = "
            f"{both_ways * work.size:,} are enough"
        )
    return None


answers.edit(
    {END: f"{END}\n    tensor /= world_size()"},
    "that is the mean: an all-reduce adds up, and whoever wants the mean divides by N afterwards.",
)
answers.edit(
    {END: f"{END}\n    tensor //= world_size()"},
    "that is the mean, rounded down to a whole number: an all-reduce adds up and does not divide.",
)
answers.edit(
    {SPREAD: "", f"\n        {END}": ""},
    "only rank 0 has the sum, the others what they began with: rank 0 must send it to them.",
)
answers.edit(
    {ADD: f"if source == 1:\n                tensor.zero_()\n            {ADD}"},
    "rank 0 adds up what arrives and forgets its own numbers: add what arrives to its tensor.",
)
answers.edit(
    {ADD: "recv(tensor, source)"},
    "each message replaces what was in rank 0's tensor: receive into a buffer, and add what came.",
)
answers.edit(
    {ADD: "tensor += recv(tensor, source)"},
    "rank 0 receives straight into its tensor and then adds that to itself: receive into a buffer.",
)
answers.edit(
    {BUFFER: f"{BUFFER}\n        own = tensor.clone()", ANSWER: "send(own, to)"},
    "rank 0 has the sum, and sends the others its own old numbers: send the tensor that holds "
    "the sum.",
)
answers.edit(
    {ADD: "tensor = tensor + recv(arrived, source)"},
    "the others get the sum, and rank 0 keeps what it had: tensor = … and tensor.data = … put the "
    "sum into other memory, tensor += … writes into that of the tensor that was given.",
)
answers.edit(
    {END: "tensor = recv(torch.empty_like(tensor), source=0)"},
    "rank 0 has the sum, and the others receive it into another tensor: recv(tensor, 0) writes "
    "into the one that was given, tensor = … gives its name to a new one.",
)
answers.edit(
    {
        ADD: "recv(arrived, source)",
        SPREAD: f"        if world_size() > 1:\n            tensor += arrived\n{SPREAD}",
    },
    "rank 0 adds only what came last: the addition belongs inside the loop, after each recv.",
)
answers.edit(
    {ADD: "recv(arrived, source)"},
    "all end with what rank 0 had: what arrives is never added to its tensor. tensor.add(arrived) "
    "makes a new tensor; tensor += arrived changes this one.",
)
answers.edit(
    {ANSWER: "send(arrived, to)"},
    "rank 0 has the sum, and sends the others its buffer, with the last rank's numbers: send the "
    "tensor that holds the sum.",
)


for _kind in ("float32", "float16", "int16"):
    answers.edit(
        {
            BUFFER: f"arrived = torch.empty_like(tensor, dtype=torch.{_kind})",
            ASK: f"send(tensor.to(torch.{_kind}), to=0)",
        },
        f"what travels to rank 0 is {_kind}, which holds fewer digits than the tensor, or smaller "
        f"numbers: send the tensor as it is.",
    )


answers.edit(
    {
        f"for {SOURCES}:\n            {ADD}": (
            f"source = 1\n        while source < world_size():\n            {ADD}"
        )
    },
    "a deadlock: rank 0 receives from rank 1 again and again, and rank 1 sends once. The number of "
    "the source has to grow in the loop: for source in range(1, world_size()).",
)


@answers.wrong(
    "no message is sent, and every rank keeps what it had: the others send to rank 0, and rank 0 "
    "sends them the sum."
)
def nothing_sent(tensor: Any) -> Any:
    return None


answers.edit(
    {ADD: f"{ADD}.int()"},
    "what arrives is cut off to whole numbers of 32 bits before it is added: add it as it is, in "
    "the tensor's own dtype.",
)
answers.edit(
    {ADD: f"{ADD}.long()"},
    "what arrives is cut off to whole numbers before it is added: add it as it is, in the "
    "tensor's own dtype.",
)
answers.edit(
    {SPREAD: "            send(tensor, source)\n"},
    "rank 0 answers each rank at once with what it has so far: only the last one gets the whole "
    "sum. Receive from all first, then send to all.",
)
answers.edit(
    {END: "tensor += recv(torch.empty_like(tensor), source=0)"},
    "the others add the sum to their own numbers, which are in it already: receive it into the "
    "tensor.",
)
answers.edit(
    {COLLECT: SPREAD, SPREAD: COLLECT},
    "a deadlock: rank 0 sends to the others while they send to it, and a send ends only when the "
    "other side receives. Rank 0 receives first, and each of the others sends once.",
)
answers.edit(
    {ASK: END, END: ASK},
    "a deadlock: rank 0 waits for the others and they wait for it. They send first, then receive.",
)
answers.edit(
    {COLLECT: "        return\n", SPREAD: ""},
    "a deadlock: all ranks send to rank 0 and then wait for its answer, and rank 0 has ended. It "
    "needs a branch of its own, if rank() == 0.",
)
answers.edit(
    {SOURCES: "source in range(1, world_size() - 1)", TARGETS: "to in range(1, world_size() - 1)"},
    "a deadlock: rank 0 never receives from the last rank, which waits. The other ranks are "
    "range(1, count), whose end is left out already.",
)
answers.edit(
    {TARGETS: "to in range(1, world_size() - 1)"},
    "a deadlock: rank 0 receives from the ranks in turn, and sends the sum to only some of them.",
)
answers.edit(
    {SOURCES: "source in range(world_size())", TARGETS: "to in range(world_size())"},
    "rank 0 speaks to itself: the other ranks are range(1, count), without 0.",
)
answers.edit(
    {"rank() == 0": "rank == 0"},
    "rank 0 sends to itself. Either it went into the branch of the others: rank is a function, and "
    "rank == 0 is never true, so write rank() == 0. Or it counts itself among those that get the "
    "sum: they are range(1, world_size()).",
)
answers.edit(
    {SOURCES: "source in range(1, 4)", TARGETS: "to in range(1, 4)"},
    "four ranks are taken for granted: world_size() says how many there are, and the others are "
    "range(1, world_size()).",
)
answers.edit(
    {SOURCES: "source in range(1, world_size() + 1)"},
    "there is no rank N: the last one is N−1, and range(1, count) ends with it.",
)
answers.edit(
    {
        f"for {SOURCES}:\n            {ADD}": (
            f"handles = [irecv(arrived, source) for {SOURCES}]\n"
            "        for handle in handles:\n"
            "            handle.wait()\n"
            "        for _ in handles:\n"
            "            tensor += arrived"
        )
    },
    "all messages are received into one buffer at the same time, and the last to arrive is what "
    "is added each time: wait for one and add it before the next, or take a buffer for each.",
    irecv=irecv,
)


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


answers.edit(
    {BUFFER: "arrived = torch.empty(tensor.shape)"},
    "the buffer for what arrives is float32, whatever the tensor is: torch.empty_like(tensor) has "
    "its dtype as well as its shape.",
)
answers.edit(
    {BEGIN: f"    tensor = tensor.clone()\n{BEGIN}", END: f"{END}\n    return tensor"},
    "it returns the sums in a new tensor and leaves the one that it was given as it was: work on "
    "tensor itself, in place.",
)
answers.edit(
    {BEGIN: f"    tensor = tensor.contiguous()\n{BEGIN}"},
    "a tensor with gaps, such as a column, is copied by contiguous; the sums stay in the copy. "
    "Use the tensor itself, or copy the result back.",
)
answers.edit(
    {BEGIN: f"    tensor = tensor.reshape(-1)\n{BEGIN}"},
    "a transposed matrix is copied by reshape and flatten; the sums stay in the copy. Use the "
    "tensor itself, or copy the result back.",
)
answers.edit(
    {ASK: "leaving = isend(tensor, 0)", END: f"{END}\n        leaving.wait()"},
    "isend has only begun to send when the tensor is overwritten by what is received: wait() for "
    "the message first.",
    isend=isend,
)


@answers.wrong("it calls an all-reduce that is there already: write it from send and recv.")
def library_call(tensor: Any) -> Any:
    all_reduce(tensor, algorithm="root")


@answers.wrong(
    "it goes through torch.distributed, whose all_reduce is what you are to write here: send and "
    "receive with send and recv of gpulearn, which simulated ranks have too."
)
def torch_call(tensor: Any) -> Any:
    dist.all_reduce(tensor)


answers.variant({END: f"{END}\n    return tensor"})


@answers.wrong("the sums are right, but the last rank is the root: it is to be rank 0.")
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


EXERCISE = Exercise(
    task="Add up the tensors of all ranks, in place on each: rank 0 receives, adds, and sends.",
    reference=all_reduce_via_root,
    cases=cases,
    answers=answers,
    run=simulated,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=on_real_ranks((2, 3, 4), real),
    kinships=KINSHIPS,
)
