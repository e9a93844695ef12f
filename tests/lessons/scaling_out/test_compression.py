"""Compressed gradients: what is sent, what stays, and that nothing is lost for good."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import gpulearn as gl
from gpulearn_lessons.scaling_out.compressed_gradients import (
    all_reduce_float16,
    all_reduce_top_k,
    average_compressed,
    top_k,
)


def rows(count, steps=4, shape=(3, 5)):
    """Whole numbers that differ in magnitude, so that sums are exact and the largest is clear."""
    generator = torch.Generator().manual_seed(count)
    numbers = torch.randperm(steps * count * 15, generator=generator) + 1
    signs = torch.randint(0, 2, numbers.shape, generator=generator) * 2 - 1
    return (numbers * signs).float().view(steps, count, *shape)


@settings(max_examples=30, deadline=None)
@given(keep=st.floats(0.01, 1), turned=st.booleans())
def test_the_largest_are_kept(keep, turned):
    tensor = rows(1)[0, 0]
    tensor = tensor.T.contiguous().T if turned else tensor
    kept = top_k(tensor, keep)
    assert kept.nbytes == 8 * len(kept.places)
    assert len(kept.places) == max(1, round(keep * 15))
    flat = tensor.flatten()
    assert torch.equal(flat[kept.places.long()], kept.values)
    rest = flat.clone()
    rest[kept.places.long()] = 0
    assert rest.abs().max() < kept.values.abs().min()


@settings(max_examples=15, deadline=None)
@given(count=st.integers(1, 4), keep=st.sampled_from([0.01, 0.2, 1.0]), turned=st.booleans())
def test_what_was_sent_and_what_stays_are_what_was_given(count, keep, turned):
    def run():
        given_so_far = torch.zeros(3, 5)
        residual, arrived = torch.zeros(3, 5), torch.zeros(3, 5)
        for row in rows(count):
            mine = row[gl.parallel.rank()]
            given_so_far += mine
            tensor = mine.T.contiguous().T if turned else mine.clone()
            sent = all_reduce_top_k(tensor, residual, keep)
            assert sent == 8 * max(1, round(keep * 15))
            arrived += tensor
        return given_so_far, residual, arrived

    results = gl.simulate(run, count).results
    given_in_all = sum(one for one, _, _ in results)
    late = sum(residual for _, residual, _ in results)
    for _, _, arrived in results:
        assert torch.equal(arrived + late, given_in_all)
    if keep == 1:
        assert not late.any()


def test_a_ring_of_half_precision_moves_half_the_bytes():
    def run(compressed):
        tensor = torch.arange(8.0) * (gl.parallel.rank() + 1)
        return all_reduce_float16(tensor) if compressed else gl.parallel.all_reduce(tensor), tensor

    whole, half = gl.simulate(run, 2, False), gl.simulate(run, 2, True)
    assert [2 * sent for sent in half.bytes_sent] == whole.bytes_sent
    assert half.results[0][0] == 16
    assert torch.equal(half.results[1][1], torch.arange(8.0) * 3)


def train(method, keep, steps=40):
    model = gl.train.MLP((64, 32, 10), seed=0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    data = gl.digits()
    mine = gl.parallel.shard_indices(256, gl.parallel.rank(), gl.parallel.world_size())
    images = torch.from_numpy(data.train_images)[mine]
    labels = torch.from_numpy(data.train_labels)[mine]
    residuals = {}
    for _ in range(steps):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(images), labels)
        loss.backward()
        sent = average_compressed(model, method, residuals, keep)
        optimizer.step()
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    return loss.item(), weights, sent / weights.nbytes


def compare():
    torch.set_num_threads(1)
    cases = [("none", 1), ("float16", 1), ("top-k", 0.1), ("top-k", 1.0)]
    return {case: train(*case) for case in cases}


def test_training_goes_on_with_a_tenth_of_the_gradient():
    ranks = gl.launch(compare, 2)
    for case in ranks[0]:
        assert torch.equal(ranks[0][case][1], ranks[1][case][1]), case
    loss, weights, _ = ranks[0]["none", 1]
    first = 2.3  # the logarithm of ten classes
    assert loss < 0.7 * first
    half, tenth, all_of_it = (ranks[0][c] for c in [("float16", 1), ("top-k", 0.1), ("top-k", 1.0)])
    assert half[0] == pytest.approx(loss, rel=1e-2)
    assert half[2] == 0.5
    assert tenth[0] < 0.7 * first
    assert tenth[2] == pytest.approx(0.2, rel=0.01)  # a place and a value for each tenth
    torch.testing.assert_close(all_of_it[1], weights, rtol=0, atol=1e-5)
