"""A step on any mesh of 8 ranks has the gradients of one process, uneven shards too."""

import copy

import pytest
import torch

import gpulearn as gl
from gpulearn.errors import RankError
from gpulearn.nn.transformer import Decoder
from gpulearn.nn.transformer_costs import DecoderShape
from gpulearn_lessons.pipeline_parallel.hybrid import HybridDecoder
from gpulearn_lessons.pipeline_parallel.mesh import Mesh
from gpulearn_lessons.tensor_parallel.decoder import TensorParallelDecoder

SHAPE = DecoderShape(vocabulary=13, context=5, width=16, heads=8, layers=2)
LAYOUTS = [(2, 2, 2), (1, 4, 2), (4, 2, 1), (2, 1, 4), (8, 1, 1), (1, 1, 8), (2, 4, 1)]


def tokens(rows, seed=None):
    generator = torch.Generator().manual_seed(rows if seed is None else seed)
    return torch.randint(13, (rows, 6), generator=generator)


def mesh_of(layout):
    data, pipeline, tensor = layout
    return Mesh(data=data, pipeline=pipeline, tensor=tensor)


def cut(whole, part):
    """What of a whole decoder belongs to this rank's part."""
    with part.mesh.along("tensor"):
        parts = list(TensorParallelDecoder(whole))
    place, stages = part.coordinates["pipeline"], part.mesh.sizes["pipeline"]
    mine = parts[len(parts) * place // stages : len(parts) * (place + 1) // stages]
    return [parameter for one in mine for parameter in one.parameters()]


def distance(whole, gradients, loss, layout, rows):
    """How far this rank's gradients and loss are from those of one process."""
    part = HybridDecoder(whole, mesh_of(layout))
    own = part.loss_and_gradients(tokens(rows))
    pairs = zip(part.parameters(), cut(gradients, part), strict=True)
    return max(abs(own - loss), *((a.grad - b).abs().max().item() for a, b in pairs))


@pytest.fixture(scope="module")
def one_process():
    found = {}
    for rows in (8, 5):
        whole = Decoder(SHAPE, seed=1).double()
        loss = whole.loss(tokens(rows))
        loss.backward()
        gradients = copy.deepcopy(whole)  # as weights, so that they are cut as those are
        with torch.no_grad():
            for one, other in zip(gradients.parameters(), whole.parameters(), strict=True):
                one.copy_(other.grad)
        found[rows] = whole, gradients, loss.item()
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_mesh_of_simulated_ranks(layout, one_process):
    rows = 8 if layout[0] > 4 else 5
    assert max(gl.simulate(distance, 8, *one_process[rows], layout, rows).results) <= 1e-12


def test_a_mesh_of_real_ranks(one_process):
    assert max(gl.launch(distance, 8, *one_process[5], (2, 2, 2), 5)) <= 1e-12


def test_a_mesh_that_does_not_fit_is_refused():
    with pytest.raises(RankError, match="pipeline is 8: the decoder has 4 parts"):
        gl.simulate(lambda: HybridDecoder(Decoder(SHAPE), Mesh(pipeline=8)), 8)

    def one_row():
        HybridDecoder(Decoder(SHAPE), Mesh(data=2)).loss_and_gradients(tokens(1))

    with pytest.raises(RankError, match="data is 2: there are 1 rows"):
        gl.simulate(one_row, 2)
