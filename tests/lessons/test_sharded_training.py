"""The exercises of notebook 20, with answers written by other hands than the catalogue's."""

import pytest
import torch

from gpulearn import check
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import all_gather, reduce_scatter
from gpulearn.parallel.communicator import rank, world_size
from gpulearn_lessons.sharded_training import reduce_scatter_gradients


def state_in_chunks(weights, make):
    n, size = len(weights), -(-len(weights) // world_size())
    whole = torch.zeros(size * world_size(), dtype=weights.dtype)
    whole[:n] = weights
    mine = whole.split(size)[rank()].clone()
    adam = make([mine])

    def step(g):
        whole.zero_()
        whole[:n] = g
        mine.grad = reduce_scatter(whole) / world_size()
        adam.step()
        weights[:] = all_gather(mine).reshape(-1)[:n]

    return step


def no_gather(weights, make):
    inner = state_in_chunks(weights, make)

    def step(g):
        before = weights.clone()
        inner(g)
        size = -(-len(weights) // world_size())
        keep = torch.arange(len(weights)) // size != rank()
        weights[keep] = before[keep]

    return step


def by_all_reduce(parameters):
    row = torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in parameters]
    )
    for p in parameters:
        p.grad = None
    size = -(-len(row) // world_size())
    row = torch.cat([row, row.new_zeros(size * world_size() - len(row))])
    return all_reduce(row)[rank() * size : (rank() + 1) * size] / world_size()


def all_at_once(layers, shards, x, gradient_of):
    whole = [all_gather(s).flatten()[: one.count] for one, s in zip(layers, shards, strict=True)]
    seen = [x]
    for one, weights in zip(layers, whole, strict=True):
        seen.append(one.forward(weights, seen[-1]))
    after, found = gradient_of(seen[-1]), []
    for i in reversed(range(len(layers))):
        after, g = layers[i].backward(whole[i], seen[i], after)
        padded = torch.cat([g, g.new_zeros(-len(g) % world_size())])
        found.insert(0, reduce_scatter(padded) / world_size())
    return found


def whole_checkpoint(read, count, wrote, rank, ranks):
    row = torch.cat([read(i) for i in range(wrote)])[:count]
    size = -(-count // ranks)
    part = row[rank * size : (rank + 1) * size]
    return torch.cat([part, part.new_zeros(size - len(part))])


def paper_alone(counts, ranks, stage, *, weights=2, gradients=2, state=12):
    n = sum(counts)
    return weights * n, gradients * n, state * n / ranks


def test_a_right_answer_passes():
    assert check("shard_optimizer_state", state_in_chunks)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("shard_optimizer_state", no_gather, "Gather all shards"),
        ("reduce_scatter_gradients", by_all_reduce, "twice the bytes of a reduce-scatter"),
        ("gather_and_free", all_at_once, "gathered before the first is used"),
        ("reshard_checkpoint", whole_checkpoint, "every rank reads every file"),
        ("zero_memory", paper_alone, "the state takes"),
    ],
)
def test_a_wrong_answer_is_told_why(name, answer, said):
    assert said in diagnose(find(name), answer)


def test_a_deadlock_is_named():
    def waits(parameters):
        if rank():
            return reduce_scatter_gradients(parameters)
        return torch.zeros(1)

    assert "deadlock" in diagnose(find("reduce_scatter_gradients"), waits)
