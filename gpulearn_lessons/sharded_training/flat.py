"""The parameters of one block as one flat row, cut into equal shards for N ranks."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from gpulearn.errors import BadInput
from gpulearn.parallel.collectives import broadcast, gather_rows
from gpulearn.parallel.communicator import rank, world_size
from gpulearn.require import shown


def flat_row(tensors: Iterable[Tensor], ranks: int) -> Tensor:
    """Tensors one after another, then zeros until N divides the length: (N·⌈count/N⌉,).

    >>> flat_row([torch.ones(2, 2), torch.full((1,), 7.0)], ranks=4)
    tensor([1., 1., 1., 1., 7., 0., 0., 0.])
    """
    row = torch.cat([tensor.detach().flatten() for tensor in tensors])
    return nn.functional.pad(row, (0, -len(row) % ranks))


class FlatBlock:
    """A block whose parameters are views into one row; each rank's optimizer sees its shard.

    All ranks begin with rank 0's numbers. `rows` is the row, a shard in each line, (N, ⌈count/N⌉);
    the rest at its end is padding. `shard`, (⌈count/N⌉,), is a parameter for the optimizer: this
    rank's line of `rows`.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.parameters = list(module.parameters())
        dtypes = {str(parameter.dtype) for parameter in self.parameters}
        if len(dtypes) > 1:
            kinds = " and ".join(sorted(dtypes))
            raise BadInput(f"a block has parameters of {kinds}: use one dtype.")
        self.count = sum(parameter.numel() for parameter in self.parameters)
        self._row = flat_row(self.parameters, world_size())
        self.rows = self._row.view(world_size(), -1)
        broadcast(self._row)
        sizes = [parameter.numel() for parameter in self.parameters]
        parts = self._row[: self.count].split(sizes)
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.data = part.view(parameter.shape)
        self.shard = nn.Parameter(self.rows[rank()])
        self._bytes = self._row.untyped_storage().nbytes()

    def keep_only_shard(self) -> None:
        """From now on the shard has memory of its own; the row can be freed and gathered."""
        self.shard.data = self.shard.data.clone()
        self.free()

    def free(self) -> None:
        """Give the row's memory back; the parameters stay, without numbers."""
        self._row.untyped_storage().resize_(0)
        self._row.detach()  # an operation, so that who counts memory sees the new size

    def gather(self) -> None:
        """Have the row in memory, with what all ranks' shards hold now."""
        if self._row.untyped_storage().nbytes() == 0:
            self._row.untyped_storage().resize_(self._bytes)
            rows = self.rows.detach()
            rows[rank()] = self.shard.detach()
            gather_rows(rows)

    def publish(self) -> None:
        """After a step, where the row stays in memory: fill it with all ranks' new shards."""
        gather_rows(self.rows.detach())


def blocks_of(model: nn.Module) -> list[FlatBlock]:
    """A model's children that have parameters, as flat blocks."""
    if not isinstance(model, nn.Module):
        raise BadInput(f"model is {shown(model)}: give a torch.nn.Module.")
    chosen = [block for block in model.children() if next(block.parameters(), None) is not None]
    owned = [parameter for block in chosen for parameter in block.parameters()]
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            raise BadInput(f"{name} is frozen: sharded training steps all numbers of a block.")
        times = sum(parameter is other for other in owned)
        if times != 1:
            raise BadInput(
                f"{name} is in {times} of the model's blocks: each parameter has to be in one."
            )
    return [FlatBlock(block) for block in chosen]
