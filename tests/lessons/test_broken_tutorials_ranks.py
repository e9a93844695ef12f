"""The cases of many ranks in notebook 22, with answers written by other hands than theirs."""

import random

import pytest
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.collectives import all_gather
from gpulearn.parallel.communicator import rank, recv, send, world_size


def by_a_loader(weights, losses_of, count, batch, epochs, lr):
    sampler = DistributedSampler(range(count), world_size(), rank(), seed=1)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for numbers in DataLoader(range(count), batch_size=batch, sampler=sampler):
            weights.grad = None
            losses_of(weights, numbers).mean().backward()
            with torch.no_grad():
                weights -= lr * all_reduce(weights.grad.clone()) / world_size()
    return weights


def shuffled_by_python(weights, losses_of, count, batch, epochs, lr):
    draws = random.Random(rank())  # other numbers on each rank, the same in every run of the tests
    for _ in range(epochs):
        order = draws.sample(range(count), count)
        for first in range(rank() * batch, count, world_size() * batch):
            (g,) = torch.autograd.grad(
                losses_of(weights, order[first : first + batch]).mean(), weights
            )
            weights.data -= lr * all_reduce(g) / world_size()
    return weights


def forgets_to_return(weights, losses_of, count, batch, epochs, lr):
    by_a_loader(weights, losses_of, count, batch, epochs, lr)


def by_torchs_wrapper(model, batches, gpus, local_rank, lr=0.1):
    dist.init_process_group("gloo")
    return DistributedDataParallel(model.to(gpus[local_rank]))


def first_of_all_gpus(model, batches, gpus, local_rank, lr=0.1):
    dist.init_process_group("gloo")
    model.to(gpus[-1])
    return model


def one_after_another(weights, gradient, steps, lr):
    for step in range(steps):
        parts = []
        for worker in range(1, world_size()):
            if rank() == worker:
                send(gradient(weights, worker - 1, step), 0)
            all_gather(weights)  # everybody waits for this worker
            if rank() == 0:
                parts.append(recv(torch.empty_like(weights), worker))
        if rank() == 0:
            weights -= lr * sum(parts) / len(parts)
        for worker in range(1, world_size()):
            if rank() == 0:
                send(weights, worker)
            elif rank() == worker:
                recv(weights, 0)
    return weights


def everywhere_the_same(strategy, weights, batches, lr, momentum):
    optimizer = strategy.optimizer(weights, lr, momentum)

    def step(x, y):
        e = x @ weights - y
        optimizer.apply(2 * x.T @ e / len(e) / strategy.replicas)
        return (e**2).mean()

    return [float(strategy.reduce("mean", strategy.run(step, x, y))) for x, y in batches]


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("case_input_pipeline", shuffled_by_python, "an order of its own"),
        ("case_input_pipeline", forgets_to_return, "rank 0 returns None, expected the weights"),
        ("case_whole_program", by_torchs_wrapper, "DistributedDataParallel needs real ranks"),
        ("case_whole_program", first_of_all_gpus, "rank 0 takes GPU 1 of its machine's 2"),
        ("case_parameter_server", one_after_another, "deadlock"),
        ("case_mirrored_strategy", everywhere_the_same, "are given 8 rows of a batch of 4"),
        ("case_reports", lambda report: "no exchange", "expected a list of mistakes"),
        ("case_reports", lambda report: ["bad luck"], "none of the eight mistakes"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    assert said in diagnose(find(name), answer)


def test_a_check_gives_torchs_own_functions_back():
    before = dist.init_process_group, dist.all_reduce, DistributedDataParallel.__init__
    assert diagnose(find("case_whole_program"), by_torchs_wrapper)
    assert before == (dist.init_process_group, dist.all_reduce, DistributedDataParallel.__init__)
    assert not dist.is_initialized()
