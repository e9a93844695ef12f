"""The parameters of one block as one flat row, cut into equal shards for N ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from gpulearn import require
from gpulearn.errors import BadInput
from gpulearn.parallel.collectives import broadcast, gather_rows
from gpulearn.parallel.communicator import Handle, irecv, isend, rank, world_size
from gpulearn.require import shown


@require.sizes("count", "ranks")
def shard_length(count: int, ranks: int) -> int:
    """Numbers in each shard of a row: ⌈count/N⌉, so the last shards may end in padding.

    >>> shard_length(10, 4)
    3
    """
    return -(-count // ranks)


def flat_row(tensors: Iterable[Tensor], ranks: int) -> Tensor:
    """Tensors one after another, then zeros until N divides the length: (N·⌈count/N⌉,).

    >>> flat_row([torch.ones(2, 2), torch.full((1,), 7.0)], ranks=4)
    tensor([1., 1., 1., 1., 7., 0., 0., 0.])
    """
    row = torch.cat([tensor.detach().flatten() for tensor in tensors])
    return nn.functional.pad(row, (0, ranks * shard_length(len(row), ranks) - len(row)))


class _Exchange:
    """Messages to and from all other ranks that are under way at once.

    (N−1) messages of S/N bytes leave each rank, as many as on a ring; no rank has to
    take a ring's steps while it computes. Line r of `outgoing` goes to rank r, and what rank r
    sends comes into line r of `incoming`.
    """

    def __init__(self, outgoing: Sequence[Tensor], incoming: Tensor) -> None:
        me, count = rank(), world_size()
        self._handles: list[Handle] = []
        for shift in range(1, count):
            to, source = (me + shift) % count, (me - shift) % count
            self._handles.append(irecv(incoming[source], source))
            self._handles.append(isend(outgoing[to], to))

    def wait(self) -> None:
        """Wait until all have come."""
        for handle in self._handles:
            handle.wait()


class Gather(_Exchange):
    """An all-gather that is under way: each rank sends its row to each other at once.

    `rows` has the shape (N, m), the same on all ranks; row r of rank r is set.
    """

    def __init__(self, rows: Tensor) -> None:
        super().__init__([rows[rank()]] * world_size(), rows)


class ReduceScatter(_Exchange):
    """A reduce-scatter that is under way: part r of each rank's row goes to rank r, at once.

    The row, of shape (N·m,), stays as it is until `total()`.
    """

    def __init__(self, row: Tensor) -> None:
        parts = row.view(world_size(), -1)
        self._arrived = torch.empty_like(parts)
        self._arrived[rank()] = parts[rank()]
        super().__init__(parts, self._arrived)  # type: ignore[arg-type]

    def total(self) -> Tensor:
        """Wait for all parts; the sum of this rank's, (m,), added in the order of the ranks."""
        self.wait()
        return self._arrived.sum(0)


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
        self._coming: Gather | None = None

    @property
    def whole(self) -> bool:
        """Whether the row is in memory."""
        return self._row.untyped_storage().nbytes() > 0

    def keep_only_shard(self) -> None:
        """From now on the shard has memory of its own; the row can be freed and gathered."""
        self.shard.data = self.shard.data.clone()
        self.free()

    def free(self) -> None:
        """Give the row's memory back; the parameters stay, without numbers."""
        self._row.untyped_storage().resize_(0)
        self._row.detach()  # an operation, so that who counts memory sees the new size

    def _lay_out(self) -> Tensor:
        """Memory for the row, with this rank's own line in it."""
        self._row.untyped_storage().resize_(self._bytes)
        rows = self.rows.detach()
        rows[rank()] = self.shard.detach()
        return rows

    def begin_gather(self) -> None:
        """Begin to gather the row from all ranks' shards; nothing if it is there or coming."""
        if not self.whole:
            self._coming = Gather(self._lay_out())

    def gather(self) -> None:
        """Have the row in memory, with what all ranks' shards hold now."""
        if self._coming is not None:
            self._coming.wait()
            self._coming = None
        elif not self.whole:
            gather_rows(self._lay_out())

    def publish(self) -> None:
        """After a step, where the row stays in memory: fill it with all ranks' new shards."""
        gather_rows(self.rows.detach())

    def take_gradients(self) -> Tensor:
        """The row of all gradients, zeros where unused; the parameters have none afterwards."""
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        for parameter in self.parameters:
            parameter.grad = None
        return flat_row(gradients, world_size())


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
