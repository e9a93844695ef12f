"""The decoder against PyTorch's own attention, and its costs against what is counted."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gpulearn.errors import BadInput
from gpulearn.nn.transformer import Attention, Decoder
from gpulearn.nn.transformer_costs import DecoderShape

SHAPES = [
    DecoderShape(vocabulary=11, context=5, width=6, heads=3, layers=1),
    DecoderShape(vocabulary=103, context=16, width=32, heads=4, layers=3),
]


def tokens(shape, rows=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(shape.vocabulary, (rows, shape.context + 1), generator=generator)


@pytest.mark.parametrize("shape", SHAPES)
def test_parameters_and_operations_are_those_that_are_counted(shape):
    decoder = Decoder(shape)
    assert sum(p.numel() for p in decoder.parameters()) == shape.parameters()
    with FlopCounterMode(display=False) as forward:
        decoder(tokens(shape)[:, :-1])
    assert forward.get_total_flops() == 3 * shape.context * shape.flops_per_token()
    with FlopCounterMode(display=False) as both:
        decoder.loss(tokens(shape)).backward()
    assert both.get_total_flops() == 3 * forward.get_total_flops()


def test_attention_is_that_of_torch():
    attention = Attention(SHAPES[1]).double()
    x = torch.randn(2, 7, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    parts = (attention.query, attention.key, attention.value)
    q, k, v = (part(x).view(2, 7, 4, 8).transpose(1, 2) for part in parts)
    heads = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    mixed = heads.transpose(1, 2).reshape(2, 7, 32)
    torch.testing.assert_close(attention(x), attention.output(mixed), rtol=1e-13, atol=1e-14)


def test_a_place_sees_no_later_one():
    decoder, row = Decoder(SHAPES[1]).double(), tokens(SHAPES[1], 1)[:, :-1]
    before = decoder(row)
    row[0, 9] = (row[0, 9] + 1) % 103
    changed = (decoder(row) != before).any(dim=-1)[0]
    assert not changed[:9].any()
    assert changed[9:].all()


def test_gradients_are_those_of_finite_differences():
    decoder, row = Decoder(SHAPES[0]).double(), tokens(SHAPES[0])
    decoder.loss(row).backward()
    generator = torch.Generator().manual_seed(2)
    for parameter in decoder.parameters():
        direction = torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter += sign * 1e-5 * direction
                ends.append(decoder.loss(row))
                parameter -= sign * 1e-5 * direction
        slope = (ends[0] - ends[1]) / 2e-5
        torch.testing.assert_close(slope, (parameter.grad * direction).sum(), rtol=1e-6, atol=1e-9)


def test_heads_divide_the_width():
    with pytest.raises(BadInput, match="width is 10, which 4 heads do not divide"):
        DecoderShape(vocabulary=10, context=4, width=10, heads=4, layers=1)
