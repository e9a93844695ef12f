"""What is written for a ring all-reduce: plausible wrong answers, and other right ones."""

from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.distributed as dist

from gpulearn.checker.answers import Answers
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.communicator import irecv, isend, rank, recv, send, sendrecv, world_size

__all__ = ["answers"]

answers = Answers()


def around() -> tuple[int, int, int, int]:
    """This rank, how many there are, and the neighbours on the right and on the left."""
    me, count = rank(), world_size()
    return me, count, (me + 1) % count, (me - 1) % count


def pass_on(chunks: Any, leaving: int, arriving: int, add: bool) -> None:
    """One step of the ring: a chunk leaves to the right, another comes from the left."""
    _, count, right, left = around()
    outgoing, mine = chunks[leaving % count], chunks[arriving % count]
    if add:
        mine += sendrecv(outgoing, right, torch.empty_like(mine), left)
    else:
        sendrecv(outgoing, right, mine, left)


def add_up(chunks: Any, steps: int | None = None) -> None:
    """A right first lap: afterwards chunk me + 1 is whole."""
    me, count = rank(), world_size()
    for step in range(count - 1 if steps is None else steps):
        pass_on(chunks, me - step, me - step - 1, add=True)


def hand_round(chunks: Any, steps: int | None = None, first: int = 1) -> None:
    """A right second lap."""
    me, count = rank(), world_size()
    for step in range(count - 1 if steps is None else steps):
        pass_on(chunks, me + first - step, me + first - step - 1, add=False)


@answers.wrong(
    "that is the mean: an all-reduce adds up, and whoever wants the mean divides by N afterwards."
)
def mean(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks)
    tensor /= world_size()


@answers.wrong(
    "that is the mean, rounded down to a whole number: an all-reduce adds up and does not divide."
)
def mean_rounded_down(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks)
    tensor //= world_size()


@answers.wrong(
    "the sums are right, but the whole tensor makes each hop: (N−1) · S bytes from each rank. Cut "
    "it into N chunks and pass one on at a time."
)
def whole_tensor_each_hop(tensor: Any) -> Any:
    _, count, right, left = around()
    outgoing = tensor.clone()
    for _ in range(count - 1):
        arrived = sendrecv(outgoing, right, torch.empty_like(tensor), left)
        tensor += arrived
        outgoing = arrived


@answers.wrong(
    "the sums are right, but the whole tensor goes along the ranks and back to them, and nearly "
    "all wait while it does: cut it into N chunks, so that all send at the same time."
)
def whole_tensor_down_the_line(tensor: Any) -> Any:
    me, count, right, left = around()
    if count == 1:
        return
    if me > 0:
        tensor += recv(torch.empty_like(tensor), left)
    if me < count - 1:
        send(tensor, right)
        recv(tensor, right)
    if me > 0:
        send(tensor, left)


@answers.wrong(
    "the second lap is missing: after N−1 steps each rank holds one chunk that is whole. Pass "
    "those round as well, N−1 steps more, without adding."
)
def all_gather_forgotten(tensor: Any) -> Any:
    add_up(tensor.tensor_split(world_size()))


@answers.wrong(
    "the first lap is missing: chunks go round and replace one another, and nothing is added."
)
def reduce_scatter_forgotten(tensor: Any) -> Any:
    hand_round(tensor.tensor_split(world_size()), first=0)


@answers.wrong(
    "both laps end one step too soon: to meet all ranks a chunk needs N−1 steps, range(count - 1)."
)
def too_few_steps(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks, world_size() - 2)
    hand_round(chunks, world_size() - 2)


@answers.wrong(
    "the first lap ends one step too soon: a chunk needs N−1 steps to collect from all ranks."
)
def first_half_too_short(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks, world_size() - 2)
    hand_round(chunks)


@answers.wrong(
    "the second lap ends one step too soon: a whole chunk needs N−1 steps to reach all ranks."
)
def second_half_too_short(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks, world_size() - 2)


@answers.wrong(
    "the first lap takes one step too many: after N steps a chunk comes back to where it began "
    "and is added once more. N−1 steps are enough."
)
def first_half_too_long(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks, world_size())
    hand_round(chunks)


@answers.wrong(
    "both laps take N steps, and in the first one each chunk comes back to where it began and "
    "is added once more: range(count - 1)."
)
def too_many_steps(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks, world_size())
    hand_round(chunks, world_size())


@answers.wrong(
    "the sums are right, but the second lap takes N steps, and the last one brings each rank "
    "what it has: N−1 are enough."
)
def second_half_too_long(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks, world_size())


@answers.wrong(
    "the second lap begins with the wrong chunk: the one that is whole is the one to which this "
    "rank added last, here chunk me + 1, not chunk me."
)
def second_half_from_me(tensor: Any) -> Any:
    chunks = tensor.tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks, first=0)


@answers.wrong(
    "the second lap begins with the wrong chunk: the first lap began with chunk me − 1, so it is "
    "chunk me that is whole, not chunk me + 1."
)
def second_half_from_the_next(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        pass_on(chunks, me - step - 1, me - step - 2, add=True)
    hand_round(chunks, first=1)


@answers.wrong(
    "what arrives is taken for the chunk that has just left: from the left comes the one before "
    "it, chunk me − step − 1."
)
def same_chunk_out_and_in(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        pass_on(chunks, me - step, me - step, add=True)
    for step in range(count - 1):
        pass_on(chunks, me + 1 - step, me + 1 - step, add=False)


@answers.wrong(
    "the chunks' numbers run the wrong way: what goes to the right comes from the left, so each "
    "step is about the chunk before, me − step, not the one after."
)
def numbers_run_backwards(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        pass_on(chunks, me + step, me + step + 1, add=True)
    for step in range(count - 1):
        pass_on(chunks, me + step + 1, me + step + 2, add=False)


@answers.wrong(
    "the chunks' numbers rise with step: in each step a rank sends on what came in the step "
    "before, which is the chunk before, me − step."
)
def numbers_rise(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        pass_on(chunks, me + step, me + step - 1, add=True)
    for step in range(count - 1):
        pass_on(chunks, me + 1 + step, me + step, add=False)


@answers.wrong(
    "chunks[i] = chunks[i] + … puts a new tensor into the list, and the tensor that was given "
    "never changes: add in place, chunks[i] += …"
)
def adds_into_the_list(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = list(tensor.tensor_split(count))
    for step in range(count - 1):
        i = (me - step - 1) % count
        arrived = sendrecv(chunks[(me - step) % count], right, torch.empty_like(chunks[i]), left)
        chunks[i] = chunks[i] + arrived
    hand_round(chunks)


@answers.wrong(
    "each rank sends the same chunk, me, in every step: what it sends on is the chunk that came "
    "in the step before, me − step."
)
def chunk_without_step(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    for _ in range(count - 1):
        pass_on(chunks, me, me - 1, add=True)
    for _ in range(count - 1):
        pass_on(chunks, me + 1, me, add=False)


@answers.wrong(
    "in the first lap what arrives replaces this rank's own numbers: receive into a buffer, and "
    "add that to the chunk."
)
def overwrites_in_the_first_half(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        pass_on(chunks, me - step, me - step - 1, add=False)
    hand_round(chunks)


@answers.wrong(
    "in the first lap what arrives is never added: it stays in a buffer that nobody reads."
)
def never_added(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        sendrecv(chunks[(me - step) % count], right, torch.empty_like(mine), left)
    hand_round(chunks)


@answers.wrong(
    "in the first lap what arrives is received into the chunk and then added to itself: receive "
    "into a buffer."
)
def added_to_itself(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        mine += sendrecv(chunks[(me - step) % count], right, mine, left)
    hand_round(chunks)


@answers.wrong(
    "in the second lap what arrives stays in another tensor: receive it into the chunk itself."
)
def second_lap_elsewhere(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    add_up(chunks)
    for step in range(count - 1):
        mine = chunks[(me - step) % count]
        sendrecv(chunks[(me + 1 - step) % count], right, torch.empty_like(mine), left)


@answers.wrong(
    "the second lap adds as well: the chunks that go round now are whole, and replace what is "
    "there."
)
def adds_in_the_second_half(tensor: Any) -> Any:
    me, count = rank(), world_size()
    chunks = tensor.tensor_split(count)
    add_up(chunks)
    for step in range(count - 1):
        pass_on(chunks, me + 1 - step, me - step, add=True)


@answers.wrong(
    "a deadlock: all ranks send first, and a send ends only when the other side receives, which "
    "nobody does yet. Use sendrecv, which sends and receives at the same time."
)
def all_send_first(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        send(chunks[(me - step) % count], right)
        mine += recv(torch.empty_like(mine), left)
    for step in range(count - 1):
        send(chunks[(me + 1 - step) % count], right)
        recv(chunks[(me - step) % count], left)


@answers.wrong(
    "a deadlock: all ranks receive first, and nobody has sent yet. Use sendrecv, which sends and "
    "receives at the same time."
)
def all_receive_first(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        mine += recv(torch.empty_like(mine), left)
        send(chunks[(me - step) % count], right)


@answers.wrong(
    "a deadlock: each rank sends to the right and waits for something from the right as well. What "
    "all send to the right comes from the left."
)
def both_to_the_right(tensor: Any) -> Any:
    me, count, right, _ = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        mine += sendrecv(chunks[(me - step) % count], right, torch.empty_like(mine), right)
    for step in range(count - 1):
        sendrecv(chunks[(me + 1 - step) % count], right, chunks[(me - step) % count], right)


@answers.wrong(
    "the ring is not closed: the last rank's right neighbour is rank 0, and rank 0's left one is "
    "the last. Take (me + 1) % count and (me - 1) % count."
)
def open_ring(tensor: Any) -> Any:
    me, count = rank(), world_size()
    right, left = me + 1, me - 1
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        mine += sendrecv(chunks[(me - step) % count], right, torch.empty_like(mine), left)
    for step in range(count - 1):
        sendrecv(chunks[(me + 1 - step) % count], right, chunks[(me - step) % count], left)


@answers.wrong(
    "chunks of len // N numbers leave out the rest where N does not divide: tensor.tensor_split(N) "
    "deals it out."
)
def rest_dropped(tensor: Any) -> Any:
    count = world_size()
    size = len(tensor) // count
    chunks = [tensor[i * size : (i + 1) * size] for i in range(count)]
    add_up(chunks)
    hand_round(chunks)


@answers.wrong(
    "tensor.split(N) cuts into pieces of N numbers each, and only the first N of them go round: "
    "tensor.tensor_split(N) cuts into N pieces."
)
def split_by_length(tensor: Any) -> Any:
    chunks = tensor.split(world_size())
    add_up(chunks)
    hand_round(chunks)


@answers.wrong(
    "torch.chunk can give fewer than N chunks, 3 for 6 numbers on 4 ranks: tensor.tensor_split(N) "
    "always gives N."
)
def torch_chunk(tensor: Any) -> Any:
    chunks = tensor.chunk(world_size())
    add_up(chunks)
    hand_round(chunks)


@answers.wrong(
    "what arrives is received into a buffer of another size: chunks differ where N does not "
    "divide, so make it like the chunk that it is added to, torch.empty_like(mine)."
)
def one_buffer(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    arrived = torch.empty_like(chunks[0])
    for step in range(count - 1):
        chunk = chunks[(me - step - 1) % count]
        chunk += sendrecv(chunks[(me - step) % count], right, arrived, left)
    hand_round(chunks)


@answers.wrong(
    "the buffer for what arrives is float32, whatever the tensor is: torch.empty_like(mine) has "
    "the chunk's dtype as well as its shape."
)
def float_buffer(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        arrived = torch.empty(mine.shape)
        mine += sendrecv(chunks[(me - step) % count], right, arrived, left)
    hand_round(chunks)


@answers.wrong(
    "it returns the sums in a new tensor and leaves the one that it was given as it was: work on "
    "tensor itself, in place."
)
def new_tensor(tensor: Any) -> Any:
    total = tensor.clone()
    chunks = total.tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks)
    return total


@answers.wrong(
    "the chunks are cut from a copy, such as tensor.clone(), and the sums stay there: cut them "
    "from the tensor itself."
)
def chunks_of_a_copy(tensor: Any) -> Any:
    chunks = tensor.clone().tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks)


@answers.wrong(
    "no message is sent, and every rank keeps what it had: pass chunks on with sendrecv, N−1 "
    "steps to add and N−1 to hand round."
)
def nothing_sent(tensor: Any) -> Any:
    return None


@answers.wrong(
    "what arrives is cut off to whole numbers before it is added: add it as it is, in the "
    "tensor's own dtype."
)
def whole_numbers_added(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        mine += sendrecv(chunks[(me - step) % count], right, torch.empty_like(mine), left).int()
    hand_round(chunks)


@answers.wrong(
    "the chunks are the same ones on every rank, chunks[step]: each rank sends another one, chunk "
    "me − step."
)
def same_chunks_on_all(tensor: Any) -> Any:
    _, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[step]
        mine += sendrecv(mine.clone(), right, torch.empty_like(mine), left)
    for step in range(count - 1):
        sendrecv(chunks[step].clone(), right, chunks[step], left)


@answers.wrong(
    "a tensor with gaps, such as a column, is copied by contiguous; the sums stay in the copy. "
    "Cut the tensor itself, or copy the result back."
)
def contiguous_copy(tensor: Any) -> Any:
    chunks = tensor.contiguous().tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks)


@answers.wrong(
    "a transposed matrix is copied by reshape and flatten; the sums stay in the copy. Cut the "
    "tensor itself, or copy the result back."
)
def flat_copy(tensor: Any) -> Any:
    chunks = tensor.reshape(-1).tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks)


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


@answers.wrong(
    "a message that isend began is never waited for: keep what isend returns and call its wait() "
    "before the chunk is used again."
)
def never_waits(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me - step - 1) % count]
        isend(chunks[(me - step) % count], right)
        mine += recv(torch.empty_like(mine), left)
    for step in range(count - 1):
        isend(chunks[(me + 1 - step) % count], right)
        recv(chunks[(me - step) % count], left)


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


@answers.right
def other_direction(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(count - 1):
        mine = chunks[(me + step + 1) % count]
        mine += sendrecv(chunks[(me + step) % count], left, torch.empty_like(mine), right)
    for step in range(count - 1):
        sendrecv(chunks[(me - 1 + step) % count], left, chunks[(me + step) % count], right)
    return tensor


@answers.right
def from_begin_and_wait(tensor: Any) -> Any:
    me, count, right, left = around()
    chunks = tensor.tensor_split(count)
    for step in range(2 * (count - 1)):
        leaving = isend(chunks[me - step % count], right)
        arriving = chunks[(me - step - 1) % count]
        arrived = torch.empty_like(arriving)
        handle = irecv(arrived, left)
        leaving.wait()
        handle.wait()
        arriving.copy_(arriving + arrived if step < count - 1 else arrived)


@answers.right
def even_ranks_send_first(tensor: Any) -> Any:
    me, count, right, left = around()
    edges = [i * len(tensor) // count for i in range(count + 1)]
    chunks = [tensor[a:b] for a, b in itertools.pairwise(edges)]
    for step in range(2 * count - 2):
        outgoing, mine = chunks[(me - step) % count], chunks[(me - step - 1) % count]
        arrived = torch.empty_like(mine)
        if me % 2:
            recv(arrived, left)
            send(outgoing, right)
        else:
            send(outgoing, right)
            recv(arrived, left)
        mine.copy_(mine + arrived if step < count - 1 else arrived)


@answers.right
def flat_and_copied_back(tensor: Any) -> Any:
    flat = tensor.reshape(-1).clone()
    chunks = flat.tensor_split(world_size())
    add_up(chunks)
    hand_round(chunks)
    tensor.copy_(flat.view(tensor.shape))
