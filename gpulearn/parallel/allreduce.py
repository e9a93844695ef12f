"""All-reduce from send and receive: via one root, tree, recursive doubling, ring, halving.

Each ends with the same numbers on all ranks, equal to the bit. They are written for the sum, and
take another operation as a second argument: "product", "max" or "min". S is the tensor's size
in bytes, N the number of ranks, α and β those of the link; the times hold for a power of two,
and `gpulearn.parallel.costs` has them for any N. Thakur, Rabenseifner, Gropp, "Optimization of
collective communication operations in MPICH", Int. J. of High Performance Computing
Applications 19(1), 2005.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpulearn import require
from gpulearn.parallel.collectives import broadcast, doublings, in_place, reduce
from gpulearn.parallel.communicator import rank, recv, send, sendrecv, world_size

__all__ = [
    "ALGORITHMS",
    "all_reduce",
    "all_reduce_via_root",
    "halving_doubling_all_reduce",
    "recursive_doubling_all_reduce",
    "ring_all_reduce",
    "tree_all_reduce",
]


@in_place
def all_reduce_via_root(tensor: Tensor) -> None:
    """Rank 0 receives from each rank in turn, combines, and sends the result to each.

    Takes 2(N−1)(α + Sβ): rank 0 has to do with everybody, one after another.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: all_reduce_via_root(torch.tensor(gl.parallel.rank())).item(), 3).results
    [3, 3, 3]
    """
    if rank() == 0:
        arrived = torch.empty_like(tensor)
        for source in range(1, world_size()):
            tensor += recv(arrived, source)
        for to in range(1, world_size()):
            send(tensor, to)
    else:
        send(tensor, to=0)
        recv(tensor, source=0)


@in_place
def tree_all_reduce(tensor: Tensor) -> None:
    """Reduce to rank 0 in pairs, pairs of pairs …, and broadcast the same way back.

    Takes 2⌈log₂N⌉(α + Sβ): half of the ranks are done after the first round.
    """
    reduce(tensor, root=0)
    broadcast(tensor, root=0)


@in_place
def recursive_doubling_all_reduce(tensor: Tensor) -> None:
    """Exchange with the neighbor, then over distances 2, 4, 8 …: recursive doubling.

    Takes log₂N(α + Sβ). Where N is no power of two, the ranks beyond the last one hand their
    numbers to a partner first and get the result at the end: two more messages.
    """
    me, count = rank(), world_size()
    core = 1 << (count.bit_length() - 1)  # the largest power of two that is not above N
    arrived = torch.empty_like(tensor)
    if me >= core:
        send(tensor, me - core)
        recv(tensor, me - core)
        return
    if me + core < count:
        tensor += recv(arrived, me + core)
    for distance in doublings(core):
        tensor += sendrecv(tensor, me ^ distance, arrived, me ^ distance)
    if me + core < count:
        send(tensor, me + core)


@in_place
def ring_all_reduce(tensor: Tensor) -> None:
    """Cut the tensor into N chunks and pass them round a ring, twice.

    Takes 2(N−1)α + 2(N−1)/N · Sβ: all links carry a chunk at the same time. Patarasuk, Yuan,
    "Bandwidth optimal all-reduce algorithms for clusters of workstations", J. of Parallel and
    Distributed Computing 69(2), 2009.

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: ring_all_reduce(torch.arange(2) * rank()).tolist(), 3).results
    [[0, 3], [0, 3], [0, 3]]
    """
    me, count = rank(), world_size()
    right, left = (me + 1) % count, (me - 1) % count
    chunks = list(tensor.tensor_split(count))
    for step in range(count - 1):  # each chunk grows on its way; rank r ends with all of chunk r
        outgoing, mine = chunks[(me - step - 1) % count], chunks[(me - step - 2) % count]
        mine += sendrecv(outgoing, right, torch.empty_like(mine), left)
    for step in range(count - 1):  # each whole chunk visits all ranks
        sendrecv(chunks[(me - step) % count], right, chunks[(me - step - 1) % count], left)


@in_place
def halving_doubling_all_reduce(tensor: Tensor) -> None:
    """Exchange halves, quarters, eighths … and add; then hand the sums back the same way.

    Recursive halving and doubling takes 2·log₂N·α + 2(N−1)/N · Sβ: the bytes of the ring in few
    rounds, with partners that lie far apart. Where N is no power of two, the ranks beyond the
    last one hand all their numbers to a partner first and get the result at the end: two more
    messages of S bytes.
    """
    me, count = rank(), world_size()
    core = 1 << (count.bit_length() - 1)  # the largest power of two that is not above N
    if me >= core:
        send(tensor, me - core)
        recv(tensor, me - core)
        return
    if me + core < count:
        tensor += recv(torch.empty_like(tensor), me + core)
    exchanged = []
    part = tensor
    for distance in reversed(list(doublings(core))):  # the part shrinks, and its sum grows
        low, high = part.tensor_split(2)
        part, other = (high, low) if me & distance else (low, high)
        part += sendrecv(other, me ^ distance, torch.empty_like(part), me ^ distance)
        exchanged.append((distance, part, other))
    for distance, part, other in reversed(exchanged):
        sendrecv(part, me ^ distance, other, me ^ distance)
    if me + core < count:
        send(tensor, me + core)


ALGORITHMS = {
    "root": all_reduce_via_root,
    "tree": tree_all_reduce,
    "doubling": recursive_doubling_all_reduce,
    "ring": ring_all_reduce,
    "halving": halving_doubling_all_reduce,
}


def all_reduce(tensor: Tensor, op: str = "sum", algorithm: str = "ring") -> Tensor:
    """Combine a tensor over all ranks, into the tensor itself, on every rank; returns it.

    It has the same shape and dtype on all ranks. `op` is "sum", "product", "max" or "min", and
    `algorithm` "root", "tree", "doubling", "ring" or "halving".

    >>> import gpulearn as gl
    >>> gl.simulate(lambda: all_reduce(torch.tensor([1, 10]) * rank()).tolist(), 3).results
    [[3, 30], [3, 30], [3, 30]]
    """
    return ALGORITHMS[require.choice("algorithm", algorithm, ALGORITHMS)](tensor, op)
