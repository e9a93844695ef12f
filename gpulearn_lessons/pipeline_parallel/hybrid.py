"""One training step on a mesh: rows, layers and matrices dealt out at the same time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gpulearn.errors import BadInput
from gpulearn.nn.transformer import Decoder
from gpulearn.parallel.averaging import average_gradients
from gpulearn.parallel.communicator import rank, recv, send
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn_lessons.pipeline_parallel.mesh import Mesh
from gpulearn_lessons.tensor_parallel.decoder import TensorParallelDecoder
from gpulearn_lessons.tensor_parallel.layers import vocabulary_loss


class HybridDecoder(nn.Module):
    """This rank's part of a decoder on a mesh: its stage's layers, of each its columns or rows.

    All rows of a replica go through the pipeline at once, as one micro-batch. The mesh has as many
    ranks as there are, and the whole decoder, the same on all ranks, is left as it is.

    >>> import gpulearn as gl
    >>> from gpulearn.nn.transformer_costs import DecoderShape
    >>> shape = DecoderShape(vocabulary=5, context=4, width=8, heads=2, layers=2)
    >>> rows = torch.tensor([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    >>> def loss():
    ...     part = HybridDecoder(Decoder(shape), Mesh(data=2, pipeline=2, tensor=2))
    ...     return part.loss_and_gradients(rows)
    >>> run = gl.simulate(loss, 8)
    >>> len(set(run.results)), abs(run.results[0] - Decoder(shape).loss(rows).item()) < 1e-6
    (1, True)
    """

    def __init__(self, decoder: Decoder, mesh: Mesh) -> None:
        super().__init__()
        self.mesh, self.coordinates = mesh, mesh.coordinates(rank())
        stages = mesh.sizes["pipeline"]
        if stages > len(decoder):
            raise BadInput(f"pipeline is {stages}: the decoder has {len(decoder)} parts to share.")
        with mesh.along("tensor"):
            whole = TensorParallelDecoder(decoder)
        parts = list(whole)
        first, last = (
            len(parts) * (self.coordinates["pipeline"] + end) // stages for end in (0, 1)
        )
        self.stage = nn.Sequential(*parts[first:last])
        self.first, self.last = first == 0, last == len(parts)
        self.width = decoder.shape.width
        self.dtype = next(decoder.parameters()).dtype

    def loss_and_gradients(self, tokens: Tensor) -> float:
        """Gradients of the mean loss over all rows, in every parameter's `grad`; returns that loss.

        `tokens`, (b, t + 1), are the same on all ranks, a row for each replica at least.
        """
        if len(tokens) < self.mesh.sizes["data"]:
            raise BadInput(f"data is {self.mesh.sizes['data']}: there are {len(tokens)} rows.")
        rows = tokens.tensor_split(self.mesh.sizes["data"])[self.coordinates["data"]]
        arrived, result = self._forward(rows)
        loss = torch.zeros((), dtype=self.dtype)
        if self.last:
            with self.mesh.along("tensor"):
                own = result.shape[-1] * rank()  # the token of this rank's first column
                loss = vocabulary_loss(result.flatten(0, 1), rows[:, 1:].flatten(), own)
        self._backward(arrived, result, loss)
        with self.mesh.along("data"):
            average_gradients(self, len(rows))
            total = sum_over_ranks(loss.detach() * len(rows) / len(tokens))
        with self.mesh.along("pipeline"):  # the stages before the last have added zeros
            return float(sum_over_ranks(total))

    def _forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """What came from the stage before, and what this stage has made of it."""
        arrived = rows[:, :-1]
        if not self.first:
            arrived = torch.empty((*arrived.shape, self.width), dtype=self.dtype)
            with self.mesh.along("pipeline"):
                recv(arrived, self.coordinates["pipeline"] - 1)
            arrived.requires_grad_()
        with self.mesh.along("tensor"):
            result: Tensor = self.stage(arrived)
        if not self.last:
            with self.mesh.along("pipeline"):
                send(result.detach(), self.coordinates["pipeline"] + 1)
        return arrived, result

    def _backward(self, arrived: Tensor, result: Tensor, loss: Tensor) -> None:
        """Gradients come from the stage behind, and go on to the one before."""
        if self.last:
            loss.backward()
        else:
            gradient = torch.empty_like(result)
            with self.mesh.along("pipeline"):
                recv(gradient, self.coordinates["pipeline"] + 1)
            result.backward(gradient)
        if not self.first:
            assert arrived.grad is not None  # the stage uses what it is given
            with self.mesh.along("pipeline"):
                send(arrived.grad, self.coordinates["pipeline"] - 1)
