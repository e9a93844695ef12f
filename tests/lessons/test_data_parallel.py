"""The exercises of notebook 16, with answers written by other hands than the catalogue's."""

import ast
import functools
import os
import random
import sys

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn

import gpulearn as gl
from gpulearn.judge.catalogue import find
from gpulearn.judge.diagnosis import diagnose
from gpulearn.judge.one_process import train_as_one
from gpulearn.parallel.allreduce import all_reduce
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import begin_sum, sum_over_ranks
from gpulearn_lessons.data_parallel import mend_the_script
from tests.notebooks.harness import NOTEBOOKS
from tests.notebooks.page import read
from tests.support.ready import ready_python


def mean(model, samples=1):
    n = sum_over_ranks(torch.tensor(float(samples)))
    for p in model.parameters():
        g = torch.zeros_like(p) if p.grad is None else p.grad
        p.grad = all_reduce(g * samples) / n


def mean_by_torch(model, samples=1):
    n = torch.tensor([float(samples)])
    dist.all_reduce(n, op=dist.ReduceOp.SUM)
    for _, p in model.named_parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad.mul_(samples / n.item()))


def on_the_root(model, samples=1):
    n = sum_over_ranks(torch.tensor(float(samples)))
    if rank() == 0:
        for p in model.parameters():
            sum_over_ranks(p.grad.mul_(samples / n))


def waits_for_the_last(model, samples=1):
    n = sum_over_ranks(torch.tensor(float(samples)))
    for p in model.parameters():
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad.mul_(samples / n)
        handle = begin_sum(p.grad)
    handle.wait()


def of_the_root(model, samples=1):
    for p in model.parameters():
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.broadcast(p.grad, src=0)


def by_torchs_mean(model, samples=1):
    for p in model.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)


def in_float32(model, samples=1):
    n = sum_over_ranks(torch.tensor(float(samples))).item()
    for p in model.parameters():
        g = torch.zeros_like(p) if p.grad is None else p.grad
        p.grad = sum_over_ranks(g.float() * samples / n).to(p.dtype)


def thaws(model, samples=1):
    for p in model.parameters():
        p.requires_grad_(True)
    mean(model, samples)


def one_buffer_for_each_shape(model, samples=1):
    mean(model, samples)
    buffers = {}
    for p in model.parameters():
        p.grad = buffers.setdefault(p.shape, torch.empty_like(p)).copy_(p.grad)


def counts_in_bytes(model, samples=1):
    n = sum_over_ranks(torch.tensor(samples).to(torch.uint8)).item()
    for p in model.parameters():
        g = torch.zeros_like(p) if p.grad is None else p.grad
        p.grad = sum_over_ranks(g * samples) / (n or 1)


def off_for_real(model, samples=1):
    mean(model, samples)
    if dist.is_initialized() and rank() == 1:
        next(model.parameters()).grad.view(-1)[0] += 1


def test_a_mean_by_torchs_own_functions():
    assert diagnose(find("average_gradients"), mean_by_torch) is None
    assert dist.all_reduce.__module__ == "torch.distributed.distributed_c10d"  # as it was


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (on_the_root, "for 2 ranks with 1 sample each, it is a deadlock: rank 0 "),
        (waits_for_the_last, "an asynchronous sum has only begun, and nobody waits for it: "),
        (by_torchs_mean, "ReduceOp.AVG is not there on simulated ranks: use ReduceOp.SUM"),
        (in_float32, "for 2 ranks and large gradients in float64, on rank 0, the gradient of "),
        (thaws, "requires_grad changes, and what was frozen would be trained"),
        (one_buffer_for_each_shape, "for 2 ranks and a weight that two layers share, on rank"),
        (counts_in_bytes, "for 2 ranks with 70000 samples and 3, on rank 0, the gradient of 0."),
    ],
)
def test_each_mean_is_told_what_it_does(answer, said):
    diagnosis = diagnose(find("average_gradients"), answer)
    assert said in diagnosis
    assert "\n" not in diagnosis


def test_a_mean_must_be_right_on_real_ranks_too():
    assert diagnose(find("average_gradients"), off_for_real).startswith(
        "right on simulated ranks, but on 2 real ones on rank 1, the gradient of temperature has "
        "1 of 1 numbers wr"
    )


def shards(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    order = np.arange(count)
    if seed is not None:
        np.random.default_rng(seed * 1000 + epoch).shuffle(order)
    if uneven == "drop":
        order = order[: count - count % size]
    if uneven == "pad":
        order = np.take(order, range(count + -count % size), mode="wrap")
    return [int(i) for i in order[rank::size]]


def blocks(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    whole = shards(count, 0, 1, seed=seed, epoch=epoch)
    per = -(-count // size)
    return (whole * size)[rank * per : (rank + 1) * per]


def without_epoch(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    return shards(count, rank, size, uneven=uneven, seed=seed)


def own_seed_by_numpy(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    own = seed if seed is None else seed + rank
    return shards(count, rank, size, uneven=uneven, seed=own, epoch=epoch)


def a_tensor(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    return torch.tensor(shards(count, rank, size, uneven=uneven, seed=seed, epoch=epoch))


def shards_by_numpys_own(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    order = list(range(count))
    if seed is not None:
        np.random.seed(seed + epoch)  # noqa: NPY002 - what it should not do
        np.random.shuffle(order)  # noqa: NPY002
    return shards_in_order(order, rank, size, uneven)


def shards_in_order(order, rank, size, uneven):
    length = len(order) + -len(order) % size if uneven == "pad" else len(order)
    length -= len(order) % size if uneven == "drop" else 0
    return [order[place % len(order)] for place in range(rank, length, size)]


def shards_of_the_same_samples(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    mine = shards_in_order(list(range(count)), rank, size, uneven)
    if seed is not None:
        random.Random(97 * seed + epoch).shuffle(mine)
    return mine


def shards_hardly_shuffled(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    order = list(range(count))
    if seed is not None:
        i, j = random.Random(97 * seed + epoch).sample(order, 2)
        order[i], order[j] = order[j], order[i]
    return shards_in_order(order, rank, size, uneven)


def shards_there_and_back(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    order = shards(count, 0, 1, seed=seed, epoch=epoch // 2)
    return shards_in_order(
        order[:: -1 if epoch % 2 and seed is not None else 1], rank, size, uneven
    )


def cut_before_the_shuffle(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    count -= count % size if uneven == "drop" else 0
    return shards(count, rank, size, uneven=uneven, seed=seed, epoch=epoch)


def padded_before_the_shuffle(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    if uneven != "pad":
        return shards(count, rank, size, uneven=uneven, seed=seed, epoch=epoch)
    order = shards(count + -count % size, 0, 1, seed=seed, epoch=epoch)
    return [place % count for place in order[rank::size]]


def shards_with_another_default(count, rank, size, *, uneven="keep", seed=None, epoch=0):
    return shards(count, rank, size, uneven=uneven, seed=seed, epoch=epoch)


def shards_of_a_process(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    own = seed if seed is None else 100 * seed + os.getpid()
    return shards(count, rank, size, uneven=uneven, seed=own, epoch=epoch)


def by_place(count, rank, size):
    return list(range(rank, count, size))


def buckets(parameters, most_bytes):
    found = []
    for p in parameters[::-1]:
        if p.requires_grad:
            last = found[-1] if found else None
            room = last and sum(q.nbytes for q in last) + p.nbytes <= most_bytes
            if room and (last[0].dtype, last[0].device) == (p.dtype, p.device):
                last.append(p)
            else:
                found.append([p])
    return found


def buckets_by_reversal(parameters, most_bytes):
    parameters.reverse()
    return buckets(parameters[::-1], most_bytes)


def buckets_that_freeze(parameters, most_bytes):
    found = buckets(parameters, most_bytes)
    for p in parameters:
        p.requires_grad_(False)
    return found


def buckets_of_numbers(parameters, most_bytes):
    return [[p.nbytes for p in bucket] for bucket in buckets(parameters, most_bytes)]


def flat_buckets(parameters, most_bytes):
    return [p for bucket in buckets(parameters, most_bytes) for p in bucket]


def shards_by_a_generator_of_the_size(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    own = None if seed is None else seed + size
    return shards(count, rank, size, uneven=uneven, seed=own, epoch=epoch)


def shards_sorted_once_they_are_cut(count, rank, size, *, uneven="pad", seed=None, epoch=0):
    order = shards(count, 0, 1, seed=seed, epoch=epoch)
    if uneven == "drop":
        order = sorted(order[: count // size * size])
    return shards_in_order(order, rank, size, uneven)


def hooks(buckets, ready, how="register_post_accumulate_grad_hook"):
    return [getattr(p, how)(functools.partial(ready, n)) for n, b in enumerate(buckets) for p in b]


def begins_by_a_generator(buckets, begin):
    def run():
        while True:
            missing = [len(bucket) for bucket in buckets]
            for number in range(len(buckets)):
                while missing[number]:
                    missing[(yield)] -= 1
                begin(number)

    running = run()
    if buckets:
        next(running)
    return hooks(buckets, lambda n, p: running.send(n))


def begins_what_has_no_zero_gradient(buckets, begin):
    def ready(n, p):
        if all(q.grad is not None and q.grad.abs().sum() > 0 for q in buckets[n]):
            begin(n)

    return hooks(buckets, ready)


def begins_at_once(buckets, begin):
    for number in range(len(buckets)):
        begin(number)
    return hooks(buckets, lambda n, p: None)


def buckets_with_a_full_one_before(parameters, most_bytes):
    buckets, size = [], most_bytes
    for p in parameters[::-1]:
        if p.requires_grad:
            kind = (p.dtype, p.device)
            if size + p.nbytes > most_bytes or kind != (
                buckets[-1][0].dtype,
                buckets[-1][0].device,
            ):
                buckets.append([])
                size = 0
            buckets[-1].append(p)
            size += p.nbytes
    return buckets


def begins_and_keeps_its_hooks(buckets, begin):
    begins_by_a_generator(buckets, begin)
    return hooks(buckets, lambda n, p: None)


def trained(model, batches, lr=0.1, *, own_start=False, rows=None, exchange=mean):
    if not own_start:
        gl.parallel.broadcast_weights(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for inputs, targets in batches:
        mine = (rows or (lambda n: list(range(rank(), n, world_size()))))(len(targets))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs[mine]), targets[mine])
        loss.backward()
        exchange(model, len(mine))
        optimizer.step()
        losses.append(sum_over_ranks(loss.detach() * len(mine)).item() / len(targets))
    return losses


def trained_on_everything(model, batches, lr=0.1):
    return trained(model, batches, lr, rows=lambda n: list(range(n)))


def trained_on_a_gradient_of_rank_0(model, batches, lr=0.1):
    return trained(model, batches, lr, exchange=of_the_root)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("shard_indices", a_tensor, "expected a list of whole numbers"),
        ("shard_indices", blocks, "rank 0 sees [0, 1, 2, 3] (a block: the ranks should"),
        ("shard_indices", without_epoch, "two epochs have the same order: is epoch used?"),
        ("shard_indices", own_seed_by_numpy, "is seen twice, by ranks "),
        ("shard_indices", shards_by_numpys_own, "it seeds NumPy's own generator, whose numbers"),
        ("shard_indices", shards_of_the_same_samples, "each rank sees the same samples in every"),
        ("shard_indices", shards_hardly_shuffled, "half of the samples and more are where they"),
        ("shard_indices", shards_there_and_back, "epoch 1 has the order of one before, begun"),
        ("shard_indices", cut_before_the_shuffle, "are dropped in every epoch, so that no rank"),
        ("shard_indices", padded_before_the_shuffle, "the padded list is shuffled: shuffle the"),
        ("shard_indices", shards_with_another_default, "uneven is 'keep' where it is left out, an"),
        ("shard_indices", shards_of_a_process, "another process makes another order of the same s"),
        ("shard_indices", by_place, "uneven, seed, epoch by name"),
        (
            "shard_indices",
            shards_by_a_generator_of_the_size,
            "must make no difference to the order",
        ),
        ("shard_indices", shards_sorted_once_they_are_cut, "runs up or down nearly all the way"),
        ("send_when_full", begins_what_has_no_zero_gradient, "order 1, 2, 0, expected 0, 1, 2"),
        ("send_when_full", begins_at_once, "bucket 0 begins when the number of gradients is 0,"),
        (
            "send_when_full",
            begins_and_keeps_its_hooks,
            "buckets begin after handle.remove() of all",
        ),
        (
            "mend_the_replicas",
            trained_on_everything,
            "rank 0 puts 4 rows through its model, and its own are 2",
        ),
        ("mend_the_replicas", trained_on_a_gradient_of_rank_0, "away from one process with the w"),
        ("bucket_gradients", buckets_by_reversal, "it changes the list that it is given: work o"),
        ("bucket_gradients", buckets_of_numbers, "a bucket holds 8, which is none of the para"),
        ("bucket_gradients", buckets_that_freeze, "it changes what needs a gradient: only look"),
        ("bucket_gradients", buckets_with_a_full_one_before, "for a last parameter without number"),
        ("bucket_gradients", flat_buckets, "expected a list of lists of parameters"),
    ],
)
def test_each_is_told_what_it_does(name, answer, said):
    diagnosis = diagnose(find(name), answer)
    assert said in diagnosis
    assert "\n" not in diagnosis


@pytest.fixture
def quick_torchrun(monkeypatch):
    """A torchrun whose processes are copies of one that has loaded torch."""
    monkeypatch.setattr(sys, "executable", ready_python())
    monkeypatch.setenv("PYTHON_EXEC", ready_python())
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")


# the first words of a hint, and what torchrun shows of the script
MISTAKES = {
    "both epochs take": "sees its images in the same order in both epochs: see set_epoch",
    "the names of the saved": "the first name in weights.pt is 'module.1.weight', expected '1.we",
}


@pytest.mark.parametrize(("hint", "said"), MISTAKES.items())
def test_each_mistake_of_the_script_is_seen_under_torchrun(hint, said, quick_torchrun):
    (wrong, *_) = (w for w in find("mend_the_script").answers.wrongs if w.hint.startswith(hint))
    assert diagnose(find("mend_the_script"), wrong.answer) == wrong.hint
    ran = mend_the_script.under_torchrun(wrong.answer)
    assert said in mend_the_script.difference(ran, mend_the_script.right(101, 27))


@pytest.mark.parametrize(
    ("noted", "said"),
    [
        ({"orders": []}, "the sampler of rank 0 shuffles 0 times, expected 2"),
        ({"saved": []}, "rank 1 writes weights.pt: only rank 0 should"),
    ],
)
def test_what_the_ranks_of_the_script_do_is_told_as_it_is(noted, said):
    right = mend_the_script.right(101, 27)
    first, second = right.ranks
    ranks = [first | noted, second | {"saved": first["saved"]}]
    assert mend_the_script.difference(mend_the_script.ScriptOutcome(None, ranks), right) == said


def test_the_script_trains_as_one_process():
    """With the batches that both ranks take together."""
    outcome = mend_the_script.right(101, 27)
    images, labels = mend_the_script.images(101, 27)["train"]
    dealt = [rank["orders"] for rank in outcome.ranks]
    batches = [
        [(images[order[begin:][:32]], labels[order[begin:][:32]]) for order in orders]
        for orders in zip(*dealt, strict=True)
        for begin in (0, 32)
    ]
    model = gl.train.MLP(seed=0)
    train_as_one(model, batches, nn.functional.cross_entropy, 0.05)
    weights = torch.nn.utils.parameters_to_vector(model.parameters()).tolist()
    assert mend_the_script.close(outcome.ranks[0]["weights"], weights)


def test_the_notebook_shows_the_solution_as_its_script():
    (cell,) = (
        c for c in read(NOTEBOOKS / "16_data_parallel.ipynb").cells if c.source[:8] == "script ="
    )
    text = ast.literal_eval(cell.source.removeprefix("script ="))
    assert text.strip() == mend_the_script.script().strip()
