"""Ring all-reduce: right in place on every rank, in chunks and 2(N−1) messages of each."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from gpulearn.judge.answers import Answers
from gpulearn.judge.exercise import Case, Exercise
from gpulearn.parallel.allreduce import all_reduce, ring_all_reduce
from gpulearn.parallel.communicator import irecv, isend, rank, recv, send, sendrecv, world_size
from gpulearn_lessons.collectives.trial import (
    KINSHIPS,
    Work,
    beyond_a_neighbour,
    expected,
    on_real_ranks,
    results,
    simulated,
    slow,
)


def cases() -> list[Case]:
    """Chunks that come out even and not, fewer numbers than ranks, none, gaps, matrices.

    One rank comes last: an endless loop is noticed within 2 seconds where another rank waits.
    """
    digits = {"kind": "digits"}  # the diagnosis tells from them whose numbers are missing
    works = {
        "2 ranks and 8 numbers": Work(2, (8,), **digits),
        "3 ranks and 6 numbers": Work(3, (6,), **digits),
        "4 ranks and 4 numbers": Work(4, (4,), **digits),
        "5 ranks and 10 numbers": Work(5, (10,)),
        "3 ranks and 7 numbers": Work(3, (7,)),
        "4 ranks and 6 numbers": Work(4, (6,)),
        "4 ranks and 3 numbers": Work(4, (3,)),
        "3 ranks and no numbers": Work(3, (0,)),
        "3 ranks and 8 integers": Work(3, (8,), "int64"),
        "2 ranks and 5 numbers of 32 bits": Work(2, (5,), "float32"),
        "3 ranks and 6 numbers with gaps between them": Work(3, (6,), layout="gaps"),
        "2 ranks and a matrix of shape (6, 4)": Work(2, (6, 4)),
        "3 ranks and a transposed matrix": Work(3, (6, 4), layout="turned"),
        "3 ranks and 5 large numbers": Work(3, (5,), kind="wide"),
        "3 ranks and 5 large numbers of 32 bits": Work(3, (5,), "float32", kind="wide"),
        "3 ranks and 5 large integers": Work(3, (5,), "int64", kind="wide"),
        "1 rank and 5 numbers": Work(1, (5,)),
    }
    return [Case(label, (work,)) for label, work in works.items()]


def real(count: int) -> list[Work]:
    """What real ranks reduce, one after another."""
    return [
        Work(count, (8 * count,)),
        Work(count, (2 * count + 1,), "float32"),
        Work(count, (count + 1,), "int64", layout="gaps"),
        Work(count, (0,)),
    ]


def difference(got: Any, wanted: Any) -> str | None:
    """The numbers first, then what the messages cost, then the clock."""
    if sentence := results(got, wanted):
        return sentence + _lap(got, wanted)
    work: Work = got.work
    if sentence := beyond_a_neighbour(got):
        return sentence
    hops = 2 * (work.ranks - 1)
    length = work.shape[0]
    chunk = -(-length // work.ranks) * (work.size // max(1, length))
    for sender, sent in enumerate(got.bytes):
        if sent > hops * chunk:
            return (
                f"the sums are right, but rank {sender} sends {sent:,} bytes, and in chunks "
                f"{hops * chunk:,} are enough"
            )
    for sender, count in enumerate(got.messages):
        if count > hops:
            return (
                f"the sums are right, but rank {sender} sends {count} messages, and "
                f"2(N−1) = {hops} are enough"
            )
    return slow(got, hops, chunk)


def _lap(got: Any, wanted: Any) -> str:
    """Which lap went wrong, where every rank came to its end with numbers."""
    if got.ending or got.called or not got.work.size or got.work.ranks < 3:
        return ""
    right = [found == total for found, total in zip(got.after, wanted.after, strict=True)]
    if not np.any(right):
        return "; no rank has a chunk that is whole, so look at the first lap"
    if np.all(np.any(right, axis=0)) and not np.all(right):
        return "; each chunk is whole on some rank, so look at the second lap"
    return ""


def from_own_chunk(tensor: Any) -> Any:
    """A right answer: its first lap begins with chunk me, the solution's with chunk me − 1."""
    me, count = rank(), world_size()
    right, left = (me + 1) % count, (me - 1) % count
    chunks = list(tensor.tensor_split(count))
    for step in range(count - 1):  # reduce-scatter
        outgoing, mine = chunks[(me - step) % count], chunks[(me - step - 1) % count]
        mine += sendrecv(outgoing, right, torch.empty_like(mine), left)
    for step in range(count - 1):  # all-gather
        outgoing, mine = chunks[(me + 1 - step) % count], chunks[(me - step) % count]
        sendrecv(outgoing, right, mine, left)


answers = Answers(from_own_chunk)
answers.right(from_own_chunk)

NEIGHBOURS = "right, left = (me + 1) % count, (me - 1) % count"
CUT = "list(tensor.tensor_split(count))"
STEPS_1 = "in range(count - 1):  # reduce-scatter"
STEPS_2 = "in range(count - 1):  # all-gather"
BEFORE = "chunks[(me - step - 1) % count]"
OWN = "chunks[(me - step) % count]"
AFTER = "chunks[(me + 1 - step) % count]"
PAIR_1 = f"{OWN}, {BEFORE}"
PAIR_2 = f"{AFTER}, {OWN}"
BUFFER = "torch.empty_like(mine)"
ADD = f"mine += sendrecv(outgoing, right, {BUFFER}, left)"
PUT = "sendrecv(outgoing, right, mine, left)"
FIRST_LAP = f"    for step {STEPS_1}\n        outgoing, mine = {PAIR_1}\n        {ADD}\n"
SECOND_LAP = f"    for step {STEPS_2}\n        outgoing, mine = {PAIR_2}\n        {PUT}"

answers.edit(
    {PUT: f"{PUT}\n    tensor /= count"},
    "that is the mean: an all-reduce adds up, and whoever wants the mean divides by N afterwards.",
)
answers.edit(
    {PUT: f"{PUT}\n    tensor //= count"},
    "that is the mean, rounded down to a whole number: an all-reduce adds up and does not divide.",
)


@answers.wrong(
    "the sums are right, but the whole tensor makes each hop: (N−1) · S bytes from each rank. Cut "
    "it into N chunks and pass one on at a time."
)
def whole_tensor_each_hop(tensor: Any) -> Any:
    me, count = rank(), world_size()
    outgoing = tensor.clone()
    for _ in range(count - 1):
        outgoing = sendrecv(outgoing, (me + 1) % count, torch.empty_like(tensor), (me - 1) % count)
        tensor += outgoing


@answers.wrong(
    "the sums are right, but the whole tensor goes along the ranks and back to them, and nearly "
    "all wait while it does: cut it into N chunks, so that all send at the same time."
)
def whole_tensor_down_the_line(tensor: Any) -> Any:
    me, last = rank(), world_size() - 1
    if me > 0:
        tensor += recv(torch.empty_like(tensor), me - 1)
    if me < last:
        send(tensor, me + 1)
        recv(tensor, me + 1)
    if me > 0:
        send(tensor, me - 1)


answers.edit(
    {SECOND_LAP: ""},
    "the second lap is missing: after N−1 steps each rank holds one chunk that is whole. Pass "
    "those round as well, N−1 steps more, without adding.",
)
answers.edit(
    {FIRST_LAP: "", PAIR_2: PAIR_1},
    "the first lap is missing: chunks go round and replace one another, and nothing is added.",
)
answers.edit(
    {STEPS_1: "in range(count - 2):", STEPS_2: "in range(count - 2):"},
    "both laps end one step too soon: to meet all ranks a chunk needs N−1 steps, range(count - 1).",
)
answers.edit(
    {STEPS_1: "in range(count - 2):"},
    "the first lap ends one step too soon: a chunk needs N−1 steps to collect from all ranks.",
)
answers.edit(
    {STEPS_2: "in range(count - 2):"},
    "the second lap ends one step too soon: a whole chunk needs N−1 steps to reach all ranks.",
)
answers.edit(
    {STEPS_1: "in range(count):"},
    "the first lap takes one step too many: after N steps a chunk comes back to where it began "
    "and is added once more. N−1 steps are enough.",
)
answers.edit(
    {STEPS_1: "in range(count):", STEPS_2: "in range(count):"},
    "both laps take N steps, and in the first one each chunk comes back to where it began and "
    "is added once more: range(count - 1).",
)
answers.edit(
    {STEPS_2: "in range(count):"},
    "the sums are right, but the second lap takes N steps, and the last one brings each rank "
    "what it has: N−1 are enough.",
)
answers.edit(
    {PAIR_2: PAIR_1},
    "the second lap begins with the wrong chunk: the one that is whole is the one to which this "
    "rank added last, here chunk me + 1, not chunk me.",
)
answers.edit(
    {PAIR_1: f"{BEFORE}, chunks[(me - step - 2) % count]"},
    "the second lap begins with the wrong chunk: the first lap began with chunk me − 1, so it is "
    "chunk me that is whole, not chunk me + 1.",
)
answers.edit(
    {PAIR_1: f"{OWN}, {OWN}", PAIR_2: f"{AFTER}, {AFTER}"},
    "what arrives is taken for the chunk that has just left: from the left comes the one before "
    "it, chunk me − step − 1.",
)
answers.edit(
    {
        PAIR_1: "chunks[(me + step) % count], chunks[(me + step + 1) % count]",
        PAIR_2: "chunks[(me + step + 1) % count], chunks[(me + step + 2) % count]",
    },
    "the chunks' numbers run the wrong way: what goes to the right comes from the left, so each "
    "step is about the chunk before, me − step, not the one after.",
)
answers.edit(
    {
        PAIR_1: "chunks[(me + step) % count], chunks[(me + step - 1) % count]",
        PAIR_2: "chunks[(me + 1 + step) % count], chunks[(me + step) % count]",
    },
    "the chunks' numbers rise with step: in each step a rank sends on what came in the step "
    "before, which is the chunk before, me − step.",
)
answers.edit(
    {"mine += ": f"{BEFORE} = mine + "},
    "chunks[i] = chunks[i] + … puts a new tensor into the list, and what is added up there is not "
    "in the tensor that was given: add in place, chunks[i] += …",
)
answers.edit(
    {
        PAIR_1: "chunks[me], chunks[me - 1]",
        PAIR_2: "chunks[(me + 1) % count], chunks[me]",
    },
    "each rank sends the same chunk, me, in every step: what it sends on is the chunk that came "
    "in the step before, me − step.",
)
answers.edit(
    {ADD: PUT},
    "in the first lap what arrives replaces this rank's own numbers: receive into a buffer, and "
    "add that to the chunk.",
)
answers.edit(
    {"mine += ": ""},
    "in the first lap what arrives is never added: it stays in a buffer that nobody reads.",
)
answers.edit(
    {BUFFER: "mine"},
    "in the first lap what arrives is received into the chunk and then added to itself: receive "
    "into a buffer.",
)
answers.edit(
    {PUT: f"sendrecv(outgoing, right, {BUFFER}, left)"},
    "in the second lap what arrives stays in another tensor: receive it into the chunk itself.",
)
answers.edit(
    {PUT: ADD},
    "the second lap adds as well: the chunks that go round now are whole, and replace what is "
    "there.",
)
answers.edit(
    {
        ADD: f"send(outgoing, right)\n        mine += recv({BUFFER}, left)",
        PUT: "send(outgoing, right)\n        recv(mine, left)",
    },
    "a deadlock: all ranks send first, and a send ends only when the other side receives, which "
    "nobody does yet. Use sendrecv, which sends and receives at the same time.",
)
answers.edit(
    {ADD: f"mine += recv({BUFFER}, left)\n        send(outgoing, right)"},
    "a deadlock: all ranks receive first, and nobody has sent yet. Use sendrecv, which sends and "
    "receives at the same time.",
)
answers.edit(
    {NEIGHBOURS: "right = left = (me + 1) % count"},
    "a deadlock: each rank sends to the right and waits for something from the right as well. What "
    "all send to the right comes from the left.",
)
answers.edit(
    {NEIGHBOURS: "right, left = me + 1, me - 1"},
    "the ring is not closed: the last rank's right neighbour is rank 0, and rank 0's left one is "
    "the last. Take (me + 1) % count and (me - 1) % count.",
)
answers.edit(
    {
        ADD: (
            "if me == 0:\n"
            "            send(outgoing, right)\n"
            "            mine += recv(torch.empty_like(mine), left)\n"
            "        else:\n"
            "            arrived = recv(torch.empty_like(mine), left)\n"
            "            send(outgoing, right)\n"
            "            mine += arrived"
        ),
        PUT: (
            "if me == 0:\n"
            "            send(outgoing, right)\n"
            "            recv(mine, left)\n"
            "        else:\n"
            "            arrived = recv(torch.empty_like(mine), left)\n"
            "            send(outgoing, right)\n"
            "            mine.copy_(arrived)"
        ),
    },
    "the sums are right, but in each step the ranks wait for one another, and one message is under "
    "way at a time: that is as slow as the root. All ranks send at once: sendrecv.",
)


@answers.wrong(
    "the sums are right, but while the even ranks send, the odd ones only receive, and the other "
    "way round: twice the time or more. In a step each rank sends and receives at once: sendrecv."
)
def even_ranks_send_first(tensor: Any) -> Any:
    me, count = rank(), world_size()
    edges = [i * len(tensor) // count for i in range(count + 1)]
    chunks = [tensor[a:b] for a, b in itertools.pairwise(edges)]
    for step in range(2 * count - 2):
        outgoing, mine = chunks[(me - step) % count], chunks[(me - step - 1) % count]
        arrived = torch.empty_like(mine)
        if me % 2:
            recv(arrived, (me - 1) % count)
            send(outgoing, (me + 1) % count)
        else:
            send(outgoing, (me + 1) % count)
            recv(arrived, (me - 1) % count)
        mine.copy_(mine + arrived if step < count - 1 else arrived)


answers.edit(
    {
        f"chunks = {CUT}": (
            "size = len(tensor) // count\n"
            "    chunks = [tensor[i * size : (i + 1) * size] for i in range(count)]"
        )
    },
    "chunks of len // N numbers leave out the rest where N does not divide: tensor.tensor_split(N) "
    "deals it out.",
)
answers.edit(
    {CUT: "tensor.split(count)"},
    "tensor.split(N) cuts into pieces of N numbers each, and only the first N of them go round: "
    "tensor.tensor_split(N) cuts into N pieces.",
)
answers.edit(
    {CUT: "tensor.chunk(count)"},
    "torch.chunk can give fewer than N chunks, 3 for 6 numbers on 4 ranks: tensor.tensor_split(N) "
    "always gives N.",
)
answers.edit(
    {CUT: f"{CUT}\n    arrived = torch.empty_like(chunks[0])", BUFFER: "arrived"},
    "what arrives is received into a buffer of another size: chunks differ where N does not "
    "divide, so make it like the chunk that it is added to, torch.empty_like(mine).",
)
answers.edit(
    {BUFFER: "torch.empty(mine.shape)"},
    "the buffer for what arrives is float32, whatever the tensor is: torch.empty_like(mine) has "
    "the chunk's dtype as well as its shape.",
)
answers.edit(
    {CUT: "(tensor := tensor.clone()).tensor_split(count)", PUT: f"{PUT}\n    return tensor"},
    "it returns the sums in a new tensor and leaves the one that it was given as it was: work on "
    "tensor itself, in place.",
)
answers.edit(
    {CUT: "tensor.clone().tensor_split(count)"},
    "the chunks are cut from a copy, such as tensor.clone(), and the sums stay there: cut them "
    "from the tensor itself.",
)


for _kind in ("float32", "float16", "int16"):
    answers.edit(
        {
            ADD: (
                f"narrow = torch.empty_like(mine, dtype=torch.{_kind})\n"
                f"        mine += sendrecv(outgoing.to(torch.{_kind}), right, narrow, left)"
            )
        },
        f"what travels in the first lap is {_kind}, which holds fewer digits than the tensor, or "
        f"smaller numbers: send the chunks in the tensor's own dtype.",
    )


@answers.wrong(
    "no message is sent, and every rank keeps what it had: pass chunks on with sendrecv, N−1 "
    "steps to add and N−1 to hand round."
)
def nothing_sent(tensor: Any) -> Any:
    return None


answers.edit(
    {ADD: f"{ADD}.int()"},
    "what arrives is cut off to whole numbers before it is added: add it as it is, in the "
    "tensor's own dtype.",
)
answers.edit(
    {
        PAIR_1: "chunks[step].clone(), chunks[step]",
        PAIR_2: "chunks[step].clone(), chunks[step]",
    },
    "the chunks are the same ones on every rank, chunks[step]: each rank sends another one, chunk "
    "me − step.",
)
answers.edit(
    {CUT: "tensor.contiguous().tensor_split(count)"},
    "a tensor with gaps, such as a column, is copied by contiguous; the sums stay in the copy. "
    "Cut the tensor itself, or copy the result back.",
)
answers.edit(
    {CUT: "tensor.reshape(-1).tensor_split(count)"},
    "a transposed matrix is copied by reshape and flatten; the sums stay in the copy. Cut the "
    "tensor itself, or copy the result back.",
)


@answers.wrong(
    "the sums are right, but chunk r goes from everybody straight to rank r and from there to "
    "everybody: no ring, in which each rank speaks to its two neighbours alone."
)
def straight_to_its_owner(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    total = chunks[me].clone()
    for shift in range(1, count):
        to, source = (me + shift) % count, (me - shift) % count
        total += sendrecv(chunks[to], to, torch.empty_like(total), source)
    chunks[me].copy_(total)
    for shift in range(1, count):
        to, source = (me + shift) % count, (me - shift) % count
        sendrecv(chunks[me], to, chunks[source], source)


answers.edit(
    {
        ADD: f"isend(outgoing, right)\n        mine += recv({BUFFER}, left)",
        PUT: "isend(outgoing, right)\n        recv(mine, left)",
    },
    "a message that isend began is never waited for: keep what isend returns and call its wait() "
    "before the chunk is used again.",
)


@answers.wrong(
    "it calls an all-reduce that is there already: write it from sendrecv, or from send and recv."
)
def library_call(tensor: Any) -> Any:
    all_reduce(tensor)


@answers.wrong(
    "it goes through torch.distributed, whose all_reduce is what you are to write here: send and "
    "receive with sendrecv, send and recv of gpulearn, which simulated ranks have too."
)
def torch_call(tensor: Any) -> Any:
    dist.all_reduce(tensor)


answers.variant(
    {
        NEIGHBOURS: "left, right = (me + 1) % count, (me - 1) % count",
        PAIR_1: "chunks[(me + step) % count], chunks[(me + step + 1) % count]",
        PAIR_2: "chunks[(me - 1 + step) % count], chunks[(me + step) % count]",
        PUT: f"{PUT}\n    return tensor",
    }
)


@answers.right
def from_begin_and_wait(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    for step in range(2 * (count - 1)):
        leaving = isend(chunks[me - step % count], (me + 1) % count)
        arriving = chunks[(me - step - 1) % count]
        arrived = torch.empty_like(arriving)
        handle = irecv(arrived, (me - 1) % count)
        leaving.wait()
        handle.wait()
        arriving.copy_(arriving + arrived if step < count - 1 else arrived)


answers.variant(
    {
        f"chunks = {CUT}": (
            "flat = tensor.reshape(-1).clone()\n    chunks = flat.tensor_split(count)"
        ),
        PUT: f"{PUT}\n    tensor.copy_(flat.view(tensor.shape))",
    }
)


EXERCISE = Exercise(
    task="Add up the tensors of all ranks, in place on each, by passing chunks round a ring.",
    reference=ring_all_reduce,
    cases=cases,
    answers=answers,
    run=simulated,
    by_hand=False,
    expect=expected,
    difference=difference,
    demand=on_real_ranks((2, 3, 4), real),
    kinships=KINSHIPS,
)
