"""Ranks on a GPU: after their parent has used it, and when they have to share it."""

import functools

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import gpulearn as gl
from gpulearn import cuda
from gpulearn.parallel.launch import launch as launching
from gpulearn_lessons.fault_tolerance.train import Options, train

GPUS = torch.cuda.device_count()
PLACE = "cuda" if GPUS else "cpu"
SHARED = pytest.mark.skipif(GPUS > 1, reason="each rank has a GPU of its own here")
OURS = {"overlapping": functools.partial(gl.parallel.OverlappingDataParallel, most_bytes=40_000)}


@pytest.fixture
def _parent_has_used_cuda():
    torch.ones(3, device=PLACE).sum().item()
    assert cuda.to_device(np.ones(3)).copy_to_host().sum() == 3
    assert torch.cuda.is_initialized() == bool(GPUS)


def computed(kind):
    """What this rank has computed on the device, its sum over all, and what came round."""
    mine = np.arange(5, dtype=np.float32) + gl.parallel.rank()
    if kind == "torch":
        squares = torch.from_numpy(mine).to(PLACE) ** 2
    else:
        from gpulearn.kernels.vectors import vector_add

        a, out = cuda.to_device(mine), cuda.device_array(5, np.float32)
        vector_add[1, 32](a, a, out)
        squares = torch.from_numpy(out.copy_to_host()).to(PLACE)
    total, after = squares.clone(), torch.empty_like(squares)
    dist.all_reduce(total)
    right, left = (
        (gl.parallel.rank() + 1) % gl.parallel.world_size(),
        (gl.parallel.rank() - 1) % gl.parallel.world_size(),
    )
    gl.parallel.sendrecv(squares, right, after, left)
    assert {t.device.type for t in (squares, total, after)} == {PLACE}
    return squares.cpu(), total.cpu(), after.cpu()


@pytest.mark.gpu
@pytest.mark.usefixtures("_parent_has_used_cuda")
@pytest.mark.parametrize(("count", "kind"), [(2, "torch"), (4, "numba")])
def test_ranks_compute_and_add_up_after_the_parent_has_used_the_gpu(count, kind):
    numbers = [np.arange(5) + rank for rank in range(count)]
    squares = [n**2 if kind == "torch" else 2 * n for n in numbers]
    for rank, (mine, total, before) in enumerate(gl.launch(computed, count, kind, timeout=120)):
        np.testing.assert_array_equal(mine, squares[rank])
        np.testing.assert_array_equal(total, sum(squares))
        np.testing.assert_array_equal(before, squares[rank - 1])


@SHARED
@pytest.mark.usefixtures("_as_on_gpu")
@pytest.mark.parametrize("count", [2, 4])
def test_ranks_that_share_one_gpu_say_so_once_and_use_gloo(count, capfd):
    launching._say_shared.cache_clear()
    for _ in range(2):
        assert gl.launch(dist.get_backend, count, timeout=120) == ["gloo"] * count
    said = capfd.readouterr().err
    assert said.count(f"{count} ranks share 1 GPU: NCCL wants one for each rank") == 1
    with pytest.raises(gl.errors.BadInput, match="there is 1 GPU: NCCL wants one for each rank"):
        gl.launch(dist.get_backend, count, backend="nccl")


def step(wrapper, weights, images, labels):
    """This rank's gradients after one step on its part of a batch, on the device."""
    model = gl.train.LeNet(width=4, dropout=0).double()
    if gl.parallel.rank() == 0:  # the others start elsewhere: the wrapper has to make them alike
        model.load_state_dict(weights)
    model.to(PLACE)
    replica = OURS[wrapper](model) if wrapper in OURS else DistributedDataParallel(model)
    some, wanted = (
        t.tensor_split(gl.parallel.world_size())[gl.parallel.rank()].to(PLACE)
        for t in (images, labels)
    )
    functional.cross_entropy(replica(some), wanted).backward()
    if wrapper in OURS:
        replica.average()
    return [parameter.grad.cpu() for parameter in model.parameters()]


@pytest.mark.gpu
@pytest.mark.usefixtures("_parent_has_used_cuda")
@pytest.mark.parametrize("wrapper", [*OURS, "library"])
def test_a_step_of_two_ranks_has_the_gradients_of_one_process(wrapper):
    model = gl.train.LeNet(width=4, dropout=0, seed=3).double()  # no TF32
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(24, 1, 8, 8, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 10, (24,), generator=generator)
    ranks = gl.launch(step, 2, wrapper, model.state_dict(), images, labels, timeout=120)
    model.to(PLACE)
    functional.cross_entropy(model(images.to(PLACE)), labels.to(PLACE)).backward()
    for one, other, parameter in zip(*ranks, model.parameters(), strict=True):
        assert torch.equal(one, other)
        torch.testing.assert_close(one, parameter.grad.cpu(), rtol=1e-10, atol=1e-13)


MLP = Options(model="MLP", epochs=1, timeout=120)


@pytest.fixture(scope="module")
def alone():
    return train(MLP)


@pytest.mark.gpu
@pytest.mark.parametrize("count", [2, 4])
def test_training_on_a_shared_gpu_is_that_of_one_process(count, alone, capfd):
    runs = gl.launch(train, count, MLP, timeout=120)
    said = capfd.readouterr().out
    assert f"{count} ranks, messages by {'nccl' if count <= GPUS else 'gloo'}" in said
    if GPUS == 1:
        assert "they share 1 GPU" in said
    for run in runs:
        assert run.losses == pytest.approx(alone.losses, rel=1e-4)
        for name, weights in run.weights.items():
            assert torch.equal(weights, runs[0].weights[name])
