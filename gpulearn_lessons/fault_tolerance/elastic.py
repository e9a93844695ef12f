"""Training that resumes from its last checkpoint, on any number of ranks."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gpulearn.parallel.communicator import rank, world_size
from gpulearn.parallel.torch_collectives import sum_over_ranks
from gpulearn.train.checkpointing import load_checkpoint, save_checkpoint

FEATURES = 4


class ElasticRun:
    """A small training run on all ranks, as it is when a process has just started.

    A linear model of 4 features learns from `count` rows, with Adam in float64. In each step all
    ranks together take `batch` of them. All ranks build the same `model`, and their `draws`, which
    choose the order of the rows, draw the same numbers.

    Args:
        path: the file of its checkpoint; it need not exist yet.
        kills: for each start of the group, the rank that is killed (SIGKILL) and in which step
            since that start, from 0. In starts beyond the last entry no rank is killed. The number
            of restarts is read from TORCHELASTIC_RESTART_COUNT.
    """

    count, batch = 20, 8

    def __init__(self, path: str | Path, kills: Sequence[tuple[int, int]] = ()) -> None:
        start = torch.Generator().manual_seed(1)
        self.model: Any = nn.Linear(FEATURES, 1).double()
        for weights in self.model.parameters():
            weights.data.copy_(torch.randn(weights.shape, generator=start, dtype=torch.float64))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05)
        self.draws = torch.Generator().manual_seed(2)
        self.inputs = torch.randn(self.count, FEATURES, generator=start, dtype=torch.float64)
        self.targets = self.inputs.sin().sum(1, keepdim=True)
        self.path = Path(path)
        started = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
        self._kill = kills[started] if started < len(kills) else None
        self._steps = 0

    def step(self, rows: Any) -> float:
        """Take one step with all ranks, on the mean over the rows of all of them.

        `rows` are the numbers of this rank's rows, from 0. Returns the mean loss before the step,
        the same on all ranks.
        """
        if self._kill == (rank(), self._steps):
            self.die()
        self._steps += 1
        rows = torch.as_tensor(rows, dtype=torch.int64)
        self.optimizer.zero_grad()
        errors = self.model(self.inputs[rows]) - self.targets[rows]
        loss = errors.square().sum()
        loss.backward()
        parts = [weights.grad for weights in self.model.parameters() if weights.grad is not None]
        sent = [t.flatten() for t in (*parts, loss.detach(), torch.tensor(float(len(rows))))]
        *sums, total, number = sum_over_ranks(torch.cat(sent)).split([len(t) for t in sent])
        for gradient, mean in zip(parts, sums, strict=True):
            gradient.copy_(mean.view_as(gradient) / number)
        self.optimizer.step()
        return float(total / number)

    def die(self) -> None:
        """End this process like a kill from outside."""
        os.kill(os.getpid(), signal.SIGKILL)

    def save(self, state: dict[str, Any]) -> None:
        """Write a checkpoint, all of it or nothing, on rank 0; other ranks write nothing."""
        if rank() == 0:
            save_checkpoint(self.path, state)

    def load(self) -> dict[str, Any] | None:
        """The last state saved, or None; the same on all ranks."""
        return load_checkpoint(self.path) if self.path.exists() else None


def resume_elastic(run: ElasticRun, steps: int) -> list[float]:
    """Train until `steps` steps are done, including those before a stop; save after each.

    The checkpoint holds all that the next step needs: the weights, the optimizer's state, the
    state of the random number generator, the order of the rows in this epoch and the position in
    it, and the losses, whose number is that of the steps. A step takes the next `run.batch` rows
    of the order, however many ranks share them; rows left over at the end of an order are skipped.
    So a killed run continues with the same steps on any number of ranks: to the bit on the same
    number, up to rounding on another. Returns the loss of each step.

    >>> import tempfile
    >>> from gpulearn.parallel.simulate.simulate import simulate
    >>> def train(path, steps):
    ...     return resume_elastic(ElasticRun(path), steps)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stopped = simulate(train, 2, f"{folder}/run.pt", 2)
    ...     resumed = simulate(train, 2, f"{folder}/run.pt", 4)
    ...     undisturbed = simulate(train, 2, f"{folder}/other.pt", 4)
    >>> resumed.results == undisturbed.results
    True
    """
    order, at = torch.randperm(run.count, generator=run.draws), 0
    losses = []
    saved = run.load()
    if saved is not None:
        run.model.load_state_dict(saved["model"])
        run.optimizer.load_state_dict(saved["optimizer"])
        run.draws.set_state(saved["draws"])
        order, at, losses = saved["order"], saved["at"], saved["losses"]
    while len(losses) < steps:
        if at + run.batch > run.count:
            order, at = torch.randperm(run.count, generator=run.draws), 0
        rows = order[at : at + run.batch].tensor_split(world_size())[rank()]
        at += run.batch
        losses.append(run.step(rows))
        state = {"model": run.model.state_dict(), "optimizer": run.optimizer.state_dict()}
        state |= {"draws": run.draws.get_state(), "order": order, "at": at, "losses": losses}
        run.save(state)
    return losses
