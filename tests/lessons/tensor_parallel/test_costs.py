"""What a rank holds, keeps and sends is what the formulas say."""

import pytest
import torch

import gpulearn as gl
from gpulearn.nn.transformer import Decoder
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn.train.activation_memory import storage_number
from gpulearn_lessons.tensor_parallel.costs import (
    part_activation_bytes,
    part_parameters,
    tensor_parallel_bytes,
)
from gpulearn_lessons.tensor_parallel.decoder import TensorParallelDecoder

SHAPE = DecoderShape(vocabulary=53, context=16, width=32, heads=8, layers=2)
ROWS = 3


def kept_bytes(model, tokens):
    """What autograd keeps of a loss, each storage once, parameters left out; and the loss."""
    own = {storage_number(parameter) for parameter in model.parameters()}
    kept, alive = {}, []

    def note(tensor):
        alive.append(tensor)
        if storage_number(tensor) not in own:
            kept[storage_number(tensor)] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        loss = model.loss(tokens)
    return sum(kept.values()), loss


def tokens():
    return torch.randint(53, (ROWS, 17), generator=torch.Generator().manual_seed(0))


def part(by_positions):
    model = TensorParallelDecoder(Decoder(SHAPE), by_positions=by_positions)
    kept, loss = kept_bytes(model, tokens())
    loss.backward()
    return sum(p.numel() for p in model.parameters()), kept


def test_one_process_keeps_what_the_formula_says():
    kept, _ = kept_bytes(Decoder(SHAPE), tokens())
    assert kept == SHAPE.activation_bytes(ROWS)


def test_adam_holds_four_numbers_for_each_parameter():
    model = Decoder(SHAPE)
    optimizer = torch.optim.AdamW(model.parameters())
    model.loss(tokens()).backward()
    optimizer.step()
    held = [t for p in model.parameters() for t in (p, p.grad, *optimizer.state[p].values())]
    assert sum(t.nbytes for t in held if t.ndim) == 16 * SHAPE.parameters()


@pytest.mark.parametrize("by_positions", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_a_rank_holds_and_sends_what_the_formulas_say(ranks, by_positions):
    run = gl.simulate(part, ranks, by_positions)
    for parameters, kept in run.results:
        assert parameters == part_parameters(SHAPE, ranks)
        told = part_activation_bytes(SHAPE, ROWS, ranks, by_positions=by_positions)
        assert abs(kept - told) <= 0.01 * kept
    told = tensor_parallel_bytes(SHAPE, ROWS, ranks, by_positions=by_positions)
    assert sum(run.bytes_sent) == told
