"""The shortest training run that survives being stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from gpulearn import require

__all__ = ["save_and_resume"]


@require.sizes("steps")
def save_and_resume(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.LRScheduler,
    one_step: Callable[[], object],
    steps: int,
) -> None:
    """Train until `steps` steps are done, from where the checkpoint in `path` stopped, if any.

    After each step everything that the next one needs is written: the parameters, what the
    optimiser and the schedule remember, the state of the random numbers (they choose the batches
    and what dropout hides), and how many steps are done. So a run that dies is started again by
    the same call and ends with the same bits. `gl.fit` does this too, and besides writes to a new
    file first, which then takes the old one's place: here a run that dies while it writes has
    lost its checkpoint.

    Args:
        path: the checkpoint; it need not be there yet.
        model: built anew after a stop, as are optimizer and schedule.
        optimizer: of the model's parameters.
        schedule: of the optimizer's learning rate.
        one_step: does one step with them, on a batch drawn at random.
        steps: how many there are to be in all, those before a stop included.

    Raises:
        BadInput: steps is not a whole number above zero.

    >>> import tempfile
    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> schedule = torch.optim.lr_scheduler.ConstantLR(optimizer)
    >>> done = []
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for steps in (3, 5):
    ...         arguments = model, optimizer, schedule, lambda: done.append(steps), steps
    ...         save_and_resume(Path(folder) / "run.pt", *arguments)
    >>> done
    [3, 3, 3, 5, 5]
    """
    done = 0
    if path.exists():
        saved = torch.load(path, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        torch.set_rng_state(saved["random"])
        torch.cuda.set_rng_state_all(saved["random on GPUs"])
        done = saved["done"]
    while done < steps:
        one_step()
        done += 1
        saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        saved |= {"schedule": schedule.state_dict(), "random": torch.get_rng_state()}
        saved["random on GPUs"] = torch.cuda.get_rng_state_all()  # none without a GPU
        torch.save(saved | {"done": done}, path)
