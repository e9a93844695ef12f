"""ZeRO stage 1: each rank keeps the optimiser's state for its shard, and steps that alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.parallel.communicator import compute
from gpulearn.parallel.links import Link, as_link
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.memory import MemoryBudget
from gpulearn_lessons.sharded_training.by_hand import reduce_scatter_gradients
from gpulearn_lessons.sharded_training.flat import blocks_of

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class ShardedOptimizer:
    """A model on each rank, and one optimiser's state for all of them.

    After `backward`, `step()` does it all: the gradients are reduce-scattered and divided by N,
    each rank's optimiser steps its shard, and the new shards are gathered. As many bytes as an
    all-reduce of the gradients. Rajbhandari et al., "ZeRO: memory optimizations toward training
    trillion parameter models", arXiv 1910.02054, 2019.

    Args:
        model: this rank's; all start as rank 0's.
        make: a list of parameters → their optimiser, as `partial(torch.optim.Adam, lr=0.01)`.
            It has to treat each number by itself: LARS and LAMB do not.
        blocks: the modules that are exchanged one by one; the model's children if None.
        offload: the link to the host, such as "PCIe 4", if the optimiser's state and its
            parameters are to stay there; None keeps them on the device.

    >>> import gpulearn as gl
    >>> from functools import partial
    >>> def weights():
    ...     model = nn.Sequential(nn.Linear(2, 1, bias=False))
    ...     nn.init.zeros_(model[0].weight)
    ...     sharded = ShardedOptimizer(model, partial(torch.optim.SGD, lr=1.0))
    ...     model(torch.tensor([[1.0, 3.0 * gl.parallel.rank()]])).sum().backward()
    ...     sharded.step()
    ...     return model[0].weight.tolist()
    >>> gl.launch(weights, 2, backend="simulated")
    [[[-1.0, -1.5]], [[-1.0, -1.5]]]
    """

    def __init__(
        self,
        model: nn.Module,
        make: Make,
        *,
        blocks: Sequence[nn.Module] | None = None,
        offload: Link | str | None = None,
    ) -> None:
        self.model = model
        self._link = None if offload is None else as_link(offload)
        self.blocks = blocks_of(model, blocks)
        self._prepare()
        self._stepped = [block.shard for block in self.blocks]
        if self._link is not None:
            self._stepped = [nn.Parameter(p.detach().to("cpu", copy=True)) for p in self._stepped]
        self.optimizer = make(self._stepped)

    def _prepare(self) -> None:
        """What a further stage frees before the optimiser is made."""

    def exchange(self) -> None:
        """Have the mean gradient of this rank's shards; `step` does it where it was not done."""
        for block in self.blocks:
            if block.shard.grad is None:
                block.shard.grad = reduce_scatter_gradients(block.parameters)

    def clip(self, most: float) -> float:
        """Shorten the mean gradient to a length: between `backward` and `step`, on every rank.

        Each rank knows its shards alone, so their squares are added up: one all-reduce of one
        number.

        Returns:
            The length before.
        """
        require.above_zero("most", most)
        self.exchange()
        gradients = [block.shard.grad for block in self.blocks if block.shard.grad is not None]
        own = torch.stack([gradient.square().sum() for gradient in gradients]).sum()
        length = float(sum_over_ranks(own).sqrt())
        if length > most:
            for gradient in gradients:
                gradient *= most / length
        return length

    def step(self) -> None:
        """One step of the optimiser with the mean gradient; no gradients are left."""
        self.exchange()
        if self._link is None:
            self.optimizer.step()
        else:
            self._step_on_host(self._link)
        for block in self.blocks:
            block.shard.grad = None
        self._publish()

    def _step_on_host(self, link: Link) -> None:
        """Gradients go to the host, parameters come back; the clock takes what the link does."""
        for block, host in zip(self.blocks, self._stepped, strict=True):
            assert block.shard.grad is not None
            compute(link.seconds(block.shard.grad.nbytes))
            host.grad = block.shard.grad.to("cpu")
        self.optimizer.step()
        for block, host in zip(self.blocks, self._stepped, strict=True):
            compute(link.seconds(host.nbytes))
            block.shard.data.copy_(host.detach())
            host.grad = None

    def _publish(self) -> None:
        for block in self.blocks:
            block.publish()

    def memory(self) -> MemoryBudget:
        """Bytes that this rank's device keeps now, each storage counted once.

        Parameters: rows and shards with their padding. Gradients: those of parameters and of
        shards. State: what the optimiser remembers, its count of steps included, or nothing if
        that is on the host. Left out: activations, and what comes and goes within an exchange.
        """
        parameters: list[Any] = [block.rows for block in self.blocks]
        parameters += [block.shard for block in self.blocks]
        owners = [*self.model.parameters(), *(block.shard for block in self.blocks)]
        state = [] if self._link is not None else self._state()
        return MemoryBudget(
            _storages(parameters), _storages([one.grad for one in owners]), _storages(state), 0
        )

    def on_host(self) -> int:
        """Bytes on the host: 0, or offloaded shards and what the optimiser remembers of them."""
        return 0 if self._link is None else _storages([*self._stepped, *self._state()])

    def _state(self) -> list[Any]:
        return [value for kept in self.optimizer.state.values() for value in kept.values()]

    def state_of(self, number: int) -> dict[str, Tensor]:
        """What the optimiser remembers of this rank's shard of a block, by torch's names."""
        return dict(self.optimizer.state.get(self._stepped[number], {}))

    def restore(self, number: int, name: str, value: Tensor) -> None:
        """Put back what a checkpoint has of a block: "parameters", or an entry of the state."""
        stepped, block = self._stepped[number], self.blocks[number]
        if name != "parameters":
            self.optimizer.state[stepped][name] = value.to(stepped.device)
            return
        for target in (stepped, block.shard):
            target.data.copy_(value)
        self._publish()


def _storages(tensors: Sequence[Any]) -> int:
    found = [t.untyped_storage() for t in tensors if isinstance(t, torch.Tensor)]
    return sum({one.data_ptr(): one.nbytes() for one in found if one.nbytes()}.values())
