"""Data parallelism on real ranks: equal to one process, to the library, and to itself again."""

import contextlib
import functools

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import gpulearn as gl
from gpulearn.parallel.communicator import rank, world_size

OURS = functools.partial(gl.parallel.OverlappingDataParallel, most_bytes=40_000)
STEPS, BATCH = 5, 24


class Forks(nn.Module):
    """Uses another layer on rank 0 than on the others, and one on none."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.left, self.right, self.idle = (nn.Linear(4, 4) for _ in range(4))

    def forward(self, x, left):
        return (self.left if left else self.right)(self.first(x))


def batch(step, dtype=torch.float32):
    generator = torch.Generator().manual_seed(step)
    images = torch.rand(BATCH, 1, 8, 8, generator=generator, dtype=dtype)
    return images, torch.randint(0, 10, (BATCH,), generator=generator)


def new_model(kind, dtype, seed=0):
    lenet = kind == "LeNet"
    model = gl.train.LeNet(width=8, dropout=0, seed=seed) if lenet else gl.train.MLP(seed=seed)
    return model.to(dtype)


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def flat(tensors):
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def trained(ours=True, kind="LeNet", dtype=torch.float32, accumulate=1):
    """This rank's weights after some steps on its shards."""
    # each rank starts elsewhere: the wrapper has to make them alike
    model = new_model(kind, dtype, seed=rank())
    replica = OURS(model) if ours else DistributedDataParallel(model)
    optimizer = sgd(model)
    for step in range(STEPS):
        images, labels = (t.tensor_split(world_size())[rank()] for t in batch(step, dtype))
        optimizer.zero_grad()
        parts = list(zip(images.chunk(accumulate), labels.chunk(accumulate), strict=True))
        for number, (some, wanted) in enumerate(parts):
            with replica.no_sync() if number < len(parts) - 1 else contextlib.nullcontext():
                (functional.cross_entropy(replica(some), wanted) / len(parts)).backward()
        if ours:
            replica.average()
        optimizer.step()
    return flat(model.parameters())


def unused():
    """Gradients where ranks use different layers."""
    model = Forks()
    replica = OURS(model)
    for _ in range(2):  # the second time from views into the buckets
        model.zero_grad()
        replica(torch.ones(2, 4) * (rank() + 1), left=rank() == 0).sum().backward()
        replica.average()
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def buffers():
    """Batch statistics after a forward pass, before which they are made alike."""
    model = nn.BatchNorm1d(2)
    model.running_mean += 5 * rank()
    replica = OURS(model)
    first = model.running_mean.tolist()
    replica(torch.full((3, 2), float(rank())))
    replica(torch.full((3, 2), float(rank())))
    return first, model.running_mean[0].item()


def everything():
    torch.set_num_threads(1)
    return {
        "ours": trained(),
        "library": trained(ours=False),
        "again": trained(),
        "accumulated": trained(accumulate=3),
        "accumulated, library": trained(ours=False, accumulate=3),
        "double": trained(kind="MLP", dtype=torch.float64),
        "unused": unused(),
        "buffers": buffers(),
    }


@pytest.fixture(scope="module", params=[2, 3])
def ranks(request):
    return gl.launch(everything, request.param, timeout=60)


def one_process(kind="LeNet", dtype=torch.float32, shards=1):
    """The same training in one process; with shards, their gradients are divided, then added."""
    model = new_model(kind, dtype)
    optimizer = sgd(model)
    for step in range(STEPS):
        images, labels = batch(step, dtype)
        gradients = []
        for some, wanted in zip(images.chunk(shards), labels.chunk(shards), strict=True):
            optimizer.zero_grad()
            functional.cross_entropy(model(some), wanted).backward()
            gradients.append([parameter.grad / shards for parameter in model.parameters()])
        for parameter, *parts in zip(model.parameters(), *gradients, strict=True):
            parameter.grad = functools.reduce(torch.add, parts)
        optimizer.step()
    return flat(model.parameters())


def test_ranks_and_runs_are_equal_to_the_bit(ranks):
    for name in ("ours", "accumulated", "double"):
        assert all(torch.equal(ranks[0][name], other[name]) for other in ranks[1:]), name
    assert torch.equal(ranks[0]["ours"], ranks[0]["again"])


@pytest.mark.usefixtures("one_thread")
def test_two_ranks_are_one_process_with_their_shards_to_the_bit(ranks):
    same(ranks[0]["ours"], one_process(shards=len(ranks)), ranks)


def same(result, expected, ranks, atol=1e-6):
    """Equal to the bit on two ranks; more are added in another order."""
    torch.testing.assert_close(result, expected, rtol=0, atol=0 if len(ranks) == 2 else atol)


def test_double_precision_leaves_rounding_alone(ranks):
    alone = one_process("MLP", torch.float64)
    assert (ranks[0]["double"] - alone).abs().max() <= 1e-14


@pytest.mark.parametrize("name", ["ours", "accumulated"])
def test_ours_is_the_library(ranks, name):
    theirs = ranks[0]["accumulated, library" if name == "accumulated" else "library"]
    same(ranks[0][name], theirs, ranks)


def test_a_layer_that_not_all_ranks_use_counts_as_zero_there(ranks):
    wanted = []
    for number in range(len(ranks)):
        model = Forks()
        model(torch.ones(2, 4) * (number + 1), left=number == 0).sum().backward()
        wanted.append([p.grad for p in model.parameters()])
    for results in ranks:
        for gradient, *parts in zip(results["unused"], *wanted, strict=True):
            parts = [part for part in parts if part is not None]
            torch.testing.assert_close(gradient, sum(parts) / len(ranks) if parts else None)


def test_buffers_start_as_those_of_rank_0_and_are_made_alike(ranks):
    for number, results in enumerate(ranks):
        first, last = results["buffers"]
        assert first == [0, 0]
        # rank 0 sees zeros: what it hands on stays 0, then 0.1 of the rank's own batch is added
        assert last == pytest.approx(0.1 * number)


@pytest.mark.usefixtures("one_thread")
def test_simulated_ranks_are_real_ones(ranks):
    simulated = gl.simulate(lambda: (trained(), unused()), len(ranks)).results
    for (weights, gradients), real in zip(simulated, ranks, strict=True):
        same(weights, real["ours"], ranks)
        same(gradients, real["unused"], ranks, atol=1e-5)


def test_a_full_bucket_travels_while_backward_goes_on():
    def run():
        model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)])
        for layer in model:
            layer.register_full_backward_pre_hook(lambda *_: gl.parallel.compute(1e-3))
        replica = gl.parallel.OverlappingDataParallel(model, most_bytes=64 * 65 * 4)
        begin = gl.parallel.clock()
        replica(torch.ones(1, 64, requires_grad=True)).sum().backward()
        replica.average()
        return gl.parallel.clock() - begin

    link = gl.parallel.Link(
        latency=0, bandwidth=64 * 65 * 4 / 1e-3
    )  # a layer's gradient takes 1 ms
    overlapped = gl.simulate(run, 2, link=link).results[0]
    # four of backward, and the last of four messages: the others travel beside it
    assert overlapped == pytest.approx(5e-3, rel=0.01)


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("twice", "Two backward passes without average"),
        ("no_sync", "average() under no_sync()"),
        ("models", "The ranks' models differ"),
        ("sparse", "A gradient is sparse"),
        ("module", "give the model"),
        ("frozen", "in which are frozen"),
        ("thawed", "weight was frozen or not there when OverlappingDataParallel took the model"),
        ("grown", "later.weight was frozen or not there"),
    ],
)
def test_mistakes_are_named(mistake, said):
    def run():
        if mistake == "module":
            gl.parallel.OverlappingDataParallel("model")
        model = nn.Linear(2, 1 + rank() * (mistake == "models"))
        if mistake == "sparse":
            model = nn.Embedding(4, 2, sparse=True)
        model.weight.requires_grad_(mistake != "thawed" and (mistake != "frozen" or rank() > 0))
        replica = gl.parallel.OverlappingDataParallel(model)
        x = torch.tensor([1, 2]) if mistake == "sparse" else torch.ones(1, 2)
        replica(x).sum().backward()
        if mistake == "no_sync":
            with replica.no_sync():
                replica.average()
        if mistake in ("thawed", "grown"):
            model.weight.requires_grad_()
            if mistake == "grown":
                model.later = nn.Linear(1, 1)
            replica.average()
        replica(x).sum().backward()

    with pytest.raises(gl.errors.RankError) as caught:
        gl.simulate(run, 2)
    assert said in " ".join(str(caught.value).split())


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ((0, 0), "samples is 0 on every rank"),
        ((1, -1), "samples is -1"),
        ((1, None), "samples is None"),
    ],
)
def test_samples_are_counts_and_some_rank_has_some(samples, said):
    def run():
        model = nn.Linear(2, 1)
        model(torch.ones(1, 2)).sum().backward()
        gl.parallel.average_gradients(model, samples=samples[rank()])

    with pytest.raises(gl.errors.RankError) as caught:
        gl.simulate(run, 2)
    assert said in " ".join(str(caught.value).split())


def test_a_model_with_batch_statistics_may_run_twice_before_backward():
    def gradients():
        torch.manual_seed(rank())
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        replica = OURS(model)
        images = torch.randn(8, 3)
        (replica(images).square().mean() + replica(2 * images).square().mean()).backward()
        replica.average()
        return flat(parameter.grad for parameter in model.parameters())

    real, simulated = (gl.launch(gradients, 2, backend=one) for one in ("gloo", "simulated"))
    assert torch.equal(simulated[0], simulated[1])
    assert real[0].abs().max() > 0.01
    torch.testing.assert_close(simulated[0], real[0], atol=1e-6, rtol=0)


@pytest.mark.parametrize("backend", ["gloo", "simulated"])
def test_a_replica_of_a_replica_is_refused(backend):
    def twice():
        OURS(nn.Sequential(OURS(nn.Linear(3, 1))))

    said = r"holds a replica \(Overl.* the model itself, its .mod"
    with pytest.raises(gl.errors.RankError, match=said):
        gl.launch(twice, 2, backend=backend)


def test_a_step_without_average_is_told():
    def forgets():
        replica = OURS(new_model("MLP", torch.float32))
        optimizer = sgd(replica)
        for step in range(2):
            images, labels = batch(step)
            optimizer.zero_grad()
            functional.cross_entropy(replica(images), labels).backward()
            optimizer.step()

    with pytest.raises(gl.errors.RankError, match=r"changed after backward\(\) without average"):
        gl.simulate(forgets, 2)
