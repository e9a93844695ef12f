"""Training loops whose mistakes no error message names, mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset

Batch = tuple[Tensor, Tensor]


def case_gpu_loop(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    device: str,
    clock: Callable[[], float],
    wait: Callable[[], None],
    epochs: int = 2,
) -> tuple[list[Tensor], float]:
    """Train on a device, in shuffled batches of 32, and say how long that takes.

    Images (n, …) and labels (n,) are on the CPU; the model is moved to the device. `wait` returns
    when the device has done all its work. Returned are the loss of each batch, and the seconds of
    all epochs by `clock`.
    """
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)
    losses = []
    wait()
    start = clock()
    for _ in range(epochs):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    wait()
    return losses, clock() - start


def case_constant_label(
    model: nn.Module, train: Batch, held_out: Batch, epochs: int = 2
) -> tuple[float, float]:
    """Train on batches of 32 in a random order, and judge by images that were not trained on.

    Returned are the share of the held-out images that is right, and the share that would be right
    for always giving the label that is commonest in training.
    """
    (images, labels), (new_images, new_labels) = train, held_out
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels)).split(32):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(images[rows]), labels[rows])
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        right = model(new_images).argmax(1) == new_labels
    blind = new_labels == labels.bincount().argmax()
    return right.float().mean().item(), blind.float().mean().item()


def case_schedule(
    model: nn.Module, batches: Sequence[Batch], milestones: Sequence[int], epochs: int
) -> tuple[list[float], list[float]]:
    """Train by a schedule that starts at 0.1 and falls to a tenth at each milestone.

    Epochs are counted from 0, as milestones are. Returned are the rate planned for each epoch, to
    be drawn, and the rate that each was trained with.
    """
    planned = [0.1 * 0.1 ** sum(epoch >= m for m in milestones) for epoch in range(epochs)]
    used = []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = MultiStepLR(optimizer, milestones, gamma=0.1)
    for _ in range(epochs):
        used.append(float(schedule.get_last_lr()[0]))
        for x, y in batches:
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        schedule.step()
    return planned, used


def case_accumulation(model: nn.Module, batches: Sequence[Batch], every: int) -> int:
    """Step by the mean gradient of each `every` batches, and of what is left at the end.

    All batches of images and labels have one size. Returned is how many steps were made.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    steps = 0
    for number, (x, y) in enumerate(batches):
        together = min(every, len(batches) - number // every * every)
        loss = functional.cross_entropy(model(x), y) / together
        loss.backward()
        if (number + 1) % every == 0 or number + 1 == len(batches):
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
    return steps
