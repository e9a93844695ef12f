"""The exercises of notebook 18, with answers written by other hands than the catalogue's."""

import pytest
import torch

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
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


def in_new_memory(weights, make):
    inner = state_in_chunks(weights, make)

    def step(g):
        weights.data = weights.clone()
        inner(g)

    return step


def made_for_all_weights(weights, make):
    return state_in_chunks(weights, lambda shard: make([weights]))


def reduce_scatter_by_torch(parameters):
    flat = torch.cat([(p * 0 if p.grad is None else p.grad).detach().flatten() for p in parameters])
    for p in parameters:
        p.grad = None
    flat = torch.nn.functional.pad(flat, (0, -len(flat) % world_size()))
    torch.distributed.all_reduce(flat)
    return flat.view(world_size(), -1)[rank()] / world_size()


def paper_alone(counts, ranks, stage, *, weights=2, gradients=2, state=12):
    n = sum(counts)
    return weights * n, gradients * n, state * n / ranks


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("shard_optimizer_state", no_gather, "Gather all shards"),
        ("shard_optimizer_state", in_new_memory, "as after weights = … or weights.data = …"),
        ("shard_optimizer_state", made_for_all_weights, "make it for the shard"),
        ("reduce_scatter_gradients", reduce_scatter_by_torch, "twice the bytes"),
        ("zero_memory", paper_alone, "the state takes"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    assert said in diagnose(find(name), answer)


def test_a_deadlock_is_named():
    def waits(parameters):
        if rank():
            return reduce_scatter_gradients(parameters)
        return torch.zeros(1)

    assert "deadlock" in diagnose(find("reduce_scatter_gradients"), waits)
