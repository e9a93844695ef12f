"""ZeRO stage 2: each block's gradients leave during `backward`, and a shard of them stays."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from gpulearn.errors import TrainingError
from gpulearn.parallel.data_parallel import send_when_full
from gpulearn.parallel.links import Link
from gpulearn_lessons.sharded_training.by_hand import reduce_scatter_gradients
from gpulearn_lessons.sharded_training.optimizer_state import Make, ShardedOptimizer


class ShardedGradients(ShardedOptimizer):
    """As `ShardedOptimizer`, and of the gradients each rank keeps its shard.

    As soon as `backward` has all gradients of a block, they are reduce-scattered and freed, so
    that whole gradients are there for one block at a time. Every `backward` has to reach every
    parameter, since the next block would wait for it.
    """

    def __init__(
        self,
        model: nn.Module,
        make: Make,
        *,
        blocks: Sequence[nn.Module] | None = None,
        offload: Link | str | None = None,
    ) -> None:
        super().__init__(model, make, blocks=blocks, offload=offload)
        self._order = self.blocks[::-1]  # the last block's gradients come first
        self._hooks = send_when_full([block.parameters for block in self._order], self._full)

    def _full(self, number: int) -> None:
        """Called by `backward` when a block has all of its gradients."""
        block = self._order[number]
        if block.shard.grad is not None:
            raise TrainingError(
                "Two backward passes without step() between them: call it after each."
            )
        block.shard.grad = reduce_scatter_gradients(block.parameters)

    def release(self) -> None:
        """Leave the model without hooks."""
        for hook in self._hooks:
            hook.remove()
