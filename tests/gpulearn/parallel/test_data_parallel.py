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

OURS = {
    "naive": gl.parallel.NaiveDataParallel,
    "bucketed": functools.partial(gl.parallel.BucketedDataParallel, most_bytes=40_000),
    "overlapping": functools.partial(gl.parallel.OverlappingDataParallel, most_bytes=40_000),
}
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


def trained(wrapper, kind="LeNet", dtype=torch.float32, accumulate=1, sizes=None):
    """This rank's weights after some steps on its shards."""
    # each rank starts elsewhere: the wrapper has to make them alike
    model = new_model(kind, dtype, seed=rank())
    replica = OURS[wrapper](model) if wrapper in OURS else DistributedDataParallel(model)
    optimizer = sgd(model)
    for step in range(STEPS):
        me, size = rank(), world_size()
        images, labels = (
            (t.split(sizes) if sizes else t.tensor_split(size))[me] for t in batch(step, dtype)
        )
        if sizes:
            replica.weigh(len(labels))
        optimizer.zero_grad()
        parts = list(zip(images.chunk(accumulate), labels.chunk(accumulate), strict=True))
        for number, (some, wanted) in enumerate(parts):
            with replica.no_sync() if number < len(parts) - 1 else contextlib.nullcontext():
                (functional.cross_entropy(replica(some), wanted) / len(parts)).backward()
        if wrapper in OURS:
            replica.average()
        optimizer.step()
    return flat(model.parameters())


def unused(wrapper):
    """Gradients where ranks use different layers."""
    model = Forks()
    replica = OURS[wrapper](model)
    for _ in range(2):  # the second time from views into the buckets
        model.zero_grad()
        replica(torch.ones(2, 4) * (rank() + 1), left=rank() == 0).sum().backward()
        replica.average()
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def buffers(wrapper):
    """Batch statistics after a forward pass, before which they are made alike."""
    model = nn.BatchNorm1d(2)
    model.running_mean += 5 * rank()
    replica = OURS[wrapper](model)
    first = model.running_mean.tolist()
    replica(torch.full((3, 2), float(rank())))
    replica(torch.full((3, 2), float(rank())))
    return first, model.running_mean[0].item()


def everything():
    torch.set_num_threads(1)
    results = {name: trained(name) for name in (*OURS, "library")}
    results["again"] = trained("overlapping")
    results["accumulated"] = trained("overlapping", accumulate=3)
    results["accumulated, library"] = trained("library", accumulate=3)
    results["double"] = trained("overlapping", "MLP", torch.float64)
    others = world_size() - 1
    uneven = [BATCH - 3 * others, *[3] * others]
    without = [BATCH - 2, 2, *[0] * (others - 1)] if others > 1 else uneven
    for name in OURS:
        results[f"uneven, {name}"] = trained(name, "MLP", torch.float64, sizes=uneven)
        results[f"without, {name}"] = trained(name, "MLP", torch.float64, sizes=without)
        results[f"unused, {name}"] = unused(name)
        results[f"buffers, {name}"] = buffers(name)
    return results


@pytest.fixture(scope="module", params=[2, 4])
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
    for name in ("naive", "bucketed", "overlapping", "accumulated", "double", "uneven, overlapping",
                 "without, naive", "without, bucketed"):  # fmt: skip
        assert all(torch.equal(ranks[0][name], other[name]) for other in ranks[1:]), name
    assert torch.equal(ranks[0]["overlapping"], ranks[0]["again"])


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", OURS)
def test_two_ranks_are_one_process_with_their_shards_to_the_bit(ranks, name):
    same(ranks[0][name], one_process(shards=len(ranks)), ranks)


def same(result, expected, ranks, atol=1e-6):
    """Equal to the bit on two ranks; more are added in another order."""
    torch.testing.assert_close(result, expected, rtol=0, atol=0 if len(ranks) == 2 else atol)


def test_double_precision_leaves_rounding_alone(ranks):
    alone = one_process("MLP", torch.float64)
    names = [n for n in ranks[0] if n == "double" or n.startswith(("uneven", "without"))]
    assert len(names) == 7
    for name in names:
        assert (ranks[0][name] - alone).abs().max() <= 1e-14, name


@pytest.mark.parametrize("name", [*OURS, "accumulated"])
def test_ours_is_the_library(ranks, name):
    theirs = ranks[0]["accumulated, library" if name == "accumulated" else "library"]
    same(ranks[0][name], theirs, ranks)


@pytest.mark.parametrize("name", OURS)
def test_a_layer_that_not_all_ranks_use_counts_as_zero_there(ranks, name):
    wanted = []
    for number in range(len(ranks)):
        model = Forks()
        model(torch.ones(2, 4) * (number + 1), left=number == 0).sum().backward()
        wanted.append([p.grad for p in model.parameters()])
    for results in ranks:
        for gradient, *parts in zip(results[f"unused, {name}"], *wanted, strict=True):
            parts = [part for part in parts if part is not None]
            torch.testing.assert_close(gradient, sum(parts) / len(ranks) if parts else None)


@pytest.mark.parametrize("name", OURS)
def test_buffers_start_as_those_of_rank_0_and_are_made_alike(ranks, name):
    for number, results in enumerate(ranks):
        first, last = results[f"buffers, {name}"]
        assert first == [0, 0]
        # rank 0 sees zeros: what it hands on stays 0, then 0.1 of the rank's own batch is added
        assert last == pytest.approx(0.1 * number)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", OURS)
def test_simulated_ranks_are_real_ones(ranks, name):
    simulated = gl.simulate(lambda: (trained(name), unused(name)), len(ranks)).results
    for (weights, gradients), real in zip(simulated, ranks, strict=True):
        same(weights, real[name], ranks)
        same(gradients, real[f"unused, {name}"], ranks, atol=1e-5)


def test_a_full_bucket_travels_while_backward_goes_on():
    def run(wrapper):
        model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)])
        for layer in model:
            layer.register_full_backward_pre_hook(lambda *_: gl.parallel.compute(1e-3))
        replica = wrapper(model, most_bytes=64 * 65 * 4)
        begin = gl.parallel.clock()
        replica(torch.ones(1, 64, requires_grad=True)).sum().backward()
        replica.average()
        return gl.parallel.clock() - begin

    link = gl.parallel.Link(
        latency=0, bandwidth=64 * 65 * 4 / 1e-3
    )  # a layer's gradient takes 1 ms
    late, overlapped = (
        gl.simulate(run, 2, wrapper, link=link).results[0]
        for wrapper in (gl.parallel.BucketedDataParallel, gl.parallel.OverlappingDataParallel)
    )
    assert late == pytest.approx(8e-3, rel=0.01)  # four of backward, then four of messages
    assert overlapped == pytest.approx(5e-3, rel=0.01)  # but the last message, all beside it


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("twice", "Two backward passes without average"),
        ("no_sync", "average() under no_sync()"),
        ("models", "The ranks' models differ"),
        ("sparse", "A gradient is sparse"),
        ("samples", "samples is -1"),
        ("module", "give the model"),
        ("frozen", "in which are frozen"),
        ("thawed", "weight was frozen or not there when OverlappingDataParallel took the model"),
        ("grown", "later.weight was frozen or not there"),
    ],
)
def test_mistakes_are_named(mistake, said):
    def run():
        if mistake == "module":
            gl.parallel.NaiveDataParallel("model")
        model = nn.Linear(2, 1 + rank() * (mistake == "models"))
        if mistake == "sparse":
            model = nn.Embedding(4, 2, sparse=True)
        model.weight.requires_grad_(mistake != "thawed" and (mistake != "frozen" or rank() > 0))
        replica = gl.parallel.OverlappingDataParallel(model)
        if mistake == "samples":
            replica.weigh(-1)
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


@pytest.mark.parametrize("saying", [(0,), (0, 2), (1, 2)])
def test_some_ranks_alone_cannot_weigh(saying):
    def run():
        replica = gl.parallel.NaiveDataParallel(nn.Linear(2, 1))
        if rank() in saying:
            replica.weigh(1)  # the count that a rank has which says nothing
        replica(torch.ones(1, 2)).sum().backward()
        with pytest.raises(gl.errors.TrainingError) as caught:
            replica.average()
        replica.average()  # what was said is forgotten
        return str(caught.value)

    said = f"weigh() was called on {len(saying)} of 3 ranks: call it on all, or on none."
    assert gl.simulate(run, 3).results == [said] * 3


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


def test_released_hooks_leave_the_model_as_it_was():
    def run():
        model = nn.Linear(2, 1)
        gl.parallel.OverlappingDataParallel(model).release()
        model(torch.ones(1, 2) * rank()).sum().backward()
        model(torch.ones(1, 2) * rank()).sum().backward()
        return model.weight.grad.tolist()

    assert gl.simulate(run, 2).results == [[[0, 0]], [[2, 2]]]


@pytest.mark.parametrize("wrapper", OURS)
def test_a_model_with_batch_statistics_may_run_twice_before_backward(wrapper):
    def gradients():
        torch.manual_seed(rank())
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        replica = OURS[wrapper](model)
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
        gl.parallel.NaiveDataParallel(
            nn.Sequential(gl.parallel.OverlappingDataParallel(nn.Linear(3, 1)))
        )

    said = r"holds a replica \(Overl.* the model itself, its .mod"
    with pytest.raises(gl.errors.RankError, match=said):
        gl.launch(twice, 2, backend=backend)


@pytest.mark.parametrize("wrapper", OURS.values(), ids=OURS)
def test_a_step_without_average_is_told(wrapper):
    def forgets():
        replica = wrapper(new_model("MLP", torch.float32))
        optimizer = sgd(replica)
        for step in range(2):
            images, labels = batch(step)
            optimizer.zero_grad()
            functional.cross_entropy(replica(images), labels).backward()
            optimizer.step()

    with pytest.raises(gl.errors.RankError, match=r"changed after backward\(\) without average"):
        gl.simulate(forgets, 2)
