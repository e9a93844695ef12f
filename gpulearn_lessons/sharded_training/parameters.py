"""ZeRO stage 3: each rank keeps a shard of the parameters; a block is whole while it is used."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from gpulearn.errors import TrainingError
from gpulearn.parallel.communicator import world_size
from gpulearn.parallel.links import Link
from gpulearn.train.memory import MemoryBudget
from gpulearn_lessons.sharded_training.flat import FlatBlock, Scattering
from gpulearn_lessons.sharded_training.gradients import ShardedGradients
from gpulearn_lessons.sharded_training.optimizer_state import Make


class ShardedParameters(ShardedGradients):
    """As `ShardedGradients`, and of the parameters each rank keeps its shard.

    Hooks gather a block's parameters before its forward pass and before its backward pass, and
    free them after each. Between steps they have no numbers: `gathered()` brings them back.

    Args:
        model: blocks that are run one after another, each with one tensor as its output.
        make: a list of parameters → their optimiser.
        blocks: the modules that are gathered and freed one by one, in the order of the forward
            pass; the model's children if None.
        offload: the link to the host if the optimiser's state is to stay there.
        prefetch: whether the next block is gathered while this one computes, and gradients
            leave while the next one is computed; two blocks are whole at a time then.
    """

    def __init__(
        self,
        model: nn.Module,
        make: Make,
        *,
        blocks: Sequence[nn.Module] | None = None,
        offload: Link | str | None = None,
        prefetch: bool = False,
    ) -> None:
        super().__init__(model, make, blocks=blocks, offload=offload)
        self._prefetch = prefetch
        self._leaving: tuple[FlatBlock, Scattering] | None = None
        for number, block in enumerate(self.blocks):
            before, after = partial(self._before, number), partial(self._after, number)
            self._hooks.append(block.module.register_forward_pre_hook(before))
            self._hooks.append(block.module.register_forward_hook(after))

    def _prepare(self) -> None:
        for block in self.blocks:
            block.keep_shard_alone()

    def _before(self, number: int, module: nn.Module, inputs: Any) -> None:
        self.blocks[number].gather()
        self._ahead(number + 1)

    def _after(self, number: int, module: nn.Module, inputs: Any, output: Tensor) -> None:
        self.blocks[number].free()
        if output.requires_grad:
            output.register_hook(partial(self._before_backward, number))

    def _before_backward(self, number: int, gradient: Tensor) -> None:
        self.blocks[number].gather()
        self._ahead(number - 1)

    def _ahead(self, number: int) -> None:
        if self._prefetch and 0 <= number < len(self.blocks):
            self.blocks[number].begin_gather()

    def _full(self, number: int) -> None:
        """Called by `backward` when a block has all of its gradients: its parameters can go."""
        block = self._order[number]
        block.free()
        if not self._prefetch:
            super()._full(number)
            return
        if block.shard.grad is not None:
            raise TrainingError(
                "Two backward passes without step() between them: call it after each."
            )
        self._arrive()
        self._leaving = block, Scattering(block.take_gradients())

    def _arrive(self) -> None:
        """Wait for the gradients that are under way."""
        if self._leaving is not None:
            block, scattering = self._leaving
            block.shard.grad = scattering.wait() / world_size()
            self._leaving = None

    def memory(self) -> MemoryBudget:
        """Bytes that this rank's device keeps now; it waits for gradients that are under way."""
        self._arrive()
        return super().memory()

    def exchange(self) -> None:
        """Wait for the last gradients that are under way."""
        self._arrive()
        super().exchange()

    def _publish(self) -> None:
        """Nothing: a block is gathered when it is used."""

    def gathered(self) -> dict[str, Tensor]:
        """All parameters by name, whole, on every rank; the model has none afterwards."""
        found: dict[str, Tensor] = {}
        names = {parameter: name for name, parameter in self.model.named_parameters()}
        for block in self.blocks:
            block.gather()
            found |= {names[p]: p.detach().clone() for p in block.parameters}
            block.free()
        return found
