"""Chains of operations: counted by hand, for recurrent networks and for Transformers."""

import pytest
import torch

import gpulearn as gl
from gpulearn.errors import BadInput
from gpulearn_lessons.model_parallel.chain import longest_chain


@pytest.mark.parametrize("steps", [1, 2, 5, 3000])
def test_each_step_of_a_chain_counts_once(steps):
    x = torch.ones(2, requires_grad=True)
    result = x
    for _ in range(steps):
        result = result * 2
    assert longest_chain(result) == 1 + steps


def test_of_two_ways_the_longer_one_counts():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    assert longest_chain(x.exp().exp().exp() + y.exp()) == 5
    assert longest_chain(y.exp() + x.exp().exp().exp()) == 5
    side_by_side = [x * number for number in range(20)]
    assert longest_chain(torch.stack(side_by_side)) == 3


def test_what_is_shared_counts_once():
    x = torch.ones(2, requires_grad=True)
    for _ in range(60):  # 2⁶⁰ ways
        x = x + x
    assert longest_chain(x) == 61


def test_a_recurrent_network_has_a_longer_chain_and_a_decoder_not():
    cell, lengths = torch.nn.RNNCell(4, 4), []
    decoder = gl.nn.Decoder(gl.nn.DecoderShape(10, context=12, width=8, heads=2, layers=2))
    for places in (3, 6, 12):
        state = torch.zeros(1, 4)
        for x in torch.ones(places, 1, 4):
            state = cell(x, state)
        scores = decoder(torch.zeros(1, places, dtype=torch.long))
        lengths.append((longest_chain(state), longest_chain(scores)))
    recurrent, decoders = zip(*lengths, strict=True)
    assert recurrent[2] - recurrent[1] == 2 * (recurrent[1] - recurrent[0]) > 0
    assert len(set(decoders)) == 1


def test_a_tensor_without_a_history_is_refused():
    with pytest.raises(BadInput, match="result has no history"):
        longest_chain(torch.ones(2))
