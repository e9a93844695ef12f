"""The stages of ZeRO: shards of the optimizer's state, of the gradients too, of the parameters too.

Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models", arXiv
1910.02054, 2019.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import TrainingError
from gpulearn.parallel.data_parallel import send_when_full
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.memory import MemoryBudget
from gpulearn_lessons.sharded_training.by_hand import reduce_scatter_gradients
from gpulearn_lessons.sharded_training.flat import FlatBlock, blocks_of

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class ShardedOptimizer:
    """A model on each rank, and one optimizer's state for all of them.

    After `backward`, `step()` does it all: the gradients are reduce-scattered and divided by N,
    each rank's optimizer steps its shard, and the new shards are gathered. As many bytes as an
    all-reduce of the gradients. Rajbhandari et al., "ZeRO: memory optimizations toward training
    trillion parameter models", arXiv 1910.02054, 2019.

    Args:
        model: this rank's; all start as rank 0's. Its children are exchanged one by one.
        make: a list of parameters → their optimizer, as `partial(torch.optim.Adam, lr=0.01)`.
            It has to treat each number by itself: LARS and LAMB do not.

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

    def __init__(self, model: nn.Module, make: Make) -> None:
        self.model = model
        self.blocks = blocks_of(model)
        self._prepare()
        self.optimizer = make([block.shard for block in self.blocks])

    def _prepare(self) -> None:
        """What a further stage frees before the optimizer is made."""

    def exchange(self) -> None:
        """Have the mean gradient of this rank's shards; `step` does it where it was not done."""
        for block in self.blocks:
            if block.shard.grad is None:
                block.shard.grad = reduce_scatter_gradients(block.parameters)

    def clip(self, most: float) -> float:
        """Clip the mean gradient to a norm: between `backward` and `step`, on every rank.

        Each rank knows only its shards, so their squares are added up: one all-reduce of one
        number. Returns the norm before.
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
        """One step of the optimizer with the mean gradient; no gradients are left."""
        self.exchange()
        self.optimizer.step()
        for block in self.blocks:
            block.shard.grad = None
        self._publish()

    def _publish(self) -> None:
        for block in self.blocks:
            block.publish()

    def memory(self) -> MemoryBudget:
        """Bytes that this rank's device keeps now, each storage counted once.

        Parameters: rows and shards with their padding. Gradients: those of parameters and of
        shards. State: what the optimizer remembers, its count of steps included. Left out:
        activations, and what comes and goes within an exchange.
        """
        shards = [block.shard for block in self.blocks]
        gradients = [owner.grad for owner in (*self.model.parameters(), *shards)]
        state = [value for entry in self.optimizer.state.values() for value in entry.values()]
        rows = [block.rows for block in self.blocks]
        return MemoryBudget(_storages([*rows, *shards]), _storages(gradients), _storages(state), 0)

    def state_of(self, number: int) -> dict[str, Tensor]:
        """What the optimizer remembers of this rank's shard of a block, by torch's names."""
        return dict(self.optimizer.state.get(self.blocks[number].shard, {}))

    def restore(self, number: int, name: str, value: Tensor) -> None:
        """Put back what a checkpoint has of a block: "parameters", or an entry of the state."""
        shard = self.blocks[number].shard
        if name != "parameters":
            self.optimizer.state[shard][name] = value.to(shard.device)
            return
        shard.data.copy_(value)
        self._publish()


def _storages(tensors: Sequence[Any]) -> int:
    """Bytes of the memory in which these tensors lie."""
    storages = [t.untyped_storage() for t in tensors if isinstance(t, Tensor)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


class ShardedGradients(ShardedOptimizer):
    """As `ShardedOptimizer`, and of the gradients each rank keeps its shard.

    As soon as `backward` has all gradients of a block, they are reduce-scattered and freed, so
    that whole gradients are there for one block at a time. Every `backward` has to reach every
    parameter, since the next block would wait for it.
    """

    def __init__(self, model: nn.Module, make: Make) -> None:
        super().__init__(model, make)
        self._order = self.blocks[::-1]  # the last block's gradients come first
        send_when_full([block.parameters for block in self._order], self._full)

    def _full(self, number: int) -> None:
        """Called by `backward` when a block has all of its gradients."""
        block = self._order[number]
        if block.shard.grad is not None:
            raise TrainingError(
                "Two backward passes without step() between them: call it after each."
            )
        block.shard.grad = reduce_scatter_gradients(block.parameters)


class ShardedParameters(ShardedGradients):
    """As `ShardedGradients`, and of the parameters each rank keeps its shard.

    Hooks gather a block's parameters before its forward pass and before its backward pass, and
    free them after each. Between steps they have no numbers.

    Args:
        model: its children run one after another, each with one tensor as its output.
        make: a list of parameters → their optimizer.
    """

    def __init__(self, model: nn.Module, make: Make) -> None:
        super().__init__(model, make)
        for block in self.blocks:
            block.module.register_forward_pre_hook(partial(self._before, block))
            block.module.register_forward_hook(partial(self._after, block))

    def _prepare(self) -> None:
        for block in self.blocks:
            block.keep_only_shard()

    def _before(self, block: FlatBlock, module: nn.Module, inputs: Any) -> None:
        block.gather()

    def _after(self, block: FlatBlock, module: nn.Module, inputs: Any, output: Tensor) -> None:
        block.free()
        if output.requires_grad:
            output.register_hook(lambda gradient: block.gather())

    def _full(self, number: int) -> None:
        """Called by `backward` when a block has all of its gradients: its parameters can go."""
        self._order[number].free()
        super()._full(number)

    def _publish(self) -> None:
        """Nothing: a block is gathered when it is used."""
