"""A decoder on several ranks, simulated and real ones, learns what one process learns."""

import copy
import functools

import pytest
import torch

import gpulearn as gl
from gpulearn.errors import RankError
from gpulearn.nn.transformer import Decoder
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn_lessons.tensor_parallel.decoder import TensorParallelDecoder

SHAPE = DecoderShape(vocabulary=13, context=8, width=16, heads=8, layers=2)


def rows(step, shape=SHAPE, count=3):
    generator = torch.Generator().manual_seed(step)
    return torch.randint(shape.vocabulary, (count, shape.context + 1), generator=generator)


def train(model, steps, adam):
    if adam:
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model.loss(rows(step))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def distance(start, end, alone, adam, by_positions):
    """How far this rank is from its part of a decoder that one process has trained.

    A bias of the keys adds the same to all scores of a place, so that its gradient is 0 but for
    rounding. Adam makes steps of that rounding, which change nothing.
    """
    part = TensorParallelDecoder(start, by_positions=by_positions)
    losses = train(part, len(alone), adam)
    goal = TensorParallelDecoder(end, by_positions=by_positions)
    pairs = list(zip(part.named_parameters(), goal.parameters(), strict=True))
    away = [(a - b).abs().max().item() for (n, a), b in pairs if not (adam and "key.bias" in n)]
    return max(*away, *(abs(a - b) for a, b in zip(losses, alone, strict=True)))


@functools.cache
def one_process(dtype, adam):
    """Before, after five steps, and the losses."""
    start = Decoder(SHAPE, seed=3).to(dtype)
    end = copy.deepcopy(start)
    return start, end, train(end, 5, adam)


@pytest.mark.parametrize("by_positions", [False, True])
@pytest.mark.parametrize("ranks", [1, 8])
def test_simulated_ranks_learn_as_one_process(ranks, by_positions):
    run = gl.simulate(distance, ranks, *one_process(torch.float64, False), False, by_positions)
    assert max(run.results) <= 1e-12


@pytest.mark.parametrize("by_positions", [False, True])
def test_in_float32_adam_leaves_what_rounding_allows(by_positions):
    run = gl.simulate(distance, 4, *one_process(torch.float32, True), True, by_positions)
    assert max(run.results) <= 1e-5


def test_real_ranks_learn_as_one_process():
    for by_positions in (False, True):
        away = gl.launch(distance, 2, *one_process(torch.float64, False), False, by_positions)
        assert max(away) <= 1e-12


def test_what_does_not_divide_is_refused():
    with pytest.raises(RankError, match="8 heads, which 3 ranks do not divide"):
        gl.simulate(lambda: TensorParallelDecoder(Decoder(SHAPE)), 3)

    def uneven_positions():
        TensorParallelDecoder(Decoder(SHAPE), by_positions=True).loss(rows(0)[:, :-1])

    with pytest.raises(RankError, match="7 positions, which 2 ranks do not divide"):
        gl.simulate(uneven_positions, 2)
